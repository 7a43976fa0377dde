/* write_behind.h - for whoever writes a long file and waits for the disk at its end: the disk begins early, so that
 * there is little to wait for, and of what is on the disk only the last part stays in the page cache, so that nothing
 * else has to make room. Hints alone: what the kernel refuses is left out, and nothing depends on it.
 * Threads: one. Ownership: begin/end. Not for: files that somebody reads right away from the start, and that are larger
 * than what stays. */
#ifndef AUTOLOGGER_CONSUMER_WRITE_BEHIND_H
#define AUTOLOGGER_CONSUMER_WRITE_BEHIND_H
#include <stdint.h>

enum { WRITE_BEHIND_STEP = 8 << 20, WRITE_BEHIND_KEPT = 256 << 20 };
struct write_behind {
    int      fd;      /* of its own; -1: there is no such file, all calls do nothing */
    uint64_t started; /* the disk was told to begin with what lies before */
    uint64_t gone;    /* what lies before is on the disk, and no longer in the page cache */
};

/* `path` is the file that is being written. */
void write_behind_begin(struct write_behind *b, const char *path);
/* It has been written up to `end`. Waits for the disk when that is WRITE_BEHIND_KEPT behind. */
void write_behind_at(struct write_behind *b, uint64_t end);
void write_behind_end(struct write_behind *b);
#endif
