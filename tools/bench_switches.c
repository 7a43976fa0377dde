/* bench_switches.c - see bench_switches.h. */
#include "tools/bench_switches.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP = 2000, REST_US = 20000 };
struct partner { int in, out; unsigned turns; };

/* Nobody else comes in between, if that may be asked for. */
static void alone(void)
{
    struct sched_param first = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &first);
}

static void *partner_main(void *arg)
{
    const struct partner *p = arg;
    char                  byte;
    alone();
    for (unsigned i = 0; i < p->turns; i++)
        if (read(p->in, &byte, 1) != 1 || write(p->out, &byte, 1) != 1)
            return arg;
    return NULL;
}

/* The last CPU that may be used: the first one has the machine's interrupts more often. */
static bool pin(void)
{
    cpu_set_t set, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof set, &set))
        return false;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
        if (CPU_ISSET(cpu, &set)) {
            CPU_SET(cpu, &one);
            return sched_setaffinity(0, sizeof one, &one) == 0;
        }
    return false;
}

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* In the child. Each turn of the pair is two switches. 0: it could not be done. */
static double play(void)
{
    int            there[2], back[2];
    char           byte  = 'x';
    unsigned       turns = BENCH_BURST / 2;
    double         least = 0;
    struct partner p;
    pthread_t      thread;
    if (!pin() || pipe(there) || pipe(back))
        return 0;
    p = (struct partner){there[0], back[1], WARM_UP + turns * BENCH_BURSTS};
    if (pthread_create(&thread, NULL, partner_main, &p))
        return 0;
    double began = 0;
    alone();
    for (unsigned i = 0; i < p.turns; i++) {
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            return 0;
        if (i + 1 < WARM_UP || (i + 1 - WARM_UP) % turns)
            continue;
        double took = (cpu_now() - began) / BENCH_BURST;
        least       = i + 1 > WARM_UP && (took < least || least == 0) ? took : least;
        usleep(REST_US); /* whoever records catches up */
        began = cpu_now();
    }
    return least;
}

wstatus bench_switches(double *ns, struct reason *why)
{
    int     status;
    double *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the work: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        *shared = play();
        _exit(0);
    }
    bool done = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status);
    *ns       = *shared;
    munmap(shared, sizeof *shared);
    return done && *ns > 0 ? W_SUCCESS : reason_set(why, W_GEN_FAILURE, "the threads that switch could not be run on one CPU");
}
