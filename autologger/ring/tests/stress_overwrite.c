/* Proves: COR-16, D-04: several processes with threads that write flat out into few chunks, a reader that is now and
 * then away, a process killed in the middle, threads with and without rseq: none is refused, nothing is torn or
 * doubled, what was read and what was overwritten are all that was written, and from complete_from on no writer's
 * number is missing. */
// timeout: 180
#include "autologger/ring/quiesce.h"
#include "autologger/ring/tests/fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { PROCESSES = 3, THREADS = 2, WRITERS = PROCESSES * THREADS, NUMBERS = 1 << 23 };

struct board {
    volatile int      quit;
    volatile uint64_t done[WRITERS], refused[WRITERS];
};
struct body {
    uint32_t writer, size;
    uint64_t number;
};
static struct fixture f;
static struct board  *board;
static uint64_t      *time_of[WRITERS]; /* by number; 0: not read */

static uint8_t fill_byte(uint32_t writer, uint64_t number, uint32_t i)
{
    return (uint8_t)(writer * 31 + number * 7 + i);
}

static void *writer_thread(void *arg)
{
    const uint32_t writer = (uint32_t)(uintptr_t)arg;
    uint8_t        memory[2048];
    while (!board->quit && board->done[writer] + 1 < NUMBERS) {
        const uint64_t    number = board->done[writer] + 1;
        const struct body b = {writer, 24 + (uint32_t)(number * 2654435761u >> 5) % (number % 16 ? 300 : 2000), number};
        memcpy(memory, &b, sizeof b);
        for (uint32_t i = sizeof b; i < b.size; i++)
            memory[i] = fill_byte(writer, number, i);
        if (fixture_write(&f, memory, b.size) == 0)
            board->done[writer] = number;
        else
            board->refused[writer]++;
    }
    return NULL;
}

static pid_t start_process(unsigned p, bool fallback)
{
    const pid_t pid = fork();
    pthread_t   t[THREADS];
    if (pid)
        return pid;
    ring_force_fallback(fallback);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, writer_thread, (void *)(uintptr_t)(p * THREADS + i));
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    _exit(0);
}

struct tally {
    uint64_t events, bad, last_time[64];
};

static void check(struct tally *t, unsigned stream, const struct stream_record *r)
{
    struct body b;
    bool        good = r->size >= 80 + sizeof b && r->time >= t->last_time[stream];
    memcpy(&b, r->data + 80, sizeof b);
    good = good && b.writer < WRITERS && b.size + 80 == r->size && b.number < NUMBERS && !time_of[b.writer][b.number];
    for (uint32_t i = sizeof b; good && i < b.size; i++)
        good = r->data[80 + i] == fill_byte(b.writer, b.number, i);
    t->events++;
    t->bad += !good;
    if (!good)
        return;
    t->last_time[stream]        = r->time;
    time_of[b.writer][b.number] = r->time;
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Like a logger: releases the records read when it holds many chunks. */
static uint64_t drain(struct tally *t)
{
    const uint64_t before = t->events, patience = now_ns() + UINT64_C(1500000000);
    const unsigned count = stream_set_count(f.set);
    stream_snapshot(f.set);
    for (unsigned i = 0; i < count; i++) {
        struct stream_record r;
        do
            while (stream_peek(f.set, i, &r)) {
                check(t, i, &r);
                stream_pop(f.set, i);
                for (unsigned k = 0; k < count && stream_set_holds(f.set) != STREAM_HOLDS_FEW; k++)
                    stream_release(f.set, k, stream_position(f.set, k));
            }
        while (i == count - 1 && stream_waits(f.set, i) && now_ns() < patience &&
               (stream_fallback_blocked(f.set, now_ns()) || stream_peek(f.set, i, &r)));
        stream_release(f.set, i, stream_position(f.set, i));
    }
    return t->events - before;
}

static void check_window(void)
{
    const uint64_t from = stream_set_complete_from(f.set, UINT64_MAX);
    for (unsigned w = 0; w < WRITERS; w++) {
        uint64_t n = board->done[w];
        while (n >= 1 && time_of[w][n] && time_of[w][n] >= from)
            n--;
        for (; n >= 1; n--)
            assert_true(time_of[w][n] < from);
    }
}

static void run(unsigned fallbacks, bool kill_one, uint32_t chunks, unsigned ms)
{
    struct stream_config   c = fixture_config((unsigned)sysconf(_SC_NPROCESSORS_CONF), 13, chunks, chunks);
    struct tally           t = {0};
    struct stream_counters n;
    pid_t                  pid[PROCESSES];
    uint64_t               done = 0, refused = 0, more = 0;
    int                    status;

    c.overwrite = true;
    fixture_init(&f, &c, -1);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < WRITERS; i++)
        time_of[i] = calloc(NUMBERS, sizeof *time_of[i]);
    for (unsigned p = 0; p < PROCESSES; p++)
        pid[p] = start_process(p, p < fallbacks);
    const uint64_t end    = now_ns() + ms * UINT64_C(1000000);
    bool           killed = false;
    for (unsigned round = 0; now_ns() < end; round++) {
        if (kill_one && !killed && now_ns() > end - ms * UINT64_C(500000)) {
            kill(pid[0], SIGKILL);
            waitpid(pid[0], &status, 0);
            killed = true;
        }
        drain(&t);
        if (round % 4 == 0)
            stream_set_reclaim(f.set, quiesce_all_cpus);
        if (round % 8 == 0)
            stream_set_retire(f.set);
        if (round % 16 == 5) { /* another user takes part of the memory for a while */
            stream_set_yield(f.set, chunks / 4, chunks - chunks / 4);
            stream_set_pool(f.set, chunks - stream_set_busy(f.set));
        }
        if (round % 3 == 0)
            usleep(round % 64 ? 300 : 20000); /* much is overwritten in between */
        assert_true(stream_set_granted(f.set) <= chunks);
    }
    board->quit = 1;
    for (unsigned p = kill_one; p < PROCESSES; p++)
        assert_true(waitpid(pid[p], &status, 0) == pid[p] && status == 0);
    stream_set_open(f.set, false);
    assert_int_equal(quiesce_all_cpus(NULL), 0);
    while (drain(&t) || stream_fallback_blocked(f.set, now_ns()))
        ;
    stream_set_reclaim(f.set, quiesce_all_cpus);
    stream_set_retire(f.set);
    drain(&t);
    assert_in_range(stream_set_busy(f.set), 0, fallbacks ? 8 : 0); /* threads without rseq may have linked some */
    for (unsigned w = 0; w < WRITERS; w++) {
        more += time_of[w][board->done[w] + 1] != 0; /* written by a writer that was killed before the call returned */
        done += board->done[w];
        refused += board->refused[w];
    }
    stream_counters(f.set, raw_now_ns(), &n);
    const uint64_t overwritten = stream_set_overwritten(f.set, raw_now_ns());
    print_message("%lu written, %lu read, %lu overwritten, %lu refused, %lu aborts, %lu given up\n",
                  (unsigned long)done, (unsigned long)t.events, (unsigned long)overwritten, (unsigned long)refused,
                  (unsigned long)n.aborts, (unsigned long)n.abandoned);
    assert_int_equal(t.bad, 0);
    assert_int_equal(n.corrupt, 0);
    assert_true(fallbacks || refused == 0);
    assert_in_range(t.events + overwritten, done, done + more + (kill_one ? THREADS : 0));
    assert_true(overwritten > 0 && t.events > 100);
    if (!kill_one)
        check_window();
    for (unsigned i = 0; i < WRITERS; i++)
        free(time_of[i]);
    munmap(board, sizeof *board);
    fixture_finish(&f);
}

static void test_load(void **state)
{
    (void)state;
    run(0, false, 16, 1500);
    run(0, false, 8, 700);
}
static void test_killed(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        run(0, true, 16, 500);
}
/* A thread without rseq reuses a chunk that another such thread wrote before. Loads in oldest.c order the accesses;
 * ThreadSanitizer must not see these loads, as the chunk may belong to another thread already. */
static void not_for_tsan(void)
{
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    skip();
#endif
#endif
}

static void test_mixed(void **state)
{
    (void)state;
    not_for_tsan();
    run(1, false, 24, 1000);
    run(1, true, 24, 500);
}
static void test_fallback(void **state)
{
    (void)state;
    not_for_tsan();
    run(PROCESSES, false, 24, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_load), cmocka_unit_test(test_killed),
                                       cmocka_unit_test(test_mixed), cmocka_unit_test(test_fallback)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
