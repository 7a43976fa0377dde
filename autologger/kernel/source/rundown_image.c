#include "autologger/kernel/source/rundown_image.h"
#include "autologger/kernel/source/elf_helper.h"
#include "autologger/kernel/source/filekey.h"
#include "autologger/kernel/source/idmap.h"

#include <stdlib.h>
#include <string.h>

struct image_file {
    unsigned        tries;
    bool            answered;
    struct elf_info elf;
};
struct late { /* an image whose file was asked for */
    struct late       *next;
    uint32_t           pid;
    uint64_t           start, end, pgoff;
    struct image_file *file;
    char               path[];
};
struct rundown_images {
    struct drain      *d;
    struct elf_helper *helper;
    struct idmap       files; /* file_key -> struct image_file */
    struct late       *first, **last;
    rundown_put        put;
    void              *ctx;
};

struct rundown_images *rundown_images_create(struct drain *d, rundown_put put, void *ctx)
{
    struct rundown_images *r = calloc(1, sizeof *r);
    if (!r || !(r->helper = elf_helper_create(d->proc))) {
        free(r);
        return NULL;
    }
    r->d    = d;
    r->put  = put;
    r->ctx  = ctx;
    r->last = &r->first;
    return r;
}

void rundown_images_destroy(struct rundown_images *r)
{
    if (!r)
        return;
    elf_helper_destroy(r->helper);
    for (struct late *l = r->first, *next; l; l = next) {
        next = l->next;
        free(l);
    }
    for (size_t i = 0; i < r->files.capacity; i++)
        free(r->files.slot[i].value);
    idmap_finish(&r->files);
    free(r);
}

static void image_put(struct rundown_images *r, uint32_t pid, uint64_t start, uint64_t end, uint64_t pgoff,
                      const struct elf_info *elf, const char *path)
{
    struct raw_image image = {.own = {.type = RAW_IMAGE, .pid = pid, .tid = pid}};
    if (elf && elf_place(elf, start, pgoff, &image.base, &image.size)) {
        image.stamp        = elf_stamp(elf->build_id, elf->build_id_size, elf->mtime, &image.checksum);
        image.default_base = elf->is_exec ? elf->low : 0;
        image_identity(&image, elf->build_id, elf->build_id_size);
    } else {
        image.base  = start;
        image.size  = end - start;
        image.stamp = 1;
    }
    r->put(r->ctx, &image, path);
}

static struct image_file *rundown_image_file_of(struct rundown_images *r, const struct proc_mapping *m)
{
    uint64_t           key = m->path[0] == '/' ? file_key(m->dev, m->inode) : 0;
    struct image_file *f   = key ? idmap_get(&r->files, key) : NULL;
    if (!key || f)
        return f;
    f = calloc(1, sizeof *f);
    if (f && !idmap_put(&r->files, key, f)) {
        free(f);
        f = NULL;
    }
    return f;
}

/* Asks about a file once, and again where the question about another process' mapping got no answer: that process may
 * have been gone. */
static void rundown_image_file_ask(struct rundown_images *r, struct image_file *f, uint32_t pid,
                                   const struct proc_mapping *m)
{
    struct elf_question q = {
        .key = file_key(m->dev, m->inode), .start = m->start, .end = m->end, .inode = m->inode, .pid = pid};
    if (f->tries && (!f->answered || f->elf.valid || f->tries == RUNDOWN_TRIES))
        return;
    f->tries++;
    f->answered = !elf_ask(r->helper, &q, m->path);
}

void rundown_image(struct rundown_images *r, uint32_t pid, const struct proc_mapping *m)
{
    struct image_file *f = rundown_image_file_of(r, m);
    size_t             n = strlen(m->path) + 1;
    if (f)
        rundown_image_file_ask(r, f, pid, m);
    struct late *l = f && !f->answered ? malloc(sizeof *l + n) : NULL;
    if (!l) {
        image_put(r, pid, m->start, m->end, m->pgoff, f && f->elf.valid ? &f->elf : NULL, m->path);
        return;
    }
    *l = (struct late){.pid = pid, .start = m->start, .end = m->end, .pgoff = m->pgoff, .file = f};
    memcpy(l->path, m->path, n);
    *r->last = l;
    r->last  = &l->next;
}

static void answers_take(struct rundown_images *r)
{
    struct elf_info elf;
    uint64_t        key;
    while (elf_answer(r->helper, &key, &elf)) {
        struct image_file *f = idmap_get(&r->files, key);
        if (!f)
            continue;
        f->answered = true;
        f->elf      = elf;
        pthread_mutex_lock(&r->d->lock);
        elf_keep(r->d->elves, &elf);
        pthread_mutex_unlock(&r->d->lock);
    }
}

void rundown_images_put(struct rundown_images *r, bool last)
{
    const uint64_t begin = raw_now();
    int            left;
    answers_take(r);
    while (last && elf_unanswered(r->helper) &&
           (left = elf_patience(r->helper) - (int)((raw_now() - begin) / 1000000)) > 0) {
        elf_helper_wait(r->helper, left);
        answers_take(r);
    }
    for (struct late *l; (l = r->first) && (last || l->file->answered);) {
        image_put(r, l->pid, l->start, l->end, l->pgoff, l->file->answered && l->file->elf.valid ? &l->file->elf : NULL,
                  l->path);
        if (!(r->first = l->next))
            r->last = &r->first;
        free(l);
    }
}
