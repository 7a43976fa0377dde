/* session.h - one running trace session: its plan, its streams (one set per UID), its kernel logger, its logger thread.
 * Invariants
 *   S1 the sum of granted chunks over all UIDs stays within given maximum x BufferSize. Memory that is not busy is
 *      divided equally among the users whose programs are attached (users.c); a writer takes chunks from its user's
 *      part without asking. A user without a place (S6) gets a set without chunks: its events are lost with
 *      W_NOT_ENOUGH_MEMORY and counted.
 *   S2 read positions, file offset and counters are published together after each write (wire/state.h).
 *   S3 before the file system is ready no file is created; events are held in memory.
 *   S4 attempted = written + lost holds exactly once the session has stopped.
 *   S6 STATE_UIDS - 1 users at a time have places. When few places are left, those of users without programs are given
 *      up (places.c). All users that found no place share the last one.
 *   S7 the logger is told to end (`stop`) after the kernel logger has been stopped. That may take long: the drain
 *      thread does both, and the controlling thread waits for neither (session_stop_begin).
 * Threads: everything here runs on the controlling thread, except the logger thread (logger.c) and, for kernel
 * sessions, the drain thread. `lock` serialises streams between them.
 * Ownership: session_table owns sessions; create/destroy. Not for: the order of a boot (boot), sockets (control). */
#ifndef AUTOLOGGER_SESSION_SESSION_H
#define AUTOLOGGER_SESSION_SESSION_H
#include "autologger/etl/writer.h"
#include "autologger/kernel/klog.h"
#include "autologger/plan/plan.h"
#include "autologger/ring/stream.h"
#include "autologger/session/directory.h"
#include "autologger/session/realtime.h"
#include "autologger/wire/control.h"
#include "autologger/wire/state.h"
#include "registry-sim/base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum session_phase {
    SESSION_STARTING,
    SESSION_HELD,
    SESSION_WRITING,
    SESSION_STOPPING,
    SESSION_STOPPED,
    SESSION_FAILED
};

struct session_uid {
    uint32_t uid;
    /* programs of this UID signal half-full streams with it; never read, since these programs can corrupt its count */
    int  event_fd;
    bool admitted; /* has chunks, or may have */
    bool trimmed;  /* its programs took memory outside the session's buffers. Under lock */
    /* a condition was added for memory taken, untrue times, untrue counts */
    bool               memory_noted, times_noted, counts_noted;
    bool               live; /* one of its programs is attached: it gets a part of the memory. Under lock */
    bool               gone; /* the place is free (S6): `streams` is the session's empty set. Under lock */
    struct stream_set *streams;
    struct stream_set *old; /* the former user's, until the controlling thread has closed them; else NULL. Under lock */
};

/* What a daemon gives every session. */
struct logger;
struct session_env {
    struct os           *os;
    unsigned             cpus;
    struct clock_machine machine;
    /* of the boot: gives the time from the boot to a moment. Each session has its own anchor (anchor.h) */
    struct clock_anchor anchor;
    /* a boot is being recovered: its clock is not this machine's, and its dates stay as they are */
    bool        clock_gone;
    const char *log_dir;      /* links below it are refused; NULL: no check */
    uint64_t    free_floor;   /* bytes of a volume that stay free */
    int         changed_fd;   /* eventfd: a logger has news for the controlling thread */
    bool        kernel_later; /* session_create leaves kernel sources to session_kernel_open and _start */
    bool        threads;      /* false in tests on a fake OS: nothing runs by itself */
    /* keeps a descriptor beyond this process's death, or drops it (fd -1); may be NULL. ring_bytes as in klog_fds */
    void (*keep)(void *ctx, const char *name, int fd, size_t ring_bytes);
    void *keep_ctx;
    /* early program: created when memory runs low before files may be written; asks for an early hand-over
     * (daemon/calm.h). Else NULL */
    const char *tight_file;
    int         proc_fd; /* of /proc, or 0, as in klog_config */
    /* early program: sessions of kernel events begin with the kernel's own trace buffer, which the command line
     * armed */
    bool                        kernel_phase, phase_taken; /* the first such session has taken it: there is only one */
    const struct realtime_part *realtime; /* NULL in an early program: its real-time sessions hold their events */
    /* NEWFILE: starts the next file (log_files.c). NULL in an early program, and when no session is NEWFILE */
    wstatus (*next_file)(struct logger *l, struct reason *why);
    const struct logger_modes *modes;          /* NULL in an early program */
    uint32_t                  *message_number; /* USE_GLOBAL_SEQUENCE: the last number given, in the daemon's state */
    /* eventfd: a buffer is ready for waiting consumers; 0: no listener */
    int consumers_fd;
    int answers_fd; /* eventfd: a logger has finished a request; 0: no listener */
    /* For backup marks (backup_owner.h): SHA-256 of the descriptors in force for an object and, with `kernel`, for
     * kernel events; from any thread. NULL: no descriptors apply. machine_key: the machine's key of 32 bytes; NULL:
     * none */
    void (*rights_digest)(void *ctx, const struct guid *object, bool kernel, uint8_t out[32]);
    void          *rights_ctx;
    const uint8_t *machine_key;
    /* creates another user's file with that user's rights to files (daemon/parts/writer.h). NULL in an early program,
     * where all files are root's */
    const struct session_owner_part *owner;
    /* the program of the PRIVATE_IN_PROC session or part being created; NULL: such sessions are ordinary ones */
    const struct state_connection *program;
    /* set while a private session of several processes, or a part of one, is being created; else NULL */
    const struct state_processes *processes;
    const struct state_owner     *asks; /* for whom sessions and snapshots are created now; NULL: the daemon */
    /* as in klog_config; NULL in an early program, and for a boot that is recovered, perhaps on another machine */
    klog_collect system_config;
    /* the kernel logger's constructor; NULL = klog_create */
    wstatus (*kernel_open)(const struct klog_config *config, struct klog **out, struct reason *why);
};

/* What some LogFileModes need from the logger beyond its common code (logger_modes.c). */
struct logger_modes {
    /* NO_PER_PROCESSOR_BUFFERING: as logger_merge, but all CPUs in one time order */
    void (*merge)(struct logger *l, uint64_t horizon);
    uint32_t (*message_number)(struct logger *l); /* USE_..._SEQUENCE: for the next message that asks for one */
};
extern const struct logger_modes logger_modes;

/* Between begin and end `os` acts with that user's rights to files, for the calling thread alone. W_ACCESS_DENIED:
 * these rights cannot be had. */
struct session_owner_part {
    wstatus (*begin)(const struct state_owner *o, struct reason *why);
    void (*end)(const struct state_owner *o);
    struct os *(*os)(struct os *inner); /* for paths chosen by such a user (careful.h) */
};
/* The same through the environment; no effect when `o` is not set. */
wstatus session_owner_begin(const struct session_env *env, const struct state_owner *o, struct reason *why);
void    session_owner_end(const struct session_env *env, const struct state_owner *o);
/* The os for that user's paths: it checks each path before it uses it (careful.h). */
struct os *session_owner_os(const struct session_env *env, const struct state_owner *o);
/* May that user's file be at `path`? W_ACCESS_DENIED: a program serves a part of the path, or it leads through a link
 * of /proc. 0: yes, or its folder does not exist. */
wstatus session_owner_path(const struct session_env *env, const struct state_owner *o, const char *path,
                           struct reason *why);

struct logger;         /* logger.c */
struct session_update; /* update.c */

/* A request to a running logger: its thread runs it after a flush. On the heap; the logger or the requester frees it,
 * whichever is done last. */
struct logger_errand {
    wstatus (*run)(struct logger *l, struct logger_errand *e);
    struct logger_errand *next; /* in session.queue */
    char                 *file;
    void                 *more;  /* malloc; further input of `run` */
    struct state_owner    owner; /* the requester */
    wstatus               status;
    struct reason         why;
    atomic_int            state; /* enum errand_state */
};
/* drain_goal. LEAVES: the kernel's records are left to a successor. SEALS: the kernel logger is stopped. ENDS: the
 * same, and the logger is told to end. */
enum { SESSION_USER_CONDITIONS = 64 };
enum drain_goal { DRAIN_GOES_ON, DRAIN_LEAVES, DRAIN_SEALS, DRAIN_ENDS };
enum errand_state { ERRAND_WAITS, ERRAND_DONE, ERRAND_GIVEN_UP };

struct session {
    struct session_env   *env;
    struct directory     *directory;
    struct state_session *state; /* mapped memfd: identity, limits, published positions */
    int                   state_fd;
    int                   wake_fd;  /* eventfd of this process: stop, flush, ready, drained */
    int                   epoll_fd; /* the logger waits here: wake_fd, and each UID's event_fd (edge-triggered) */
    struct session_clock  clock;
    /* of its tracepoints, when another session has the kernel's main buffer */
    char                  phase_instance[TRACEPOINT_INSTANCE];
    struct klog          *klog;
    struct session_uid    uid[STATE_UIDS];
    unsigned              uid_count, users_left; /* left: how often a user's last program has ended. Under lock */
    struct stream_set    *empty;                 /* of free places; created when first needed */
    uint32_t              chunk_shift, budget_chunks;
    struct condition_list conditions;                              /* found while running */
    uint64_t              user_condition[SESSION_USER_CONDITIONS]; /* hashes of the conditions about users */
    unsigned              user_conditions;
    bool                  more_user_conditions;
    struct reason         file_reason;     /* why the file failed; under lock */
    struct realtime      *realtime;        /* NULL: not a real-time session, or an early program */
    struct reason         realtime_reason; /* why a buffer was dropped; under lock */
    struct reason         realtime_kept;   /* why a backup file was not taken over; under lock */
    bool                  realtime_kept_noted;
    bool                  realtime_noted;  /* a dropped buffer became a condition */
    bool                  invariant_noted; /* so did a broken invariant */
    bool                  drain_noted;     /* so did this: */
    /* the longest time in which the kernel's records were not taken; 0: never long */
    _Atomic uint64_t drain_slowest_ms;
    pthread_mutex_t  lock;
    pthread_t        logger_thread, drain_thread;
    bool             logger_runs, drain_runs, sealed, stopping /* its end has begun */, ended;
    atomic_int       phase; /* enum session_phase */
    /* an enablement asks, or asked, for users' SIDs or for times; set before its terms are */
    atomic_bool    sids;
    atomic_bool    fs_ready, stop /* S7 */;
    atomic_int     drain_goal;              /* enum drain_goal */
    atomic_bool    date_set;                /* the system's date was set: the logger updates its file (anchor.h) */
    atomic_uint    flush_asked, flush_done; /* counters: the logger has done all flushes up to flush_done */
    atomic_int     logger_tid;
    atomic_bool    logger_ended; /* the logger thread has only to report this and return */
    struct logger *logger;
    _Atomic(struct logger_errand *) errand; /* the logger's next one; NULL: none */
    /* errands behind it, the first one first. The controlling thread's, as is errands_begun */
    struct logger_errand  *queue;
    unsigned               errands_begun; /* given to the logger */
    atomic_uint            errands_done;
    struct session_update *update;        /* the update under way (update.c); NULL: none */
    const char            *path_next;     /* the file that the update gives it; NULL: it keeps its file */
    uint64_t               counted_bytes; /* memory counted in the table */
    int                    private_fd;    /* pidfd of a private session's program; -1: none */
    int                    ring_fd;       /* BUFFERING: memfd with its newest buffers; -1: none */
    uint64_t               late_events;   /* under lock */
    /* of the streams, as of the last pass; under lock. used, busy: also set after its writes. lost_settled: the part of
     * `lost` that is not in the streams' own counts */
    struct {
        uint64_t lost, lost_settled, corrupt, used, busy, filtered, gone_overwritten, gone_lost;
    } totals;
    struct klog_counters kernel_final;
};

/* Creates a plan's session: memory, kernel sources, enablements. Starts nothing. Returns the session's Status. */
wstatus session_create(struct session_env *env, struct directory *directory, const struct plan *plan, unsigned index,
                       uint32_t generation, struct session **out, struct reason *why);
/* Takes over a session of a predecessor; `find` gives descriptors by name, -1 when missing. */
wstatus session_adopt(struct session_env *env, struct directory *directory, int state_fd,
                      int (*find)(void *ctx, const char *name), void *ctx, struct session **out, struct reason *why);
/* For a session created with kernel_later. open: the slow part, from any thread; it touches nothing of the session that
 * others change, and adds conditions to `found`. start: takes over `klog` and `found`, keeps the descriptors, starts
 * the session. */
bool session_wants_kernel(const struct session *s);
/* Its tracepoints cannot be had: adds conditions with the reason `why`. The session is otherwise unchanged. */
void    session_without_tracepoints(struct session *s, const struct reason *why);
wstatus session_kernel_open(const struct session *s, struct klog **out, struct condition_list *found,
                            struct reason *why);
wstatus session_kernel_start(struct session *s, struct klog *klog, struct condition_list *found, struct reason *why);
/* Memory runs low, or a request waits, before files may be written: creates tight_file. Any thread. */
void session_tight(const struct session_env *env);
/* Starts logger and drain threads and arms the kernel. */
wstatus session_start(struct session *s, struct reason *why);
/* The file system is ready: files may be created. */
void session_fs_ready(struct session *s);
/* Returns when the logger has written all events so far. W_TIMEOUT after 5 s; W_NOT_READY when no file may be created
 * yet; the file's Status when it failed. */
wstatus session_flush(struct session *s);
/* The same without waiting, and in two halves. The logger writes env->answers_fd when it has flushed. _begin returns a
 * number for _end. _end is true when that flush is done or impossible; *st is its Status. */
void     session_flush_soon(struct session *s);
unsigned session_flush_begin(struct session *s);
bool     session_flush_end(struct session *s, unsigned asked, wstatus *st);
/* ---- log_files.c, which the early program does not have ---- */
/* Copies what the session has, in its file or its ring, to a complete file of its own; the session goes on. `path`:
 * below the log folder. W_NOT_READY it does not run; W_INVALID_PARAMETER it keeps no events; and what making a file
 * gives. Does not wait: *out is done when session_errand_done says so. */
wstatus session_snapshot(struct session *s, const char *path, struct logger_errand **out, struct reason *why);
/* NEWFILE: goes on in the next file. W_INVALID_PARAMETER another mode, W_NOT_READY. Does not wait, as
 * session_snapshot. */
wstatus session_next_file(struct session *s, struct logger_errand **out, struct reason *why);
/* True: the errand is done or impossible; its Status and reason are set. The logger writes env->answers_fd when it has
 * done one. */
bool session_errand_done(struct session *s, const struct logger_errand *e);
/* Ends an errand of either: its result was read, or is no longer wanted. */
void    session_errand_end(struct session *s, struct logger_errand *e);
wstatus logger_next_file(struct logger *l, struct reason *why);
/* The first half of the end: disables the providers, closes the streams, quiesces, drains. The held events are then
 * final, and can be written later, also by a successor. */
void session_seal(struct session *s);
/* A successor goes on instead of this process: takes the kernel's records so far. Stops nothing. */
void session_leave(struct session *s);
/* Ends the session: disables its providers, closes the streams, quiesces, drains, completes the file. Blocks until
 * done. */
void session_stop(struct session *s);
/* The same in two halves: the file's storage may take long or never answer, and so may the kernel's records. begin
 * waits for neither; the logger writes env->changed_fd when the session has ended. end: true when it has, within
 * `wait_ms` (ms; -1: no limit). */
void session_stop_begin(struct session *s);
bool session_stop_end(struct session *s, int wait_ms);
void session_destroy(struct session *s); /* stops first if needed; NULL is fine */

/* Prepares the logger for an enablement's terms, before programs use them. */
static inline void session_expect(struct session *s, const struct filter_block *filter)
{
    if (filter && filter->property & (PROPERTY_SID | PROPERTY_CPU_TIME))
        atomic_store(&s->sids, true);
}
/* The key of a place in state_session.enable that keeps a provider from being enabled for a group (DisallowList). */
#define SESSION_DISALLOWED "DisallowList"
/* Enables a provider (directory entry, remembered for adoption). W_NO_SYSTEM_RESOURCES, W_NOT_ENOUGH_MEMORY. */
wstatus session_enable(struct session *s, const struct guid *provider, const char *key,
                       const struct enable_terms *terms, unsigned *slot, unsigned *entry, struct reason *why);
/* The same while the session runs (enable.c, which the early program does not have). _set: changes the terms of a
 * provider that is enabled already. W_NOT_READY: the session is ending. _find: where the provider is enabled; false: it
 * is not. _clear: after it no event of the provider is written. */
wstatus session_provider_set(struct session *s, const struct guid *provider, const struct enable_terms *terms,
                             unsigned *slot, unsigned *entry, struct reason *why);
bool    session_provider_find(const struct session *s, const struct guid *provider, unsigned *slot, unsigned *entry);
void    session_provider_clear(struct session *s, const struct guid *provider);
/* Changes the terms of a running session, one update at a time: all of them or, with `why`, none. W_INVALID_PARAMETER
 * not possible for this session, or it must not be changed; W_BAD_PATHNAME the file is its own already; W_NOT_SUPPORTED
 * not for such a session; W_NOT_READY it is ending, or no file may be made yet; and as klog_update and
 * etl_writer_create. What cannot be had goes to `found` and to the session's conditions. In update.c, which the early
 * program does not have. */
struct session_terms {
    bool     flags, stacks, timer, maximum, realtime, convert; /* the terms to change; a file: log_path is not NULL */
    bool     deliver;     /* realtime: on or off. convert: its file ends, real time alone from now on */
    uint32_t flush_timer; /* s, or ms by LogFileMode */
    uint32_t maximum_buffers;
    uint64_t memory_limit; /* bytes its buffers may have; 0: no limit */
    const char *log_path;  /* the new file, mapped; NULL: unchanged */
    const char *file_name; /* the same as declared */
    uint32_t    group_mask[GROUP_MASK_WORDS];
    uint16_t    hooks[HOOK_MAX];
    unsigned    hook_count;
};
/* Does not wait. 0: the update is under way, as *out, until session_update_end; W_BUSY: another one is. Any other
 * Status: nothing has changed. */
wstatus session_update_begin(struct session *s, const struct session_terms *terms, struct session_update **out,
                             struct reason *why);
/* True: it is done. The controlling thread's steps run here; the logger writes env->answers_fd when it has done its
 * part of a step. *ms: call again within this time. A step that takes longer than 2 s (a user's session) or 60 s (any
 * other) fails with W_TIMEOUT. */
bool session_update_done(struct session_update *u, unsigned *ms);
/* Returns the update's Status; `found` gets its conditions. Frees it. An unfinished update is given up (W_NOT_READY);
 * the logger finishes what it has begun. */
wstatus session_update_end(struct session_update *u, struct condition_list *found, struct reason *why);
/* Real time was switched off and consumers have got the rest: releases real-time delivery. */
void session_realtime_end(struct session *s);
/* Processors may have come or gone: its kernel logger adds or drops them; conditions say which, and when. In cpus.c,
 * which the early program does not have. */
void session_cpus(struct session *s);
/* Adds a condition when taking the kernel's records took long. The controlling thread. */
void session_drain_look(struct session *s);
/* A broken invariant of this process becomes a condition of the session, once. */
void session_invariant_look(struct session *s);
/* ---- users.c ---- */
bool session_has_user(struct session *s, uint32_t uid); /* has streams */
/* The streams that programs of `uid` write; created at first use. NULL only when out of memory. */
const struct session_uid *session_admit(struct session *s, uint32_t uid);
/* The last attached program of `uid` has ended: its memory goes to the other users. */
void session_user_left(struct session *s, uint32_t uid);
/* Takes back memory that programs took and may not have. Now and then; under lock. */
void session_users_trim(struct session *s);
/* The same, and adds conditions about what programs did that the library never does. The controlling thread, without
 * the lock. */
void session_users_look(struct session *s);
/* Adds a condition that a user caused. Only the first of each `number` and `once` counts; at most
 * SESSION_USER_CONDITIONS, and one that says that there were more. The controlling thread. */
void session_user_condition(struct session *s, wstatus number, bool note, const char *once, const char *item,
                            const char *advice, const char *what);
/* CLOCK_MONOTONIC_RAW. */
static inline uint64_t session_now_ns(const struct session *s) { return s->env->os->raw_ns(s->env->os); }
static inline unsigned session_places_used(const struct session *s)
{
    unsigned used = 0;
    for (unsigned u = 0; u < s->uid_count; u++)
        used += !s->uid[u].gone;
    return used;
}
/* So few places are left that some are to be given up. Both under lock. */
static inline bool session_places_scarce(const struct session *s)
{
    return session_places_used(s) > STATE_UIDS / 4 * 3;
}
/* Gives each user's pool its part of the memory that is not busy. Returns how many chunks are not busy. Under lock. */
uint32_t session_share(struct session *s);
/* Lets the logger wait for a UID's event descriptor too. */
bool session_watch(struct session *s, int event_fd);
void session_info(struct session *s, struct ctl_session_info *out);
/* Events that programs overwrote before the logger had read them. As of now; under lock, or once the session has
 * stopped. */
uint64_t session_overwritten(struct session *s);
/* Slots are copied word by word: the logger may write one while another thread reads it. The reader then sees that a
 * newer one was published, and reads again. */
static inline uint64_t state_slot_word(const struct state_slot *slot, size_t i)
{
    return __atomic_load_n((const uint64_t *)(const void *)slot + i, __ATOMIC_RELAXED);
}
/* The published part that is current. */
static inline const struct state_slot *session_slot(const struct state_session *st)
{
    return (const void *)((const uint8_t *)st + st->slot_offset[__atomic_load_n(&st->current, __ATOMIC_ACQUIRE) & 1]);
}
/* All processors' events go to one row of buffers. Not for kernel sessions: a kernel event keeps its processor. */
static inline bool session_single(const struct session *s)
{
    return s->state->log_file_mode & ETL_MODE_NO_PER_PROCESSOR && !s->state->kernel && s->env->modes;
}
/* Its programs overwrite their oldest events when they find no room. */
static inline bool session_overwrites(const struct session *s)
{
    return (s->state->log_file_mode & ETL_MODE_BUFFERING) != 0;
}
/* A private session of several processes: is `part` one of its parts? */
static inline bool session_is_part(const struct session *part, const struct session *whole)
{
    return part && part->state->processes.kind == STATE_PART && whole->state->processes.kind == STATE_WHOLE &&
           part->state->processes.of == whole->state->generation;
}
/* The path of its file, with "%d" for a NEWFILE session; "": no file. */
static inline const char *session_log_path(const struct state_session *st)
{
    return state_slot_word(session_slot(st), offsetof(struct state_slot, path) / 8) ? st->other_path : st->log_path;
}
/* It writes that file, or is about to. */
static inline bool session_writes(const struct session *s, const char *path)
{
    return strcmp(session_log_path(s->state), path) == 0 || (s->path_next && strcmp(s->path_next, path) == 0);
}
/* The path of its file; NEWFILE: with this number. `out` has CTL_PATH bytes. */
void session_file_path(const struct state_session *st, uint32_t number, char *out);
/* One enablement of the session. Enablements are numbered in the order in which they were made. */
struct session_provider {
    const char           *key;           /* of its declaration; borrowed from the session */
    uint32_t              registrations; /* programs that registered it while it was enabled */
    uint32_t              tracepoints;   /* kernel tracepoints opened for it */
    uint64_t              events;        /* in the file */
    struct stream_refused refused;       /* what programs tried to write and the enablement kept out */
};
/* False: there is no enablement `i` (from 0). */
bool session_provider(struct session *s, unsigned i, struct session_provider *out);
/* The file's Status with its reason, for a session that runs or ran. */
wstatus session_file_status(struct session *s, struct reason *why);

/* logger.c */
wstatus logger_create(struct session *s, struct logger **out, struct reason *why);
void    logger_destroy(struct logger *l);
void   *logger_main(void *session);
/* One pass; `final` takes everything and flushes. For tests and for the thread. False: an event on a fallback stream is
 * reserved and not yet published; a later pass takes it. */
bool logger_pass(struct logger *l, bool final, bool flush);
/* chunks that all UIDs of a session may have together; how many there is address space for: the limit to which the
 * budget may grow (update.c) */
uint32_t session_budget(const struct state_session *st, uint32_t chunk_shift);
uint32_t session_capacity(uint32_t budget, uint32_t chunk_shift);
/* bytes of MaximumBuffers for the kernel's raw records: all, or half when programs write too (tracepoints) */
uint64_t session_raw_bytes(const struct state_session *st);
/* sizes of the published part */
size_t state_slot_bytes(unsigned cpus);
#endif
