/* drain.h - from the perf rings into the raw log, with notes on what only now can be known, and the start's rundown. A
 * pass copies what each ring holds, looks at the few records that deserve a note (exec, exit, executable mapping),
 * reads /proc for them (and what a BPF program kept of an exec, argv.h), and publishes all of it at once.
 * Invariants: D1 every record of a ring is counted exactly once, as drained or as lost for memory. D2 data_tail moves
 * only after the publication (L3 of klog.h). D3 own records never push out room for the end of a pass.
 * Threads: passes one; drain_rundown may run in another, `lock` keeps them apart. Ownership: init ... finish; rings and
 * log are borrowed. Not for: converting. */
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
    bool     mark; /* may use the room that is kept for the end */
};
struct drain {
    struct rings        *rings;
    struct rawlog       *log;
    struct session_clock clock;
    uint32_t             profile_interval;
    uint64_t             hold_ns; /* the horizon goes no further; 0: no such bound. While a change is under way */
    /* the start's walk of /proc: the horizon waits for it, while half of the log is free, so that forks find their
     * parents' names */
    bool            walking;
    bool            hold;     /* the horizon stays at 0: what comes later may have earlier times (the kernel phase) */
    const uint64_t *function; /* kernel functions whose names the rundown finds, in rising order */
    unsigned        functions;
    int             proc;
    bool            has_exec;       /* the exec tracepoint is open */
    bool            wants_commands; /* processes are events of this session */
    /* what an exec made of a process is asked for: its command line, or whether it is one of 32 bits */
    bool                  wants_execs;
    bool                  units;           /* their cgroups too */
    struct argv          *argv;            /* NULL: /proc alone */
    int                   devices_fd;      /* devices.h; -1: not asked for */
    unsigned              devices_source;  /* its index in the log's table */
    bool                  devices_full;    /* the socket was: messages are missing behind those that it holds */
    bool                  devices_adopted; /* from one that died: perhaps messages are missing before the next one */
    pthread_mutex_t       lock;
    bool                  wants_counters;           /* of processes */
    struct counters      *counters;                 /* of those that exit; NULL: not wanted, or they can't be had */
    bool                  wants_memory, wants_sets; /* memory.c */
    uint64_t              memory_next;              /* when it is looked at again */
    struct drain_trigger *trigger;
    size_t                trigger_count, trigger_capacity;
    /* execs that have not finished: the horizon waits for them, and they for EXEC_WAIT_NS at most; without the exec
     * tracepoint nothing says that they have: ARGV_WAIT_NS */
    struct drain_exec     pending[PENDING_EXECS];
    unsigned              pending_count;
    struct elf_cache     *elves; /* by build id; the rundown adds to it, with the lock held */
    struct enrich_images *images;
    struct own_buffer    *notes;
    char                 *text; /* command lines and paths */
};
enum { DRAIN_TEXT = 16384 };
/* Does a session of these flags want to know what each exec made of a process, however short that lives? */
bool drain_wants_execs(const struct klog_config *config);

wstatus drain_init(struct drain *d, struct rings *rings, struct rawlog *log, const struct klog_config *config,
                   struct reason *why);
void    drain_finish(struct drain *d);
/* Keeps the arguments of each exec from now on (argv.h), if the session wants them; a condition says when they can't be
 * had. Apart from drain_init because it takes a third of the time of arming: until then /proc alone tells. */
void drain_commands(struct drain *d, const struct klog_config *config);
/* What the flags ask of /proc and of the kernel beside perf: again after they have changed. */
void drain_wants(struct drain *d, const struct klog_config *config);
/* One pass; `last`: the sources are disabled, the horizon is the end of time. Returns the records taken. */
unsigned drain_pass(struct drain *d, bool last);
/* The start: system facts, processes, threads and images from one walk of /proc. */
void drain_rundown(struct drain *d);
void drain_mappings(struct drain *d); /* those of all processes, when they are wanted from now on */
/* addresses of the kernel's handlers of softirqs; 0: not known */
void drain_handlers(struct drain *d, uint64_t softirq[RAW_SOFTIRQS]);
/* of all processes, before the mark of the stop; nothing where they are not wanted */
void drain_counters(struct drain *d);
void drain_mark(struct drain *d, uint32_t type); /* RAW_RUNDOWN_DONE, RAW_STOP */
/* The system configuration (sysconfig.h), after the last pass but one: no pass may come between its records. What did
 * not fit is counted. */
void drain_config(struct drain *d, const struct klog_config *config);

/* Twice a second what /proc says about memory (memory.c), where a session wants it: within a pass, with the lock held;
 * and how long may be waited until it is due. */
void memory_init(struct drain *d, const struct klog_config *config);
void memory_sample(struct drain *d);
int  memory_timeout(const struct drain *d, int timeout_ms);

/* Within the folder (enrich.c) */
void     enrich_triggers(struct drain *d, bool last);
uint64_t enrich_horizon(const struct drain *d, uint64_t horizon); /* not beyond an exec whose note is still to come */
/* The note of an exec that is over: `gone`: the program is another by now, /proc tells nothing of it. */
void enrich_exec(struct drain *d, uint32_t pid, uint32_t tid, uint64_t time, bool gone, const char *file_name);
/* Within the folder (enrich_image.c): the ELF behind an executable mapping. Its note comes with this pass where the
 * file is known, else with a later one, once a helper has answered: enrich_images in each pass, after its records. */
bool     enrich_images_init(struct drain *d); /* false: no memory */
void     enrich_images_finish(struct drain *d);
void     enrich_image(struct drain *d, const uint8_t *record, size_t size, uint64_t time);
void     enrich_images(struct drain *d, bool last);
uint64_t enrich_images_horizon(const struct drain *d, uint64_t horizon);
/* how long a pass may be waited for, with the lock held */
int  enrich_images_timeout(const struct drain *d, int timeout_ms);
void image_identity(struct raw_image *image, const uint8_t *id, unsigned size);
/* Within the folder (drain_loss.c): what is lost on each CPU, when, of which source, as records in the log; R1 holds
 * for what was told. */
void loss_memory(struct rawlog *log, unsigned cpu, unsigned source, uint64_t count, uint64_t raw_ns);
/* as a record PERF_RECORD_LOST tells */
void     loss_ring(struct rawlog *log, unsigned cpu, uint64_t from_ns, uint64_t to_ns);
void     loss_closed(struct drain *d, unsigned source); /* with the lock held: its perf events are about to go */
void     losses_tell(struct drain *d, bool last);
void     own_add(struct drain *d, struct own_buffer *b, const void *record, size_t size, const char *const *texts,
                 unsigned count);
void     own_flush(struct drain *d, struct own_buffer *b); /* with the lock held */
uint64_t raw_now(void);
#endif
