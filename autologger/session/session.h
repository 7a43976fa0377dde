/* session.h - one running trace session: its plan, its streams (one set per UID), its kernel logger, its logger thread.
 * Invariants
 *   S1 the sum of granted chunks over all UIDs stays within given maximum x BufferSize. What is not busy is shared in
 *      equal parts by the users whose programs are attached (users.c): writers take from their user's part without
 *      asking. Who finds no place (S6) gets a set without chunks: its events are lost with W_NOT_ENOUGH_MEMORY and
 *      counted.
 *   S2 read positions, file offset and counters are published together after each write (wire/state.h).
 *   S3 before the file system is ready no file is created; events are held in memory.
 *   S4 attempted = written + lost holds exactly once the session has stopped.
 *   S6 STATE_UIDS - 1 users at a time have places. Where few are left, those of users without programs are given up
 *      (places.c); the last one is shared by all who found none.
 *   S7 the logger is told to end (`stop`) when the kernel's part has been stopped. That may take long: the drain thread
 *      does both, and the controlling thread waits for neither (session_stop_begin).
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
    /* programs of this UID signal half-full streams with it; never read: theirs to spoil */
    int  event_fd;
    bool admitted; /* has chunks, or may have */
    bool trimmed;  /* it took memory that it may not have. Under lock */
    /* that, or that it writes untrue times or counts, became a condition */
    bool               memory_noted, times_noted, counts_noted;
    bool               live; /* a program of it is attached: it gets a part of the memory. Under lock */
    bool               gone; /* nobody has the place (S6): `streams` is the session's empty set. Under lock */
    struct stream_set *streams;
    struct stream_set *old; /* of who had it, until the controlling thread has closed them; else NULL. Under lock */
};

/* What a daemon gives every session. */
struct logger;
struct session_env {
    struct os           *os;
    unsigned             cpus;
    struct clock_machine machine;
    /* of the boot: how long after its beginning a moment was. Sessions have anchors of their own (anchor.h) */
    struct clock_anchor anchor;
    /* a boot is recovered: its clock is not this machine's, and its dates stay as they are */
    bool        clock_gone;
    const char *log_dir;      /* links below it are refused; NULL: no check */
    uint64_t    free_floor;   /* bytes of a volume that are never used up */
    int         changed_fd;   /* eventfd: a logger has something to tell the controlling thread */
    bool        kernel_later; /* session_create leaves kernel sources to session_kernel_open and _start */
    bool        threads;      /* false in tests on a fake OS: nothing runs by itself */
    /* keeps a descriptor beyond this process's death, or drops it (fd -1); may be NULL. ring_bytes as in klog_fds */
    void (*keep)(void *ctx, const char *name, int fd, size_t ring_bytes);
    void *keep_ctx;
    /* an early program's: made when memory becomes tight while no file may be written, for whoever is to allow it may
     * wait; or NULL */
    const char *tight_file;
    int         proc_fd; /* of /proc, or 0: klog_config */
    /* an early program's: sessions of kernel events begin with the kernel's own trace buffer, which the command line
     * has armed */
    bool                        kernel_phase, phase_taken; /* taken: by the first of them, there is one such buffer */
    const struct realtime_part *realtime; /* NULL: an early program's; real-time sessions hold their events */
    /* NEWFILE: the next file (log_files.c). NULL: an early program's, and where no session is NEWFILE */
    wstatus (*next_file)(struct logger *l, struct reason *why);
    const struct logger_modes *modes;          /* NULL: an early program's */
    uint32_t                  *message_number; /* USE_GLOBAL_SEQUENCE: the last that was given, in the daemon's state */
    /* eventfd: a buffer came that consumers may wait for; 0: nobody listens */
    int consumers_fd;
    int answers_fd; /* eventfd: a logger has done what it was asked for; 0: nobody listens */
    /* For the marks of backups (backup_owner.h): SHA-256 of the descriptors that count for an object, and for the
     * kernel's events where it has them; from any thread. NULL: none counts. And the machine's key of 32 bytes; NULL:
     * there is none */
    void (*rights_digest)(void *ctx, const struct guid *object, bool kernel, uint8_t out[32]);
    void          *rights_ctx;
    const uint8_t *machine_key;
    /* another user's file is made with that user's rights to files (daemon/parts/writer.h). NULL: an early program's,
     * where all is root's */
    const struct session_owner_part *owner;
    /* for which a PRIVATE_IN_PROC session, or a part, is made now; NULL: such sessions are ordinary ones */
    const struct state_connection *program;
    /* the session that is made now is a private one of several processes, or a part of one; NULL: neither */
    const struct state_processes *processes;
    const struct state_owner     *asks; /* for whom sessions and snapshots are made now; NULL: the daemon */
    /* as in klog_config; NULL: an early program's, and of a boot that is recovered on what may be another machine */
    klog_collect system_config;
    /* the kernel logger's constructor; NULL = klog_create */
    wstatus (*kernel_open)(const struct klog_config *config, struct klog **out, struct reason *why);
};

/* What a session's mode asks of its logger beyond the common way (logger_modes.c). */
struct logger_modes {
    /* NO_PER_PROCESSOR_BUFFERING: as logger_merge, in one order of time */
    void (*merge)(struct logger *l, uint64_t horizon);
    uint32_t (*message_number)(struct logger *l); /* USE_..._SEQUENCE: of the next message that asks for one */
};
extern const struct logger_modes logger_modes;

/* Between begin and end `os` has that user's rights to files, for the calling thread alone. W_ACCESS_DENIED: they
 * cannot be had. */
struct session_owner_part {
    wstatus (*begin)(const struct state_owner *o, struct reason *why);
    void (*end)(const struct state_owner *o);
    struct os *(*os)(struct os *inner); /* for paths that such a user chose (careful.h) */
};
/* The same by the environment; `o` not set: nothing. */
wstatus session_owner_begin(const struct session_env *env, const struct state_owner *o, struct reason *why);
void    session_owner_end(const struct session_env *env, const struct state_owner *o);
/* Whose paths are looked at before anything is asked of them. */
struct os *session_owner_os(const struct session_env *env, const struct state_owner *o);
/* May that user's file be at `path`? W_ACCESS_DENIED: a part of it is served by a program, or it leads through a link
 * of /proc. 0: or its folder is not there. */
wstatus session_owner_path(const struct session_env *env, const struct state_owner *o, const char *path,
                           struct reason *why);

struct logger;         /* logger.c */
struct session_update; /* update.c */

/* Something that is asked of a running logger: its thread runs it after a flush. In heap: whoever of the two comes last
 * frees it. */
struct logger_errand {
    wstatus (*run)(struct logger *l, struct logger_errand *e);
    struct logger_errand *next; /* in session.queue */
    char                 *file;
    void                 *more;  /* malloc; what `run` needs besides */
    struct state_owner    owner; /* who asks */
    wstatus               status;
    struct reason         why;
    atomic_int            state; /* enum errand_state */
};
/* LEAVES: what the kernel has is left to a successor. SEALS: the kernel's part is stopped. ENDS: and the logger is told
 * to end. */
enum { SESSION_USER_CONDITIONS = 64 };
enum drain_goal { DRAIN_GOES_ON, DRAIN_LEAVES, DRAIN_SEALS, DRAIN_ENDS };
enum errand_state { ERRAND_WAITS, ERRAND_DONE, ERRAND_GIVEN_UP };

struct session {
    struct session_env   *env;
    struct directory     *directory;
    struct state_session *state; /* mapped memfd: identity, limits, published positions */
    int                   state_fd;
    int                   wake_fd;  /* eventfd, this process's own: stop, flush, ready, drained */
    int                   epoll_fd; /* the logger waits here: wake_fd, and every UID's event_fd by its edges */
    struct session_clock  clock;
    /* of its tracepoints, where another session has the kernel's main buffer */
    char                  phase_instance[TRACEPOINT_INSTANCE];
    struct klog          *klog;
    struct session_uid    uid[STATE_UIDS];
    unsigned              uid_count, users_left; /* left: how often the last program of a user has ended. Under lock */
    struct stream_set    *empty;                 /* of places that nobody has; made with the first user */
    uint32_t              chunk_shift, budget_chunks;
    struct condition_list conditions;                              /* found while running */
    uint64_t              user_condition[SESSION_USER_CONDITIONS]; /* what was said of users */
    unsigned              user_conditions;
    bool                  more_user_conditions;
    struct reason         file_reason;     /* why the file failed; under lock */
    struct realtime      *realtime;        /* NULL: not a real-time session, or an early program's */
    struct reason         realtime_reason; /* why a buffer was dropped; under lock */
    struct reason         realtime_kept;   /* a backup file that was not taken over; under lock */
    bool                  realtime_kept_noted;
    bool                  realtime_noted; /* that became a condition */
    bool                  drain_noted;    /* as did this: */
    /* the longest time for which the kernel's records were not taken; 0: never long */
    _Atomic uint64_t drain_slowest_ms;
    pthread_mutex_t  lock;
    pthread_t        logger_thread, drain_thread;
    bool             logger_runs, drain_runs, sealed, stopping /* its end was begun */, ended;
    atomic_int       phase; /* enum session_phase */
    /* an enablement asks for users' SIDs or for times, or did; set before its terms are */
    atomic_bool    sids;
    atomic_bool    fs_ready, stop /* S7 */;
    atomic_int     drain_goal;              /* enum drain_goal */
    atomic_bool    date_set;                /* the system's date was set: the logger writes it down (anchor.h) */
    atomic_uint    flush_asked, flush_done; /* numbers: the logger has done all flushes up to flush_done */
    atomic_int     logger_tid;
    atomic_bool    logger_ended; /* its thread does nothing more but return, once it has told so */
    struct logger *logger;
    _Atomic(struct logger_errand *) errand; /* the logger's next one; NULL: none */
    /* errands behind it, the first one first; the controlling thread's, as the next one */
    struct logger_errand  *queue;
    unsigned               errands_begun; /* given to the logger */
    atomic_uint            errands_done;
    struct session_update *update;        /* that is under way (update.c); NULL: none */
    const char            *path_next;     /* the file that it is to have by that; NULL: it keeps the one it has */
    uint64_t               counted_bytes; /* of memory, in the table */
    int                    private_fd;    /* pidfd of the program whose session it is; -1: none */
    int                    ring_fd;       /* BUFFERING: memfd with its newest buffers; -1: has none */
    uint64_t               late_events;   /* under lock */
    /* of the streams, as of the last pass; under lock. used, busy: also after its writes. lost_settled: the part of
     * `lost` that is not in the streams' own counts */
    struct {
        uint64_t lost, lost_settled, corrupt, used, busy, filtered, gone_overwritten, gone_lost;
    } totals;
    struct klog_counters kernel_final;
};

/* Creates the session of a plan: memory, kernel sources, enablement. Nothing runs yet. The Status of a session. */
wstatus session_create(struct session_env *env, struct directory *directory, const struct plan *plan, unsigned index,
                       uint32_t generation, struct session **out, struct reason *why);
/* Takes over a session of a predecessor; `find` gives descriptors by name, -1 when missing. */
wstatus session_adopt(struct session_env *env, struct directory *directory, int state_fd,
                      int (*find)(void *ctx, const char *name), void *ctx, struct session **out, struct reason *why);
/* For a session that was created with kernel_later. open: the slow part, from any thread, touches nothing of the
 * session that others change; `found` gets conditions. start: takes both over, keeps the descriptors, starts the
 * session. */
bool session_wants_kernel(const struct session *s);
/* `why` says why its tracepoints can't be had: conditions of the session, which is otherwise as it was. */
void    session_without_tracepoints(struct session *s, const struct reason *why);
wstatus session_kernel_open(const struct session *s, struct klog **out, struct condition_list *found,
                            struct reason *why);
wstatus session_kernel_start(struct session *s, struct klog *klog, struct condition_list *found, struct reason *why);
/* Memory becomes tight, or somebody waits, while no file may be written: see tight_file. Any thread. */
void session_tight(const struct session_env *env);
/* Starts logger and drain threads and arms the kernel. */
wstatus session_start(struct session *s, struct reason *why);
/* The file system is ready: files may be created. */
void session_fs_ready(struct session *s);
/* Returns when the logger has written what was there. 1460 after 5 s; 21 when no file may be created yet; the file's
 * Status when it failed. */
wstatus session_flush(struct session *s);
/* The same without waiting; and in two halves: the logger writes env->answers_fd when it has flushed. _begin: a number
 * for _end, which is true when that is done, or can't be: *st. */
void     session_flush_soon(struct session *s);
unsigned session_flush_begin(struct session *s);
bool     session_flush_end(struct session *s, unsigned asked, wstatus *st);
/* ---- log_files.c, which the early program does not have ---- */
/* What the session has, in its file or its ring, as a file of its own: complete, and the session goes on. `path`: below
 * the log folder. W_NOT_READY it does not run; W_INVALID_PARAMETER it keeps no events; and what making a file gives.
 * Waits for nothing: *out is done when session_errand_done says so. */
wstatus session_snapshot(struct session *s, const char *path, struct logger_errand **out, struct reason *why);
/* NEWFILE: goes on in the next file. W_INVALID_PARAMETER another mode, W_NOT_READY. As session_snapshot. */
wstatus session_next_file(struct session *s, struct logger_errand **out, struct reason *why);
/* True: it has been done, or can't be: its Status and reason are there. The logger writes env->answers_fd when it has
 * done one. */
bool session_errand_done(struct session *s, const struct logger_errand *e);
/* Of either: nobody waits for it any more, or what it found was read. */
void    session_errand_end(struct session *s, struct logger_errand *e);
wstatus logger_next_file(struct logger *l, struct reason *why);
/* The first half of its end: disables its providers, closes the streams, quiesces, drains. What is held is then final,
 * and can be written later, by a successor too. */
void session_seal(struct session *s);
/* This process goes on no longer, a successor does: takes what the kernel has for it so far. Nothing is stopped. */
void session_leave(struct session *s);
/* Ends it: disables its providers, closes the streams, quiesces, drains, completes the file. Blocks until done. */
void session_stop(struct session *s);
/* The same in two halves, as its file's storage may take long, or never answer, and so may what the kernel recorded:
 * begin does not wait for either; the logger writes env->changed_fd when it has ended. end: true when it has, within
 * `wait_ms` (ms; -1: however long it takes). */
void session_stop_begin(struct session *s);
bool session_stop_end(struct session *s, int wait_ms);
void session_destroy(struct session *s); /* stops first if needed; NULL is fine */

/* What the logger has to know of terms before programs go by them. */
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
/* The same while it runs, in a file of its own (enable.c), which the early program does not have. _set: of a provider
 * that is enabled already it changes the terms. W_NOT_READY: the session is ending. _find: where it is enabled, false:
 * it is not. _clear: when it returns no event of it is written any more. */
wstatus session_provider_set(struct session *s, const struct guid *provider, const struct enable_terms *terms,
                             unsigned *slot, unsigned *entry, struct reason *why);
bool    session_provider_find(const struct session *s, const struct guid *provider, unsigned *slot, unsigned *entry);
void    session_provider_clear(struct session *s, const struct guid *provider);
/* Other terms for a session that runs, one update at a time: all of them or, with `why`, nothing. W_INVALID_PARAMETER
 * not possible with what the session is, or it must not be
 * changed; W_BAD_PATHNAME the file is its own already; W_NOT_SUPPORTED not for such a session; W_NOT_READY it is
 * ending, or no file may be made yet; and as klog_update and
 * etl_writer_create. What can't be had goes to `found` and to the session's conditions. In a file of its own
 * (update.c), which the early program does not have. */
struct session_terms {
    bool        flags, stacks, timer, maximum, realtime, convert; /* which of them; a file: log_path is not NULL */
    bool        deliver;     /* realtime: on or off. convert: real time alone from now on, its file ends */
    uint32_t    flush_timer; /* s, or ms by LogFileMode */
    uint32_t    maximum_buffers;
    uint64_t    memory_limit; /* bytes that its buffers may have; 0: no limit */
    const char *log_path;     /* the file from now on, mapped; NULL: stays */
    const char *file_name;    /* the same as it was declared */
    uint32_t    group_mask[GROUP_MASK_WORDS];
    uint16_t    hooks[HOOK_MAX];
    unsigned    hook_count;
};
/* Waits for nothing. 0: it is under way, and *out says so until session_update_end; W_BUSY: another one is. Else
 * nothing has changed. */
wstatus session_update_begin(struct session *s, const struct session_terms *terms, struct session_update **out,
                             struct reason *why);
/* True: it is done. The controlling thread does its steps here; the logger writes env->answers_fd when it has done its
 * part of one. *ms: to be asked again by then. 2 s after a step of a user's session was begun, 60 s of another one,
 * that step has failed: W_TIMEOUT. */
bool session_update_done(struct session_update *u, unsigned *ms);
/* What became of it; `found` gets more. Frees it. One that is not done is given up (W_NOT_READY): what the logger has
 * begun it ends. */
wstatus session_update_end(struct session_update *u, struct condition_list *found, struct reason *why);
/* Real time was switched off and consumers have got their rest: nothing of it is left. */
void session_realtime_end(struct session *s);
/* Processors came or went, perhaps: its kernel logger takes them up, or lets them go; conditions say which, and when.
 * In a file of its own (cpus.c), which the early program does not have. */
void session_cpus(struct session *s);
/* A condition says so when taking the kernel's records took long. The controlling thread. */
void session_drain_look(struct session *s);
/* ---- users.c ---- */
bool session_has_user(struct session *s, uint32_t uid); /* has streams */
/* The streams that programs of `uid` write; made at first use. Never NULL except when out of memory. */
const struct session_uid *session_admit(struct session *s, uint32_t uid);
/* The last program of `uid` that was attached has ended: its memory goes to the others. */
void session_user_left(struct session *s, uint32_t uid);
/* Memory that programs took and may not have goes back. Now and then; under lock. */
void session_users_trim(struct session *s);
/* The same, and conditions say what programs did that the library does not. The controlling thread, without the
 * lock. */
void session_users_look(struct session *s);
/* A condition of the session that a user's doings are the cause of. The first of each `number` and `once` counts; there
 * are SESSION_USER_CONDITIONS at most, and one that says that there were more. The controlling thread. */
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
/* So few are left that places are to be given up. Both under lock. */
static inline bool session_places_scarce(const struct session *s)
{
    return session_places_used(s) > STATE_UIDS / 4 * 3;
}
/* Gives each user's pool its part of what is not busy. Returns how many chunks that is. Under lock. */
uint32_t session_share(struct session *s);
/* Lets the logger wait for a UID's event descriptor too. */
bool session_watch(struct session *s, int event_fd);
void session_info(struct session *s, struct ctl_session_info *out);
/* Events that programs overwrote before the logger had read them. As of now; under lock, or once the session has
 * stopped. */
uint64_t session_overwritten(struct session *s);
/* Slots are copied in words: the logger writes one while others may read it, who then see that it was published since,
 * and read again. */
static inline uint64_t state_slot_word(const struct state_slot *slot, size_t i)
{
    return __atomic_load_n((const uint64_t *)(const void *)slot + i, __ATOMIC_RELAXED);
}
/* The published part that counts now. */
static inline const struct state_slot *session_slot(const struct state_session *st)
{
    return (const void *)((const uint8_t *)st + st->slot_offset[__atomic_load_n(&st->current, __ATOMIC_ACQUIRE) & 1]);
}
/* All processors' events in one row of buffers. What the kernel tells is of a processor, and stays so. */
static inline bool session_single(const struct session *s)
{
    return s->state->log_file_mode & ETL_MODE_NO_PER_PROCESSOR && !s->state->kernel && s->env->modes;
}
/* Its programs overwrite their oldest events where they find no room. */
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
/* The path of its file, with "%d" of a NEWFILE session; "": it has none. */
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
/* What is known of one enablement of the session: the providers that it enabled, in that order. */
struct session_provider {
    const char           *key;           /* of its declaration; borrowed from the session */
    uint32_t              registrations; /* programs that registered it while it was enabled */
    uint32_t              tracepoints;   /* of the kernel, that were opened for it */
    uint64_t              events;        /* in the file */
    struct stream_refused refused;       /* what programs tried and the enablement kept out */
};
/* False: there is no enablement `i` (from 0). */
bool session_provider(struct session *s, unsigned i, struct session_provider *out);
/* The file's Status with its reason, for a session that runs or ran. */
wstatus session_file_status(struct session *s, struct reason *why);

/* logger.c */
wstatus logger_create(struct session *s, struct logger **out, struct reason *why);
void    logger_destroy(struct logger *l);
void   *logger_main(void *session);
/* One pass; `final` takes everything and flushes. For tests and for the thread. False: an event is reserved on a
 * fallback stream and not yet published; it comes with a later pass. */
bool logger_pass(struct logger *l, bool final, bool flush);
/* chunks that all UIDs of a session may have together, and how many there is address space for: the budget may grow so
 * far (update.c) */
uint32_t session_budget(const struct state_session *st, uint32_t chunk_shift);
uint32_t session_capacity(uint32_t budget, uint32_t chunk_shift);
/* what MaximumBuffers pays for of the kernel's raw records: all of it, or half where programs write too
 * (tracepoints) */
uint64_t session_raw_bytes(const struct state_session *st);
/* sizes of the published part */
size_t state_slot_bytes(unsigned cpus);
#endif
