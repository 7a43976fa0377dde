/* rawrec.h - our own raw records, beside those of perf: data that the drainer read from /proc, and marks. Timed records
 * (rundown, marks) take part in the time order; a note is found by the (pid, time) of the perf record that it belongs
 * to. All are multiples of 8 bytes, in chunks RAW_CHUNK_OWN. Texts follow the struct, NUL-terminated.
 * Not for: perf's own records (linux/perf_event.h). */
#ifndef AUTOLOGGER_KERNEL_RAWREC_H
#define AUTOLOGGER_KERNEL_RAWREC_H
#include "registry-sim/win32/guid.h"

#include <stdint.h>

enum raw_type {
    RAW_TIMED  = 0x1000,    /* the rundown: the state when the sources were armed */
    RAW_SYSTEM = RAW_TIMED, /* struct raw_system: the start */
    RAW_PROCESS,            /* struct raw_process */
    RAW_THREAD,             /* struct raw_thread */
    RAW_IMAGE,              /* struct raw_image; pid 0 = the kernel */
    RAW_RUNDOWN_DONE,       /* struct raw_own */
    RAW_STOP,               /* struct raw_own */
    RAW_NAME,               /* struct raw_name: a thread by the kernel's trace buffer */
    RAW_TRACEPOINT,         /* struct raw_tracepoint: describes a source of kind SRC_TRACEPOINT */
    RAW_PHASE,              /* struct raw_phase_end: the trace buffer ends here, perf begins */
    RAW_CONFIG,             /* struct raw_config: an event of the system configuration, made by sysconfig.h */
    RAW_MAPPING,            /* struct raw_mapping */
    RAW_MEMORY,             /* struct raw_own; the text of /proc/meminfo */
    RAW_WORKING_SETS,       /* struct raw_sets */
    RAW_COUNTERS,           /* struct raw_counters: of a process that lives at the stop */
    RAW_DEVICE,             /* struct raw_device: a uevent */
    RAW_CGROUP,             /* struct raw_cgroup: of a process of the rundown */
    RAW_LOST,               /* struct raw_lost: records of one CPU that are missing before this one */
    RAW_CHANGE,             /* struct raw_change: from here on some sources record twice, or are to be ignored */
    RAW_TERMS,              /* struct raw_terms_set: the flags and hooks in force from here on */
    RAW_TIMED_END,
    RAW_NOTE      = 0x1100,
    RAW_NOTE_EXEC = RAW_NOTE, /* struct raw_process: the new program of an exec */
    RAW_NOTE_EXIT,            /* struct raw_process: the exit code */
    RAW_NOTE_IMAGE,           /* struct raw_image: the ELF file of an executable mapping; no name (perf has it) */
    RAW_NOTE_SYMBOL,          /* struct raw_own, name: the kernel function at the address in `time` */
    RAW_NOTE_COUNTERS,        /* struct raw_counters: of a thread that has exited */
    RAW_NOTE_END
};

struct raw_own {
    uint32_t type;
    uint16_t reserved;
    uint16_t size;
    uint64_t time; /* CLOCK_MONOTONIC_RAW; of notes: the time of their perf record */
    uint32_t pid, tid;
};
enum { RAW_PROCESS_KERNEL = 1, RAW_PROCESS_32BIT = 2, RAW_PROCESS_NO_COMMAND = 4, RAW_PROCESS_NO_SESSION = 8 };
struct raw_process { /* name, command line */
    struct raw_own own;
    uint64_t       start_ticks;
    uint32_t       ppid, session, uid, flags;
    int32_t        exit_code;
    uint16_t       name_size, command_size; /* NULs included */
};
struct raw_thread { /* name */
    struct raw_own own;
    uint64_t       affinity;
    int32_t        prio; /* as tracepoints give it: 120 = nice 0 */
    uint32_t       flags;
    char           name[16];
};
struct raw_image { /* name */
    struct raw_own own;
    uint64_t       base, size, default_base;
    uint32_t       stamp, checksum;
    uint32_t       name_size;     /* NUL included; 0 in notes */
    uint32_t       build_id_size; /* 0: the file has none, or it is not known */
    uint8_t        build_id[24];  /* of the mapped file, even if another one is at its path by now */
};
enum { RAW_MAPPING_SHARED = 1, RAW_MAPPING_EXEC = 2 };
struct raw_mapping { /* a mapping of a file; the file's name */
    struct raw_own own;
    uint64_t       start, end, offset, inode;
    uint32_t       dev, flags;
};
struct raw_counters { /* in bytes */
    struct raw_own own;
    uint64_t       faults, peak_virtual, peak_set, size, resident, swapped;
    uint32_t       handles, reserved;
};
enum { RAW_SETS = 1024 };
struct raw_sets {
    struct raw_own own;
    uint32_t       count, page_kb;
    struct raw_set {
        uint64_t pid, size, resident, shared;
    } set[]; /* in pages */
};
struct raw_cgroup { /* path */
    struct raw_own own;
    uint64_t       id;                  /* 0: not known */
    uint32_t       path_size, reserved; /* NUL included */
};
enum { LOST_RING, LOST_MEMORY };
struct raw_lost {
    struct raw_own own;     /* its time: the end of the span */
    uint64_t       from_ns; /* time of the last record before the gap; 0: not known */
    uint32_t       cpu, cause, count, reserved;
    struct raw_lost_row {
        uint64_t source, lost;
    } row[]; /* source: its index */
};
struct raw_name {
    struct raw_own own;
    uint32_t       flags; /* RAW_PROCESS_KERNEL */
    int32_t        prio;
    char           name[16];
};
/* Texts: the provider's name, the event's name, and the layout: a line "name offset size kind" for each field
 * (tracepoints.h). */
struct raw_tracepoint {
    struct raw_own own;
    struct guid    provider;
    uint32_t       source, reserved; /* index in the source table of the raw log */
};
/* The kernel phase of one CPU: how its clock was joined, and how its entries were counted. */
struct raw_phase_end {
    struct raw_own own;
    uint32_t       cpu, reserved;
    int64_t        offset_ns;           /* CLOCK_MONOTONIC_RAW minus the trace clock */
    uint64_t       error_ns;            /* error bound of the offset when the sources were armed */
    uint64_t       squeezed_ns;         /* trace times before this are halved: see trace_map */
    uint64_t       first_ns;            /* of the first entry, on the trace clock */
    uint64_t       entries, kept, lost; /* the kernel's count of all, of those kept as records, of those lost */
    char           clock[16];
};
enum { RAW_SOFTIRQS = 10 };
struct raw_system {
    struct raw_own own;
    uint64_t       memory_bytes;
    uint32_t       mhz, cpus, page_bytes, profile_interval;
    uint64_t       softirq[RAW_SOFTIRQS]; /* addresses of their handlers */
    char           host[64], release[64];
    char           boot_id[40];
};
/* While a session's flags or stacks change, a newly opened source and the one it replaces both record for a moment.
 * Each CPU has a cut, a time taken on it between two events: before the cut the old source counts, from it on the new
 * one. The struct is followed by cut[cpus] in CLOCK_MONOTONIC_RAW, then by `count` places. */
enum { RAW_ROLE_BEGINS = 1, RAW_ROLE_ENDS = 2 };
struct raw_change {
    struct raw_own own;
    uint32_t       cpus, count;
};
struct raw_role {
    uint16_t source, role;
};
struct raw_terms_set { /* as struct raw_terms, with the kernel facts that the converter needs for it */
    struct raw_own own;
    uint64_t       softirq[RAW_SOFTIRQS];
    uint32_t       mask[8], hook_count;
    uint16_t       hooks[256];
};
/* The event's payload follows. */
struct raw_config {
    struct raw_own own;
    uint16_t       hook;
    /* enum of wire/etl.h; ETL_FULL64: of the class SystemConfigEx; ETL_EVENT64: hook is an enum bootenv_event */
    uint8_t  version, header;
    uint32_t dev;     /* the event's disk, */
    uint16_t disk_at; /* and the offset of the disk's number in the body; RAW_NO_DISK: none */
    uint16_t reserved[3];
    uint32_t body_size, reserved2;
};
/* The message follows as the kernel sent it: texts, each with its NUL. */
struct raw_device {
    struct raw_own own;
    uint64_t       lost; /* not 0: no message, but this number of missing ones */
    uint32_t       text_size, reserved;
};
#define RAW_NO_DISK UINT16_C(0xFFFF)
_Static_assert(sizeof(struct raw_process) % 8 == 0 && sizeof(struct raw_image) % 8 == 0 &&
                   sizeof(struct raw_thread) % 8 == 0 && sizeof(struct raw_mapping) % 8 == 0 &&
                   sizeof(struct raw_cgroup) % 8 == 0 && sizeof(struct raw_counters) % 8 == 0 &&
                   sizeof(struct raw_system) % 8 == 0 && sizeof(struct raw_name) % 8 == 0 &&
                   sizeof(struct raw_phase_end) % 8 == 0 && sizeof(struct raw_config) % 8 == 0 &&
                   sizeof(struct raw_device) % 8 == 0 && sizeof(struct raw_tracepoint) % 8 == 0,
               "records are multiples of 8");
#endif
