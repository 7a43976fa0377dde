/* locks.c - locks of a program on which a thread has to wait: an event of the CritSec class when the wait begins, with
 * the owner and the stack, and one when it ends. A lock that is free costs one try and no event.
 * Threads: any. Not for: locks that a program makes of futexes itself (Rust's, Go's), condition variables.
 * Layouts: Collision as Windows'; Acquired is ours: the lock, nanoseconds of waiting, the result. */
#include "autologger/heap/library.h"
#include "autologger/heap/next.h"

#include <errno.h>
#include <time.h>

enum { LOCK_EVENT = 2 /* version */ };
static inline bool locks_traced(void) { return library_traces(&library.locks); }

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void tell_waiting(const void *lock, uint64_t owner, const struct stack_begin *where)
{
    const struct {
        uint32_t lock_count, spin_count;
        uint64_t owner, lock;
    } event = {1, 0, owner, (uint64_t)(uintptr_t)lock};
    stream_event(HOOK_CRITSEC_COLLISION, LOCK_EVENT, &event, sizeof event, where);
}

static void tell_acquired(const void *lock, uint64_t ns, int result)
{
    const struct {
        uint64_t lock, ns;
        int32_t  result;
        uint32_t reserved;
    } event = {(uint64_t)(uintptr_t)lock, ns, result, 0};
    stream_event(HOOK_CRITSEC_ACQUIRED, LOCK_EVENT, &event, sizeof event, NULL);
}

/* The thread that holds it, as glibc notes it; 0: not known. */
static uint64_t mutex_owner(const pthread_mutex_t *m)
{
#if defined(__GLIBC__)
    return (uint64_t)(uint32_t)m->__data.__owner;
#else
    (void)m;
    return 0;
#endif
}

static uint64_t rwlock_owner(const pthread_rwlock_t *l)
{
#if defined(__GLIBC__)
    return (uint64_t)(uint32_t)l->__data.__cur_writer;
#else
    (void)l;
    return 0;
#endif
}

/* A lock that is free, or that fails at once, gives no event: only EBUSY says that the call will wait. `again` makes the
 * real call, in which a lock of this thread's own gives its own result. */
#define LOCK(name, type, parameters, arguments, attempt, owner) \
    int name parameters \
    { \
        if (!next_found()) \
            return 0; \
        if (!locks_traced()) \
            return next.name arguments; \
        const int tried = next.attempt(lock); \
        if (tried != EBUSY) \
            return tried; \
        const struct stack_begin where = HERE(); \
        tell_waiting(lock, owner, &where); \
        const uint64_t began = now_ns(); \
        const int result     = next.name arguments; \
        tell_acquired(lock, now_ns() - began, result); \
        return result; \
    }
LOCK(pthread_mutex_lock, pthread_mutex_t, (pthread_mutex_t * lock), (lock), pthread_mutex_trylock, mutex_owner(lock))
LOCK(pthread_mutex_timedlock, pthread_mutex_t, (pthread_mutex_t * lock, const struct timespec *until), (lock, until),
     pthread_mutex_trylock, mutex_owner(lock))
LOCK(pthread_mutex_clocklock, pthread_mutex_t, (pthread_mutex_t * lock, clockid_t clock, const struct timespec *until),
     (lock, clock, until), pthread_mutex_trylock, mutex_owner(lock))
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t, (pthread_rwlock_t * lock), (lock), pthread_rwlock_tryrdlock,
     rwlock_owner(lock))
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t, (pthread_rwlock_t * lock), (lock), pthread_rwlock_trywrlock,
     rwlock_owner(lock))

LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_t, (pthread_rwlock_t * lock, const struct timespec *until),
     (lock, until), pthread_rwlock_tryrdlock, rwlock_owner(lock))
LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_t, (pthread_rwlock_t * lock, const struct timespec *until),
     (lock, until), pthread_rwlock_trywrlock, rwlock_owner(lock))
LOCK(pthread_rwlock_clockrdlock, pthread_rwlock_t,
     (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until), (lock, clock, until),
     pthread_rwlock_tryrdlock, rwlock_owner(lock))
LOCK(pthread_rwlock_clockwrlock, pthread_rwlock_t,
     (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until), (lock, clock, until),
     pthread_rwlock_trywrlock, rwlock_owner(lock))

/* A lock of C11 is one of the threads library; its results have other numbers. */
#define C11_LOCK(name, parameters, arguments) \
    int name parameters \
    { \
        if (!next_found()) \
            return thrd_success; \
        if (!locks_traced()) \
            return next.name arguments; \
        const int tried = next.mtx_trylock(lock); \
        if (tried != thrd_busy) \
            return tried; \
        const struct stack_begin where = HERE(); \
        tell_waiting(lock, mutex_owner((const pthread_mutex_t *)(const void *)lock), &where); \
        const uint64_t began = now_ns(); \
        const int result     = next.name arguments; \
        tell_acquired(lock, now_ns() - began, \
                      result == thrd_success    ? 0 \
                      : result == thrd_timedout ? ETIMEDOUT \
                                                : EINVAL); \
        return result; \
    }
C11_LOCK(mtx_lock, (mtx_t * lock), (lock))
C11_LOCK(mtx_timedlock, (mtx_t * lock, const struct timespec *until), (lock, until))
