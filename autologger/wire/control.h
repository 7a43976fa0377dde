/* control.h - the messages on the daemon's sockets (SOCK_SEQPACKET, in its runtime folder: enum ctl_socket). Every
 * message starts with struct ctl_header; little-endian, fixed layout, at most CTL_MAX bytes; lists are paged. Requests
 * carry a sequence the sender chose; the answer repeats type, sequence and gives a status. Messages that the daemon
 * sends by itself have sequence 0 and types from CTL_ATTACH on. Descriptors travel by SCM_RIGHTS. Both sides treat the
 * other's bytes as hostile: size is checked against what recvmsg returned, strings are NUL-terminated by the receiver.
 * Not for: access checks (control/access). */
#ifndef AUTOLOGGER_WIRE_CONTROL_H
#define AUTOLOGGER_WIRE_CONTROL_H
#include "registry-sim/win32/guid.h"

#include <stdint.h>

/* SystemTraceControlGuid, as an initializer: the object with the rights to kernel events. */
#define CTL_SYSTEM_TRACE \
    { \
        0x9e814aad, 0x3204, 0x11d2, { 0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39 } \
    }

enum { CTL_VERSION = 1, CTL_MAX = 65536, CTL_NAME = 256, CTL_PATH = 1024 };

/* The daemon's sockets, by their file names. Each has its own queue of connections, so that no other user can fill
 * root's. "provider" accepts a provider's messages (CTL_HELLO to CTL_THREAD) and nothing else; the others accept every
 * message. */
enum ctl_socket { CTL_SOCKET_CONTROL, CTL_SOCKET_PROVIDER, CTL_SOCKET_ROOT, CTL_SOCKETS };
#define CTL_SOCKET_NAMES \
    { \
        [CTL_SOCKET_CONTROL] = "control", [CTL_SOCKET_PROVIDER] = "provider", [CTL_SOCKET_ROOT] = "root" \
    }

enum ctl_type {
    CTL_HELLO      = 1, /* any client's first message; the answer brings the directory (read-only descriptor) */
    CTL_REGISTER   = 2, /* provider library */
    CTL_UNREGISTER = 3,
    CTL_ENABLE_ACK = 4,
    /* provider library of a foreign program: a thread's number; the answer: its number in the daemon's view */
    CTL_THREAD = 5,
    CTL_QUERY  = 16, /* controller: one session by name, or a page of all */
    /* the early program answers W_RETRY to this and to all requests that need files, and hastens its successor: ask
     * again */
    CTL_STOP        = 17,
    CTL_FLUSH       = 18,
    CTL_FS_READY    = 19, /* the log folder's file system is ready: files may be created */
    CTL_SHUTDOWN    = 20, /* stop all sessions and end the daemon */
    CTL_STATE       = 21, /* the daemon as a whole */
    CTL_PROVIDERS   = 22, /* a page of registered or enabled providers */
    CTL_DECLARATION = 23, /* one session as it could be declared again, with a page of its enabled providers */
    CTL_END_BOOT = 24, /* stop all sessions of the boot and merge their files; W_BUSY while that goes on: ask again */
    /* consumer: this connection reads the named real-time session from now on (ctl_session_request) */
    CTL_CONSUME      = 25,
    CTL_CONSUME_NEXT = 26, /* consumer: acknowledges buffers and asks for one; the answer waits until there is one */
    /* controller: new terms for a running session (ctl_update_request); W_RETRY as with CTL_STOP */
    CTL_UPDATE = 27,
    CTL_START  = 28, /* controller: run a session from now on (ctl_start_request), in no store */
    /* controller: enable, change or disable a provider in a running session, or make it report its state */
    CTL_ENABLE_PROVIDER = 29,
    /* controller: copy what a session has, in its file or its ring, to a file of its own (ctl_snapshot_request); it
     * goes on */
    CTL_SNAPSHOT  = 30,
    CTL_NEXT_FILE = 31, /* controller: a NEWFILE session goes on in its next file (ctl_session_request) */
    /* one provider: the programs that have it registered, the sessions that enable it (ctl_provider_request) */
    CTL_PROVIDER = 32,
    /* one session with all of its terms, and one of the providers that it enables (ctl_session_request) */
    CTL_TERMS         = 33,
    CTL_REGISTRATIONS = 34, /* a page of the registrations of all programs (ctl_session_request without a name) */
    CTL_USERS         = 35, /* a page of the users whose programs write to one session (ctl_session_request) */
    CTL_CONDITIONS    = 36, /* a page of the conditions that one session found while it ran (ctl_session_request) */
    CTL_ACCESS        = 40, /* rights on a session or a provider: query, change (ctl_access_request) */
    CTL_ATTACH        = 64, /* daemon -> provider library: a session's streams, 3 descriptors: data, control, eventfd */
    CTL_DETACH        = 65, /* the session is gone: forget its streams */
    CTL_ENABLE        = 66, /* the enablement of a provider changed: recompute, call the callback, acknowledge */
    CTL_FOREIGN = 67 /* daemon -> foreign program: its number in the daemon's process namespace (control/foreign.h) */
};

struct ctl_header {
    uint32_t size; /* of the whole message */
    uint16_t type;
    uint16_t version;
    uint32_t sequence;
    uint32_t status; /* answers only */
};
_Static_assert(sizeof(struct ctl_header) == 16, "ctl_header");

struct ctl_hello {
    struct ctl_header header;
    uint16_t          highest_version; /* highest of the sender; in the answer: the one to use */
    uint16_t          shm_major;
    uint32_t          processors;      /* answer: possible CPUs */
    uint64_t          daemon_instance; /* answer: new after every daemon start, also after an adoption */
};

struct ctl_foreign {
    struct ctl_header header;
    uint32_t          pid;
    uint32_t          reserved;
};
struct ctl_thread {
    struct ctl_header header;
    uint32_t          inner; /* as the thread sees itself */
    uint32_t          outer; /* answer; 0: the process has no such thread */
};

/* CLASSIC: a provider of the older API: only one session at a time enables it. TRAITS: sent for an existing
 * registration that has got traits since; not answered. */
enum { CTL_REGISTER_CLASSIC = 1, CTL_REGISTER_TRAITS = 2, CTL_REGISTER_CALLBACK = 4 /* it has a callback */ };
struct ctl_register {
    struct ctl_header header; /* status: CTL_REGISTER_*; a daemon ignores those that it does not know */
    struct guid       provider;
    uint32_t          index;       /* the client's own index, repeated in the answer and in CTL_ENABLE */
    uint32_t          traits_size; /* provider traits (name) follow the struct; 0 = none */
};
/* The answer comes after a CTL_ATTACH for every session that enables this provider and is not yet attached. */
struct ctl_registered {
    struct ctl_header header;
    uint32_t          index;
    uint32_t          slot;          /* in the directory */
    uint32_t          generation;    /* of the slot */
    uint32_t          enabled_count; /* sessions that enable it now; a CTL_ENABLE follows for each */
};
struct ctl_unregister {
    struct ctl_header header;
    uint32_t          index;
    uint32_t          reserved;
};

struct ctl_attach { /* with descriptors {data (read-write), control (read-only), eventfd} */
    struct ctl_header header;
    uint32_t          session; /* index */
    uint32_t          session_generation;
    struct guid       session_guid;
};
struct ctl_detach {
    struct ctl_header header;
    uint32_t          session;
    uint32_t          session_generation;
};
struct ctl_enable {
    struct ctl_header header;
    uint32_t          index;        /* of the client's registration */
    uint32_t          enable_index; /* 0..7 in shm_provider.enable */
    uint32_t          control_code; /* 0 disabled, 1 enabled, 2 capture state */
    uint8_t           level;
    uint8_t           reserved[3];
    uint64_t          any, all;
    struct guid       source; /* the session's GUID */
    uint32_t          ticket; /* repeat in CTL_ENABLE_ACK */
    /* size of a SCHEMATIZED filter that follows, for this capture of the state alone; 0: the session's own filter, if
     * any */
    uint32_t filter_bytes;
};
struct ctl_enable_ack {
    struct ctl_header header;
    uint32_t          ticket;
    uint32_t          reserved;
};

/* Controller requests about one session; name "" with CTL_QUERY pages through all, starting at `start`. */
struct ctl_session_request {
    struct ctl_header header;
    char              name[CTL_NAME];
    uint32_t          start;
    uint32_t          flags;
};
struct ctl_session_info { /* one row of a CTL_QUERY answer, and the answer of CTL_STOP: final numbers */
    char        name[CTL_NAME];
    struct guid guid;
    char        log_path[CTL_PATH];
    uint32_t    logger_id;
    uint32_t    log_file_mode;
    uint32_t    clock_type;
    uint32_t    buffer_kb;
    uint32_t    minimum_buffers, maximum_buffers; /* given */
    uint32_t    number_of_buffers, free_buffers;  /* now */
    uint32_t    buffers_written;
    uint32_t    log_buffers_lost;
    uint32_t    realtime_buffers_lost; /* no room in the backup, or a consumer was too slow for them */
    uint32_t    logger_thread_id;
    uint32_t    flush_timer, max_file_size;
    uint32_t    state;  /* 0 starting, 1 held in memory, 2 writing, 3 stopping, 4 stopped, 5 stopped by an error */
    uint32_t    status; /* why it stopped, or the log file's Status */
    uint32_t    kernel; /* 1 = kernel session */
    uint32_t    provider_count;
    uint64_t    events_written; /* in the file; of a real-time session without one: delivered, or in the backup */
    uint64_t    lost_ring, lost_memory, lost_conversion, lost_file; /* parts of EventsLost: ctl_events_lost() */
    uint64_t    attempted_kernel; /* raw records counted by the kernel; 0 for user sessions */
    /* records of hostile or damaged streams that were skipped, or were malformed; not part of EventsLost */
    uint64_t corrupt;
    uint64_t bytes_written;
    uint64_t peak_bytes;  /* most memory in use */
    uint64_t late_events; /* found after a quiesce: must be 0 */
    uint32_t clock_error_ns;
    uint32_t flush_threshold; /* FlushThreshold, AgeLimit: as it was set */
    /* part of events_written: overwritten in the file, or in the ring, which keeps the newest; not lost */
    uint64_t overwritten;
    /* counted by the kernel and kept back by its own filters: not in the file, the fifth part of EventsLost */
    uint64_t withheld;
    /* events of programs that filters of providers kept out: attempted = written + lost + filtered */
    uint64_t filtered;
    union {
        uint32_t group_mask[8]; /* in force: flags and stacks of kernel events */
        struct { /* a private session of several processes, which has no flags or stacks; see struct state_processes */
            uint32_t kind, begun, refused;
        } processes;
    };
    uint32_t hook_count;
    uint32_t updates; /* how often its terms were changed since the session began */
    uint16_t hooks[256];
};
/* EventsLost has one meaning everywhere: events that were written and are not in the file, for any reason. Filters of
 * the session keep events out before that. The file's header has the same sum. */
static inline uint64_t ctl_events_lost(const struct ctl_session_info *s)
{
    return s->lost_ring + s->lost_memory + s->lost_conversion + s->lost_file + s->withheld;
}
/* CTL_UPDATE: terms not named in `what` stay. */
enum {
    CTL_UPDATE_FLAGS       = 1,
    CTL_UPDATE_STACKS      = 2,
    CTL_UPDATE_FLUSH_TIMER = 4,
    /* these have later fields: a request that names none of them may end before those fields */
    CTL_UPDATE_MAXIMUM_BUFFERS = 8,
    CTL_UPDATE_FILE            = 16,
    CTL_UPDATE_REALTIME_ON     = 32,
    CTL_UPDATE_REALTIME_OFF    = 64,
    CTL_UPDATE_CONVERT         = 128, /* its file ends; consumers get its events from then on */
    CTL_UPDATE_LATER           = 248,
    CTL_UPDATE_ALL             = 255
};
struct ctl_update_request {
    struct ctl_header header;
    char              name[CTL_NAME];
    uint32_t          what;
    uint32_t          hook_count;
    uint32_t          group_mask[8];
    uint16_t          hooks[256];
    uint32_t          flush_timer; /* s, or ms by LogFileMode */
    uint32_t          maximum_buffers;
    char              file[CTL_PATH]; /* as FileName */
};
/* Followed by a sealed snapshot (registry-sim/store/snapshot.h) of a store that declares this one session, padded to 8,
 * and then by the processes that a private session of several is for (struct filter_block, wire/filter.h). */
struct ctl_start_request {
    struct ctl_header header;
    uint32_t          bytes;
    uint32_t          filter_bytes; /* 0: all */
};
struct ctl_snapshot_request { /* the answer: ctl_update_answer */
    struct ctl_header header;
    char              name[CTL_NAME];
    char              file[CTL_PATH]; /* as FileName */
};
enum { CTL_CODE_DISABLE = 0, CTL_CODE_ENABLE = 1, CTL_CODE_CAPTURE_STATE = 2 };
struct ctl_enable_request { /* the answer: a header */
    struct ctl_header header;
    char              name[CTL_NAME]; /* of the session */
    struct guid       provider;
    uint32_t          code; /* CTL_CODE_* */
    /* not 0: answered when every program that registered the provider has been told and has run its callback */
    uint32_t wait;
    uint32_t property; /* EnableProperty */
    uint8_t  level;
    uint8_t  reserved[3];
    uint64_t any, all;
    uint32_t filter_bytes; /* of a struct filter_block (wire/filter.h) that follows; 0: no filters */
    uint32_t reserved2;
};
/* of CTL_UPDATE, CTL_START, CTL_SNAPSHOT and CTL_NEXT_FILE, also with a Status that is not 0 */
struct ctl_update_answer {
    struct ctl_header       header;
    char                    text[4096]; /* reason of a refusal; of an update: what could not be had, one a line */
    struct ctl_session_info session;
};
struct ctl_query_answer {
    struct ctl_header       header;
    uint32_t                total; /* number of sessions */
    uint32_t                count; /* rows that follow */
    struct ctl_session_info row[];
};
struct ctl_state_answer {
    struct ctl_header header;
    uint32_t          pid;
    uint32_t          sessions, clients, providers;
    uint32_t          fs_ready;
    uint32_t          adopted; /* how many daemons came before this one in this boot */
    uint64_t          uptime_ns;
    uint64_t          files_created_early; /* before the file system was ready: must be 0 */
    uint64_t          files_created;
    char              store[CTL_PATH];
    char              log_dir[CTL_PATH];
    uint32_t          sessions_most; /* at one time */
    uint32_t          reserved;
    /* from here on: 0 from an older daemon, which does not report these */
    uint32_t places;      /* for connections of programs and controllers */
    uint32_t places_most; /* the most, with no limit of open files */
    struct {
        uint32_t uid;      /* ~0: all other users */
        uint32_t programs; /* that got no place; 0: end of the list */
    } refused[16];
    struct {
        uint32_t uid;         /* ~0: all other users */
        uint32_t what;        /* row of control/quota.def */
        uint64_t refused;     /* times it was refused, or read later; 0: end of the list */
        uint64_t held, total; /* in use now, and of how much in all; 0 for a rate */
    } quota[32];
};
struct ctl_provider_row {
    struct guid guid;
    char        name[CTL_NAME];
    uint32_t    registrations;
    uint16_t    enabled_count;
    uint16_t    group; /* not 0: it is a group that registered providers have joined */
};
struct ctl_provider_request {
    struct ctl_header header;
    struct guid       provider;
};
/* CTL_ACCESS: security descriptors by GUID, in Windows' bytes (registry-sim/win32/security.h). */
enum {
    CTL_ACCESS_QUERY  = 0,
    CTL_ACCESS_SET    = 1,
    CTL_ACCESS_ADD    = 2,
    CTL_ACCESS_REMOVE = 3,
    CTL_ACCESS_LIST   = 4,
    CTL_ACCESS_SID    = 68
};
struct ctl_access_request {
    struct ctl_header header;
    struct guid       object;
    uint32_t          what; /* SET: this entry alone; ADD: one more entry; REMOVE: back to the default */
    uint32_t          rights, deny;
    uint32_t          sid_size; /* of SET and ADD */
    uint8_t           sid[CTL_ACCESS_SID];
    uint32_t          start; /* LIST: the first entry to return */
};
struct ctl_access_answer { /* QUERY: the descriptor follows; LIST: GUIDs that have their own */
    struct ctl_header header;
    uint32_t          own; /* QUERY: not 0: this GUID's own descriptor, 0: the default */
    uint32_t          bytes;
    uint32_t          total; /* LIST */
    uint32_t          reserved;
};
enum { CTL_PROVIDER_ENABLES = 8, CTL_PROVIDER_PROGRAMS = 1024 };
struct ctl_provider_enable {
    char     session[CTL_NAME];
    uint32_t logger_id;
    uint32_t property;
    uint64_t any, all;
    uint8_t  level;
    uint8_t  reserved[7];
    char     filters[CTL_NAME]; /* as text; "" = none */
};
struct ctl_provider_program {
    uint32_t pid;
    uint16_t registrations; /* of this provider by this program */
    uint16_t classic;       /* not 0: one of them is of the older API */
};
struct ctl_provider_answer { /* W_WMI_GUID_NOT_FOUND: no program has registered it, and no session enables it */
    struct ctl_header header;
    /* programs: those that follow, at most CTL_PROVIDER_PROGRAMS */
    uint32_t                    enable_count, program_count;
    char                        name[CTL_NAME];
    struct ctl_provider_enable  enable[CTL_PROVIDER_ENABLES];
    struct ctl_provider_program program[];
};
/* CTL_REGISTRATIONS: one registration of a program. */
enum {
    CTL_REGISTRATION_CLASSIC  = 1,
    CTL_REGISTRATION_CALLBACK = 2,
    CTL_REGISTRATION_TRAITS   = 4 /* it has traits: a name, perhaps a group */
};
struct ctl_registration_row {
    struct guid provider, group; /* group: zero if it joined none */
    uint64_t    sessions;        /* that get its events: a bit each, by the session's index */
    uint32_t    pid;
    uint32_t    index; /* the program's own number of it */
    uint32_t    flags, reserved;
};
struct ctl_registrations_answer {
    struct ctl_header           header;
    uint32_t                    total, count; /* in all; in this answer */
    struct ctl_registration_row row[];
};
#define CTL_USERS_GONE UINT32_MAX /* no user: all users whose places were given up; only their losses are known */
/* CTL_USERS: one user whose programs write to the session, or did. */
struct ctl_user_row {
    uint32_t uid;
    uint32_t programs;   /* attached now */
    uint64_t busy_bytes; /* of the session's memory */
    uint64_t free_bytes; /* its part of what is not busy: a burst of this size finds room */
    uint64_t lost;       /* events that found no room, or were too large */
    /* events with times in the future or in the past, which the library does not write: they got the time at which they
     * were read */
    uint64_t untrue_times;
    uint32_t took_memory;  /* 1: programs took memory outside the buffers; it was taken back */
    uint32_t false_counts; /* 1: programs wrote counts of lost events that cannot be true; they are not counted */
};
struct ctl_users_answer {
    struct ctl_header   header;
    uint32_t            total, count; /* in all; in this answer */
    struct ctl_user_row row[];
};
/* CTL_CONDITIONS: one condition. */
struct ctl_condition_row {
    uint32_t number; /* a Status */
    uint32_t note;   /* 1: harmless */
    char     item[64], reason[256], advice[192];
};
struct ctl_conditions_answer {
    struct ctl_header        header;
    uint32_t                 total, count; /* in all; in this answer */
    struct ctl_condition_row row[];
};
/* CTL_DECLARATION, asked with ctl_session_request: what the session was created from. */
struct ctl_enabled_row {
    struct guid guid;
    uint32_t    level;
    uint32_t    reserved;
    uint64_t    any, all;
    char        name[CTL_NAME]; /* as a program registered it, or "" */
    /* registry path of the declaration; from a controller: "{GUID}", or "{GUID} NAME" if it gave a name */
    char key[CTL_PATH];
};
struct ctl_declaration {
    char        name[CTL_NAME], key[CTL_PATH], file_name[CTL_PATH]; /* file_name: as declared, "" = none */
    struct guid guid;
    uint32_t    buffer_kb, minimum_buffers, maximum_buffers; /* given */
    uint32_t    clock_type, log_file_mode, max_file_size, flush_timer;
    uint32_t    group_mask[8], hook_count;
    uint16_t    hooks[256];
    uint32_t    devices; /* DeviceEvents */
};
struct ctl_declaration_answer {
    struct ctl_header      header;
    uint32_t               total; /* providers that it enables */
    uint32_t               count;
    struct ctl_declaration session;
    struct ctl_enabled_row row[];
};
/* CTL_TERMS, asked with ctl_session_request: the fixed rows of CTL_DECLARATION have no room for filters. `start` is the
 * number of the provider; one past the last gives the session alone. A session that no store declares has an empty
 * key. */
struct ctl_terms_answer {
    struct ctl_header      header;
    uint32_t               total; /* providers that the session enables */
    uint32_t               count; /* 0 or 1: whether the fields from `row` on are set */
    struct ctl_declaration session;
    uint32_t               kernel;                                 /* not 0: a session of kernel events */
    uint32_t               user_stack_bytes;                       /* UserStacks */
    uint32_t               stack_cache_bytes, stack_cache_buckets; /* StackCaching; 0: off */
    uint32_t               forget_realtime;                        /* DisableRealtimePersistence */
    uint32_t               property;                               /* EnableProperty */
    struct ctl_enabled_row row;
    char                   units[CTL_NAME];                                   /* Unit; "" = none */
    char                   tracepoint[CTL_NAME], tracepoint_filter[CTL_NAME]; /* "" = none */
    uint32_t               tracepoint_stacks;
    uint32_t               tracepoints;   /* how many of them were opened */
    uint32_t               registrations; /* programs that registered it while it was enabled */
    /* programs wrote events that the enablement kept out, for these reasons */
    uint8_t  refused_by_level, refused_by_keywords, refused_by_filter;
    uint8_t  refused_level;    /* the lowest level kept out by level */
    uint64_t refused_keywords; /* all keywords kept out by keywords, by OR */
    uint64_t events;           /* its events in the file */
    /* a user's number + 1: its programs may not register the provider; 0: no user was denied */
    uint32_t denied;
    uint32_t filter_bytes; /* of a struct filter_block (wire/filter.h) that follows; 0: no filter */
};
/* Real-time consumers. A buffer is read in parts of at most CTL_MAX; it stays the session's until it is
 * acknowledged. */
enum { CTL_CONSUME_BUFFER = 0, CTL_CONSUME_HEADER = 1, CTL_CONSUME_ACKNOWLEDGE = 2 };
struct ctl_consume_request {
    struct ctl_header header;
    uint64_t          done; /* all buffers below this number are acknowledged */
    /* BUFFER: this one, or the next one that exists; HEADER: of the file that begins with this one */
    uint64_t wanted;
    uint32_t offset; /* of the part, in the buffer */
    uint32_t what;
};
enum {
    CTL_CONSUME_WINDOW = 1, /* events of later buffers are not older than those so far (except late ones) */
    CTL_CONSUME_ENDED =
        2 /* the session has ended: the rest is in the files that come as descriptors, see wire/backup.h */
};
struct ctl_consume_answer { /* of CTL_CONSUME too: `sequence` is then the first buffer to ask for */
    struct ctl_header header;
    uint64_t          sequence; /* of the buffer; ENDED: one past the last */
    uint64_t          file;     /* the first number of the file it is in: CTL_CONSUME_HEADER gives that file's header */
    uint32_t          size;     /* of the whole: header and events, without the unused rest */
    uint32_t          offset, bytes; /* of the part that follows this struct */
    uint32_t          flags;
    uint64_t          events_lost;              /* by the session so far */
    uint32_t          buffers_lost, files_lost; /* of those for this consumer */
};

struct ctl_providers_answer {
    struct ctl_header       header;
    uint32_t                total;
    uint32_t                count;
    struct ctl_provider_row row[];
};
#endif
