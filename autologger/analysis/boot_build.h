/* boot_build.h - a boot while it is being read: shared by the parts of boot_read. Private to boot_*.c.
 * Threads: one. Ownership: the builder owns the boot until boot_read hands it out. */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_BUILD_H
#define AUTOLOGGER_ANALYSIS_BOOT_BUILD_H
#include "autologger/analysis/boot.h"
#include "autologger/consumer/decoded.h"
#include "autologger/kernel/source/idmap.h"
#include "autologger/symbols/symbols.h"

enum { FIELD_NAMES = 24, CPUS_MOST = 4096 };
struct boot_field {
    char  name[40];
    char *text;
};
struct boot_fields { /* of one event, by name */
    struct field_sink sink;
    struct boot_field field[FIELD_NAMES];
    unsigned          count;
};
struct boot_thread {
    uint32_t pid;
    int8_t   state; /* enum boot_state; BOOT_NONE: not seen yet. BOOT_OTHER stands for any wait */
    bool     uninterruptible, woken;
    int64_t  since, ready; /* since: when the state began; ready: when the waiting thread was woken */
    int      waker;        /* process */
};
/* A finished wait of which the kind is not known yet: the stack event that may follow tells it. */
struct boot_pending {
    bool     open;
    uint32_t thread;
    int64_t  raw; /* raw time of the context switch that ended the wait; the stack event refers to it */
    int      process, waker;
    int64_t  start, end;
    bool     uninterruptible;
};
/* The last counted stack, usually the kernel's frames. The user frames may follow in a second event with the same raw
 * time; part_join then joins both. */
struct boot_moment_part {
    int64_t  raw, at;
    uint32_t thread;
    int      stack, process;
    bool     waiting;
    double   weight;
};
struct boot_cpu {
    uint32_t            thread; /* UINT32_MAX: not known */
    int64_t             since;
    struct boot_pending pending;
    /* raw time of the last sample, of which the stack event may still follow; 0: none */
    int64_t                 sample_raw;
    uint32_t                sample_thread;
    struct boot_moment_part part; /* the last one */
};
/* One moment by two clocks: us on systemd's clock, ns on the file's. */
struct boot_pair {
    uint64_t us;
    int64_t  ns;
};
struct boot_builder {
    struct boot       *b;
    struct etl_reader *reader;
    struct schema_set *schemas;
    bool               borrowed;      /* `schemas` belong to the caller */
    struct symbols    *symbols;       /* NULL: no stacks */
    struct frame_name *names;         /* of one stack */
    int64_t            base;          /* FILETIME of the time 0 */
    int64_t            start;         /* ns: the session began */
    bool               of_rehearsal;  /* the event that the merge wrote says that the trace is of a rehearsal */
    double             tick;          /* ns of one tick of the file's clock */
    struct idmap       threads, pids; /* tid + 1, pid + 1 -> thread, index + 1 */
    struct idmap       units;         /* hash of name -> index + 1 */
    struct idmap       open_probes;   /* tid + 1 -> index + 1 of the innermost one */
    struct idmap       raw_stacks, stacks, frames, cells, runs; /* keys -> index + 1 */
    struct boot_cpu   *cpu;
    unsigned           cpus;
    struct boot_fields fields;
    struct boot_pair  *pair;
    unsigned           pairs;
    /* systemd's monotonic times in us (they start with the kernel, so firmware and loader are not in them): initrd,
     * user space, finish */
    uint64_t mark[4];
    int64_t  disk_until[64]; /* by index in boot.disk: until when the disk's time is already counted as busy */
    size_t   room_process, room_unit, room_look, room_wait, room_initcall, room_module, room_probe, room_deferral,
        room_firmware, room_text, room_disk, room_memory, room_image, room_frame, room_stack, room_cell, room_run,
        room_pair;
    struct guid systemd_guid, cgroup_guid, boot_guid, device_guid, memory_guid, environment_guid, names_guid, loss_guid,
        merged_guid;
    bool failed; /* no memory */
};

/* boot_read.c */
int64_t boot_time(const struct boot_builder *w, const struct etl_event *e);
/* A length or time from the file, in units of `scale` ns: never more than BOOT_LONGEST_NS, so that sums and differences
 * fit. */
#define BOOT_LONGEST_NS INT64_C(1000000000000000)
/* A sum of such times stops growing beyond this: INT64_MAX holds the sum of 100 of them, or one of them times ten. */
#define BOOT_SUM_MOST (INT64_MAX / 128)
int64_t     boot_ns(uint64_t value, uint64_t scale);
const char *boot_field(const struct boot_builder *w, const char *name); /* "" when there is none */
uint64_t    boot_field_number(const struct boot_builder *w, const char *name);
bool        boot_fields_read(struct boot_builder *w, const struct etl_event *e, const struct decoded *names);
char       *boot_keep(struct boot_builder *w, const char *text); /* a copy */
uint64_t    boot_hash(const void *bytes, size_t size, uint64_t seed);
/* Room for one more; NULL (and failed) without memory. */
void *boot_grow(struct boot_builder *w, void **list, unsigned *count, size_t *room, size_t size);
#define BOOT_GROW(w, list, count, room) \
    boot_grow(w, (void **)&(w)->b->list, &(w)->b->count, &(w)->room, sizeof *(w)->b->list)
/* boot_process.c */
void boot_process_see(struct boot_builder *w, const struct etl_event *e, uint16_t hook);
int  boot_process_of(const struct boot_builder *w, uint32_t pid);
int  boot_process_of_thread(const struct boot_builder *w, uint32_t tid);
void boot_cgroup_see(struct boot_builder *w);
/* boot_thread.c */
void             boot_thread_see(struct boot_builder *w, const struct etl_event *e, uint16_t hook);
void             boot_thread_end(struct boot_builder *w); /* after the last event */
void             boot_wait_settle(struct boot_builder *w, struct boot_pending *p, int stack);
struct boot_cpu *boot_cpu_at(struct boot_builder *w, unsigned cpu);
/* boot_stack.c */
void boot_stack_see(struct boot_builder *w, const struct etl_event *e);
void boot_cell_add(struct boot_builder *w, int stack, int process, int64_t at, bool waiting, double weight);
/* boot_run.c: adds time that the process ran, or was ready. */
void boot_run_add(struct boot_builder *w, int process, bool running, int64_t from, int64_t to);
/* boot_unit.c */
int  boot_unit_get(struct boot_builder *w, const char *name);
void boot_unit_see(struct boot_builder *w, const char *event, int64_t at);
void boot_unit_end(struct boot_builder *w);
/* boot_moment.c */
void boot_moment_see(struct boot_builder *w, const struct etl_event *e, const struct decoded *names);
void boot_disk_see(struct boot_builder *w, const struct etl_event *e, uint16_t hook);
void boot_log_see(struct boot_builder *w, const struct etl_event *e);
/* boot_device.c */
void boot_device_see(struct boot_builder *w, const struct etl_event *e, const struct decoded *names, int64_t at);
void boot_device_end(struct boot_builder *w);
/* boot_phase.c */
void boot_phase_end(struct boot_builder *w);
#endif
