/* thread_ids.c - the ids in a thread's events: those that the daemon sees. See process.h, and control/foreign.h for how
 * they are found.
 * In the daemon's own process namespace they are the thread's own, and nothing is asked. In another one the thread asks
 * once, through the agent, and waits for the answer: without it its first event would have no thread id. A daemon that
 * does not answer within WAIT_FIRST_MS costs that once; the thread's events then carry the process id, and ~0 for the
 * thread, until the answer is there.
 * Invariants
 *   T1 nothing here takes a lock: the first event may come in a signal handler that interrupted the lock's holder.
 *   T2 an answer to a thread counts for one stamp, and a child begins with another one (P5 of process.h).
 * Threads: any for process_refresh_thread; the agent for the rest. */
#include "autologger/provider/process.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ASKED = 64, ANSWERS = 4096, WAIT_FIRST_MS = 100, STEP_MS = 20 };

static struct {
    unsigned turn;            /* the agent's */
    uint32_t asked[ASKED];    /* inner numbers to ask for; 0: free */
    uint64_t answer[ANSWERS]; /* outer << 32 | inner, by inner; outer ~0: unknown to the daemon */
    uint32_t answers;         /* counts answers: a futex */
} ids;

static uint32_t stamps; /* kept by fork: a child never reuses a stamp of its parent's */

void thread_ids_begin(uint32_t pid)
{
    memset(&ids, 0, sizeof ids);
    thread_ids_process(pid);
}

void thread_ids_process(uint32_t pid)
{
    __atomic_store_n(&al_near.near.pid, pid, __ATOMIC_RELAXED);
    if (++stamps == UINT32_MAX)
        stamps = 1;
    __atomic_store_n(&al_near.near.stamp, stamps, __ATOMIC_RELEASE);
}

uint32_t thread_ids_next(void)
{
    for (unsigned i = 0; i < ASKED; i++) {
        /* each place has its turn, however fast others are filled again */
        ids.turn             = (ids.turn + 1) % ASKED;
        const uint32_t inner = __atomic_exchange_n(&ids.asked[ids.turn], 0, __ATOMIC_ACQ_REL);
        if (inner)
            return inner;
    }
    return 0;
}

void thread_ids_told(uint32_t inner, uint32_t outer)
{
    __atomic_store_n(&ids.answer[inner % ANSWERS], (uint64_t)(outer ? outer : UINT32_MAX) << 32 | inner,
                     __ATOMIC_RELEASE);
    __atomic_fetch_add(&ids.answers, 1, __ATOMIC_ACQ_REL);
    (void)syscall(SYS_futex, &ids.answers, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* 0: no answer yet. */
static uint32_t thread_ids_answered(uint32_t inner)
{
    const uint64_t a = __atomic_load_n(&ids.answer[inner % ANSWERS], __ATOMIC_ACQUIRE);
    return (uint32_t)a == inner ? (uint32_t)(a >> 32) : 0;
}

bool thread_ids_again(uint32_t inner)
{
    for (unsigned i = 0; i < ASKED; i++) {
        uint32_t free = 0;
        if (__atomic_compare_exchange_n(&ids.asked[i], &free, inner, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

static bool thread_ids_ask(uint32_t inner)
{
    const bool place = thread_ids_again(inner);
    if (place)
        process_wake_agent();
    return place;
}

static uint64_t thread_ids_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint32_t ask_and_wait(uint32_t inner)
{
    const uint64_t        until = thread_ids_now_ms() + WAIT_FIRST_MS;
    const struct timespec step  = {.tv_nsec = STEP_MS * 1000000L};
    uint32_t              outer;
    bool                  asked = false;
    for (;;) {
        const uint32_t count = __atomic_load_n(&ids.answers, __ATOMIC_ACQUIRE);
        if (!asked)
            asked = thread_ids_ask(inner); /* false: too many ask; an answer frees a place */
        if ((outer = thread_ids_answered(inner)) || thread_ids_now_ms() >= until)
            return outer;
        (void)syscall(SYS_futex, &ids.answers, FUTEX_WAIT_PRIVATE, count, &step, NULL, 0);
    }
}

/* This thread's number as the daemon sees it; ~0: unknown. *final: that will not change. */
static uint32_t outer_of(uint32_t inner, uint32_t stamp, bool *final)
{
    uint32_t outer;
    /* else an answer is for an earlier thread with this number */
    const bool mine = al_thread.asked == stamp || process_on_agent();
    if (!mine)
        __atomic_store_n(&ids.answer[inner % ANSWERS], 0, __ATOMIC_RELEASE);
    al_thread.asked = stamp;
    outer           = mine ? thread_ids_answered(inner) : ask_and_wait(inner);
    *final          = outer != 0;
    return outer ? outer : UINT32_MAX;
}

void process_refresh_thread(void)
{
    const uint32_t life  = __atomic_load_n(&LIFE.pid, __ATOMIC_ACQUIRE),
                   stamp = __atomic_load_n(&al_near.near.stamp, __ATOMIC_ACQUIRE);
    const uint32_t pid   = __atomic_load_n(&al_near.near.pid, __ATOMIC_RELAXED);
    const uint32_t inner = al_thread.inner_stamp == stamp && life ? al_thread.inner : (uint32_t)syscall(SYS_gettid);
    bool           final = true;

    al_thread.inner       = inner;
    al_thread.inner_stamp = stamp;
    al_thread.pid         = life ? pid : UINT32_MAX;
    if (!life || pid == life) /* the daemon's own namespace */
        al_thread.tid = inner;
    else
        al_thread.tid = inner == life ? pid : outer_of(inner, stamp, &final);
    al_thread.stamp = life && final ? stamp : UINT32_MAX; /* UINT32_MAX: the next event looks again */
}
