/* write_storm - programs that are hit while they write.
 *   write_storm kill BOARD COUNT       COUNT programs, two at a time; each is ended by SIGKILL: every other one at any
 *                                      moment of its start, the others while they write. BOARD gets what each had done
 *                                      (storm_board.h)
 *   write_storm stop BOARD COUNT SESSION   a program that writes without a pause is stopped by SIGSTOP, COUNT times;
 *                                      each time the session is flushed, then it goes on. Prints how long the longest
 *                                      flush took, and the bound, in ms
 * Children write numbered events of provider 1. Exit 0; 1: a flush failed; 111. */
#include "boot-tests/storm_write.h"

#include <evntrace.h>

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 2, START_US = 6000, WRITE_US = 100, SETTLE_US = 400 };

static void pause_us(long us) { nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL); }

/* Writes one event, then waits for `go` and writes without a pause. */
static void write_on(volatile struct storm_entry *e, uint32_t writer)
{
    const GUID id       = NUMBERED_PROVIDER(1);
    REGHANDLE  provider = 0;

    prctl(PR_SET_TIMERSLACK, 1);
    if (EventRegister(&id, NULL, NULL, &provider) != 0)
        _exit(111);
    storm_wait_enabled(provider);
    for (;;) {
        if (e->done && !e->go)
            pause_us(20);
        else
            storm_write(provider, e, writer);
    }
}

static pid_t writer_start(struct storm_board *b, uint32_t writer)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        write_on(&b->entry[writer], writer);
    }
    return pid;
}

/* Waits until it writes; false: it does not within 20 s. */
static bool writes(const volatile struct storm_entry *e)
{
    for (int i = 0; i < 400000; i++) {
        if (e->done)
            return true;
        pause_us(50);
    }
    return false;
}

static int storm_kill(struct storm_board *b)
{
    unsigned seed = 1;
    for (uint32_t w = 0; w < b->writers; w += AT_ONCE) {
        pid_t    pid[AT_ONCE];
        uint32_t count = b->writers - w < AT_ONCE ? (uint32_t)(b->writers - w) : AT_ONCE;
        for (uint32_t i = 0; i < count; i++)
            if ((pid[i] = writer_start(b, w + i)) < 0)
                return 111;
        for (uint32_t i = 0; i < count; i++) {
            const bool starting = (w / AT_ONCE + i) % 2;
            if (!starting && !writes(&b->entry[w + i]))
                return 111;
            b->entry[w + i].go = !starting;
            pause_us(rand_r(&seed) % (starting ? START_US : WRITE_US));
            kill(pid[i], SIGKILL);
        }
        for (uint32_t i = 0; i < count; i++)
            waitpid(pid[i], NULL, 0);
    }
    return 0;
}

struct block {
    EVENT_TRACE_PROPERTIES p;
    char                   file[1024], name[1024];
};
static ULONG flush(const char *session)
{
    struct block b = {.p = {.Wnode             = {.BufferSize = sizeof b, .Flags = WNODE_FLAG_TRACED_GUID},
                            .LogFileNameOffset = offsetof(struct block, file),
                            .LoggerNameOffset  = offsetof(struct block, name)}};
    return ControlTraceA(0, session, &b.p, EVENT_TRACE_CONTROL_FLUSH);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int storm_stop(struct storm_board *b, unsigned count, const char *session)
{
    double   longest = 0;
    unsigned seed    = 1;
    pid_t    pid     = writer_start(b, 0);
    int      result  = pid > 0 && writes(&b->entry[0]) ? 0 : 111;

    b->entry[0].go = 1;
    for (unsigned i = 0; i < count && !result; i++) {
        pause_us(100 + rand_r(&seed) % SETTLE_US);
        kill(pid, SIGSTOP);
        waitpid(pid, NULL, WUNTRACED);
        double start = now_ms();
        ULONG  st    = flush(session);
        double took  = now_ms() - start;
        longest      = took > longest ? took : longest;
        if (st != 0) {
            fprintf(stderr, "write_storm: flush gives %lu\n", (unsigned long)st);
            result = 1;
        }
        kill(pid, SIGCONT);
    }
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    printf("%.1f\n", longest);
    return result;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_TIMERSLACK, 1);
    bool kills = argc == 4 && strcmp(argv[1], "kill") == 0, stops = argc == 5 && strcmp(argv[1], "stop") == 0;
    if (!kills && !stops) {
        fprintf(stderr, "write_storm kill BOARD COUNT | stop BOARD COUNT SESSION\n");
        return 100;
    }
    unsigned            count = (unsigned)strtoul(argv[3], NULL, 10);
    struct storm_board *b     = storm_board_map(argv[2], kills ? count : 1);
    if (!b)
        return 111;
    return kills ? storm_kill(b) : storm_stop(b, count, argv[4]);
}
