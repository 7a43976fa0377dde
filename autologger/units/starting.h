/* starting.h - units whose start takes long, and when their processes are looked at: 1, 3, 10, 30 and 100 s after the
 * start began. A unit that is heard of later than that is looked at once, and then at the next of these times.
 * Invariants: S1 at most STARTING_MOST units are followed; further ones are not looked at.
 * Threads: one; no clock of its own. Ownership: starting_finish. Not for: what the processes wait for (waiting.h). */
#ifndef AUTOLOGGER_UNITS_STARTING_H
#define AUTOLOGGER_UNITS_STARTING_H
#include <stdbool.h>
#include <stdint.h>

enum { STARTING_MOST = 64 };
struct starting_unit {
    char    *name, *cgroup;              /* path in the hierarchy; "" = not known */
    bool     paused, restarted;          /* restarted: systemd's time of its start is that of the pause before it */
    uint64_t since_us, seen_us, next_us; /* the start began; it was heard of; the next look */
};
struct starting {
    struct starting_unit unit[STARTING_MOST];
    unsigned             count;
};
/* It starts since then, or is heard of again: a later start begins anew. Out of memory it is not followed. */
void starting_see(struct starting *s, const char *name, const char *cgroup, uint64_t since_us, uint64_t now_us);
bool starting_has(const struct starting *s, const char *name);
/* It failed, and systemd waits before it starts it again: nothing is looked at. What is seen of it afterwards is a
 * start that begins then. */
void starting_pause(struct starting *s, const char *name);
void starting_over(struct starting *s, const char *name);
/* The next one to look at, which then has its next time; NULL: none. Valid until the next call of this file. */
const struct starting_unit *starting_due(struct starting *s, uint64_t now_us);
/* How long nothing is due, ms, rounded up; -1: for ever. */
int  starting_wait_ms(const struct starting *s, uint64_t now_us);
void starting_finish(struct starting *s);
#endif
