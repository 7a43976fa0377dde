/* starting.h - slow-starting units, and the times of looks at their processes: 1, 3, 10, 30 and 100 s after the start
 * began. A unit that becomes known later is looked at once, and then at the next of these times.
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
    uint64_t since_us, seen_us, next_us; /* begin of the start; when it became known; the next look */
};
struct starting {
    struct starting_unit unit[STARTING_MOST];
    unsigned             count;
};
/* The unit has been starting since `since_us`. May be called again: a later start begins anew. Without memory the unit
 * is not followed. */
void starting_see(struct starting *s, const char *name, const char *cgroup, uint64_t since_us, uint64_t now_us);
bool starting_has(const struct starting *s, const char *name);
/* The unit failed, and systemd pauses before it starts it again: no looks. The next starting_see is a start that begins
 * then. */
void starting_pause(struct starting *s, const char *name);
void starting_over(struct starting *s, const char *name);
/* A unit that is due for a look, and sets the time of its next one; NULL: none. Valid until the next call of this
 * file. */
const struct starting_unit *starting_due(struct starting *s, uint64_t now_us);
/* Time until the next look, ms, rounded up; -1: none. */
int  starting_wait_ms(const struct starting *s, uint64_t now_us);
void starting_finish(struct starting *s);
#endif
