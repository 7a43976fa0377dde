/* convert.h - raw records to ETL records: order over CPUs, the state of threads and processes, one queue per CPU. Reads
 * the raw log only (L2 of klog.h), so it runs the same on recorded bytes.
 * Invariants
 *   V1 within a CPU's queue times rise strictly (L5): a time already used is moved on by ticks.
 *   V2 a record beyond the published horizon is not touched; a late record gets the time already reached.
 *   V3 a raw record counts once: converted (an event, or state by design) or lost in conversion (damaged).
 * Threads: one (the logger). Ownership: init ... finish; log and configuration are borrowed.
 * Not for: reading /proc. */
#ifndef AUTOLOGGER_KERNEL_CONVERT_H
#define AUTOLOGGER_KERNEL_CONVERT_H
#include "autologger/kernel/klog.h"
#include "autologger/kernel/source/idmap.h"
#include "autologger/kernel/source/rawlog.h"
#include "autologger/kernel/source/rawrec.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/wire/hooks.h"
#include "registry-sim/win32/guid.h"

enum { CONVERT_DISKS = 1024, STACK_FRAMES = 192, QUEUE_LIMIT = 4 << 20 };

struct image_name { /* shared by every process that maps the file */
    uint32_t references;
    uint32_t size; /* NUL included */
    char     text[];
};
struct image {
    struct image      *next;
    struct image_name *name;
    uint64_t           base, size, default_base;
    uint32_t           stamp, checksum;
    uint8_t            build_id_size, build_id[20];
};
struct kernel_process {
    uint32_t       pid, ppid, session, uid, flags; /* RAW_PROCESS_* */
    int32_t        exit_status;
    uint64_t       key, rundown_time;
    char          *name, *command; /* never NULL */
    struct image  *images;
    bool           images_shown; /* false: inherited by fork, not written yet */
    uint32_t       thread_count;
    struct thread *threads;
};
struct thread {
    uint32_t               tid;
    int32_t                prio;
    bool                   dead;
    struct kernel_process *process;
    struct thread         *next, *prev; /* of the process */
    uint64_t               affinity;
    uint64_t              *chain; /* stack where it blocked: the stack of its next switch-in */
    uint16_t               chain_count, chain_capacity;
    char                   name[16];
};
struct disk_request {
    struct disk_request *next_free;
    uint64_t             time, irp, start_sector;
    uint64_t             file;                           /* key of its file; 0: not known */
    uint32_t             dev, tid, sectors, done, flags; /* IRP flags */
    bool                 issued, flush, requeued; /* requeued: the device refused it, and it will be issued again */
};

struct stream_entry {
    uint64_t time, pos, chunk;
};                  /* position of the record, and of its chunk */
struct raw_stream { /* records of one CPU (or own records), by time */
    struct stream_entry *entry;
    size_t               head, count, capacity;
};
enum { BLOCK_BYTES = 128 << 10 };
struct queue_block { /* records never move: a peeked record keeps its address */
    struct queue_block *next;
    size_t              head, tail;
    uint8_t             data[BLOCK_BYTES];
};
struct queue { /* ETL records of one CPU */
    struct queue_block *first, *last_block;
    uint64_t            last;     /* V1 */
    uint64_t            suppress; /* of an adopter: the predecessor wrote all events up to this time */
};
struct cpu_state {
    uint64_t softirq[RAW_SOFTIRQS]; /* start, 0 = not open */
    uint32_t open_softirqs;
    uint64_t irq_since, clock_since, ipi_since; /* start of the interrupt being handled; 0: none */
    uint64_t tasklet, tasklet_since;            /* function */
    uint8_t  idle_state;                        /* the last state that this CPU left */
    uint8_t  tasklets;                          /* bit: vectors whose work was written tasklet by tasklet */
    uint8_t  reserved[6];
};

struct sink;
struct cursor;
struct convert;
#define PART(noun) \
    struct part_##noun; \
    void part_##noun##_finish(struct convert *c); \
    void part_##noun##_put(const struct convert *c, struct sink *s); \
    bool part_##noun##_get(struct convert *c, struct cursor *cur);
#include "autologger/kernel/convert/parts.def"
#undef PART

struct convert {
    const struct klog_config *config;
    struct rawlog            *log;
    unsigned                  cpus;
    uint32_t                  mask[GROUP_MASK_WORDS]; /* in force at the record being converted */
    bool                      processes, threads, images, profile, dpc, dpc_queue, disk, disk_init, sysconfig;
    bool                      vamap, faults, hard_faults, process_counters;
    bool                      alone; /* no kernel flags: a session of programs with tracepoints, without a rundown */
    uint8_t                   hook[8192]; /* bit set: stack wanted */
    struct clockmap           map;
    uint64_t                  read_pos;
    uint64_t                  chunk_pos; /* of the chunk being loaded */
    uint64_t                  horizon;   /* of the loaded records, raw ns */
    uint64_t                  frontier;  /* raw ns: everything before it is converted */
    struct raw_stream        *stream;    /* cpus + 1: the last has own records */
    struct queue             *queue;
    size_t                    queued; /* bytes in all queues */
    struct cpu_state         *cpu;
    struct idmap              thread, process, request, note;
    struct idmap              initcall; /* task and function -> time of its beginning */
    struct idmap              irq;      /* numbers whose names were written */
    struct kernel_process    *system, *idle;
    struct disk_request      *free_requests;
    struct queue_block       *free_blocks;
    uint64_t                  next_key, next_irp;
    uint32_t                  disk_dev[CONVERT_DISKS]; /* DiskNumber = index */
    unsigned                  disk_count;
    uint64_t                  softirq_routine[RAW_SOFTIRQS];
    uint32_t                  profile_interval;
#define PART(noun) struct part_##noun *noun;
#include "autologger/kernel/convert/parts.def"
#undef PART
    uint8_t *scratch; /* one payload */
    /* belongs to the stack that is written next: of the current sample, but see convert_switch; NULL: none */
    const struct user_copy *copy;
    uint64_t                replay_end,
        replay_horizon;   /* of an adopter: records before this position up to this time were converted already */
    bool     losses_told; /* losses_end has run */
    bool     damaged;     /* a chunk was damaged: records not loaded are lost */
    uint64_t loaded;      /* event records seen in the log */
    uint64_t converted, lost, events, stacks, stacks_missing, copied, late;
    uint64_t unnoted; /* execs without a note of the drainer: no command line */
};
enum { SCRATCH = 65536 };

wstatus convert_init(struct convert *c, const struct klog_config *config, struct rawlog *log, struct reason *why);
void    convert_finish(struct convert *c);
/* Converts until a queue of `cpu` has something, the horizon is reached or enough is queued. */
void convert_run(struct convert *c, unsigned cpu);
bool convert_peek(struct convert *c, unsigned cpu, struct klog_record *out);
void convert_pop(struct convert *c, unsigned cpu);
/* For an adopter: all events up to this time are in the file. */
void     convert_suppress(struct convert *c, unsigned cpu, uint64_t time);
uint64_t convert_horizon(const struct convert *c);
uint64_t convert_time(const struct convert *c, uint64_t raw_ns);
/* The lowest raw position still needed. */
uint64_t convert_needed(const struct convert *c);

struct user_copy {            /* see wire/stack_copy.h; unaligned */
    const uint8_t *registers; /* NULL: there is none */
    const uint8_t *stack;     /* from the stack pointer on */
    uint32_t       size;
};
/* Within the folder. A parsed sample; all pointers are inside the record. */
struct sample {
    unsigned                 cpu;
    const struct raw_source *source;
    uint64_t                 time, ip, address; /* address: only of sources that have one */
    uint32_t                 pid, tid;
    const uint8_t           *chain; /* unaligned */
    uint64_t                 chain_count;
    const uint8_t           *raw;
    uint32_t                 raw_size;
    struct user_copy         copy;   /* of the program's stack */
    uint64_t                 cgroup; /* of the task; 0: not known */
};
static inline int64_t sample_field(const struct sample *s, unsigned field)
{
    return raw_field_value(&s->source->field[field], s->raw, s->raw_size);
}

void queue_finish(struct queue *q);
/* emit.c: events into queues. `*time`: in, the wanted time; out, the time given. */
struct actor { /* a thread on a CPU: the cause or the owner of an event */
    unsigned cpu;
    uint32_t pid, tid;
};
struct event { /* the fields common to all events */
    unsigned cpu;
    uint16_t hook;
    uint8_t  header_type, version;
    uint32_t pid, tid;
};
uint8_t *emit_reserve(struct convert *c, const struct event *e, uint64_t *time, size_t payload);
void     emit(struct convert *c, const struct event *e, uint64_t *time, const void *payload, size_t size);
/* The stack of thread `of`, for the event at `trigger` on its CPU. */
void stack_write(struct convert *c, const struct actor *of, uint16_t hook, uint64_t trigger, const uint64_t *frames,
                 unsigned n, uint64_t time);
void emit_stack(struct convert *c, const struct actor *of, uint64_t trigger, const uint8_t *chain, uint64_t count);
/* A self-describing event: provider traits and schema as in TraceLogging (both with their size first). */
struct described {
    const uint8_t *traits, *schema;
    struct guid    provider;
    const uint8_t *chain; /* its call stack, unaligned; becomes an extended item of the event */
    unsigned       chain_count;
};
void emit_described(struct convert *c, const struct actor *by, const struct described *d, uint64_t *time,
                    const void *payload, size_t size);
/* An event of the class SystemConfigEx. */
void               emit_system_ex(struct convert *c, uint8_t opcode, uint64_t *time, const void *payload, size_t size);
void               emit_volume_mapping(struct convert *c, uint64_t *time);
static inline bool stack_wanted(const struct convert *c, uint16_t hook)
{
    return c->hook[hook >> 3] & (1u << (hook & 7));
}

/* state.c */
struct thread         *thread_get(struct convert *c, uint32_t tid);
struct thread         *thread_add(struct convert *c, struct kernel_process *p, uint32_t tid, const char *name);
void                   thread_remove(struct convert *c, struct thread *t);
struct kernel_process *process_get(struct convert *c, uint32_t pid);
struct kernel_process *process_add(struct convert *c, uint32_t pid);
void                   process_remove(struct convert *c, struct kernel_process *p); /* threads and images too */
void                   process_text(char **text, const char *value);
struct image          *image_add(struct kernel_process *p, const struct image *like, const char *name,
                                 struct image_name *shared);
void                   images_drop(struct kernel_process *p);
bool                   images_inherit(struct kernel_process *child, const struct kernel_process *parent);

/* convert_process.c */
void convert_fork(struct convert *c, unsigned cpu, const uint8_t *record, size_t size, uint64_t raw);
void convert_exit(struct convert *c, unsigned cpu, const uint8_t *record, size_t size, uint64_t raw);
void convert_comm(struct convert *c, unsigned cpu, const uint8_t *record, size_t size, uint64_t raw);
void convert_mmap(struct convert *c, unsigned cpu, const uint8_t *record, size_t size, uint64_t raw);
void convert_own(struct convert *c, const uint8_t *record, size_t size, uint64_t raw);
void images_show(struct convert *c, unsigned cpu, struct kernel_process *p, uint64_t *time);
/* A process (RAW_PROCESS, its pid) or a thread (RAW_THREAD, its tid) from the start's walk of /proc, whose record is
 * still to come. NULL: none. foretold_came removes it when the record has come. */
const uint8_t *foretold(const struct convert *c, uint32_t type, uint32_t id, size_t least);
void           foretold_came(struct convert *c, uint32_t type, uint32_t id);
/* The note of a record: note_take removes it (its memory may be reused), note_find does not. NULL: there is none. */
const uint8_t *note_find(struct convert *c, uint32_t type, uint32_t pid, uint64_t time, size_t least);
void           thread_rename(struct convert *c, unsigned cpu, struct thread *t, const char *name, uint64_t raw);
const uint8_t *note_take(struct convert *c, uint32_t type, uint32_t pid, uint64_t time, size_t least);
/* convert_change.c: the flags and hooks change while events arrive */
void convert_terms(struct convert *c, const uint32_t *mask, const uint16_t *hooks, unsigned hook_count);
void own_change(struct convert *c, const uint8_t *record, size_t size);
void own_terms(struct convert *c, const uint8_t *record, size_t size, uint64_t raw);
bool change_absorbs(const struct convert *c, const struct sample *s); /* its counterpart recorded this sample, too */
/* convert_rundown.c */
void rundown_more(struct convert *c, const uint32_t before[GROUP_MASK_WORDS],
                  uint64_t *time); /* of classes wanted since then */
void rundown_start(struct convert *c, const uint8_t *record, size_t size, uint64_t raw);
void rundown_done(struct convert *c, uint64_t raw);
void rundown_stop(struct convert *c, uint64_t raw);
struct writer;
void wr_path(struct writer *w, const char *path); /* in Windows' form: below a volume, with backslashes, in UTF-16 */
void process_event(struct convert *c, const struct actor *by, const struct kernel_process *p, uint16_t hook,
                   uint64_t *time);
void thread_event(struct convert *c, const struct actor *by, const struct thread *t, uint16_t hook, uint64_t *time);
void image_event(struct convert *c, const struct actor *by, const struct kernel_process *p, const struct image *i,
                 uint16_t hook, uint64_t *time);
/* convert_identity.c: the file of an image, and the boot; see wire/names.h */
void identity_event(struct convert *c, const struct actor *by, const struct image *i, uint64_t *time);
void identity_set(struct image *i, const void *id, size_t size);
void boot_event(struct convert *c, const struct raw_system *s, uint64_t *time);
/* convert_sched.c, convert_disk.c */
void convert_switch(struct convert *c, const struct sample *s);
void convert_waking(struct convert *c, const struct sample *s);
void convert_clock(struct convert *c, const struct sample *s);
void convert_softirq_entry(struct convert *c, const struct sample *s);
void convert_softirq_exit(struct convert *c, const struct sample *s);
void convert_inserted(struct convert *c, const struct sample *s);
void convert_issued(struct convert *c, const struct sample *s);
void convert_requeued(struct convert *c, const struct sample *s);
void convert_complete(struct convert *c, const struct sample *s);
/* convert_net.c */
void convert_socket_state(struct convert *c, const struct sample *s);
void convert_sent(struct convert *c, const struct sample *s);
void convert_received(struct convert *c, const struct sample *s);
void convert_retransmit(struct convert *c, const struct sample *s);
void convert_udp_ends(struct convert *c, const struct sample *s);
void net_gap(struct convert *c); /* records are missing: kept datagrams' ends no longer belong to later events */
void convert_priority(struct convert *c, const struct sample *s);
void convert_pmc(struct convert *c, const struct sample *s);
/* convert_irq.c */
void convert_softirq_raise(struct convert *c, const struct sample *s);
void convert_tasklet_entry(struct convert *c, const struct sample *s);
void convert_tasklet_exit(struct convert *c, const struct sample *s);
void convert_irq_entry(struct convert *c, const struct sample *s);
void convert_irq_exit(struct convert *c, const struct sample *s);
void convert_clock_entry(struct convert *c, const struct sample *s);
void convert_clock_exit(struct convert *c, const struct sample *s);
void convert_ipi_send(struct convert *c, const struct sample *s);
void convert_ipi_entry(struct convert *c, const struct sample *s);
void convert_ipi_exit(struct convert *c, const struct sample *s);
/* convert_power.c: timers, idle states, frequencies, sleep, the kernel's log */
void     convert_timer(struct convert *c, const struct sample *s);
void     convert_cpu_idle(struct convert *c, const struct sample *s);
void     convert_cpu_frequency(struct convert *c, const struct sample *s);
void     convert_suspend(struct convert *c, const struct sample *s);
void     convert_log_line(struct convert *c, const struct sample *s);
uint32_t disk_number(struct convert *c, uint32_t dev); /* as used in the session's events */
/* convert_filename.c */
void        file_name_keep(struct convert *c, uint64_t key, const char *path); /* for later use */
void        file_name_tell(struct convert *c, unsigned cpu, uint64_t key,
                           uint64_t *time);                        /* before an event that uses the key */
const char *file_name_text(const struct convert *c, uint64_t key); /* NULL: not known */
/* the file no longer has this name */
void file_name_forget(struct convert *c, unsigned cpu, uint64_t key, uint64_t *time);
void file_names_stop(struct convert *c, uint64_t *time);
/* convert_map.c */
enum {
    MAPPING_SHOWN  = 1,
    MAPPING_SHARED = 2,
    MAPPING_EXEC   = 4,
    MAPPING_ZEROS  = 8 /* memory, although the kernel has a file for it */
};
struct mapping { /* of a file */
    uint64_t start, end, offset, key;
    uint32_t flags, pad;
};
const struct mapping *mapping_find(const struct convert *c, uint32_t pid, uint64_t address); /* NULL: none of a file */
/* is any file mapped in this range? */
bool mapping_between(const struct convert *c, uint32_t pid, uint64_t start, uint64_t end);
void convert_mapping(struct convert *c, unsigned cpu, const uint8_t *record, size_t size, uint64_t raw);
void own_mapping(struct convert *c, const uint8_t *record, size_t size, uint64_t raw);
void convert_munmap_enter(struct convert *c, const struct sample *s);
void convert_munmap_exit(struct convert *c, const struct sample *s);
void mappings_fork(struct convert *c, uint32_t child, uint32_t parent);
void mappings_end(struct convert *c, const struct actor *by, uint64_t *time); /* the process has no mappings any more */
void mappings_stop(struct convert *c, uint32_t pid, uint64_t *time);
void mappings_drop(struct convert *c, uint32_t pid);
/* convert_fault.c */
void convert_fault_begin(struct convert *c, const struct sample *s);
void convert_fault_minor(struct convert *c, const struct sample *s);
void convert_fault_major(struct convert *c, const struct sample *s);
void convert_fault_signal(struct convert *c, const struct sample *s);
void convert_file_fault(struct convert *c, const struct sample *s);
void fault_thread_gone(struct convert *c, uint32_t tid);
/* convert_memory.c */
void own_memory(struct convert *c, const uint8_t *record, size_t size, uint64_t raw);
void own_sets(struct convert *c, const uint8_t *record, size_t size, uint64_t raw);
void memory_process_gone(struct convert *c, uint32_t pid);
/* convert_split.c */
uint64_t disk_irp(struct convert *c); /* a new one (convert_disk.c) */
uint64_t split_take(struct convert *c, uint32_t tid, uint32_t dev,
                    uint64_t sector); /* 0: not a part of another request */
void     convert_split(struct convert *c, const struct sample *s);
void     convert_remap(struct convert *c, const struct sample *s);
/* convert_counters.c */
void counters_begin(struct convert *c, uint32_t pid);
void counters_exit(struct convert *c, uint32_t pid, uint64_t raw); /* one of its threads */
void counters_end(struct convert *c, unsigned cpu, uint32_t pid, uint64_t *time);
void counters_stop(struct convert *c, uint32_t pid, uint64_t *time);
void own_counters(struct convert *c, const uint8_t *record, size_t size);
/* convert_file.c */
void convert_file_enter(struct convert *c, const struct sample *s);
void convert_file_exit(struct convert *c, const struct sample *s);
/* key of the file that the thread is reading, writing or syncing; 0: none */
uint64_t file_in_call(const struct convert *c, uint32_t tid);
/* convert_syscall.c */
void     convert_sys_enter(struct convert *c, const struct sample *s);
void     convert_sys_exit(struct convert *c, const struct sample *s);
uint32_t ntstatus_of(int64_t result); /* of a system call: 0 and above is success, else -errno */
/* convert_copy.c: records written field by field */
void convert_copied(struct convert *c, const struct sample *s);
/* convert_span.c: locks, work of the kernel's queues, debuggers */
void convert_lock_begin(struct convert *c, const struct sample *s);
void convert_lock_end(struct convert *c, const struct sample *s);
void convert_work_start(struct convert *c, const struct sample *s);
void convert_work_end(struct convert *c, const struct sample *s);
void convert_ptrace_enter(struct convert *c, const struct sample *s);
void convert_ptrace_exit(struct convert *c, const struct sample *s);
/* convert_tracepoint.c */
bool tracepoint_learn(struct convert *c, const uint8_t *record, size_t size);
void convert_tracepoint(struct convert *c, const struct sample *s);
/* convert_boot.c: self-describing events of what only the kernel phase has */
void convert_initcall(struct convert *c, const struct sample *s);
void convert_module(struct convert *c, const struct sample *s);
/* convert_device.c; false: the record is damaged */
/* 1: an event that the drainer counted; 0: a report of missing ones */
unsigned device_counts(const uint8_t *record, size_t size);
bool     convert_device(struct convert *c, const uint8_t *record, size_t size, uint64_t raw);
void     convert_module_free(struct convert *c, const struct sample *s);
/* convert_probe.c: drivers that take devices, and requests for firmware */
void convert_probe(struct convert *c, const struct sample *s);
void convert_deferred(struct convert *c, const struct sample *s);
/* convert_loss.c: losses as own events in the file, and times in which perf throttled a source */
void convert_lost(struct convert *c, const uint8_t *record, size_t size, uint64_t raw);
void convert_throttle(struct convert *c, unsigned cpu, const uint8_t *record, bool begins, uint64_t raw);
/* Counts records that cannot be converted (V3); source NULL: not known. */
void loss_converting(struct convert *c, unsigned cpu, const struct raw_source *source, uint64_t count);
bool losses_flush(struct convert *c); /* writes their events; false: there are none */
/* after all is converted: the losses not reported otherwise; false: reported already, or records are still to come */
bool losses_end(struct convert *c);
/* convert_config.c: the system configuration, as collected */
void convert_config(struct convert *c, const uint8_t *record, size_t size, uint64_t raw);
void convert_phase(struct convert *c, const uint8_t *record, size_t size, uint64_t raw);
/* convert_ustack.c: copies of programs' stacks */
void copy_emit(struct convert *c, const struct actor *of, uint64_t trigger, const struct user_copy *copy);
/* until the thread runs again; NULL: no copy */
void                    copy_keep(struct convert *c, uint32_t tid, const struct user_copy *copy);
const struct user_copy *copy_kept(struct convert *c, uint32_t tid); /* NULL: none */
void                    copy_drop(struct convert *c, uint32_t tid);
/* convert_stacks.c: if klog_config.stack_cache_bytes is set */
void stack_keyed(struct convert *c, const struct actor *of, uint64_t trigger, const uint64_t *frame, unsigned n);
void stacks_rundown(struct convert *c); /* once, after all other events */
/* klog_stack_keys, klog_stack_keys_end */
void convert_stack_keys(const struct convert *c, uint64_t time, void (*show)(void *ctx, const struct klog_record *r),
                        void *ctx);
void convert_stack_keys_end(struct convert *c);
/* convert_cgroups.c */
void convert_executed(struct convert *c, const struct sample *s);
void convert_cgroup_made(struct convert *c, const struct sample *s);
void convert_cgroup_moved(struct convert *c, const struct sample *s);
void cgroup_inherit(struct convert *c, uint32_t child, uint32_t parent);
void cgroup_end(struct convert *c, const struct actor *by, const struct kernel_process *p, bool gone, uint64_t *time);
void own_cgroup(struct convert *c, const uint8_t *record, size_t size, uint64_t raw);
/* Linux priorities (-1 deadline, 0..99 real time with 0 the highest, 120 = nice 0) -> 0..31; tid 0 is idle. */
uint8_t  windows_priority(int64_t prio, uint32_t tid);
uint32_t shown_pid(const struct convert *c, uint32_t pid, uint32_t tid);
#endif
