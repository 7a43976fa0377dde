/* drain.h - from the perf rings into the raw log, with notes on facts that can be known only now, and the start's
 * rundown. A pass copies the records of each ring, finds the few that need a note (exec, exit, executable mapping),
 * reads /proc for them (and the BPF programs' copy of an exec, argv.h), and publishes all of it at once.
 * Invariants: D1 every record of a ring is counted exactly once, as drained or as lost for memory. D2 data_tail moves
 * only after the publication (L3 of klog.h). D3 own records never use the room that is kept for the end of a pass.
 * Threads: one for passes; drain_rundown may run in another, `lock` keeps them apart. Ownership: init ... finish; rings
 * and log are borrowed. Not for: converting. */
#ifndef AUTOLOGGER_KERNEL_DRAIN_H
#define AUTOLOGGER_KERNEL_DRAIN_H
#include "autologger/kernel/source/argv.h"
#include "autologger/kernel/source/counters.h"
#include "autologger/kernel/source/devices.h"
#include "autologger/kernel/source/procfs.h"
#include "autologger/kernel/source/rawrec.h"
#include "autologger/kernel/source/rings.h"

#include <pthread.h>

enum {
    PASS_RESERVE     = 4096,
    PENDING_EXECS    = 64,
    OWN_BUFFER       = 65536,
    HORIZON_SLACK_NS = 2000000,
    EXEC_WAIT_NS     = 1000000000,
    ARGV_WAIT_NS     = 20000000,
    IMAGE_WAIT_NS    = 1000000000,
    IMAGE_POLL_MS    = 5
};
struct drain_trigger {
    uint64_t pos;
    uint16_t cpu, source;
};
struct drain_exec {
    uint32_t pid, tid;
    uint64_t time;
}; /* `time` of its COMM record */
struct enrich_images;
struct own_buffer {
    uint8_t  data[OWN_BUFFER];
    size_t   used;
    unsigned records;
    bool     mark; /* may use the room that is kept for the end of a pass */
};
struct drain {
    struct rings        *rings;
    struct rawlog       *log;
    struct session_clock clock;
    uint32_t             profile_interval;
    uint64_t             hold_ns; /* upper bound of the horizon while a change is under way; 0: none */
    /* the start's walk of /proc is under way: while half of the log is free, the horizon waits for it, so that forks
     * find their parents' names */
    bool            walking;
    bool            hold;     /* the horizon stays at 0: later records may have earlier times (the kernel phase) */
    const uint64_t *function; /* addresses of kernel functions, rising, whose names the rundown looks up */
    unsigned        functions;
    int             proc;
    bool            has_exec;       /* the exec tracepoint is open */
    bool            wants_commands; /* the session has process events */
    /* the session needs facts of each exec: the command line, or whether the program has 32 bits */
    bool             wants_execs;
    bool             units;           /* the processes' cgroups too */
    struct argv     *argv;            /* NULL: only /proc is asked */
    int              devices_fd;      /* devices.h; -1: the session has no uevents */
    unsigned         devices_source;  /* index in the log's table */
    bool             devices_full;    /* the socket was full: messages are missing after those that it holds */
    bool             devices_adopted; /* taken from a dead predecessor: messages may be missing before the next one */
    pthread_mutex_t  lock;
    bool             wants_counters;           /* of processes */
    struct counters *counters;                 /* of exiting processes; NULL: not wanted, or not to be had */
    bool             wants_memory, wants_sets; /* memory.c */
    uint64_t         memory_next;              /* time of the next sample */
    struct drain_trigger *trigger;
    size_t                trigger_count, trigger_capacity;
    /* execs that have not finished. The horizon waits for each of them, at most EXEC_WAIT_NS; without the exec
     * tracepoint nothing reports their end: ARGV_WAIT_NS */
    struct drain_exec     pending[PENDING_EXECS];
    unsigned              pending_count;
    struct elf_cache     *elves; /* by build id; the rundown adds entries, with the lock held */
    struct enrich_images *images;
    struct own_buffer    *notes;
    char                 *text; /* command lines and paths */
};
enum { DRAIN_TEXT = 16384 };
/* Does a session of these flags need facts of each exec, even of a process that lives only briefly? */
bool drain_wants_execs(const struct klog_config *config);

wstatus drain_init(struct drain *d, struct rings *rings, struct rawlog *log, const struct klog_config *config,
                   struct reason *why);
void    drain_finish(struct drain *d);
/* From now on keeps the arguments of each exec (argv.h), if the session wants them; if that fails, a condition says
 * why. Separate from drain_init because it takes a third of the time of arming: until then only /proc is asked. */
void drain_commands(struct drain *d, const struct klog_config *config);
/* Sets what the flags ask of /proc and of the kernel beside perf. Called again when the flags change. */
void drain_wants(struct drain *d, const struct klog_config *config);
/* One pass; `last`: the sources are disabled, the horizon is the end of time. Returns the number of records taken. */
unsigned drain_pass(struct drain *d, bool last);
/* The start: facts of the system, processes, threads and images from one walk of /proc. */
void drain_rundown(struct drain *d);
void drain_mappings(struct drain *d); /* mappings of all processes, when a change adds them */
/* addresses of the kernel's softirq handlers; 0: not known */
void drain_handlers(struct drain *d, uint64_t softirq[RAW_SOFTIRQS]);
/* counters of all processes, before the mark of the stop; nothing where they are not wanted */
void drain_counters(struct drain *d);
void drain_mark(struct drain *d, uint32_t type); /* RAW_RUNDOWN_DONE, RAW_STOP */
/* The system configuration (sysconfig.h), after the last pass but one: no pass may come between its records. Events
 * that did not fit are counted. */
void drain_config(struct drain *d, const struct klog_config *config);

/* memory.c: samples /proc's memory figures twice a second where a session wants them, within a pass, with the lock
 * held; and the time until the next sample is due. */
void memory_init(struct drain *d, const struct klog_config *config);
void memory_sample(struct drain *d);
int  memory_timeout(const struct drain *d, int timeout_ms);

/* Within the folder (enrich.c) */
void     enrich_triggers(struct drain *d, bool last);
uint64_t enrich_horizon(const struct drain *d, uint64_t horizon); /* not beyond an exec whose note is still to come */
/* The note of a finished exec. `gone`: the process runs another program by now, so /proc does not help. */
void enrich_exec(struct drain *d, uint32_t pid, uint32_t tid, uint64_t time, bool gone, const char *file_name);
/* Within the folder (enrich_image.c): the ELF file of an executable mapping. The note comes with this pass when the
 * file is known, else with a later pass, after a helper's answer: enrich_images in each pass, after its records. */
bool     enrich_images_init(struct drain *d); /* false: no memory */
void     enrich_images_finish(struct drain *d);
void     enrich_image(struct drain *d, const uint8_t *record, size_t size, uint64_t time);
void     enrich_images(struct drain *d, bool last);
uint64_t enrich_images_horizon(const struct drain *d, uint64_t horizon);
/* how long the next pass may be delayed; with the lock held */
int  enrich_images_timeout(const struct drain *d, int timeout_ms);
void image_identity(struct raw_image *image, const uint8_t *id, unsigned size);
/* Within the folder (drain_loss.c): the losses of each CPU, with time and source, as records in the log; R1 holds for
 * the losses written. */
void loss_memory(struct rawlog *log, unsigned cpu, unsigned source, uint64_t count, uint64_t raw_ns);
/* as PERF_RECORD_LOST reports it */
void     loss_ring(struct rawlog *log, unsigned cpu, uint64_t from_ns, uint64_t to_ns);
void     loss_closed(struct drain *d, unsigned source); /* with the lock held: its perf events are about to go */
void     losses_tell(struct drain *d, bool last);
void     own_add(struct drain *d, struct own_buffer *b, const void *record, size_t size, const char *const *texts,
                 unsigned count);
void     own_flush(struct drain *d, struct own_buffer *b); /* with the lock held */
uint64_t raw_now(void);
#endif
