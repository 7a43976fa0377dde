/* write_behind.h - for a long file whose writer waits for the disk at its end: the disk begins early, so that the wait
 * is short, and only the last part of the written data stays in the page cache, so that nothing else has to make room.
 * Hints alone: a hint that the kernel refuses is left out, and nothing depends on it.
 * Threads: one. Ownership: begin/end. Not for: files that are read right away from the start, and that are larger than
 * the part that stays. */
#ifndef AUTOLOGGER_CONSUMER_WRITE_BEHIND_H
#define AUTOLOGGER_CONSUMER_WRITE_BEHIND_H
#include <stdint.h>

enum { WRITE_BEHIND_STEP = 8 << 20, WRITE_BEHIND_KEPT = 256 << 20 };
struct write_behind {
    int      fd;      /* of its own; -1: no such file, all calls do nothing */
    uint64_t started; /* the disk has begun with all bytes before this */
    uint64_t gone;    /* all bytes before this are on the disk, and no longer in the page cache */
};

/* `path` is the file that is being written. */
void write_behind_begin(struct write_behind *b, const char *path);
/* The file has been written up to `end`. Waits for the disk when it is WRITE_BEHIND_KEPT behind. */
void write_behind_at(struct write_behind *b, uint64_t end);
void write_behind_end(struct write_behind *b);
#endif
