/* process.h - what the provider library keeps per process. One of the project's two places with globals (a library
 * inside somebody else's program has no context argument).
 *
 * The parts, by what fork does to them:
 *   life   wiped by fork (MADV_WIPEONFORK): lock, cached pid, agent thread, descriptors. A child finds zeros: an
 *          unlocked lock and no pid, and starts anew at its next call
 *   near   wiped too: what every event reads of its process, on as few pages as possible. Its quiet[i] is 5 + the
 *          handle of registration i while no session wants it, else 0: the whole check of a disabled EventWrite; zeros
 *          send a child to the slow path
 *   table  kept by fork: the registrations, which the child announces again
 * Invariants
 *   P1 a handle is generation << 32 | index * 8; generation is never 0, so a handle is never 0.
 *   P2 writers take no lock: they read `handle`, `slot` and views[] atomically. The memory behind these is never
 *      unmapped or reused; after a detach it is pages of zeros, in which nothing is open.
 *   P3 only the agent thread uses the socket, and only after checking that the number still is that socket.
 *   P5 stamps only rise, and are kept by fork: ids that a child's first thread has inherited never count in the child.
 *   P4 no function here prints, exits, aborts or leaves a signal behind.
 * Threads: `life.lock` guards everything except what P2 names. Not for: the ring protocol (ring/writer.h). */
#ifndef AUTOLOGGER_PROVIDER_PROCESS_H
#define AUTOLOGGER_PROVIDER_PROCESS_H
#include "autologger/include/evntprov.h"
#include "autologger/provider/filter.h"
#include "autologger/ring/writer.h"
#include "autologger/wire/shm.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

enum {
    REGISTRATIONS = 1024,
    INDEXES       = 2048, /* more than registrations, so that an index rests before it is used again */
    PATH_SIZE     = 1024,
    WAIT_MS       = 250,
    WIPED_PAGE    = 4096
};

/* A descriptor, and how to tell that the program has not reused its number. */
struct known_fd {
    int   fd; /* valid while `open` */
    bool  open;
    dev_t device;
    ino_t inode;
};

enum agent_state { AGENT_NONE, AGENT_STARTING, AGENT_NO_DAEMON, AGENT_CONNECTED };

struct life {
    uint32_t         pid; /* 0: not started in this process */
    pthread_mutex_t  lock;
    pthread_cond_t   changed;
    pthread_t        agent;
    enum agent_state state;
    uint32_t         calling; /* index + 1 of the registration whose callback runs */
    uint32_t         epoch;   /* counts connections */
    struct known_fd  wake;
    struct known_fd  socket;
    uint32_t         seeded;
    uint64_t         random[2]; /* of activity ids */
    uint64_t         counter;
};
union life_page {
    struct life life;
    uint8_t     page[WIPED_PAGE];
};
extern union life_page al_life __attribute__((visibility("hidden")));
#define LIFE al_life.life

/* A rare event finds nothing in the caches: it waits for each page and line that it reads, and for two where the
 * address of one is in the other. */
struct near {
    uint32_t          stamp;               /* of valid struct thread_ids; 0: not started in this process */
    uint32_t          pid;                 /* the one in events: LIFE.pid, or its number in the daemon's namespace */
    struct ring_rseq  rseq;                /* copy of the ring's; not usable before a session is attached */
    struct ring_view *views[SHM_SESSIONS]; /* by session index; NULL = not attached */
    uint64_t          quiet[INDEXES];
};
union near_pages {
    struct near near;
    uint8_t     page[(sizeof(struct near) + WIPED_PAGE - 1) / WIPED_PAGE * WIPED_PAGE];
};
extern union near_pages al_near __attribute__((visibility("hidden")));
#define al_quiet al_near.near.quiet
#define al_views al_near.near.views

struct registration {
    uint64_t                   handle; /* 0 = free */
    const struct shm_provider *slot;   /* in the directory; NULL = unknown to a daemon */
    /* These eight bytes match those of a slot (registration_is_simple): plain stands where the slot has the first
     * session's bit. */
    uint32_t slot_generation; /* of `slot`; set before it */
    bool     plain;           /* neither types, traits nor filters: descriptors go out as they are */
    /* a session whose scope filter matches this process has an event filter */
    bool        filtered;
    bool        use_types;  /* data descriptors have types */
    bool        traits_new; /* not yet announced to the daemon */
    struct guid guid;
    /* Where its next event will probably go, prefetched while that is being found out (event_write.c). May belong to a
     * session that is gone: used as addresses only. The first 64 bytes end here. */
    const struct ring_view   *next_view;
    const struct shm_control *next_control;
    const struct shm_stream  *next_stream;
    uint32_t                  slot_number; /* of `slot`; set before it */
    const uint8_t            *traits;      /* NULL = none */
    uint32_t                  traits_size;
    uint32_t                  traits_room; /* of `traits_copy` */
    uint8_t                  *traits_copy; /* grows, is never freed: a writer may be reading it */
    PENABLECALLBACK           callback;
    void                     *context;
    struct _tlgProvider_t    *tlg;
    struct classic           *classic;     /* of a provider of the older API (classic.h), or NULL */
    uint64_t                  announced;   /* the handle that the daemon knows for this index; 0 = none */
    uint32_t                  answered;    /* 1: REGISTERED came for `announced` */
    uint32_t                  denied;      /* why REGISTERED refused it for good: W_ACCESS_DENIED, W_INVALID_NAME; 0 */
    uint32_t                  owed;        /* CTL_ENABLE messages still to come after REGISTERED */
    uint32_t                  enabled_for; /* sessions enabled by what callbacks were told: bit per enable index */
    /* of these: told over a connection that the program closed, and not yet over the new one */
    uint32_t doubted;
    /* whether this program is in scope: generation << 8 | 1 yes, 2 no; 0: not evaluated */
    uint64_t scope[SHM_PROVIDER_SESSIONS];
} __attribute__((aligned(128)));
_Static_assert(offsetof(struct registration, slot_number) == 64, "one line");
_Static_assert(offsetof(struct registration, slot_generation) == offsetof(struct shm_provider, generation) &&
                   offsetof(struct registration, plain) == offsetof(struct shm_provider, mask) &&
                   offsetof(struct registration, filtered) == offsetof(struct shm_provider, filtered) &&
                   offsetof(struct registration, use_types) == offsetof(struct shm_provider, reserved1) &&
                   offsetof(struct shm_provider, generation) % 8 == 0,
               "registration_is_simple compares them");
extern struct registration al_table[INDEXES] __attribute__((visibility("hidden")));

extern unsigned al_used; /* indexes in use are below it */

/* Ids of this thread; `stamp` reveals a stale copy, after fork or when the process learned its outer number. */
struct thread_ids {
    uint32_t    tid, pid; /* in this order: bytes 8..15 of a header */
    struct guid activity;
    uint32_t    stamp;              /* al_near's when they were found; ~0: look them up */
    uint32_t    inner, inner_stamp; /* its number in its own namespace */
    uint32_t    asked;              /* the stamp for which the daemon was asked */
};
extern __thread struct thread_ids al_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* process.c */
bool process_start(void); /* with the lock held: starts what a first call needs, also a child's */
void process_lock(void);
void process_unlock(void);
void process_wake_agent(void);
bool process_on_agent(void);
/* Waits until `index` is answered and called back, or no daemon is there, at most WAIT_MS. Lock held. */
void process_wait_registered(unsigned index);
void process_fork_check(void); /* a child starts anew and announces everything; without the lock */
/* thread_ids.c */
void process_refresh_thread(void);     /* fills al_thread for this thread of this process */
void thread_ids_begin(uint32_t pid);   /* for a starting process, after LIFE.pid is set */
void thread_ids_process(uint32_t pid); /* sets the process's number in events */
/* puts back a number of thread_ids_next that could not be asked for now; false: no place for it */
bool        thread_ids_again(uint32_t inner);
uint32_t    thread_ids_next(void);                           /* an inner number to ask the daemon for; 0: none */
void        thread_ids_told(uint32_t inner, uint32_t outer); /* outer 0: unknown to the daemon */
void        process_random(void);                            /* LIFE.random is filled when it returns */
const char *process_runtime_dir(unsigned i);                 /* candidates in order; NULL = no more */

bool known_fd_init(struct known_fd *k, int fd);
bool known_fd_ok(const struct known_fd *k);
void known_fd_close(struct known_fd *k); /* only if it still is the same file */

/* registration.c */
/* The common part of EventRegister, TraceLoggingRegister and RegisterTraceGuids. `handle` is filled before the callback
 * can run. */
ULONG registration_add(LPCGUID provider, PENABLECALLBACK callback, PVOID context, struct _tlgProvider_t *tlg,
                       struct classic *classic, PREGHANDLE handle);
void  registration_recompute(unsigned index);         /* lock held: quiet word and inline checks from the directory */
void  registration_set_plain(struct registration *r); /* from the fields that it depends on */
/* The filter of an enablement; false: none, or an invalid one. */
bool registration_filter(const struct shm_provider *slot, unsigned entry, struct filter_view *out);
/* True when this program is in the scope of an enablement with a filter. A program outside does not even see the
 * enablement. */
bool registration_in_scope(const struct registration *r, const struct shm_provider *slot, unsigned entry);
/* The enablements that are for this program, a bit each, and whether one of them has a filter. `slot` may be NULL. */
uint32_t registration_enabled(const struct registration *r, const struct shm_provider *slot, bool *filtered);
/* The terms of the sessions that enable a provider, as told to its program: the highest level, the keywords of any, and
 * the keywords that all of them require. As on Windows a session that states no level or no keywords asks for all:
 * 0xFF, all ones. Level 0: no session. */
struct provider_terms {
    uint8_t  level;
    uint64_t any, all;
};
/* How many sessions enable the provider, as its callback was told. Call it inside the callback, beside which no other
 * runs. */
unsigned              registration_sessions(REGHANDLE handle);
struct provider_terms registration_terms(const struct shm_provider *slot, uint32_t entries);
/* The enabled sessions of the slot, a bit each; those with a filter have one in the second byte as well. */
static inline uint32_t slot_word(const struct shm_provider *slot)
{
    return __atomic_load_n((const uint16_t *)(const void *)&slot->mask, __ATOMIC_ACQUIRE);
}
/* True when `slot` is this registration's, only the first of its sessions is enabled, and it asks for nothing but level
 * and keywords: the case of nearly all events, by one comparison. False proves nothing. */
static inline bool registration_is_simple(const struct registration *r, const struct shm_provider *slot)
{
    return __atomic_load_n((const uint64_t *)(const void *)&slot->generation, __ATOMIC_ACQUIRE) ==
           __atomic_load_n((const uint64_t *)(const void *)&r->slot_generation, __ATOMIC_RELAXED);
}
/* True when a session's enablement lets the event through. */
static inline bool enable_passes(const struct shm_enable *e, uint8_t level, uint64_t keyword)
{
    if (__builtin_expect(!e->enabled || (e->level != 0 && level > e->level), 0))
        return false;
    if (__builtin_expect(keyword == 0, 0))
        return !(e->flags & SHM_ENABLE_IGNORE_KEYWORD_0);
    return __builtin_expect(e->any == 0 || ((e->any & keyword) != 0 && (e->all & keyword) == e->all), 1);
}

/* A secure session may enable a provider but exclude this program: it has no streams of it, and counts as not
 * enabled. */
static inline bool session_attached(const struct shm_enable *e)
{
    return __atomic_load_n(&al_views[e->session % SHM_SESSIONS], __ATOMIC_ACQUIRE) != NULL;
}

/* The same, and there is no filter to evaluate. */
static inline bool enable_passes_plainly(const struct shm_enable *e, uint8_t level, uint64_t keyword)
{
    if (__builtin_expect(e->enabled != SHM_ENABLED_PLAINLY || (e->level != 0 && level > e->level), 0))
        return false;
    if (__builtin_expect(keyword == 0, 0))
        return !(e->flags & SHM_ENABLE_IGNORE_KEYWORD_0);
    return __builtin_expect(e->any == 0 || ((e->any & keyword) != 0 && (e->all & keyword) == e->all), 1);
}

static inline unsigned registration_index(REGHANDLE handle) { return (unsigned)(handle >> 3) & (INDEXES - 1); }

/* attach.c: all with the lock held, on the agent thread (or in a child that has none yet) */
bool attach_directory(int fd);                                               /* takes the descriptor */
void attach_session(uint32_t session, uint32_t generation, const int fd[3]); /* takes the descriptors */
void attach_detach(uint32_t session, uint32_t generation);
void attach_drop_all(void); /* sessions and directory */
/* The program closed the connection: attached sessions stay in use until a new connection has told which still hold. */
void                       attach_doubt_all(void);
void                       attach_drop_doubted(void);   /* sessions that were not attached again since */
bool                       attach_is_directory(int fd); /* it is the directory already attached */
const struct shm_provider *attach_slot(uint32_t slot);
/* its place in the directory, and the most bytes there; NULL. Any thread */
const void *attach_filter(uint32_t offset, size_t *room);

/* agent.c */
void *agent_main(void *unused);
#endif
