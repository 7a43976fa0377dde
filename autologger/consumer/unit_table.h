/* unit_table.h - the activity of each systemd unit, by the events of its processes: number of processes, time on a
 * processor (context switches), bytes read and written on disks (finished transfers), number of events.
 * Invariants: events over all rows = events seen. CPU time counts from the first context switch of a processor in the
 * file to the last event of the file; between two that do not fit together (a switch is missing) it counts as "(not
 * told)".
 * Threads: one. Ownership: zeros at first, finish. Not for: which unit a process is in (process_units.h). */
#ifndef AUTOLOGGER_CONSUMER_UNIT_TABLE_H
#define AUTOLOGGER_CONSUMER_UNIT_TABLE_H
#include "autologger/consumer/actors.h"
#include "autologger/consumer/process_units.h"

/* Rows that are no units come before the units. */
enum unit_row_kind { UNIT_ROW_NOT_TOLD, UNIT_ROW_KERNEL, UNIT_ROW_IDLE, UNIT_ROW_NAMES };
struct unit_row {
    const char *name; /* "(none)" for processes in no unit, "(kernel)", "(idle)", "(not told)"; borrowed */
    uint64_t    processes, cpu /* 100 ns */, read, written /* bytes */, events;
};
struct unit_cpu {
    uint32_t thread;
    uint64_t since; /* FILETIME of the last switch; 0: none yet */
};
struct unit_table {
    struct actors        actors;
    struct process_units units;
    struct unit_row     *row;
    unsigned             rows;
    struct unit_cpu     *cpu;
    unsigned             cpus;
    uint64_t             last;   /* FILETIME */
    bool                 failed; /* no memory */
};
void unit_table_see(struct unit_table *t, const struct etl_event *e, const struct decoded *names);
/* Once all events are seen: the rows that are not empty, most CPU time first; 0 rows when the trace has no unit. */
unsigned unit_table_end(struct unit_table *t, const struct unit_row **rows);
void     unit_table_finish(struct unit_table *t);
#endif
