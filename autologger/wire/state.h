/* state.h - what must outlive a daemon, beside streams, raw kernel records and descriptors: one memfd for the daemon,
 * one for every session. A successor that gets them goes on where the predecessor stopped: nothing is lost, nothing
 * doubled. A session's logger publishes its read positions, file offset and counters together: it fills the slot that
 * is not current, then increments `current` (release). A reader uses only the current slot. The controlling thread
 * writes everything else, `in_use` last. An unknown version is refused. Native byte order: same machine, same boot. */
#ifndef AUTOLOGGER_WIRE_STATE_H
#define AUTOLOGGER_WIRE_STATE_H
#include "autologger/wire/tracepoint.h"
#include "registry-sim/win32/guid.h"

#include <stddef.h>
#include <stdint.h>

#define STATE_MAGIC_DAEMON UINT32_C(0x31544453)
#define STATE_MAGIC_SESSION UINT32_C(0x31545353)
enum {
    STATE_VERSION       = 27,
    STATE_UIDS          = 256,
    STATE_CONNECTIONS   = 4096,
    STATE_REGISTRATIONS = 32768,
    STATE_ENABLES       = 256,
    /* bytes of a session's name and of the registry path of a declaration, each with its NUL: the path of the
     * longest name that a registry key may have (255 UTF-16 units, 765 bytes) fits with a provider below it */
    STATE_NAME      = 256,
    STATE_KEY       = 1024,
    STATE_CONSUMERS = 8,
    STATE_FORMER    = 4,
    STATE_UNITS     = 256,
    STATE_REFUSED   = 16 /* users; all others share the last place */,
    STATE_QUOTAS    = 32 /* the same, for users and limits */
};
#define STATE_REFUSED_OTHERS UINT32_MAX

struct state_connection {
    uint32_t in_use;
    uint32_t id; /* of the descriptor "conn:<id>", or "asks:<id>" */
    uint32_t uid;
    uint32_t pid;
    uint64_t attached; /* bit i: session i was attached */
    /* The process, as control/peer.h saw it when it connected; pid is only a number to show. 0: unknown */
    uint64_t process;         /* the process' number in pidfs: no two of a boot have the same (Linux 6.9) */
    uint64_t start;           /* its start, in ticks since the boot */
    uint64_t user_ns, pid_ns; /* its namespaces */
    uint64_t cgroup;          /* its control group (Linux 6.13) */
    uint64_t permitted;       /* its capabilities */
    uint32_t gid;
    uint32_t socket; /* enum ctl_socket: where it connected */
};
enum {
    STATE_REGISTERED          = 1,
    STATE_REGISTERED_CLASSIC  = 2,
    STATE_REGISTERED_NO_PART  = 4 /* its program got no part */,
    STATE_REGISTERED_CALLBACK = 8,
    STATE_REGISTERED_TRAITS   = 16,
    STATE_GROUP_SHIFT         = 16
};
struct state_registration {
    uint32_t in_use;     /* 1, STATE_REGISTERED_*, and from STATE_GROUP_SHIFT on the slot of its group + 1 */
    uint32_t connection; /* index in connections */
    uint32_t index;      /* the client's */
    uint32_t slot;       /* in the directory */
};
/* -1: none */
static inline int state_group(const struct state_registration *r) { return (int)(r->in_use >> STATE_GROUP_SHIFT) - 1; }
struct state_boot { /* of the machine's own boot; see daemon/boot_end.h. Zero in a rehearsal */
    uint32_t phase, reserved;
    uint64_t target_ns, idle_ns; /* the marks of boot-done, CLOCK_MONOTONIC_RAW; 0 = not reached */
    char     stop_reason[256];
};
struct state_daemon {
    uint32_t magic, version, size, adopted; /* adopted: daemons before this one */
    uint64_t anchor[6];                     /* struct clock_anchor */
    uint64_t start_raw_ns;
    uint32_t fs_ready, next_connection;
    uint64_t files_created, files_created_early;
    char     store[1024], log_dir[1024], boot_id[64];
    uint32_t rehearsal, boot_done; /* boot_done 0: a successor boots again */
    /* CLOCK_BOOTTIME: start of the early program; how long it delayed the boot; when it let programs in; when the
     * kernel's sources were armed; 0: unknown */
    uint64_t early_ns, held_ns, ready_ns, armed_ns;
    /* most: EtwMaxLoggers, 0: unknown; concluded: the end of the last session was reported */
    uint32_t concluded, sessions_most;
    uint64_t change_number; /* of the snapshot that an early boot used */
    uint8_t  snapshot_content[20];
    uint32_t facts_noted;              /* early_facts.h */
    uint32_t message_number, reserved; /* USE_GLOBAL_SEQUENCE: the last number given */
    struct {
        uint32_t uid, programs; /* that got no place; programs 0: free */
    } refused[STATE_REFUSED];
    struct state_connection   connection[STATE_CONNECTIONS];
    struct state_registration registration[STATE_REGISTRATIONS];
    struct state_boot         boot;
    struct {
        uint32_t uid, what; /* what: row of control/quota.def */
        uint64_t refused;   /* how often; 0: free */
    } quota[STATE_QUOTAS];
};

struct state_enable { /* the directory entries of the session */
    uint32_t    in_use;
    uint32_t    slot, entry;
    uint32_t    registrations; /* programs that registered it while it was enabled */
    struct guid guid;          /* like key, kept after the end of the enablement: its last events may still come */
    char        key[STATE_KEY];
    char        units[STATE_UNITS]; /* systemd units by name and glob, for the unit provider; "" = not asked for */
};

/* Real time: which buffers wait in which file (wire/backup.h), and how far each consumer has read. Under the lock of
 * session/realtime. */
struct state_consumer {
    uint32_t in_use;
    uint32_t id;     /* of its connection */
    uint64_t next;   /* buffers below are acknowledged, or were missed */
    uint64_t missed; /* buffers that it was too slow for, or that could not be read */
    uint64_t holes;  /* buffers below were given to it, or are counted in `missed` */
    struct {
        uint64_t events, buffers, files;
    } told; /* losses in the last answer */
};
struct state_backup {
    uint64_t first, end; /* buffers of this file; end: former files only */
    uint32_t in_use, slots, buffer_size, reserved;
};
struct state_realtime {
    uint32_t opened;     /* former files were looked for; `delivered` is valid */
    uint32_t persistent; /* unread buffers are kept over a reboot */
    uint64_t base;       /* number of the first buffer of this boot */
    uint64_t delivered;  /* buffers below were acknowledged by a consumer */
    uint64_t missed;     /* by all consumers so far */
    uint64_t files_lost; /* backup files that were damaged, or dropped for want of room */
    struct {
        uint64_t events, buffers, files;
    } told; /* losses told with delivered buffers */
    /* buffers within are in the session's log file, too; from > to: those before `to` in one file, those from `from` on
     * in another */
    uint64_t              file_from, file_to;
    struct state_backup   current, former[STATE_FORMER];
    struct state_consumer consumer[STATE_CONSUMERS];
};

/* The published part. After the struct: kernel_time[cpus]; then last_time[cpus + 1], of the last event of each row of
 * buffers; then open[cpus + 1] (etl_writer_open); then for every uid u: pos[cpus], then fallback[cpus + 1], the last
 * for events that no CPU wrote (session/logger.c, G4). */
struct state_slot {
    uint64_t file_offset;
    uint32_t buffers_written, buffers_lost;
    uint64_t events_written, bytes_written;
    uint64_t lost_file, corrupt, time_adjusted;
    uint32_t uid_count;
    uint32_t realtime_lost; /* buffers */
    uint64_t realtime_end;  /* buffers below are in the backup, or were read from there */
    uint64_t overwritten;   /* events overwritten in the file, or in the ring in memory: not lost */
    uint32_t slots;         /* of a ring; 0: the file is no ring */
    uint32_t file_number;   /* NEWFILE: number of the current file, from 1 */
    uint64_t path;          /* which of the session's two paths is the file's: 0 log_path, 1 other_path */
    /* of the session's earlier files; overwritten_before counts events */
    uint32_t buffers_before, buffers_lost_before;
    uint32_t message_number; /* USE_LOCAL_SEQUENCE: the last number given */
    uint32_t oldest_events;  /* see etl_write_state */
    uint64_t overwritten_before;
    uint64_t complete_from, trimmed_to, oldest_last; /* see etl_write_state */
    uint64_t lost_before; /* events lost before this file began: another file's header has them */
    /* of users whose places were given up (session/places.c) */
    uint64_t gone_lost, gone_filtered, gone_overwritten;
    uint32_t gone_epoch[STATE_UIDS]; /* a place is free while this equals the state's uid_epoch of it */
    /* of the fallback stream: everything before it is in the file, for every CPU */
    uint64_t fallback_released[STATE_UIDS];
    uint64_t provider_events[STATE_ENABLES]; /* in the file, by enablement */
};
_Static_assert(sizeof(struct state_slot) % 8 == 0 && offsetof(struct state_slot, path) % 8 == 0,
               "slots are copied in words");
/* The user who started a session, if not root: its files are created with this user's rights, and belong to the
 * user. */
enum { STATE_GROUPS = 64 };
struct state_owner {
    uint32_t set; /* 0: root's, or the daemon's own */
    uint32_t uid, gid, group_count;
    uint32_t group[STATE_GROUPS];
};
/* PRIVATE_LOGGER without PRIVATE_IN_PROC: the whole stands for the request and has no events of its own. Each process
 * that registers the provider with its Guid has a part. Counters of parts that have ended are added to `ended`. */
enum { STATE_WHOLE = 1, STATE_PART = 2, STATE_WHOLE_PIDS = 8, STATE_WHOLE_NAMES = 1536 };
/* The counters that are added, named as in ctl_session_info. */
/* clang-format off */
#define STATE_SUMS(X) \
    X(events_written) X(bytes_written) X(overwritten) X(lost_ring) X(lost_file) X(corrupt) X(filtered) X(late_events) X(buffers_written) X(log_buffers_lost)
/* clang-format on */
struct state_processes {
    uint32_t kind;    /* 0: an ordinary session */
    uint32_t of;      /* PART: generation of its whole */
    uint32_t begun;   /* processes that got a part; PART: its own number, from 1 */
    uint32_t refused; /* WHOLE, also for all that follows: processes that got no part */
    uint32_t status;  /* why the last of these got none, or why one with a part could not write its file */
    uint32_t pid_count, pid[STATE_WHOLE_PIDS]; /* the processes it is for; 0: all */
    char     names[STATE_WHOLE_NAMES];         /* the same by executable, joined by ';'; "": all */
    struct {
#define X(sum) uint64_t sum;
        STATE_SUMS(X)
#undef X
    } ended;
};
/* One instant on the clocks of a session's times (session/anchor.h). The date may change later: it follows the
 * system's. */
struct state_anchor {
    uint64_t value;         /* on the session's clock: the StartTime of its files; never changes */
    uint64_t raw_ns;        /* CLOCK_MONOTONIC_RAW; never changes */
    uint64_t filetime;      /* the date of `value` */
    uint64_t boot_filetime; /* the date of the boot, by the same line */
};
enum { STATE_KERNEL_OPEN = 1, STATE_KERNEL_REFUSED = 2 };
struct state_session {
    uint32_t    magic, version, size, in_use;
    uint32_t    index, generation, cpus, kernel;
    struct guid guid;
    char        name[STATE_NAME], key[STATE_KEY], file_name[1024], log_path[1024];
    char        other_path[1024]; /* log_path and this alternate when the file is changed; see state_slot.path */
    struct state_anchor    anchor;
    uint32_t               buffer_kb, minimum_buffers, maximum_buffers;
    uint32_t               clock_type, log_file_mode, max_file_size, flush_timer;
    uint64_t               memory_bytes;
    uint32_t               group_mask[8], hook_count;
    uint16_t               hooks[256];
    uint32_t               updates; /* how often its terms were changed while it ran */
    uint32_t               tracepoint_count;
    struct tracepoint_wish tracepoint[TRACEPOINT_WISHES];
    uint32_t               state, status; /* as in ctl_session_info */
    char                   status_text[512];
    uint32_t               file_created;
    uint32_t               stop_asked; /* a successor stops it at once */
    uint32_t               devices;    /* DeviceEvents */
    uint32_t               phase; /* it begins with the kernel's main trace buffer: only one session of a boot does */
    uint32_t               user_stack_bytes;                       /* UserStacks; 0: by frame pointers */
    uint32_t               stack_cache_bytes, stack_cache_buckets; /* StackCaching; 0: off */
    /* of a kernel session: another session of this boot needs systemd units, so this one reports each process's
     * cgroup */
    uint32_t           units;
    struct state_owner owner;
    /* PRIVATE_IN_PROC, or a part: the program whose events it takes, and with which it ends; 0: all programs */
    uint32_t private_pid;
    /* FlushThreshold as declared, or as a controller gave it (AgeLimit is the same field) */
    uint32_t               flush_threshold;
    uint64_t               private_start; /* when that program began, in ticks since the boot: pids are reused */
    struct state_processes processes;
    /* OPEN: its kernel sources are open, and a klog is handed over; REFUSED: it goes on without them */
    uint32_t              kernel_open;
    uint32_t              uid[STATE_UIDS]; /* entries below uid_count are valid */
    uint32_t              uid_count;
    uint32_t              uid_epoch[STATE_UIDS]; /* how many users a place has had */
    struct state_enable   enable[STATE_ENABLES];
    struct state_realtime realtime;
    uint64_t              peak_bytes;            /* the most memory in use so far */
    uint64_t              user_peak_bytes;       /* the most memory that one user's programs used */
    uint32_t              users_most, reserved2; /* the most users with attached programs at one time */
    /* records skipped, and given up, in streams so far, also by predecessors */
    uint64_t stream_corrupt, stream_abandoned;
    uint64_t current; /* number of publications; the lowest bit says which slot is current */
    uint32_t slot_offset[2], slot_size;
    uint32_t private_uid, private_gid, reserved3; /* with private_pid: the user and group at the session's start */
    uint64_t private_process, private_permitted;  /* see state_connection */
};
#endif
