/* boot.h - the model of a boot: phases, units, processes and their waits, disks, lanes over time, stacks, marks. Read
 * from one .etl in one pass (images and names of functions are read once before). Times are ns since the kernel began,
 * by the clock of the file. Memory grows with distinct things (processes, units, stacks), not with events; lists of
 * single moments are bounded, and entries without room are counted in `left_out`.
 * Invariants: the sum of a process' states is at most threads x its life. A process has a row for each program that it
 * ran: a fork and its first exec are one row, a second exec begins another (`exec_of`).
 * Threads: one. Ownership: boot_read / boot_destroy; all pointers live as long as the boot.
 * Not for: what was slow (boot_path.h, boot_verdict.h), showing it (report). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_H
#define AUTOLOGGER_ANALYSIS_BOOT_H
#include "autologger/analysis/boot_lane.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>

enum boot_state {
#define S(name, word, about) BOOT_##name,
#include "autologger/analysis/boot_states.def"
#undef S
    BOOT_STATES
};
extern const char *const boot_state_words[BOOT_STATES];

enum { BOOT_NONE = -1, BOOT_WAKERS = 6, BOOT_IDLE_PID = 0, BOOT_SYSTEM_PID = 4 };

struct boot_waker {
    int      process; /* BOOT_NONE: an interrupt, or unknown */
    uint64_t times;
    int64_t  waited; /* ns of the waits it ended */
};
struct boot_process {
    uint32_t          pid, parent_pid;
    int               parent, exec_of, unit; /* index, or BOOT_NONE */
    char             *name, *command;        /* of the image file; all arguments */
    char             *label;                 /* display name: its program, or the script that it runs */
    int64_t           start, end;            /* end: that of the file if it still lives */
    bool              there, lives, execed;  /* existed before the file began; lives at its end; has called exec */
    int32_t           exit_status;
    int64_t           time[BOOT_STATES];
    uint64_t          read, written, switches;
    struct boot_waker waker[BOOT_WAKERS]; /* most waited for first */
};
struct boot_wait {                  /* of a thread, 1 ms or more */
    int             process, waker; /* waker: index or BOOT_NONE */
    uint32_t        thread;
    int64_t         start, end;
    enum boot_state state;
    int             stack; /* index or BOOT_NONE */
};
/* What a process of a slow-starting unit was seen waiting for, at one moment. */
enum boot_look_kind {
#define K(name, word) LOOK_##name,
#include "autologger/wire/wait_kinds.def"
#undef K
    LOOK_KINDS
};
extern const char *const boot_look_words[LOOK_KINDS];
struct boot_look {
    int                 unit;
    uint32_t            pid, holder; /* of a lock; 0: not known */
    int64_t             at;
    enum boot_look_kind kind;
    bool                guessed; /* the likeliest of several */
    char               *object;  /* "": none */
};
struct boot_unit {
    char    *name, *result, *state;                              /* Result, ActiveState at the end; may be NULL */
    char    *after;                                              /* names with blanks between them; NULL: unknown */
    int64_t  queued, activating, active, deactivating, inactive; /* first of each; 0: never, or unknown */
    int64_t  job_end, job_wait;                                  /* of the start job; ns */
    char    *job_result;                                         /* "done", "timeout" ...; NULL: unknown */
    bool     failed;
    uint32_t main_pid;
    uint64_t processes, read, written; /* sums over its processes */
    int64_t  time[BOOT_STATES];
};
struct boot_initcall {
    char   *name;
    int64_t start, length;
    int32_t result;
};
struct boot_module {
    char   *name;
    int64_t at;
};
struct boot_probe { /* a driver's probe of a device */
    char    *device, *driver, *bus;
    int      process;
    uint32_t thread;
    int64_t  start, end; /* end: that of the file if `open` */
    int32_t  result;     /* 0: the driver took the device; else an errno, with or without its sign */
    bool     open;       /* not finished when the file ended */
    bool     unknown;    /* its result is lost */
    int      outer;      /* the enclosing probe of the same thread; BOOT_NONE */
};
/* why a device's probe was deferred; supplier "": not because of a device */
struct boot_deferral {
    char   *device, *reason, *supplier;
    int64_t at;
};
struct boot_firmware {
    char    *name, *device;
    uint32_t thread;
    int64_t  start, end;
    int32_t  result;
};
struct boot_text { /* a mark, a line of the kernel's log, an event of a program */
    int64_t at;
    int     process;
    char   *provider, *text; /* provider NULL: the kernel's log */
};
struct boot_disk {
    uint32_t number;
    uint64_t reads, writes, read, written;
    int64_t  busy, waited, longest; /* time with a request in flight; sum over all requests; longest request */
};
struct boot_image {
    char *path, *build_id; /* build_id "": unknown */
};
struct boot_memory {
    int64_t  at;
    uint64_t total, available;
};

struct boot_stack { /* innermost frame first */
    const int *frame;
    unsigned   count, named; /* frames; those with a name */
    int        state;        /* enum boot_state by its frames, or -1 */
};
/* Weight of a stack in a bin of time: the number of samples on a processor, or ns waited. */
struct boot_cell {
    int      stack, process;
    unsigned bin;
    bool     waiting;
    double   weight;
};

/* Time that a process ran, or was ready, in a bin of time (boot_run.h). */
struct boot_run {
    int      process;
    unsigned bin;
    int64_t  running, ready;
};

enum boot_lane_kind { BOOT_LANE_CPU, BOOT_LANE_QUEUE, BOOT_LANE_READ, BOOT_LANE_WRITE, BOOT_LANE_DISK, BOOT_LANES };

struct boot_trust {
    uint64_t    events, lost, buffers_lost, damaged, undecoded;
    uint64_t    stacks_complete, stacks_cut, stacks_unknown, stacks_missing;
    uint64_t    frames, frames_named;  /* of the stacks of waits and samples */
    const char *clock;                 /* "TSC", ... in words */
    uint64_t    clock_error_ns;        /* of the kernel phase; 0: none */
    int64_t     own_cpu, own_cpu_boot; /* ns that autologger's own processes ran: in all, and until the boot was done */
    char        first_loss[96];        /* when and where, or "" */
};
struct boot_phase {
    const char *name;
    int64_t     start, end;
};
enum { BOOT_PHASES_MOST = 24 };

struct boot {
    char *boot_id, *release, *command_line, *session;
    /* not of a boot: times count from the session's start, there is one phase, and `finish` is the end of the file */
    bool                  live;
    uint64_t              began;       /* FILETIME of the time 0 */
    int64_t               first, last; /* of the file's events */
    unsigned              cpus;
    int64_t               firmware, loader; /* lengths in ns, before the time 0; 0: unknown */
    struct boot_process  *process;
    struct boot_unit     *unit;
    struct boot_look     *look;
    struct boot_wait     *wait; /* by end */
    struct boot_initcall *initcall;
    struct boot_module   *module;
    struct boot_probe    *probe;
    struct boot_deferral *deferral;
    struct boot_firmware *firmware_request;
    struct boot_text     *text;
    struct boot_disk     *disk;
    struct boot_memory   *memory;
    struct boot_image    *image; /* files that programs ran; none with no_stacks */
    unsigned processes, units, looks, waits, initcalls, modules, probes, deferrals, firmware_requests, texts, disks,
        memories, images;
    int64_t            wait_least; /* shorter waits are not in `wait` */
    uint64_t           left_out;
    struct boot_lane   lane[BOOT_LANES];
    char             **frame;
    struct boot_stack *stack;
    struct boot_cell  *cell;
    unsigned           frames, stacks, cells;
    int64_t            cell_width; /* ns of a bin of the cells */
    struct boot_run   *run;
    unsigned           runs;
    int64_t            run_width;                  /* ns of a bin of the runs */
    bool               samples, wakeups, switches; /* the file has such events */
    int64_t            seen_from; /* the first context switch: running and waiting are not known before it */
    int64_t            initrd, init, user, root, finish, settled; /* moments; 0: unknown (`phase` has the known ones) */
    bool               by_systemd;                                /* user and finish are systemd's own */
    /* systemd's initrd, user space and finish, by its own clock, which is adjusted while it runs */
    int64_t           systemd[3];
    struct boot_phase phase[BOOT_PHASES_MOST];
    unsigned          phases;
    struct boot_trust trust;
};

struct schema_set;
struct boot_options {
    bool               no_stacks; /* names of functions are not looked up: faster, for comparisons */
    const char *const *folders;   /* of files and symbols */
    unsigned           folder_count;
    void (*progress)(void *ctx, double done); /* 0 to 1; may be NULL */
    void *progress_ctx;
    /* borrowed: descriptions of events, installed manifests included; NULL: only self-describing events */
    struct schema_set *schemas;
};
wstatus boot_read(const char *path, const struct boot_options *options, struct boot **out, struct reason *why);
void    boot_destroy(struct boot *b); /* NULL is fine */

/* Length of the unit's start: from activating to active, or to its failure; 0: unknown. */
int64_t boot_unit_length(const struct boot_unit *u);
/* When the unit's start was over: active, or failed, or the job's end; 0: unknown. */
int64_t boot_unit_done(const struct boot_unit *u);
int     boot_unit_find(const struct boot *b, const char *name);
/* True if the process, or a process that started it, is `ancestor`. */
bool boot_is_below(const struct boot *b, int process, int ancestor);
#endif
