#include "autologger/consumer/write_behind.h"

#include "registry-sim/base/opening.h"

#include <fcntl.h>
#include <unistd.h>

void write_behind_begin(struct write_behind *b, const char *path)
{
    *b = (struct write_behind){.fd = opening_file(path, O_NOFOLLOW)};
}

static void write_behind_let_go(struct write_behind *b)
{
    const off_t from = (off_t)b->gone;
    if (sync_file_range(b->fd, from, WRITE_BEHIND_STEP,
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) == 0)
        posix_fadvise(b->fd, from, WRITE_BEHIND_STEP, POSIX_FADV_DONTNEED);
    b->gone += WRITE_BEHIND_STEP;
}

void write_behind_at(struct write_behind *b, uint64_t end)
{
    for (; b->fd >= 0 && end - b->started >= WRITE_BEHIND_STEP; b->started += WRITE_BEHIND_STEP) {
        if (sync_file_range(b->fd, (off_t)b->started, WRITE_BEHIND_STEP, SYNC_FILE_RANGE_WRITE) != 0) {
            write_behind_end(b); /* the file system does not support it */
            return;
        }
        if (b->started - b->gone >= WRITE_BEHIND_KEPT)
            write_behind_let_go(b);
    }
}

void write_behind_end(struct write_behind *b)
{
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
}
