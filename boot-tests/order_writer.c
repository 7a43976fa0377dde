/* order_writer - events of a program and of the kernel close together, in a known order: order_writer TURNS. Two
 * threads on one CPU take turns; in a turn a thread writes event 1, makes the system call getpgid (of a process id that
 * does not exist, so that no other program makes the same call), writes event 2, and waits for its next turn, which
 * switches to the other thread. Prints "tids A B refused N". Exit codes: 0, 1 failed, 100 called wrongly. */
#include <evntprov.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 0x3FFFFFF0, THREADS = 2, ENABLED_MS = 10000, BURST = 100 /* turns */, REST_US = 1000 };
static const GUID provider_id = {0x0de2c0de, 0x7e57, 0x0001, {0x80, 0, 0, 0, 0, 0, 0, 1}};

struct shared {
    REGHANDLE provider;
    uint64_t  turns;
    int       baton[THREADS][2];
    uint64_t  refused[THREADS];
    pid_t     tid[THREADS];
    bool      failed;
};
struct player {
    struct shared *shared;
    unsigned       number;
};

static void say(struct player *p, USHORT id, uint64_t turn)
{
    EVENT_DESCRIPTOR      d = {.Id = id, .Level = 4, .Keyword = 1};
    EVENT_DATA_DESCRIPTOR data;
    EventDataDescCreate(&data, &turn, sizeof turn);
    p->shared->refused[p->number] += EventWrite(p->shared->provider, &d, 1, &data) != 0;
}

static void *play(void *arg)
{
    struct player *p = arg;
    struct shared *s = p->shared;
    char           byte;
    s->tid[p->number] = (pid_t)syscall(SYS_gettid);
    for (uint64_t turn = p->number; turn < s->turns; turn += THREADS) {
        if (read(s->baton[p->number][0], &byte, 1) != 1)
            s->failed = true;
        say(p, 1, turn);
        syscall(SYS_getpgid, NOBODY);
        say(p, 2, turn);
        if (turn % BURST == 0)
            usleep(REST_US);
        if (write(s->baton[!p->number][1], &byte, 1) != 1)
            s->failed = true;
    }
    return NULL;
}

/* Waits until a session has enabled the provider; false: none has within ENABLED_MS. */
static bool enabled(const struct shared *s)
{
    EVENT_DESCRIPTOR d = {.Id = 1, .Level = 4, .Keyword = 1};
    for (unsigned waited = 0; waited < ENABLED_MS; waited += 5, usleep(5000))
        if (EventEnabled(s->provider, &d))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    static struct shared s;
    struct player        player[THREADS];
    pthread_t            thread[THREADS];
    cpu_set_t            set, one;
    int                  cpu = CPU_SETSIZE - 1;
    s.turns                  = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
    if (!s.turns || s.turns % THREADS)
        return fprintf(stderr, "order_writer TURNS (a multiple of %d)\n", THREADS), 100;
    sched_getaffinity(0, sizeof set, &set);
    while (cpu > 0 && !CPU_ISSET(cpu, &set))
        cpu--;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (EventRegister(&provider_id, NULL, NULL, &s.provider) || !enabled(&s) || sched_setaffinity(0, sizeof one, &one))
        return 1;
    for (unsigned i = 0; i < THREADS; i++)
        if (pipe(s.baton[i]))
            return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        player[i] = (struct player){&s, i};
        if (pthread_create(&thread[i], NULL, play, &player[i]))
            return 1;
    }
    if (write(s.baton[0][1], "x", 1) != 1)
        return 1;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    EventUnregister(s.provider);
    printf("tids %d %d refused %llu\n", s.tid[0], s.tid[1], (unsigned long long)(s.refused[0] + s.refused[1]));
    return s.failed;
}
