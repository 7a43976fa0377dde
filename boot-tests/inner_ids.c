/* inner_ids.c - a program that writes its own process and thread ids as it sees them, from its first thread, from other
 * threads, and from a forked child; for e2e/containers.py. inner_ids THREADS: begins when a session listens, and ends
 * when its standard input ends. Each event's payload is the process and the thread id (u32 each) in the program's own
 * namespace. */
#include <evntprov.h>

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 3 };
static const GUID provider = {0x1eeec0de, 0x7e57, 0x0006, {0x80, 0, 0, 0, 0, 0, 0, 1}};
static REGHANDLE  handle;
static struct {       /* shared with the child */
    uint64_t slowest; /* ns, of all first calls */
    uint32_t told;    /* threads that have written */
} * all;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void tell(void)
{
    const uint32_t         ids[2] = {(uint32_t)getpid(), (uint32_t)syscall(SYS_gettid)};
    const EVENT_DESCRIPTOR d      = {.Id = 1, .Level = 4, .Keyword = 1};
    EVENT_DATA_DESCRIPTOR  data   = {.Ptr = (uintptr_t)ids, .Size = sizeof ids};
    const uint64_t         begin  = now();
    for (int i = 0; i < TIMES; i++) {
        if (EventWrite(handle, &d, 1, &data) != 0)
            fprintf(stderr, "an event was refused\n");
        const uint64_t took = now() - begin;
        if (i == 0 && took > __atomic_load_n(&all->slowest, __ATOMIC_RELAXED))
            __atomic_store_n(&all->slowest, took, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&all->told, 1, __ATOMIC_RELAXED);
}

static void *thread(void *unused)
{
    tell();
    pause(); /* stays alive until the test has looked it up */
    return unused;
}

static void tell_with_threads(unsigned count)
{
    tell();
    for (unsigned i = 0; i < count; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, thread, NULL) != 0)
            fprintf(stderr, "no thread\n");
    }
}

static void wait_enabled(void)
{
    for (int i = 0; i < 1000 && !EventProviderEnabled(handle, 4, 1); i++)
        usleep(10000);
}

int main(int argc, char **argv)
{
    const unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
    char           byte;
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || EventRegister(&provider, NULL, NULL, &handle) != 0)
        return 1;
    wait_enabled();
    tell_with_threads(threads);
    const pid_t child = fork();
    if (child == 0) {
        wait_enabled();
        tell_with_threads(1);
        pause();
    }
    for (int i = 0; i < 2000 && __atomic_load_n(&all->told, __ATOMIC_RELAXED) < threads + 3; i++)
        usleep(10000);
    printf("%llu\n", (unsigned long long)__atomic_load_n(&all->slowest, __ATOMIC_RELAXED));
    fflush(stdout);
    (void)!read(0, &byte, 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    _exit(0);
}
