/* convert_span.c - operations that begin with one record and end with another: waits for kernel locks, work of kernel
 * queues, debugger requests. One event at the end has the time of the beginning; an end without a recorded beginning
 * gives no event. See convert.h. */
#include "autologger/kernel/convert/describe.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/wire/etl.h"

#include <stdlib.h>
#include <string.h>

#define LOCKS "Autologger-Kernel-Lock"
#define WORK "Autologger-Kernel-Work"
#define DEBUGGER "Autologger-Kernel-Debugger"
enum { SPANS_MAX = 65536, PAYLOAD_MAX = 128 };
enum { KIND_LOCK = 1, KIND_WORK, KIND_PTRACE };
/* of the mask's word 1; the last one of word 2 */
enum { WORD_SPINLOCK = 0x10000, WORD_OBJECTS = 0x20000, WORD_QUEUE = 0x01000000, WORD_WORKER = 0x08000000 };
/* The kernel's LCB_F_* and PTRACE_* */
enum { LOCK_SPIN = 1, LOCK_READ = 2, LOCK_WRITE = 4, LOCK_REALTIME = 8, LOCK_PERCPU = 16, LOCK_MUTEX = 32 };
enum { TRACE_ME = 0, ATTACH = 16, DETACH = 17, SEIZE = 0x4206 };

struct convert_span_span {
    uint64_t time, value;
};
struct part_span {
    struct idmap open; /* span_key() -> struct span */
};

static uint64_t span_key(unsigned kind, uint64_t id, uint32_t tid)
{
    return (id * UINT64_C(0x9E3779B97F4A7C15)) ^ ((uint64_t)kind << 40 | tid);
}

static void span_free(struct idmap *m)
{
    for (size_t i = 0; i < m->capacity; i++)
        free(m->slot[i].value);
}

static bool span_keep(struct convert *c, uint64_t key, struct convert_span_span what)
{
    if (!c->span && !(c->span = calloc(1, sizeof *c->span)))
        return false;
    struct convert_span_span *s = idmap_get(&c->span->open, key);
    if (!s && c->span->open.count >= SPANS_MAX) { /* left by threads that ended meanwhile */
        span_free(&c->span->open);
        idmap_clear(&c->span->open);
    }
    if (!s && (s = malloc(sizeof *s)) != NULL && !idmap_put(&c->span->open, key, s)) {
        free(s);
        s = NULL;
    }
    if (s)
        *s = what;
    return s != NULL;
}

static bool span_take(struct convert *c, uint64_t key, struct convert_span_span *out)
{
    struct convert_span_span *s = c->span ? idmap_remove(&c->span->open, key) : NULL;
    if (s)
        *out = *s;
    free(s);
    return s != NULL;
}

static struct actor actor_of(struct convert *c, const struct sample *s)
{
    return (struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid};
}

/* ---- locks ---- */

static const char *lock_kind(uint64_t flags)
{
    const bool spins = flags & LOCK_SPIN;
    if (flags & LOCK_MUTEX)
        return "mutex";
    if (flags & LOCK_PERCPU)
        return flags & LOCK_WRITE ? "per-CPU semaphore, to write" : "per-CPU semaphore, to read";
    if (flags & LOCK_REALTIME)
        return "real-time mutex";
    if (flags & LOCK_READ)
        return spins ? "spinning lock, to read" : "semaphore, to read";
    if (flags & LOCK_WRITE)
        return spins ? "spinning lock, to write" : "semaphore, to write";
    return spins ? "spinning lock" : "semaphore";
}

void convert_lock_begin(struct convert *c, const struct sample *s)
{
    uint64_t lock = (uint64_t)sample_field(s, F_LOCK_ADDRESS);
    span_keep(c, span_key(KIND_LOCK, lock, s->tid),
              (struct convert_span_span){convert_time(c, s->time), (uint64_t)sample_field(s, F_LOCK_FLAGS)});
}

/* Adaptive mutexes count as sleeping locks. */
void convert_lock_end(struct convert *c, const struct sample *s)
{
    static const struct shape spin = {
        LOCKS,
        "SpinLockWait",
        {{"Lock", SHAPE_HEX64}, {"InitialTime", SHAPE_UINT64}, {"Flags", SHAPE_HEX32}, {"Kind", SHAPE_TEXT}}};
    static const struct shape sleep = {LOCKS,
                                       "LockWait",
                                       {{"Lock", SHAPE_HEX64},
                                        {"InitialTime", SHAPE_UINT64},
                                        {"Flags", SHAPE_HEX32},
                                        {"Kind", SHAPE_TEXT},
                                        {"Result", SHAPE_INT32}}};
    uint64_t                  lock = (uint64_t)sample_field(s, F_LOCK_ADDRESS), time = convert_time(c, s->time);
    struct actor              by = actor_of(c, s);
    struct convert_span_span  began;
    uint8_t                   bytes[PAYLOAD_MAX];
    struct writer             w = wr_make(bytes, sizeof bytes);
    if (!span_take(c, span_key(KIND_LOCK, lock, s->tid), &began))
        return;
    bool        spins = (began.value & LOCK_SPIN) && !(began.value & LOCK_MUTEX);
    const char *kind  = lock_kind(began.value);
    if (!(c->config->mask[1] & (spins ? WORD_SPINLOCK : WORD_OBJECTS)))
        return;
    wr_u64(&w, lock);
    wr_u64(&w, began.time);
    wr_u32(&w, (uint32_t)began.value);
    wr_text(&w, kind, strlen(kind));
    if (!spins)
        wr_u32(&w, (uint32_t)sample_field(s, F_LOCK_RESULT));
    describe_at(c, &by, spins ? &spin : &sleep, &time, &w);
    if (!spins && stack_wanted(c, HOOK_THREAD_EXECUTIVE_RESOURCE))
        emit_stack(c, &by, time, s->chain, s->chain_count);
}

/* ---- work of kernel queues ---- */

void convert_work_start(struct convert *c, const struct sample *s)
{
    static const struct shape shape = {WORK, "WorkStart", {{"Work", SHAPE_HEX64}, {"Function", SHAPE_HEX64}}};
    struct actor              by    = actor_of(c, s);
    uint64_t                  time  = convert_time(c, s->time);
    uint8_t                   bytes[PAYLOAD_MAX];
    struct writer             w = wr_make(bytes, sizeof bytes);
    span_keep(c, span_key(KIND_WORK, 0, s->tid), (struct convert_span_span){time, 0});
    if (!(c->config->mask[1] & WORD_QUEUE))
        return;
    wr_u64(&w, (uint64_t)sample_field(s, F_WORK_WORK));
    wr_u64(&w, (uint64_t)sample_field(s, F_WORK_FUNCTION));
    describe_at(c, &by, &shape, &time, &w);
    if (stack_wanted(c, HOOK_THREAD_KERNEL_QUEUE_DEQUEUE))
        emit_stack(c, &by, time, s->chain, s->chain_count);
}

/* Windows' WorkerThread, and an own event with the work's address, which identifies the work. */
void convert_work_end(struct convert *c, const struct sample *s)
{
    static const struct shape shape = {
        WORK, "WorkEnd", {{"Work", SHAPE_HEX64}, {"Function", SHAPE_HEX64}, {"InitialTime", SHAPE_UINT64}}};
    struct actor             by       = actor_of(c, s);
    uint64_t                 function = (uint64_t)sample_field(s, F_WORK_FUNCTION), time = convert_time(c, s->time);
    struct convert_span_span began;
    uint8_t                  bytes[PAYLOAD_MAX];
    struct writer            w = wr_make(bytes, sizeof bytes);
    if (!span_take(c, span_key(KIND_WORK, 0, s->tid), &began))
        return;
    if (c->config->mask[2] & WORD_WORKER) {
        wr_u32(&w, s->tid);
        wr_u64(&w, began.time);
        wr_u64(&w, function);
        emit(c, &(struct event){s->cpu, HOOK_THREAD_WORKER_THREAD, ETL_PERFINFO64, 2, 0, 0}, &time, bytes, w.pos);
        w = wr_make(bytes, sizeof bytes);
    }
    if (!(c->config->mask[1] & WORD_QUEUE))
        return;
    wr_u64(&w, (uint64_t)sample_field(s, F_WORK_WORK));
    wr_u64(&w, function);
    wr_u64(&w, began.time);
    describe_at(c, &by, &shape, &time, &w);
}

/* ---- debuggers ---- */

void convert_ptrace_enter(struct convert *c, const struct sample *s)
{
    uint64_t request = (uint64_t)sample_field(s, F_PTRACE_REQUEST), target = (uint64_t)sample_field(s, F_PTRACE_TARGET);
    if (request == TRACE_ME || request == ATTACH || request == DETACH || request == SEIZE)
        span_keep(c, span_key(KIND_PTRACE, 0, s->tid),
                  (struct convert_span_span){convert_time(c, s->time), request << 32 | (uint32_t)target});
}

/* The event is the end, when the result is known. PTRACE_TRACEME has no target: it is the caller. */
void convert_ptrace_exit(struct convert *c, const struct sample *s)
{
#define FIELDS \
    { \
        {"TargetThreadId", SHAPE_UINT32}, {"Request", SHAPE_HEX32}, { "Result", SHAPE_INT32 } \
    }
    static const struct shape attach = {DEBUGGER, "DebuggerAttach", FIELDS},
                              detach = {DEBUGGER, "DebuggerDetach", FIELDS};
    struct actor             by      = actor_of(c, s);
    struct convert_span_span began;
    uint8_t                  bytes[PAYLOAD_MAX];
    struct writer            w = wr_make(bytes, sizeof bytes);
    if (!span_take(c, span_key(KIND_PTRACE, 0, s->tid), &began))
        return;
    uint32_t request = (uint32_t)(began.value >> 32);
    wr_u32(&w, request == TRACE_ME ? s->tid : (uint32_t)began.value);
    wr_u32(&w, request);
    wr_u32(&w, (uint32_t)sample_field(s, F_PTRACE_RESULT));
    describe(c, &by, request == DETACH ? &detach : &attach, s->time, &w);
}

/* ---- the part ---- */

void part_span_finish(struct convert *c)
{
    if (c->span) {
        span_free(&c->span->open);
        idmap_finish(&c->span->open);
    }
    free(c->span);
    c->span = NULL;
}

void part_span_put(const struct convert *c, struct sink *s)
{
    const struct idmap *open  = c->span ? &c->span->open : NULL;
    uint64_t            count = open ? open->count : 0;
    snapshot_put(s, &count, sizeof count);
    for (size_t i = 0; open && i < open->capacity; i++)
        if (open->slot[i].value) {
            snapshot_put(s, &open->slot[i].key, sizeof open->slot[i].key);
            snapshot_put(s, open->slot[i].value, sizeof(struct convert_span_span));
        }
}

bool part_span_get(struct convert *c, struct cursor *cur)
{
    uint64_t count = cur_u64(cur);
    if (count > SPANS_MAX)
        return false;
    for (uint64_t i = 0; i < count && cur_ok(cur); i++) {
        uint64_t                 key = cur_u64(cur);
        struct convert_span_span s   = {.time = cur_u64(cur)};
        s.value                      = cur_u64(cur);
        if (!cur_ok(cur) || !span_keep(c, key, s))
            return false;
    }
    return cur_ok(cur);
}
