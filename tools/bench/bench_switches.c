/* bench_switches.c - see bench_switches.h. */
#include "tools/bench/bench_switches.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP = 2000, REST_US = 12000, KEEPERS_MOST = 15, ASKED_MOST = 1000000 };
struct shared {       /* between the processes of a measurement */
    double   ns;      /* what is measured */
    uint32_t quiet;   /* 1: keep the processors now; a futex */
    uint32_t keeping; /* how many keepers do */
};
struct partner {
    int      in, out;
    unsigned turns;
};

/* Asks for real-time priority, so that no other process comes in between; it may be refused. */
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

static bool pin_to(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

/* ---- quiet ---- */

/* Load on the other processors, which may share caches or even a core with this one, adds more to a switch than any
 * tracer does. So during a burst, a few milliseconds, a keeper process occupies each of them and does nothing. Where
 * there are many processors, the load of a few does not matter. */
static void keeper(struct shared *s, int cpu)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!pin_to(cpu))
        _exit(1);
    alone();
    for (;;) {
        syscall(SYS_futex, &s->quiet, FUTEX_WAIT, 0, NULL, NULL, 0);
        if (!__atomic_load_n(&s->quiet, __ATOMIC_ACQUIRE))
            continue;
        __atomic_fetch_add(&s->keeping, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&s->quiet, __ATOMIC_ACQUIRE)) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        __atomic_fetch_sub(&s->keeping, 1, __ATOMIC_ACQ_REL);
    }
}

static unsigned keepers_start(struct shared *s, const cpu_set_t *set, int but, pid_t pids[KEEPERS_MOST])
{
    unsigned count = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && count < KEEPERS_MOST; cpu++) {
        if (cpu == but || !CPU_ISSET(cpu, set))
            continue;
        if ((pids[count] = fork()) == 0)
            keeper(s, cpu);
        count += pids[count] > 0;
    }
    return count;
}

static void keepers_end(const pid_t *pids, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
}

/* Returns once all keepers spin, or after ASKED_MOST checks. */
static void quiet_begin(struct shared *s, unsigned keepers)
{
    __atomic_store_n(&s->quiet, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &s->quiet, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    for (unsigned i = 0; i < ASKED_MOST && __atomic_load_n(&s->keeping, __ATOMIC_ACQUIRE) < keepers; i++)
        ;
}

static void quiet_end(struct shared *s) { __atomic_store_n(&s->quiet, 0, __ATOMIC_RELEASE); }

/* ---- the work ---- */

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Each turn of the pair is two switches. 0: it failed. */
static double bursts(struct shared *s, unsigned keepers)
{
    int            there[2], back[2];
    char           byte  = 'x';
    unsigned       turns = BENCH_BURST / 2;
    double         least = 0, began = 0;
    struct partner p;
    pthread_t      thread;
    if (pipe(there) || pipe(back))
        return 0;
    p = (struct partner){there[0], back[1], WARM_UP + turns * BENCH_BURSTS};
    if (pthread_create(&thread, NULL, partner_main, &p))
        return 0;
    alone();
    for (unsigned i = 0; i < p.turns; i++) {
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            return 0;
        if (i + 1 < WARM_UP || (i + 1 - WARM_UP) % turns)
            continue;
        double took = (cpu_now() - began) / (double)BENCH_BURST;
        least       = i + 1 > WARM_UP && (took < least || least == 0) ? took : least;
        quiet_end(s);
        usleep(REST_US); /* the tracer catches up */
        quiet_begin(s, keepers);
        began = cpu_now();
    }
    quiet_end(s);
    return least;
}

/* Runs in the child, on the last CPU that may be used: the first one gets more interrupts. */
static double play(struct shared *s)
{
    cpu_set_t set;
    pid_t     pids[KEEPERS_MOST];
    int       cpu = CPU_SETSIZE - 1;
    if (sched_getaffinity(0, sizeof set, &set))
        return 0;
    while (cpu > 0 && !CPU_ISSET(cpu, &set))
        cpu--;
    unsigned keepers = keepers_start(s, &set, cpu, pids);
    double   ns      = pin_to(cpu) ? bursts(s, keepers) : 0;
    keepers_end(pids, keepers);
    return ns;
}

wstatus bench_switches(double *ns, struct reason *why)
{
    int            status;
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the work: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        shared->ns = play(shared);
        _exit(0);
    }
    bool done = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status);
    *ns       = shared->ns;
    munmap(shared, sizeof *shared);
    return done && *ns > 0 ? W_SUCCESS
                           : reason_set(why, W_GEN_FAILURE, "the threads that switch could not be run on one CPU");
}
