/* enrich_image.c - notes on executable mappings: where the whole image lies, and its build id. The record has the build id of what was
 * mapped; the file that tells the rest is looked for where the process saw it, as the kernel holds it, and below the root of process 1
 * (the early program's own root is not the machine's); a process that is gone took its view of the files with it. See drain.h. */
#include "autologger/kernel/drain.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

struct mmap2 {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t addr, len, pgoff;
    union {
        struct { uint32_t maj, min; uint64_t ino, generation; } file;
        struct { uint8_t size, reserved[3]; uint8_t id[20]; } build;
    } u;
    uint32_t prot, flags;
    char     name[];
};
_Static_assert(offsetof(struct mmap2, name) == 72, "PERF_RECORD_MMAP2");
enum { INIT = 1 };

static bool has_build_id(const struct mmap2 *m)
{
    return (m->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) && m->u.build.size >= 8 && m->u.build.size <= sizeof m->u.build.id;
}

static bool is_mapped(const struct elf_info *elf, const struct mmap2 *m)
{
    return elf && (!has_build_id(m) || (elf->build_id_size == m->u.build.size && memcmp(elf->build_id, m->u.build.id, m->u.build.size) == 0));
}

static const struct elf_info *elf_mapped(struct drain *d, const struct mmap2 *m, const char *path)
{
    const struct elf_info *elf = elf_find(d->elves, d->proc, m->pid, path);
    if (!is_mapped(elf, m))
        elf = elf_find_mapped(d->elves, d->proc, m->pid, m->addr, m->addr + m->len);
    if (!is_mapped(elf, m))
        elf = elf_find(d->elves, d->proc, INIT, path);
    return is_mapped(elf, m) ? elf : NULL;
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
        return; /* the mapping itself will do */
    bool           has  = has_build_id(m);
    const uint8_t *id   = has ? m->u.build.id : elf->build_id;
    unsigned       size = has ? m->u.build.size : elf->build_id_size;
    r.stamp             = elf_stamp(id, size, elf->mtime, &r.checksum);
    r.default_base      = elf->is_exec ? elf->low : 0;
    image_identity(&r, id, size);
    own_add(d, d->notes, &r, sizeof r, NULL, 0);
}

bool enrich_image(struct drain *d, const uint8_t *record, size_t size, uint64_t time)
{
    struct mmap2 m;
    char        *path = d->text;
    if (size < sizeof m + TRAILER_SIZE)
        return true;
    memcpy(&m, record, sizeof m);
    size_t n = size - sizeof m - TRAILER_SIZE;
    if (!(m.prot & PROT_EXEC) || n == 0 || n >= DRAIN_TEXT || record[sizeof m] != '/' || record[sizeof m + 1] == '/')
        return true;
    memcpy(path, record + sizeof m, n);
    path[n]                    = 0;
    const struct elf_info *elf = elf_mapped(d, &m, path);
    if (elf)
        note_add(d, &m, elf, time);
    return elf || !has_build_id(&m);
}

void enrich_images_known(struct drain *d, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *p = rawlog_at(d->log, d->trigger[i].pos);
        struct mmap2   m;
        uint64_t       time;
        memcpy(&m, p, sizeof m); /* its size was looked at before */
        memcpy(&time, p + m.header.size - 24, sizeof time);
        const struct elf_info *elf = elf_known(d->elves, m.u.build.id, m.u.build.size);
        if (elf)
            note_add(d, &m, elf, time);
    }
}
