/* storm - work with known numbers: processes and context switches at a rate, and the kernel's counts meanwhile. storm
 * SECONDS PROGRAMS PROCESSES SWITCHES: PROGRAMS processes start PROCESSES children a second each; on each CPU two
 * threads with priority over all others wake each other, together SWITCHES a second. Prints one JSON object: what was
 * made, each pair's threads with the switches that the kernel counted for them, and the kernel's counters before and
 * after, each read between two readings of the clocks that a trace can have. Exit codes: 0 done, 1 not, 100 called
 * wrongly. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { PROGRAMS_MAX = 256, PAIRS_MAX = 64, SLICE_NS = 1000000, LATE_NS = 20000000, SECOND_NS = 1000000000 };

struct clocks {
    uint64_t raw_ns, tsc;
};
struct counted {
    struct clocks before, after;
    uint64_t      switches, processes;
};
struct pair {
    pid_t    pid;
    uint32_t tid[2];
    uint64_t turns, switches;
};
struct shared {
    struct {
        uint64_t made, failed;
    } program[PROGRAMS_MAX];
    struct pair pair[PAIRS_MAX];
};
static struct shared *shared;

static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

static struct clocks clocks(void)
{
    struct clocks c = {now(CLOCK_MONOTONIC_RAW), 0};
#if defined(__x86_64__)
    c.tsc = __rdtsc();
#endif
    return c;
}

/* Sleeps until the next step of `each` ns. A missed step is made up for at once, unless it is more than LATE_NS ago. */
static void pace(uint64_t *next, uint64_t each)
{
    uint64_t at = now(CLOCK_MONOTONIC);
    *next += each;
    if (*next < at) {
        *next = at - *next > LATE_NS ? at - LATE_NS : *next;
        return;
    }
    struct timespec t = {(time_t)(*next / SECOND_NS), (long)(*next % SECOND_NS)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void program(unsigned number, unsigned rate, uint64_t until)
{
    uint64_t next = now(CLOCK_MONOTONIC);
    while (now(CLOCK_MONOTONIC) < until) {
        int   status;
        pid_t pid = vfork(); /* a fork would mostly copy memory, which is not measured here */
        if (pid == 0)
            _exit(0);
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            shared->program[number].failed++;
        else
            shared->program[number].made++;
        pace(&next, SECOND_NS / rate);
    }
}

struct partner {
    struct pair *pair;
    int          in, out;
};
static void *partner_main(void *arg)
{
    struct partner *p = arg;
    char            byte;
    p->pair->tid[1] = (uint32_t)syscall(SYS_gettid);
    while (read(p->in, &byte, 1) == 1 && write(p->out, &byte, 1) == 1)
        ;
    return NULL;
}

/* The pairs keep their rate, whatever processors the programs, their children and the recorder take. */
static void before_all_others(void)
{
    struct sched_param first = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &first); /* if refused, the pairs make as many switches as they can */
}

/* Two switches a turn. */
static void pair(struct pair *pair, int cpu, unsigned rate, uint64_t until)
{
    int            there[2], back[2];
    char           byte  = 'x';
    uint64_t       next  = now(CLOCK_MONOTONIC);
    unsigned       turns = (unsigned)((uint64_t)rate * SLICE_NS / SECOND_NS / 2);
    struct partner p;
    pthread_t      thread;
    cpu_set_t      one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) || pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
        _exit(1);
    before_all_others();
    p            = (struct partner){pair, there[0], back[1]};
    pair->tid[0] = (uint32_t)syscall(SYS_gettid);
    if (pthread_create(&thread, NULL, partner_main, &p))
        _exit(1);
    while (now(CLOCK_MONOTONIC) < until) {
        for (unsigned i = 0; i < turns; i++, pair->turns++)
            if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
                _exit(1);
        pace(&next, SLICE_NS);
    }
    close(there[1]);
    pthread_join(thread, NULL);
}

static uint64_t number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static struct counted counters(void)
{
    static char    text[1 << 16];
    struct counted c    = {.before = clocks()};
    int            fd   = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    ssize_t        n    = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    c.after             = clocks();
    text[n > 0 ? n : 0] = 0;
    close(fd);
    c.switches  = number_after(text, "\nctxt ");
    c.processes = number_after(text, "\nprocesses ");
    return c;
}

static void counted_print(const char *name, const struct counted *c)
{
    printf("\"%s\": {\"raw\": [%" PRIu64 ", %" PRIu64 "], \"tsc\": [%" PRIu64 ", %" PRIu64 "], \"switches\": %" PRIu64
           ", \"processes\": %" PRIu64 "}, ",
           name, c->before.raw_ns, c->after.raw_ns, c->before.tsc, c->after.tsc, c->switches, c->processes);
}

static pid_t child(void)
{
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        exit(1);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
    }
    return pid;
}

/* Waits for all. A pair's rusage counts the switches of both threads, perhaps without each one's last (at its end). */
static bool all_end(unsigned pairs, unsigned children)
{
    bool good = true;
    for (unsigned i = 0; i < children; i++) {
        struct rusage used;
        int           status;
        pid_t         pid = wait4(-1, &status, 0, &used);
        good &= pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        for (unsigned k = 0; k < pairs; k++)
            if (shared->pair[k].pid == pid)
                shared->pair[k].switches = (uint64_t)used.ru_nvcsw + (uint64_t)used.ru_nivcsw;
    }
    return good;
}

int main(int argc, char **argv)
{
    unsigned seconds = argc == 5 ? (unsigned)atoi(argv[1]) : 0, programs = seconds ? (unsigned)atoi(argv[2]) : 0,
             pairs = 0;
    cpu_set_t set;
    if (!seconds || programs > PROGRAMS_MAX || sched_getaffinity(0, sizeof set, &set))
        return fprintf(stderr, "storm SECONDS PROGRAMS PROCESSES SWITCHES\n"), 100;
    unsigned cpus = (unsigned)CPU_COUNT(&set), rate = (unsigned)atoi(argv[4]);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    struct counted before = counters();
    uint64_t       began = now(CLOCK_MONOTONIC), until = began + seconds * (uint64_t)SECOND_NS;
    for (int cpu = 0; cpu < CPU_SETSIZE && rate && pairs < PAIRS_MAX; cpu++)
        if (CPU_ISSET(cpu, &set)) {
            pid_t pid = child();
            if (pid == 0) {
                pair(&shared->pair[pairs], cpu, rate / cpus, until);
                _exit(0);
            }
            shared->pair[pairs++].pid = pid;
        }
    pid_t *made_by = calloc(programs + 1, sizeof *made_by);
    for (unsigned i = 0; i < programs; i++)
        if ((made_by[i] = child()) == 0) {
            program(i, (unsigned)atoi(argv[3]), until);
            _exit(0);
        }
    bool           good  = all_end(pairs, pairs + programs);
    double         took  = (double)(now(CLOCK_MONOTONIC) - began) / 1e9;
    struct counted after = counters();
    uint64_t       made = 0, failed = 0, turns = 0;
    printf("{\"programs\": [");
    for (unsigned i = 0; i < programs; i++) {
        printf("%s[%d, %" PRIu64 "]", i ? ", " : "", made_by[i], shared->program[i].made);
        made += shared->program[i].made;
        failed += shared->program[i].failed;
    }
    printf("], \"pairs\": [");
    for (unsigned i = 0; i < pairs; i++) {
        printf("%s{\"tids\": [%" PRIu32 ", %" PRIu32 "], \"turns\": %" PRIu64 ", \"switches\": %" PRIu64 "}",
               i ? ", " : "", shared->pair[i].tid[0], shared->pair[i].tid[1], shared->pair[i].turns,
               shared->pair[i].switches);
        turns += shared->pair[i].turns;
    }
    printf("], ");
    counted_print("before", &before);
    counted_print("after", &after);
    printf("\"made\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"turns\": %" PRIu64 ", \"seconds\": %.3f, \"pid\": %d}\n",
           made, failed, turns, took, getpid());
    free(made_by);
    return good && !failed ? 0 : 1;
}
