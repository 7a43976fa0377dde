/* sort_events - a program under test: sorts arrays, and writes three events an array, or has no events in its code.
 * sort_events RUNS RUN_MS RATE: RATE is events a second of processor time. Each round is a run without events, a run
 * with events and another run without, in changing order. Prints a line a round: each run's processor time in ns (of
 * the thread's clock, so other programs do not count), and the number of refused events. With SORT_EVENTS_ENABLED in
 * the environment it first waits until a session wants its events. Exit 0, 100 called wrongly, 111 no provider. */
#include <TraceLoggingProvider.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

TRACELOGGING_DEFINE_PROVIDER(sorting, "Contoso-Sorting",
                             (0x1c9c1f4e, 0x2f6e, 0x4c55, 0x9f, 0x6e, 0x2b, 0x8f, 0x3f, 0x0a, 0x7d, 0x23));
enum { EVENTS_AN_ARRAY = 3, CALIBRATIONS = 6 };

static long long cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

static void fill(unsigned *v, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        v[i] = seed = seed * 1664525u + 1013904223u;
}

/* The two forms of a run differ only in the events. */
static __attribute__((noinline)) long long without(unsigned *v, size_t n, unsigned arrays)
{
    const long long from = cpu_ns();
    for (unsigned i = 0; i < arrays; i++) {
        fill(v, n, i);
        qsort(v, n, sizeof *v, compare);
    }
    return cpu_ns() - from;
}
static __attribute__((noinline)) long long with(unsigned *v, size_t n, unsigned arrays)
{
    const long long from = cpu_ns();
    for (unsigned i = 0; i < arrays; i++) {
        TraceLoggingWrite(sorting, "Begin", TraceLoggingLevel(4), TraceLoggingKeyword(1),
                          TraceLoggingUInt32(i, "Array"), TraceLoggingUInt64(n, "Length"));
        fill(v, n, i);
        TraceLoggingWrite(sorting, "Filled", TraceLoggingLevel(4), TraceLoggingKeyword(1),
                          TraceLoggingUInt32(v[0], "First"));
        qsort(v, n, sizeof *v, compare);
        TraceLoggingWrite(sorting, "Sorted", TraceLoggingLevel(4), TraceLoggingKeyword(1),
                          TraceLoggingUInt32(v[0], "Least"), TraceLoggingUInt32(v[n - 1], "Most"));
    }
    return cpu_ns() - from;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "sort_events RUNS RUN_MS RATE\n");
        return 100;
    }
    const unsigned runs = (unsigned)atoi(argv[1]), ms = (unsigned)atoi(argv[2]), rate = (unsigned)atoi(argv[3]);
    const unsigned arrays = ms * rate / 1000 / EVENTS_AN_ARRAY + 1;
    size_t         n      = 512;

    if (TraceLoggingRegister(sorting))
        return 111;
    for (int i = 0; i < 100000 && getenv("SORT_EVENTS_ENABLED") && !TraceLoggingProviderEnabled(sorting, 4, 1); i++)
        usleep(200);
    unsigned *v = malloc(sizeof *v * (1u << 20));
    for (unsigned i = 0; v && i < CALIBRATIONS; i++) /* sizes the arrays for `rate` events a second */
        n = (size_t)((double)n * ms * 1e6 / (double)without(v, n, arrays)) + 1;
    for (unsigned i = 0; v && i < runs; i++) {
        long long took[3];
        for (unsigned turn = 0; turn < 3; turn++) { /* no form is always first */
            const unsigned which = (i + turn) % 3;
            took[which]          = which == 1 ? with(v, n, arrays) : without(v, n, arrays);
        }
        printf("%lld %lld %lld %u\n", took[0], took[1], took[2], arrays * EVENTS_AN_ARRAY);
    }
    free(v);
    TraceLoggingUnregister(sorting);
    return 0;
}
