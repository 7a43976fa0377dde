/* writer_direct.c - how a buffer gets to the disk: past the page cache where that is possible (O_DIRECT), which copies
 * nothing and takes no memory from others, or through it. In a hurry (events wait in memory that is half used up) on a
 * slow disk, the way that was faster recently is taken: the page cache absorbs what such a disk can't, until it is
 * full; lack of memory makes it slow. The kernel writes cached data later, but it is in the file all the same;
 * etl_writer_sync waits for both. */
#include "autologger/etl/writer_private.h"

#include <fcntl.h>
#include <stdio.h>

enum {
    DIRECT_LEAST    = 256 << 10 /* smaller writes cost more than the copy */,
    ALIGNED         = 4096,
    OTHER_WAY_EVERY = 256,
    SLOW_NS_A_KB    = 5000 /* 200 MB/s */
};

void writer_direct_init(struct etl_writer *w, bool wanted)
{
    w->direct_fd     = -1;
    w->direct_wanted = wanted && w->buffer_size >= DIRECT_LEAST && w->buffer_size % ALIGNED == 0;
}

void writer_direct_close(struct etl_writer *w)
{
    if (w->direct_fd >= 0)
        w->os->close(w->os, w->direct_fd);
    w->direct_fd     = -1;
    w->direct_wanted = false;
}

/* The file system may refuse O_DIRECT, at the opening or at the first write: then everything goes through the cache. */
static bool writer_direct_possible(struct etl_writer *w, const uint8_t *buffer, uint32_t size, uint64_t at)
{
    char path[40];
    if (!w->direct_wanted || size % ALIGNED || at % ALIGNED || (uintptr_t)buffer % ALIGNED)
        return false;
    if (w->direct_fd >= 0)
        return true;
    snprintf(path, sizeof path, "/proc/self/fd/%d", w->fd); /* the open file, whatever its path leads to now */
    w->direct_fd = w->os->open(w->os, path, O_WRONLY | O_DIRECT, 0);
    if (w->direct_fd < 0)
        w->direct_wanted = false;
    return w->direct_fd >= 0;
}

static enum write_way way_of(struct etl_writer *w)
{
    if (!w->hurry || w->cost[WRITE_DIRECT] < SLOW_NS_A_KB) /* also when it is not known yet */
        return WRITE_DIRECT;
    if (!w->cost[WRITE_CACHED])
        return WRITE_CACHED;
    const enum write_way faster = w->cost[WRITE_CACHED] < w->cost[WRITE_DIRECT] ? WRITE_CACHED : WRITE_DIRECT;
    return ++w->hurried % OTHER_WAY_EVERY ? faster : (enum write_way) !faster;
}

/* Writes the file's first page by itself: it is written again with every buffer (BuffersWritten). As a part of
 * something large in the page cache, each of these writes would look at all blocks of that: 150 us in ext4, three times
 * the cost of the buffer. */
static int store_cached(struct etl_writer *w, const uint8_t *buffer, uint32_t size, uint64_t at)
{
    const uint32_t first = at == 0 && size > ALIGNED ? ALIGNED : 0;
    int            r     = first ? os_pwrite_all(w->os, w->fd, buffer, first, 0) : 0;
    return r < 0 ? r : os_pwrite_all(w->os, w->fd, buffer + first, size - first, at + first);
}

int writer_store(struct etl_writer *w, const uint8_t *buffer, uint32_t size, uint64_t at)
{
    if (!writer_direct_possible(w, buffer, size, at))
        return store_cached(w, buffer, size, at);
    const uint64_t start = w->os->raw_ns(w->os);
    enum write_way way   = way_of(w);
    int            r     = way == WRITE_DIRECT ? os_pwrite_all(w->os, w->direct_fd, buffer, size, at) : 0;
    if (r < 0) { /* an error that O_DIRECT did not cause comes again through the cache */
        writer_direct_close(w);
        way = WRITE_CACHED;
    }
    if (way == WRITE_CACHED)
        r = os_pwrite_all(w->os, w->fd, buffer, size, at);
    const uint64_t cost = (w->os->raw_ns(w->os) - start) / (size >> 10) + 1;
    w->cost[way]        = w->cost[way] ? (3 * w->cost[way] + cost) / 4 : cost;
    return r;
}

void etl_writer_hurry(struct etl_writer *w, bool hurry) { w->hurry = hurry; }
