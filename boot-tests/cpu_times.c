/* cpu_times - a program under test: uses the processor in user and in kernel mode, and after each round writes an event
 * with the thread's getrusage times just before it. A second thread, which has used next to nothing, writes one, too.
 * cpu_times ROUNDS: waits first until a session wants its events. Exit 0, 100 called wrongly, 111 no provider. */
#include <TraceLoggingProvider.h>

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

TRACELOGGING_DEFINE_PROVIDER(times, "Contoso-Times",
                             (0x1c9c1f4f, 0x2f6e, 0x4c55, 0x9f, 0x6e, 0x2b, 0x8f, 0x3f, 0x0a, 0x7d, 0x24));

static uint64_t ns(struct timeval t) { return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u; }

static void tell(uint32_t round)
{
    struct rusage before;
    getrusage(RUSAGE_THREAD, &before);
    TraceLoggingWrite(times, "Used", TraceLoggingLevel(4), TraceLoggingUInt32(round, "Round"),
                      TraceLoggingUInt64(ns(before.ru_stime), "Kernel"),
                      TraceLoggingUInt64(ns(before.ru_utime), "User"));
}

static uint64_t used(int who)
{
    struct timespec t;
    clock_gettime(who, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void work(void)
{
    enum { NS = 60000000 };
    static volatile uint64_t n;
    char                     bytes[4096];
    uint64_t                 from = used(CLOCK_THREAD_CPUTIME_ID);
    while (used(CLOCK_THREAD_CPUTIME_ID) - from < NS)
        for (int i = 0; i < 100000; i++)
            n += n ^ (uint64_t)i;
    for (from = used(CLOCK_THREAD_CPUTIME_ID); used(CLOCK_THREAD_CPUTIME_ID) - from < NS;)
        (void)!getentropy(bytes, 256);
}

/* Requests that are shorter than a tick, and nothing that asks the kernel for times between their events. */
static void shorts(void)
{
    enum { SHORTS = 200, SPINS = 200000 };
    static volatile uint64_t n;
    const uint64_t           from = used(CLOCK_THREAD_CPUTIME_ID);
    for (uint32_t i = 0; i < SHORTS; i++) {
        TraceLoggingWrite(times, "Begin", TraceLoggingLevel(4), TraceLoggingUInt32(i, "Round"));
        for (int k = 0; k < SPINS; k++)
            n += n ^ (uint64_t)k;
        TraceLoggingWrite(times, "End", TraceLoggingLevel(4), TraceLoggingUInt32(i, "Round"));
        usleep(500); /* the kernel counts at a switch, too */
    }
    TraceLoggingWrite(times, "Shorts", TraceLoggingLevel(4),
                      TraceLoggingUInt64(used(CLOCK_THREAD_CPUTIME_ID) - from, "Used"));
}

static void *idle(void *round)
{
    tell(*(uint32_t *)round);
    return NULL;
}

int main(int argc, char **argv)
{
    uint32_t  rounds = argc == 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    pthread_t other;
    if (!rounds)
        return 100;
    if (TraceLoggingRegister(times) != 0)
        return 111;
    while (!TraceLoggingProviderEnabled(times, 4, 0))
        usleep(1000);
    for (uint32_t i = 0; i < rounds; i++) {
        work();
        tell(i);
    }
    if (pthread_create(&other, NULL, idle, &rounds) != 0)
        return 111;
    pthread_join(other, NULL);
    shorts();
    TraceLoggingUnregister(times);
    return 0;
}
