/* cpu_burst - programs of several users write at once from every processor: cpu_burst NOTES USERS EVENTS FIRST
 * [PACE_US]. Each user's program has a thread pinned to each processor that is online; together they write EVENTS
 * numbered events of 200 bytes, FIRST and up, as fast as they can, or with PACE_US between a thread's events. NOTES
 * gets a line for each call: user, process, thread, number, processor before and after it, CLOCK_MONOTONIC_RAW before
 * and after it, the processor's counter before and after it, result. Exit codes: 0 done, 1 not, 100 called wrongly. */
#include "boot-tests/storm_write.h"

#include <grp.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { FIRST_USER = 5000, THREADS = 64, PROVIDER = 1, SECONDS = 100 };

struct moment {
    uint64_t raw, ticks;
    int      cpu;
};
struct call {
    struct moment before, after;
    pid_t         pid, tid;
    ULONG         result;
};
struct thread {
    pthread_t id;
    int       cpu;
    unsigned  user, begin, end; /* range of its user's calls */
};
static pthread_barrier_t *together; /* all threads of all programs begin at once */
static struct call       *calls;    /* [users * events] */
static unsigned           users, events, pace_us;
static uint64_t           first;
static REGHANDLE          provider;

static struct moment now(void)
{
    struct timespec t;
    struct moment   m = {.cpu = sched_getcpu()};
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    m.raw = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#if defined(__x86_64__)
    m.ticks = __rdtsc();
#endif
    return m;
}

static ULONG write_one(uint32_t user, uint64_t number)
{
    EVENT_DESCRIPTOR      d = {.Id = NUMBERED_EVENT_ID, .Level = 4, .Keyword = 1};
    struct numbered       n = {NUMBERED_MAGIC, user, number, numbered_check(user, number), NUMBERED_FIXED};
    uint8_t               fill[NUMBERED_FIXED];
    EVENT_DATA_DESCRIPTOR data[2];

    for (uint32_t i = 0; i < n.fill; i++)
        fill[i] = numbered_byte(user, number, i);
    EventDataDescCreate(&data[0], &n, sizeof n);
    EventDataDescCreate(&data[1], fill, n.fill);
    return EventWrite(provider, &d, 2, data);
}

static unsigned threads_of_one;
static void    *thread_main(void *arg)
{
    struct thread *t = arg;
    cpu_set_t      one;

    CPU_ZERO(&one);
    CPU_SET(t->cpu, &one);
    (void)!sched_setaffinity(0, sizeof one, &one); /* fails if it has just gone offline: writes on another */
    pthread_barrier_wait(together);
    for (unsigned i = t->begin; i < t->end; i++) {
        struct call *c = &calls[t->user * events + i];
        c->pid         = getpid();
        c->tid         = (pid_t)syscall(SYS_gettid);
        c->before      = now();
        c->result      = write_one(t->user, first + i);
        c->after       = now();
        if (pace_us)
            usleep(pace_us);
    }
    return NULL;
}

static int program(unsigned user, const cpu_set_t *online)
{
    static const GUID id = NUMBERED_PROVIDER(PROVIDER);
    struct thread     t[THREADS];
    unsigned          n = 0, k = 0;

    alarm(SECONDS); /* a program that fails leaves the others waiting */
    if (setgroups(0, NULL) || setgid(FIRST_USER + user) || setuid(FIRST_USER + user) ||
        EventRegister(&id, NULL, NULL, &provider))
        return 1;
    storm_wait_enabled(provider);
    for (int cpu = 0; cpu < CPU_SETSIZE && n < threads_of_one; cpu++)
        if (CPU_ISSET(cpu, online)) {
            t[n] = (struct thread){.cpu   = cpu,
                                   .user  = user,
                                   .begin = events * n / threads_of_one,
                                   .end   = events * (n + 1) / threads_of_one};
            if (pthread_create(&t[n].id, NULL, thread_main, &t[n]))
                return 1;
            n++;
        }
    while (k < n)
        pthread_join(t[k++].id, NULL);
    EventUnregister(provider);
    return 0;
}

static int barrier_make(void)
{
    pthread_barrierattr_t a;
    return pthread_barrierattr_init(&a) || pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED) ||
           pthread_barrier_init(together, &a, users * threads_of_one);
}

static int notes_write(const char *path)
{
    FILE *f = fopen(path, "we");
    for (unsigned i = 0; f && i < users * events; i++) {
        const struct call *c = &calls[i];
        if (c->pid)
            fprintf(f, "%u %d %d %" PRIu64 " %d %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n", i / events,
                    c->pid, c->tid, first + i % events, c->before.cpu, c->after.cpu, c->before.raw, c->after.raw,
                    c->before.ticks, c->after.ticks, (unsigned)c->result);
    }
    return !f || fclose(f) ? 1 : 0;
}

int main(int argc, char **argv)
{
    cpu_set_t online;
    int       failed = 0, status;

    users   = argc > 4 ? (unsigned)atoi(argv[2]) : 0;
    events  = argc > 4 ? (unsigned)atoi(argv[3]) : 0;
    first   = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    pace_us = argc > 5 ? (unsigned)atoi(argv[5]) : 0;
    if (!users || !events || sched_getaffinity(0, sizeof online, &online))
        return fprintf(stderr, "cpu_burst NOTES USERS EVENTS FIRST [PACE_US]\n"), 100;
    threads_of_one = (unsigned)CPU_COUNT(&online) < THREADS ? (unsigned)CPU_COUNT(&online) : THREADS;
    together       = mmap(NULL, sizeof *together, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    calls = mmap(NULL, users * events * sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (together == MAP_FAILED || calls == MAP_FAILED || barrier_make())
        return 1;
    for (unsigned u = 0; u < users; u++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(program(u, &online));
        failed |= pid < 0;
    }
    while (wait(&status) > 0)
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return notes_write(argv[1]) || failed;
}
