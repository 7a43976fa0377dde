/* traced.h - the state of the traced machine, by its kernel events: a state machine of processors, threads, processes,
 * open files and operations in flight. The base of every analysis that asks which process did something and for how
 * long: CPU time between two events, the state at a time, the tables of resources, the exports.
 * Invariants: the CPU times of all processes (idle included) and `unknown_cpu` add up to the time of all processors
 * from their first context switch to the end; time between two switches that do not match (one is missing) is
 * `unknown_cpu`. A reused process id is another process.
 * A file is open from an open that succeeded to the close of its descriptor, or to the end of the process that opened
 * it (descriptors that a child inherited are not followed).
 * Memory: grows with processes, threads, and open files and operations. Threads: one. Ownership: zeros at first,
 * finish.
 * Order: every event in the order of time. Not for: names of frames (symbols). */
#ifndef AUTOLOGGER_ANALYSIS_TRACED_H
#define AUTOLOGGER_ANALYSIS_TRACED_H
#include "autologger/analysis/fields.h"
#include "autologger/kernel/source/idmap.h"

#define TRACED_NOBODY UINT32_C(0xFFFFFFFF)

struct traced_process {
    uint32_t pid, parent;
    char    *image, *command; /* "": unknown */
    uint64_t started, ended;  /* FILETIME; started 0: before the trace; ended 0: it lives */
    uint64_t cpu, switches;   /* 100 ns */
    bool     seen;            /* by an event of its own, not only by one of a thread */
};
struct traced_thread {
    uint32_t               tid, pid;
    char                   name[64];
    bool                   ended;
    int                    cpu_index;   /* the processor that it runs on; -1: it does not run */
    uint64_t               since;       /* FILETIME: it runs, or waits, since then; 0: not known */
    uint64_t               cpu;         /* 100 ns; of a running thread up to `since` */
    uint64_t               waited;      /* 100 ns between its last switch-out and its last switch-in; 0: not known */
    int64_t                switched_in; /* raw time of its last switch-in */
    uint8_t                wait_reason, state; /* of its last switch-out */
    struct traced_process *process;            /* NULL: not known */
    unsigned               gaps;               /* switches to or from it that are missing */
};
struct traced_cpu {
    bool     known; /* a switch was seen */
    uint32_t tid;   /* TRACED_NOBODY: a switch is missing */
    uint64_t since;
};
enum traced_io_kind { IO_READ, IO_WRITE, IO_FLUSH };
struct traced_io { /* a disk request in flight */
    uint64_t            irp, since;
    uint32_t            tid, disk, bytes;
    enum traced_io_kind kind;
};
struct traced_file { /* an open file, or a name of one */
    uint64_t object;
    char    *path;
    bool     open;
    uint32_t tid, pid; /* that opened it */
    uint64_t opened;   /* FILETIME; 0: before the trace */
};
struct traced_operation { /* a file system call that has not returned */
    uint64_t irp, object, since;
    uint32_t tid, bytes;
    uint8_t  opcode;
};
struct traced {
    uint64_t                now;       /* FILETIME of the last event */
    struct idmap            processes; /* pid + 1 -> struct traced_process, the last one of the id */
    struct traced_process **process;   /* all, in order of appearance */
    unsigned                process_count, process_capacity;
    struct idmap            threads; /* tid + 1 -> struct traced_thread */
    struct traced_cpu      *cpu;
    unsigned                cpus;
    struct idmap            ios, files, operations; /* key + 1 */
    uint64_t                unknown_cpu, switches, missing_switches;
    struct fields           fields;
    bool                    failed; /* no memory */
};

void traced_see(struct traced *m, const struct etl_event *e, const struct decoded *names);
/* The thread of the event runs at its time. If the switches have another one there, the switch to it is missing: some
 * kernels withhold those away from idle. Not for every event: events about others (systemd-Units) have the time of what
 * they tell, but the thread of their writer. */
void                   traced_runs(struct traced *m, const struct etl_event *e);
struct traced_thread  *traced_thread(const struct traced *m, uint32_t tid); /* NULL: not known */
struct traced_process *traced_process(const struct traced *m, uint32_t pid);
/* The event's thread, by its header, else the thread that runs on its processor; TRACED_NOBODY. */
uint32_t traced_thread_of(const struct traced *m, const struct etl_event *e);
/* The event's process, by its header, else its thread's; TRACED_NOBODY. */
uint32_t traced_process_of(const struct traced *m, const struct etl_event *e);
/* CPU time of the thread until `at` (not before the last event); false: no switch of it was seen. */
bool        traced_cpu_time(const struct traced *m, uint32_t tid, uint64_t at, uint64_t *out);
const char *traced_process_name(const struct traced *m, uint32_t pid); /* "cat"; "(idle)"; "": unknown */
const char *traced_file_path(const struct traced *m, uint64_t object); /* NULL: unknown */
/* Lists the values of a map in no order, `most` at most; returns their number. */
unsigned traced_list(const struct idmap *map, void **out, unsigned most);
/* Charges running threads until `now`. Once, at the end. */
void traced_end(struct traced *m);
void traced_finish(struct traced *m);
#endif
