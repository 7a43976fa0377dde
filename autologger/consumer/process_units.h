/* process_units.h - the systemd unit of each process, as far as the trace has it:
 * Autologger-Kernel-Cgroups/ProcessCgroup gives it at the rundown, at an exec, at a move and at the end; in between a
 * process is in the unit of its parent.
 * Invariant: a process that started in the file is counted in one unit: the last one that it was in.
 * Threads: one. Ownership: zeros at first, finish. Not for: the process of an event (actors.h). */
#ifndef AUTOLOGGER_CONSUMER_PROCESS_UNITS_H
#define AUTOLOGGER_CONSUMER_PROCESS_UNITS_H
#include "autologger/consumer/decoded.h"
#include "autologger/kernel/source/idmap.h"

enum { UNIT_NOT_TOLD = -1 };
struct unit_place { /* of a process */
    int     unit;   /* index, or UNIT_NOT_TOLD */
    int64_t ended;  /* raw time; 0: it lives */
};
struct process_units {
    struct idmap process; /* pid + 1 -> struct unit_place */
    struct unit_name {
        char    *name;
        uint64_t processes;
    } * list; /* the name "" is that of processes in no unit */
    unsigned          count, capacity;
    uint64_t          not_told;       /* processes whose unit is not known */
    bool              hashed, failed; /* failed: no memory */
    struct guid       provider;
    struct field_sink sink;
    uint32_t          told_process;
    char              told_unit[256];
    unsigned          told; /* fields */
};
/* Takes every event of the file, in order. */
void process_units_see(struct process_units *u, const struct etl_event *e, const struct decoded *names);
/* Index into `list`; UNIT_NOT_TOLD. */
int process_units_of(const struct process_units *u, uint32_t process);
/* The unit's name, "" for none; NULL: not known. */
const char *process_units_name(const struct process_units *u, uint32_t process);
/* By glob; a pattern without a dot is a service; "none" matches processes in no unit. */
bool process_units_match(const char *pattern, const char *name);
void process_units_finish(struct process_units *u);
#endif
