/* unit.h - systemd's properties of one unit, and the states that it went through, with their times.
 * Times are systemd's own: microseconds of CLOCK_MONOTONIC, 0 = never. Pure: no bus, no event, no clock.
 * Invariants: U1 a time is reported once, and not again by the next process that is given the same known times.
 * U2 the events of one set of properties come in time order; at one time in the order of a unit's life.
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
    char    *active, *sub, *result, *cgroup; /* ActiveState, SubState, Result, ControlGroup; NULL = not known */
    char    *after;                          /* names of the units that it is ordered after, with blanks between them */
    char     invocation[33];                 /* hex; "" = none */
    uint64_t time[UNIT_STEPS];
    uint32_t main_pid;               /* now; 0 = none */
    uint32_t exec_pid;               /* of the last main process */
    int32_t  exec_code, exec_status; /* how it ended: CLD_... and status, valid with its time */
    uint64_t queued;                 /* when its job was queued, if that was heard; 0 = not known */
};
void unit_finish(struct unit *u);
/* The copy needs unit_finish. False: out of memory, no copy. */
bool unit_copy(const struct unit *u, struct unit *out);

/* Sets one property by systemd's name ("ActiveState", "ExecMainPID" ...): text for strings, number for the rest.
 * Unknown names are ignored. False: out of memory. */
bool unit_set_text(struct unit *u, const char *property, const char *text);
void unit_set_number(struct unit *u, const char *property, uint64_t number);
/* The same from a line of "systemctl show": Name=Value. For recorded output. */
bool unit_set_line(struct unit *u, const char *line);

/* The reported times of all units, in memory that may outlive the process. */
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
/* The new times of `u` as events, UNIT_STEPS at most. *full: `known` has no place for the unit, and no events come. */
unsigned unit_news(const struct unit_known *known, const struct unit *u, struct unit_event events[UNIT_STEPS],
                   bool *full);
/* Marks the times of `u` as reported. */
void unit_told(struct unit_known *known, const struct unit *u);
/* Sets the unit's cgroup. True: it was not reported yet. */
bool unit_cgroup_news(struct unit_known *known, const char *name, uint64_t cgroup);
/* The unit is gone: its place may be given to another one. */
void unit_forget(struct unit_known *known, const char *name);
/* For qsort: by time, then by name, then in the order of life. */
int unit_event_order(const void *a, const void *b);

/* A name passes a list of names and globs, joined by ';', ',' or blanks; also a name without its suffix passes
 * "x.service" as "x". NULL and "" let all pass. */
bool unit_matches(const char *patterns, const char *name);
#endif
