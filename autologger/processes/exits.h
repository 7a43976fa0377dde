/* exits.h - exit codes of processes: perf's record of an exit has none, the kernel's process connector does.
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
/* The code of a process whose end perf has reported, once: its return value, or 128 + the signal that ended it. The
 * connector reports it a moment later than perf: the call waits for it, EXITS_WAIT_MS at most, and not at all after
 * EXITS_TRIES waits in vain, until a code comes again. False: not known. */
bool exits_take(struct exits *e, uint32_t pid, uint32_t *code);
void exits_close(struct exits *e);
#endif
