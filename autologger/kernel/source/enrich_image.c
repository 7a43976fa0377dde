/* enrich_image.c - notes on executable mappings: the place of the whole image, and its build id. The record has the
 * build id of the mapped file. The file with the other facts is known by its build id already, or a helper is asked
 * (elf_helper.h), because the process chose that file. A file is asked for once. Further mappings with its build id
 * wait beside the first one; each asks for itself if that answer does not serve all. The horizon waits for an answer as
 * it does for an exec, at most IMAGE_WAIT_NS. A mapping without an answer has no note, nor has one beyond
 * IMAGES_WAITING or IMAGES_ASKED. See drain.h. */
#include "autologger/kernel/source/drain.h"
#include "autologger/kernel/source/elf_helper.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct mmap2 { /* followed by the path */
    struct perf_event_header header;
    uint32_t                 pid, tid;
    uint64_t                 addr, len, pgoff;
    union {
        struct {
            uint32_t maj, min;
            uint64_t ino, generation;
        } file;
        struct {
            uint8_t size, reserved[3];
            uint8_t id[20];
        } build;
    } u;
    uint32_t prot, flags;
};
_Static_assert(sizeof(struct mmap2) == 72, "PERF_RECORD_MMAP2");

enum { IMAGES_AT_FIRST = 64, IMAGES_WAITING = 4096, IMAGES_ASKED = 1024 };
struct enrich_image_waiting {
    struct mmap2 m;
    uint64_t     time, until;
    uint64_t     key;  /* of its question; 0: it waits beside another mapping */
    char        *path; /* of a mapping that waits beside another; owned */
};
struct enrich_images {
    struct elf_helper           *helper;
    uint64_t                     next_key;
    unsigned                     count, capacity, asked;
    struct enrich_image_waiting *waiting; /* the mapping that asks is before those beside it */
};

bool enrich_images_init(struct drain *d)
{
    d->images = calloc(1, sizeof *d->images);
    return d->images && (d->images->helper = elf_helper_create(d->proc));
}

void enrich_images_finish(struct drain *d)
{
    struct enrich_images *w = d->images;
    if (!w)
        return;
    elf_helper_destroy(w->helper);
    for (unsigned i = 0; i < w->count; i++)
        free(w->waiting[i].path);
    free(w->waiting);
    free(w);
    d->images = NULL;
}

static bool has_build_id(const struct mmap2 *m)
{
    return (m->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) && m->u.build.size >= 8 &&
           m->u.build.size <= sizeof m->u.build.id;
}

static const struct elf_info *enrich_image_known(const struct drain *d, const struct mmap2 *m)
{
    return has_build_id(m) ? elf_known(d->elves, m->u.build.id, m->u.build.size) : NULL;
}

void image_identity(struct raw_image *image, const uint8_t *id, unsigned size)
{
    image->build_id_size = size <= 20 ? size : 20;
    memcpy(image->build_id, id, image->build_id_size);
}

static void note_add(struct drain *d, const struct mmap2 *m, const struct elf_info *elf, uint64_t time)
{
    struct raw_image r = {.own = {RAW_NOTE_IMAGE, 0, 0, time, m->pid, m->tid}};
    if (!elf_place(elf, m->addr, m->pgoff, &r.base, &r.size))
        return; /* the mapping itself has to do */
    bool           has  = has_build_id(m);
    const uint8_t *id   = has ? m->u.build.id : elf->build_id;
    unsigned       size = has ? m->u.build.size : elf->build_id_size;
    r.stamp             = elf_stamp(id, size, elf->mtime, &r.checksum);
    r.default_base      = elf->is_exec ? elf->low : 0;
    image_identity(&r, id, size);
    own_add(d, d->notes, &r, sizeof r, NULL, 0);
}

static bool enrich_image_same_file(const struct mmap2 *a, const struct mmap2 *b)
{
    return has_build_id(a) && has_build_id(b) && a->u.build.size == b->u.build.size &&
           memcmp(a->u.build.id, b->u.build.id, a->u.build.size) == 0;
}

static bool enrich_image_ask(struct enrich_images *w, struct enrich_image_waiting *x, const char *path)
{
    struct elf_question q = {.key = w->next_key + 1, .start = x->m.addr, .end = x->m.addr + x->m.len, .pid = x->m.pid};
    if (has_build_id(&x->m)) {
        q.build_id_size = x->m.u.build.size;
        memcpy(q.build_id, x->m.u.build.id, q.build_id_size);
    } else {
        q.inode = x->m.u.file.ino;
    }
    if (w->asked >= IMAGES_ASKED || !elf_ask(w->helper, &q, path))
        return false;
    x->key = ++w->next_key;
    w->asked++;
    return true;
}

static const struct enrich_image_waiting *asked_for(const struct enrich_images *w, const struct mmap2 *m)
{
    for (unsigned i = 0; i < w->count; i++)
        if (w->waiting[i].key && enrich_image_same_file(&w->waiting[i].m, m))
            return &w->waiting[i];
    return NULL;
}

static bool waiting_room(struct enrich_images *w)
{
    if (w->count < w->capacity)
        return true;
    unsigned                     capacity = w->capacity ? w->capacity * 2 : IMAGES_AT_FIRST;
    struct enrich_image_waiting *more =
        capacity <= IMAGES_WAITING ? realloc(w->waiting, capacity * sizeof *more) : NULL;
    if (!more)
        return false;
    w->waiting  = more;
    w->capacity = capacity;
    return true;
}

void enrich_image(struct drain *d, const uint8_t *record, size_t size, uint64_t time)
{
    struct enrich_images       *w    = d->images;
    struct enrich_image_waiting x    = {.time = time, .until = raw_now() + IMAGE_WAIT_NS};
    char                       *path = d->text;
    if (size < sizeof x.m + TRAILER_SIZE)
        return;
    memcpy(&x.m, record, sizeof x.m);
    size_t n = size - sizeof x.m - TRAILER_SIZE;
    if (!(x.m.prot & PROT_EXEC) || n == 0 || n >= DRAIN_TEXT || record[sizeof x.m] != '/' ||
        record[sizeof x.m + 1] == '/')
        return;
    const struct elf_info *elf = enrich_image_known(d, &x.m);
    if (elf) {
        note_add(d, &x.m, elf, time);
        return;
    }
    memcpy(path, record + sizeof x.m, n);
    path[n] = 0;
    if (!waiting_room(w))
        return;
    if (asked_for(w, &x.m) ? (x.path = strdup(path)) != NULL : enrich_image_ask(w, &x, path))
        w->waiting[w->count++] = x;
}

static void waiting_end(struct enrich_images *w, struct enrich_image_waiting *x)
{
    w->asked -= x->key != 0;
    free(x->path);
    x->path = NULL;
}

/* An answer about root's file serves all mappings that wait for it; an answer about another user's file serves only its
 * own. */
static void enrich_image_answered(struct drain *d, uint64_t key, const struct elf_info *elf)
{
    struct enrich_images *w    = d->images;
    struct mmap2          of   = {0};
    unsigned              kept = 0;
    elf_keep(d->elves, elf);
    for (unsigned i = 0; i < w->count; i++) {
        struct enrich_image_waiting *x = &w->waiting[i];
        const struct elf_info       *e = x->key == key ? elf : enrich_image_known(d, &x->m);
        if (x->key == key)
            of = x->m;
        if (e && e->valid)
            note_add(d, &x->m, e, x->time);
        if (!e && (x->key || !enrich_image_same_file(&of, &x->m) || enrich_image_ask(w, x, x->path)))
            w->waiting[kept++] = *x;
        else
            waiting_end(w, x);
    }
    w->count = kept;
}

static void late_drop(struct enrich_images *w, uint64_t now)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < w->count; i++) {
        struct enrich_image_waiting *x = &w->waiting[i];
        if (x->until > now) {
            w->waiting[kept++] = *x;
            continue;
        }
        waiting_end(w, x);
        for (unsigned k = i + 1; x->key && k < w->count; k++)
            if (!w->waiting[k].key && w->waiting[k].until > now && enrich_image_same_file(&x->m, &w->waiting[k].m)) {
                enrich_image_ask(w, &w->waiting[k], w->waiting[k].path); /* also for the others that wait beside it */
                break;
            }
    }
    w->count = kept;
}

void enrich_images(struct drain *d, bool last)
{
    struct enrich_images *w     = d->images;
    const uint64_t        begin = raw_now();
    struct elf_info       elf;
    uint64_t              key;
    for (;;) {
        while (elf_answer(w->helper, &key, &elf))
            enrich_image_answered(d, key, &elf);
        uint64_t now = raw_now();
        late_drop(w, now);
        int left = elf_patience(w->helper) - (int)((now - begin) / 1000000);
        if (!last || !w->count || left <= 0)
            break;
        elf_helper_wait(w->helper, left);
    }
    if (last)
        late_drop(w, UINT64_MAX);
    elf_helper_rest(w->helper);
}

uint64_t enrich_images_horizon(const struct drain *d, uint64_t horizon)
{
    for (unsigned i = 0; d->images && i < d->images->count; i++)
        if (d->images->waiting[i].time <= horizon)
            horizon = d->images->waiting[i].time - 1;
    return horizon;
}

int enrich_images_timeout(const struct drain *d, int timeout_ms)
{
    return d->images && d->images->count && (timeout_ms < 0 || timeout_ms > IMAGE_POLL_MS) ? IMAGE_POLL_MS : timeout_ms;
}
