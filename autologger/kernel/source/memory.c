/* memory.c - samples of /proc's memory figures, twice a second: MEMINFO for the machine, MEMINFO_WS for each process.
 * See drain.h. */
#include "autologger/kernel/source/drain.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY_EVERY_NS = 500000000, NS_PER_MS = 1000000, KEYWORD_MEMINFO = 0x80000, KEYWORD_WORKING_SETS = 0x800000 };

void memory_init(struct drain *d, const struct klog_config *config)
{
    d->wants_memory = config->mask[1] & KEYWORD_MEMINFO;
    d->wants_sets   = config->mask[1] & KEYWORD_WORKING_SETS;
}

int memory_timeout(const struct drain *d, int timeout_ms)
{
    if (!d->wants_memory && !d->wants_sets)
        return timeout_ms;
    uint64_t now = raw_now(), next = __atomic_load_n(&d->memory_next, __ATOMIC_RELAXED);
    int      left = next > now ? (int)((next - now) / NS_PER_MS) + 1 : 0;
    return timeout_ms < 0 || left < timeout_ms ? left : timeout_ms;
}

static size_t memory_text_at(int dir, const char *path, char *out, size_t size)
{
    int     fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

/* The file as it is; the converter parses the lines. */
static void machine_add(struct drain *d)
{
    struct raw_own r = {.type = RAW_MEMORY, .time = raw_now()};
    if (memory_text_at(d->proc, "meminfo", d->text, DRAIN_TEXT / 2))
        own_add(d, d->notes, &r, sizeof r, (const char *const[]){d->text}, 1);
}

static void sets_flush(struct drain *d, struct raw_sets *r)
{
    if (r->count)
        own_add(d, d->notes, r, sizeof *r + r->count * sizeof *r->set, NULL, 0);
    r->count = 0;
}

/* "size resident shared text lib data dt", in pages; kernel threads have only zeros. */
static void set_add(struct drain *d, struct raw_sets *r, int process, uint32_t pid)
{
    char     text[128];
    uint64_t pages[3] = {0};
    char    *p        = text;
    if (!memory_text_at(process, "statm", text, sizeof text) || text[0] == '0')
        return;
    for (int i = 0; i < 3; i++)
        pages[i] = strtoull(p, &p, 10);
    if (r->count == RAW_SETS)
        sets_flush(d, r);
    r->set[r->count++] = (struct raw_set){pid, pages[0], pages[1], pages[2]};
}

static void sets_add(struct drain *d)
{
    struct raw_sets *r   = malloc(sizeof *r + RAW_SETS * sizeof *r->set);
    int              fd  = r ? openat(d->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR             *dir = fd < 0 ? NULL : fdopendir(fd);
    if (r)
        *r = (struct raw_sets){.own     = {.type = RAW_WORKING_SETS, .time = raw_now()},
                               .page_kb = (uint32_t)sysconf(_SC_PAGESIZE) / 1024};
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        int process = openat(fd, e->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (process >= 0) {
            set_add(d, r, process, (uint32_t)strtoul(e->d_name, NULL, 10));
            close(process);
        }
    }
    if (dir)
        sets_flush(d, r);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    free(r);
}

void memory_sample(struct drain *d)
{
    uint64_t now = raw_now();
    if ((!d->wants_memory && !d->wants_sets) || now < d->memory_next)
        return;
    uint64_t next = d->memory_next + MEMORY_EVERY_NS; /* on schedule, unless it is late by more than one step */
    __atomic_store_n(&d->memory_next, next > now ? next : now + MEMORY_EVERY_NS, __ATOMIC_RELAXED);
    if (d->wants_memory)
        machine_add(d);
    if (d->wants_sets)
        sets_add(d);
}
