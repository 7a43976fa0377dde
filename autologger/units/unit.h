/* unit.h - what systemd says of one unit, and what that means: which states it went through, and when.
 * Times are systemd's own: microseconds of CLOCK_MONOTONIC, 0 = never. Pure: no bus, no event, no clock.
 * Invariants: U1 a time that was told once is never told again, also not by the next process that is given the same
 * known times.
 * U2 what one set of properties tells comes in time order; at one time in the order of a unit's life.
 * Threads: one. Ownership: unit_finish; known times are the caller's memory. Not for: asking systemd (bus.h), writing
 * events (emit.h). */
#ifndef AUTOLOGGER_UNITS_UNIT_H
#define AUTOLOGGER_UNITS_UNIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of a unit's life. */
enum unit_step {
    UNIT_ACTIVATING,
    UNIT_PROCESS_START,
    UNIT_ACTIVE,
    UNIT_DEACTIVATING,
    UNIT_PROCESS_EXIT,
    UNIT_INACTIVE,
    UNIT_STEPS
};

struct unit {
    char    *name;
    char    *active, *sub, *result, *cgroup; /* ActiveState, SubState, Result, ControlGroup; NULL = not told */
    char    *after;                          /* names of the units that it is ordered after, with blanks between them */
    char     invocation[33];                 /* hex; "" = none */
    uint64_t time[UNIT_STEPS];
    uint32_t main_pid;               /* now; 0 = none */
    uint32_t exec_pid;               /* of the last main process */
    int32_t  exec_code, exec_status; /* how it ended: CLD_... and status, valid with its time */
    uint64_t queued;                 /* when its job was made, as far as somebody listened then; 0 = not known */
};
void unit_finish(struct unit *u);
/* For unit_finish. False: out of memory, and there is no copy. */
bool unit_copy(const struct unit *u, struct unit *out);

/* One property in systemd's words ("ActiveState", "ExecMainPID" ...): text for strings, number for the rest. Names that
 * mean nothing here are passed over. False: out of memory. */
bool unit_set_text(struct unit *u, const char *property, const char *text);
void unit_set_number(struct unit *u, const char *property, uint64_t number);
/* The same from a line of "systemctl show": Name=Value. For records of it. */
bool unit_set_line(struct unit *u, const char *line);

/* Which times of which units have been told, in memory that may outlive the process. */
enum { UNIT_KNOWN_PLACES = 8192 };
struct unit_known {
    /* name: a hash; 0 free, 1 given back */
    struct {
        uint64_t name, cgroup;
        uint64_t time[UNIT_STEPS];
    } place[UNIT_KNOWN_PLACES];
};

struct unit_event {
    enum unit_step     step;
    uint64_t           time;   /* us, CLOCK_MONOTONIC */
    bool               failed; /* UNIT_INACTIVE: by failing */
    const struct unit *unit;
};
/* What is new in `u`: at most UNIT_STEPS events. *full: the unit has no place in `known`, and tells nothing. */
unsigned unit_news(const struct unit_known *known, const struct unit *u, struct unit_event events[UNIT_STEPS],
                   bool *full);
/* They were told. */
void unit_told(struct unit_known *known, const struct unit *u);
/* The unit's cgroup is this one now. True: that was not told yet. */
bool unit_cgroup_news(struct unit_known *known, const char *name, uint64_t cgroup);
/* The unit is not there any more, its place may be given to another one. */
void unit_forget(struct unit_known *known, const char *name);
/* For qsort: by time, then by name, then in the order of life. */
int unit_event_order(const void *a, const void *b);

/* A name passes a list of names and globs, joined by ';', ',' or blanks; also a name without its suffix passes
 * "x.service" as "x". NULL and "" let all pass. */
bool unit_matches(const char *patterns, const char *name);
#endif
