/* exits.h - with which code processes end: perf's record of an exit has none, the kernel's process connector does.
 * Threads: one. Ownership: open/close. Not for: when they end (sideband.h). */
#ifndef AUTOLOGGER_PROCESSES_EXITS_H
#define AUTOLOGGER_PROCESSES_EXITS_H
#include <stdbool.h>
#include <stdint.h>

enum { EXITS_KEPT = 4096, EXITS_WAIT_MS = 300, EXITS_TRIES = 3 };
struct exits {
    int fd; /* -1: there is no connector, or it is refused */
    struct {
        uint32_t pid, code;
    } kept[EXITS_KEPT]; /* a ring: [next] is the oldest */
    unsigned next, vain;
};
void exits_open(struct exits *e);
/* The code of a process of which perf has told the end, once: what it returned, or 128 + the signal that ended it. The
 * kernel says it a moment later than perf: it is waited for, EXITS_WAIT_MS at most, and not at all after EXITS_TRIES in
 * vain, until one comes again. False: nobody said. */
bool exits_take(struct exits *e, uint32_t pid, uint32_t *code);
void exits_close(struct exits *e);
#endif
