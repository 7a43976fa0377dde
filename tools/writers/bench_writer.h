/* bench_writer.h - a program that writes events on command, for `autologger bench write, latency and disk`: the
 * same loops, clocks and sizes for this project's provider library and for LTTng-UST. The including file defines
 * before:
 *   event_8, event_36, event_320, event_step    write one event; not 0: it was refused
 *   events_open      false: this program can't write events
 *   events_wanted    whether a session wants them now
 *   disabled_call, disabled_macro    one event that no session wants, nothing else (for counting instructions)
 * One command a line from standard input, one line of numbers to standard output for each; the end of the input ends
 * the program.
 *   hot KIND N              CPU time of N events, ns; how many were refused
 *   cold KIND SAMPLES       median and p99 of one event after a sweep over 8 MiB, ns, without the clock's own time
 *   two KIND N CPU CPU      CPU time of one thread's N events, of each of two threads' N events at the same time, ns;
 *                           how many were refused
 *   flood KIND N            N events, each repeated until it is taken: wall-clock time, ns; how many tries were refused
 *   sort LENGTH REPEAT WITH the workload of a program that sorts, with events in its code or (WITH 0) without: CPU time
 *                           and wall-clock time, ns; calls for events
 *   watch N                 the times at which the next N changes of events_wanted were seen: CLOCK_MONOTONIC, ns
 *   addresses               of EventWrite or its equivalent, disabled_call, disabled_macro, disabled_nothing
 *   steps                   stops itself under its parent's ptrace, then calls these three
 * Threads: one, and two during `two`. */
#ifndef TOOLS_WRITERS_BENCH_WRITER_H
#define TOOLS_WRITERS_BENCH_WRITER_H
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

enum {
    WRITER_SWEEP   = 8 << 20,
    WRITER_SAMPLES = 4096,
    WRITER_WARM    = 64,
    WRITER_CHANGES = 4096,
    WRITER_LINE    = 64,
    WRITER_WAIT_S  = 10
};
#define WRITER_NOINLINE __attribute__((noinline))

static uint64_t writer_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Writes `n` events. Returns how many were refused. */
static WRITER_NOINLINE uint64_t writer_events(unsigned kind, uint64_t n)
{
    uint64_t refused = 0;
    if (kind == 8)
        for (uint64_t i = 0; i < n; i++)
            refused += event_8(i) != 0;
    else if (kind == 36)
        for (uint64_t i = 0; i < n; i++)
            refused += event_36(i) != 0;
    else
        for (uint64_t i = 0; i < n; i++)
            refused += event_320(i) != 0;
    return refused;
}

static void writer_hot(unsigned kind, uint64_t n)
{
    uint64_t refused = writer_events(kind, WRITER_WARM);
    uint64_t start   = writer_clock(CLOCK_THREAD_CPUTIME_ID);
    refused += writer_events(kind, n);
    printf("%llu %llu\n", (unsigned long long)(writer_clock(CLOCK_THREAD_CPUTIME_ID) - start),
           (unsigned long long)refused);
}

static int writer_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void writer_cold(unsigned kind, unsigned samples)
{
    static uint64_t took[WRITER_SAMPLES], clocks[WRITER_SAMPLES];
    uint8_t        *sweep = malloc(WRITER_SWEEP);

    samples = samples < 1 ? 1 : samples > WRITER_SAMPLES ? WRITER_SAMPLES : samples;
    for (unsigned s = 0; sweep && s < samples; s++) {
        for (size_t i = 0; i < WRITER_SWEEP; i += WRITER_LINE)
            ((volatile uint8_t *)sweep)[i]++;
        uint64_t clock = writer_clock(CLOCK_MONOTONIC), start = writer_clock(CLOCK_MONOTONIC);
        writer_events(kind, 1);
        took[s]   = writer_clock(CLOCK_MONOTONIC) - start;
        clocks[s] = start - clock;
    }
    free(sweep);
    qsort(took, samples, sizeof *took, writer_compare);
    qsort(clocks, samples, sizeof *clocks, writer_compare);
    /* the second of two clock calls in a row is warm, like the one after the event */
    const uint64_t clock = clocks[samples / 10];
    printf("%lld %lld\n", (long long)(took[samples / 2] - clock),
           (long long)(took[samples - 1 - samples / 100] - clock));
}

struct writer_thread {
    pthread_t          thread;
    pthread_barrier_t *begin;
    unsigned           kind;
    uint64_t           n;
    int                cpu;
    uint64_t           ns, refused;
};
static void *writer_thread_main(void *arg)
{
    struct writer_thread *t = arg;
    cpu_set_t             set;
    CPU_ZERO(&set);
    CPU_SET((size_t)t->cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    t->refused = writer_events(t->kind, WRITER_WARM);
    pthread_barrier_wait(t->begin);
    uint64_t start = writer_clock(CLOCK_THREAD_CPUTIME_ID);
    t->refused += writer_events(t->kind, t->n);
    t->ns = writer_clock(CLOCK_THREAD_CPUTIME_ID) - start;
    return NULL;
}

static void writer_two(unsigned kind, uint64_t n, int cpu_a, int cpu_b)
{
    pthread_barrier_t    begin;
    struct writer_thread alone   = {.begin = &begin, .kind = kind, .n = n, .cpu = cpu_a};
    struct writer_thread both[2] = {alone, alone};

    both[1].cpu = cpu_b;
    pthread_barrier_init(&begin, NULL, 1);
    if (pthread_create(&alone.thread, NULL, writer_thread_main, &alone) == 0)
        pthread_join(alone.thread, NULL);
    pthread_barrier_destroy(&begin);
    usleep(3000); /* the session takes the written events */
    pthread_barrier_init(&begin, NULL, 2);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&both[i].thread, NULL, writer_thread_main, &both[i]))
            exit(111);
    for (int i = 0; i < 2; i++)
        pthread_join(both[i].thread, NULL);
    pthread_barrier_destroy(&begin);
    printf("%llu %llu %llu %llu\n", (unsigned long long)alone.ns, (unsigned long long)both[0].ns,
           (unsigned long long)both[1].ns, (unsigned long long)(alone.refused + both[0].refused + both[1].refused));
}

static int writer_one(unsigned kind, uint64_t i)
{
    return kind == 8 ? event_8(i) : kind == 36 ? event_36(i) : event_320(i);
}

/* A refused writer waits a little, like a program that must not lose events. */
static void writer_flood(unsigned kind, uint64_t n)
{
    const struct timespec pause   = {.tv_nsec = 50000};
    uint64_t              refused = 0, start = writer_clock(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < n; i++)
        while (writer_one(kind, i)) {
            refused++;
            nanosleep(&pause, NULL);
        }
    printf("%llu %llu\n", (unsigned long long)(writer_clock(CLOCK_MONOTONIC) - start), (unsigned long long)refused);
}

static int writer_compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

/* Allocates, fills and sorts arrays, and reports each step: three events an array. The same numbers in every run.
 * Without events the compiler leaves their code out. */
static inline __attribute__((always_inline)) void writer_sort(size_t length, unsigned repeat, bool with)
{
    uint64_t random = 88172645463325252u;
    for (unsigned r = 0; r < repeat; r++) {
        int *numbers = malloc(length * sizeof *numbers);
        if (!numbers)
            exit(111);
        if (with)
            event_step((int)r, "allocated", numbers);
        for (size_t i = 0; i < length; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            numbers[i] = (int)(random & 0x7FFFFFFF);
        }
        if (with)
            event_step((int)r, "filled", numbers);
        qsort(numbers, length, sizeof *numbers, writer_compare_int);
        if (with)
            event_step((int)r, "sorted", numbers);
        free(numbers);
    }
}
static WRITER_NOINLINE void writer_sort_with(size_t length, unsigned repeat) { writer_sort(length, repeat, true); }
static WRITER_NOINLINE void writer_sort_without(size_t length, unsigned repeat) { writer_sort(length, repeat, false); }

static void writer_sort_timed(size_t length, unsigned repeat, bool with)
{
    uint64_t cpu = writer_clock(CLOCK_THREAD_CPUTIME_ID), wall = writer_clock(CLOCK_MONOTONIC);
    if (with)
        writer_sort_with(length, repeat);
    else
        writer_sort_without(length, repeat);
    printf("%llu %llu %u\n", (unsigned long long)(writer_clock(CLOCK_THREAD_CPUTIME_ID) - cpu),
           (unsigned long long)(writer_clock(CLOCK_MONOTONIC) - wall), with ? 3 * repeat : 0);
}

static void writer_watch(unsigned changes)
{
    static uint64_t seen[WRITER_CHANGES];
    bool            before = events_wanted();
    unsigned        count  = 0;

    changes = changes > WRITER_CHANGES ? WRITER_CHANGES : changes;
    puts("1"); /* watching */
    fflush(stdout);
    for (uint64_t last = writer_clock(CLOCK_MONOTONIC); count < changes;) {
        const bool wanted = events_wanted();
        /* read after it: this thread may lose its processor to the one that makes the change */
        const uint64_t now = writer_clock(CLOCK_MONOTONIC);
        if (wanted != before) {
            before        = wanted;
            seen[count++] = last = now;
        } else if (now - last > WRITER_WAIT_S * UINT64_C(1000000000)) {
            break;
        }
    }
    for (unsigned i = 0; i < count; i++)
        printf("%llu ", (unsigned long long)seen[i]);
    puts("");
}

static WRITER_NOINLINE void disabled_nothing(int value) { __asm__ volatile("" : : "r"(value)); }

static void writer_steps(void)
{
    disabled_call(1); /* bound, and warm */
    disabled_macro(1);
    disabled_nothing(1);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    disabled_call(1);
    disabled_macro(1);
    disabled_nothing(1);
}

int main(void)
{
    char line[256];
    if (!events_open())
        return 111;
    while (fgets(line, sizeof line, stdin)) {
        unsigned long long a = 0, b = 0;
        int                c = 0, d = 0;
        if (sscanf(line, "hot %llu %llu", &a, &b) == 2)
            writer_hot((unsigned)a, b);
        else if (sscanf(line, "cold %llu %llu", &a, &b) == 2)
            writer_cold((unsigned)a, (unsigned)b);
        else if (sscanf(line, "two %llu %llu %d %d", &a, &b, &c, &d) == 4)
            writer_two((unsigned)a, b, c, d);
        else if (sscanf(line, "flood %llu %llu", &a, &b) == 2)
            writer_flood((unsigned)a, b);
        else if (sscanf(line, "sort %llu %llu %d", &a, &b, &c) == 3)
            writer_sort_timed((size_t)a, (unsigned)b, c != 0);
        else if (sscanf(line, "watch %llu", &a) == 1)
            writer_watch((unsigned)a);
        else if (strcmp(line, "addresses\n") == 0)
            printf("%llu %llu %llu %llu\n", (unsigned long long)(uintptr_t)events_entry(),
                   (unsigned long long)(uintptr_t)disabled_call, (unsigned long long)(uintptr_t)disabled_macro,
                   (unsigned long long)(uintptr_t)disabled_nothing);
        else if (strcmp(line, "steps\n") == 0)
            writer_steps();
        else
            return 100;
        fflush(stdout);
    }
    return 0;
}
#endif
