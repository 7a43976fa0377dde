/* Proves: COR-06 COR-07 COR-12 COR-18 COR-20: several processes with pinned and unpinned threads and a signal handler
 * that writes too, one process killed in mid-stream, one reader: nothing torn, missing or doubled, no stream's time
 * goes back. And stops under load (design section 4, quiesce): 0 late events.
 * AL_FULL=1: 10,000 stops instead of 1,000. */
// timeout: 180
#include "autologger/ring/tests/fixture.h"

#include "autologger/ring/quiesce.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

enum { PROCESSES = 4, THREADS = 3, WRITERS = PROCESSES * (THREADS + 1) };

/* Counts that the processes report outside the ring. done[w]: successful writes of writer w. */
struct board {
    volatile int      quit;
    volatile uint64_t done[WRITERS];
    volatile uint64_t refused[WRITERS]; /* calls that returned 8 */
};
struct body {
    uint32_t writer, size;
    uint64_t number;
};
static struct fixture f;
static struct board  *board;

static uint8_t fill_byte(uint32_t writer, uint64_t number, uint32_t i)
{
    return (uint8_t)(writer * 31 + number * 7 + i);
}

/* Mixed sizes: mostly small, every 16th up to 60,000 bytes. */
static uint32_t size_of(uint64_t number)
{
    uint32_t x = (uint32_t)(number * 2654435761u);
    if (number % 16 == 0)
        return 24 + x % (60000 - 80 - 24);
    return 24 + x % 400;
}

static __thread uint8_t *scratch;
static void              write_one(uint32_t writer, uint8_t *memory)
{
    uint64_t    number = board->done[writer] + 1;
    struct body b      = {writer, size_of(number), number};
    memcpy(memory, &b, sizeof b);
    for (uint32_t i = sizeof b; i < b.size; i++)
        memory[i] = fill_byte(writer, number, i);
    wstatus st = fixture_write(&f, memory, b.size);
    if (st == 0)
        board->done[writer] = number;
    else if (st == W_NOT_ENOUGH_MEMORY)
        board->refused[writer]++;
}

static uint32_t handler_writer;
static uint8_t  handler_memory[65536];
static void     on_alarm(int sig)
{
    static volatile sig_atomic_t busy;
    (void)sig;
    if (board->quit) { /* slow, and late: else the thread might do nothing else, and never see `quit` */
        const struct itimerval off = {{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &off, NULL);
        return;
    }
    if (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        return;
    write_one(handler_writer, handler_memory);
    __atomic_clear(&busy, __ATOMIC_RELEASE);
}

static void *writer_thread(void *arg)
{
    uint32_t writer = (uint32_t)(uintptr_t)arg;
    if (writer % 2) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(writer / 2 % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    scratch = malloc(65536);
    while (!board->quit)
        write_one(writer, scratch);
    free(scratch);
    return NULL;
}

static pid_t start_process(unsigned p, bool timer)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    pthread_t t[THREADS];
    handler_writer = p * (THREADS + 1) + THREADS;
    if (timer) {
        struct itimerval it = {{0, 300}, {0, 300}};
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &it, NULL);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, writer_thread, (void *)(uintptr_t)(p * (THREADS + 1) + i));
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    struct itimerval off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &off, NULL);
    _exit(0);
}

struct tally {
    uint64_t next[WRITERS]; /* highest number seen */
    uint64_t events, bad, gaps;
    uint64_t last_time[64];
};
/* A writer's numbers are in order per stream only. Each number is seen once: a bitmap per writer. */
static uint8_t *seen[WRITERS];
enum { NUMBERS = 1 << 24 };

static void check(struct tally *t, unsigned stream, const uint8_t *data, uint32_t size, uint64_t time)
{
    struct body b;
    t->events++;
    memcpy(&b, data + 80, sizeof b);
    if (size < 80 + sizeof b || b.writer >= WRITERS || b.size + 80 != size || b.number >= NUMBERS ||
        time < t->last_time[stream]) {
        t->bad++;
        return;
    }
    t->last_time[stream] = time;
    for (uint32_t i = sizeof b; i < b.size; i++)
        if (data[80 + i] != fill_byte(b.writer, b.number, i)) {
            t->bad++;
            return;
        }
    uint8_t bit = (uint8_t)(1 << (b.number & 7));
    if (seen[b.writer][b.number >> 3] & bit)
        t->bad++; /* doubled */
    seen[b.writer][b.number >> 3] |= bit;
    if (b.number > t->next[b.writer])
        t->next[b.writer] = b.number;
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Reads everything there is; alternates between the two ways of reading. */
static uint64_t drain(struct tally *t, unsigned round)
{
    static uint8_t out[1 << 18];
    uint64_t       before = t->events;
    stream_snapshot(f.set);
    for (unsigned i = 0; i < stream_set_count(f.set); i++) {
        struct stream_record r;
        bool                 fallback = i == stream_set_count(f.set) - 1;
        if (round % 2 && !fallback) {
            struct stream_run run = stream_copy(f.set, i, out, sizeof out, UINT64_MAX);
            for (uint32_t at = 0; at < run.bytes;) {
                struct etl_event_header h;
                memcpy(&h, out + at, sizeof h);
                check(t, i, out + at, h.size, (uint64_t)h.time);
                at += (h.size + 7u) & ~7u;
            }
        }
        do {
            while (stream_peek(f.set, i, &r)) {
                check(t, i, r.data, r.size, r.time);
                stream_pop(f.set, i);
            }
        } while (fallback && stream_position(f.set, i) < stream_released(f.set, i) + stream_set_used(f.set) &&
                 !stream_fallback_blocked(f.set, now_ns()) && stream_peek(f.set, i, &r));
        stream_release(f.set, i, stream_position(f.set, i));
    }
    return t->events - before;
}

/* For the analysis of a failure. */
static void print_state(void)
{
    struct stream_counters n;
    stream_counters(f.set, raw_now_ns(), &n);
    print_message("granted %u, busy %u; events %lu, damaged %lu, given up %lu, lost %lu\n", stream_set_granted(f.set),
                  stream_set_busy(f.set), (unsigned long)n.events, (unsigned long)n.corrupt, (unsigned long)n.abandoned,
                  (unsigned long)n.lost);
    for (unsigned i = 0; i < stream_set_count(f.set); i++)
        print_message("stream %u: written to %lx, read to %lx, released to %lx, aborts %lu\n", i,
                      (unsigned long)f.view.stream[i].wpos, (unsigned long)stream_position(f.set, i),
                      (unsigned long)stream_released(f.set, i), (unsigned long)f.view.stream[i].aborts);
}

/* A run lasts a given time, and on a busy machine until this many events are written. */
enum { LEAST = 1000 };
#define PATIENCE_NS UINT64_C(60000000000)
static uint64_t all_done(void)
{
    uint64_t all = 0;
    for (unsigned w = 0; w < WRITERS; w++)
        all += board->done[w];
    return all;
}

static void run_load(bool kill_one, bool timer, unsigned ms)
{
    struct stream_config c = fixture_config((unsigned)sysconf(_SC_NPROCESSORS_CONF), 16, 64, 24);
    struct tally         t = {0};
    pid_t                pid[PROCESSES];
    int                  e = eventfd(0, EFD_NONBLOCK), status;
    c.max_event            = 65528;
    fixture_init(&f, &c, e);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < WRITERS; i++)
        seen[i] = calloc(NUMBERS / 8, 1);
    for (unsigned p = 0; p < PROCESSES; p++)
        pid[p] = start_process(p, timer && p == 1);
    uint64_t end    = now_ns() + ms * UINT64_C(1000000);
    bool     killed = false;
    for (unsigned round = 0; now_ns() < end || (all_done() <= LEAST && now_ns() < end + PATIENCE_NS); round++) {
        if (kill_one && !killed && now_ns() > end - ms * UINT64_C(500000)) {
            kill(pid[0], SIGKILL);
            waitpid(pid[0], &status, 0);
            killed = true;
        }
        const uint64_t some = drain(&t, round);
        if (round % 4 == 0)
            stream_set_reclaim(f.set, quiesce_all_cpus);
        if (round % 8 == 0)
            stream_set_retire(f.set);
        stream_set_pool(f.set, round % 5 ? 24 : 12); /* part of the pool is taken back, and granted again */
        assert_true(stream_set_granted(f.set) <= 64);
        if (some == 0)
            usleep(200);
    }
    board->quit = 1;
    for (unsigned p = kill_one; p < PROCESSES; p++)
        assert_int_equal(waitpid(pid[p], &status, 0) == pid[p] && status == 0, 1);
    stream_set_open(f.set, false);
    struct reason why;
    assert_int_equal(quiesce_all_cpus(&why), 0);
    while (drain(&t, 0) || stream_fallback_blocked(f.set, now_ns()))
        ;
    stream_set_reclaim(f.set, quiesce_all_cpus);
    stream_set_retire(f.set);
    drain(&t, 0);
    if (stream_set_busy(f.set))
        print_state();
    /* no chunk is lost, whichever process was killed; the fallback stream's writers may have linked some ahead */
    assert_uint_in_range(stream_set_busy(f.set), 0,
                         __atomic_load_n(&f.view.data->fallback_used, __ATOMIC_RELAXED) ? 8 : 0);
    uint64_t done = 0, refused = 0, missing = 0, more = 0;
    for (unsigned w = 0; w < WRITERS; w++) {
        for (uint64_t n = 1; n <= board->done[w]; n++)
            missing += !(seen[w][n >> 3] & (1 << (n & 7)));
        more += t.next[w] > board->done[w]; /* written, killed before the call returned: at most one per thread */
        assert_true(t.next[w] <= board->done[w] + 1);
        done += board->done[w];
        refused += board->refused[w];
        free(seen[w]);
    }
    struct stream_counters n;
    stream_counters(f.set, raw_now_ns(), &n);
    print_message("%lu events, %lu refused, %lu aborts, %lu unreturned\n", (unsigned long)t.events,
                  (unsigned long)refused, (unsigned long)n.aborts, (unsigned long)more);
    assert_int_equal(t.bad, 0);
    assert_int_equal(missing, 0);
    assert_int_equal(n.corrupt, 0);
    assert_int_equal(t.events, done + more);
    assert_true(n.lost == refused || (kill_one && n.lost >= refused && n.lost <= refused + THREADS + 1));
    assert_true(done > LEAST);
    if (!kill_one)
        assert_int_equal(more, 0);
    munmap(board, sizeof *board);
    close(e);
    fixture_finish(&f);
}

static void test_load(void **state)
{
    (void)state;
    run_load(false, false, 1500);
}
static void test_signals(void **state)
{
    (void)state;
    run_load(false, true, 1500);
}
static void test_killed(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        run_load(true, false, 600);
}
static void test_fallback(void **state)
{
    (void)state;
    ring_force_fallback(true);
    run_load(false, true, 1000);
    run_load(true, false, 600);
    ring_force_fallback(false);
}

/* Stops under load: after closing and a quiesce, the write positions are final. */
static void stops(unsigned count)
{
    struct stream_config c = fixture_config((unsigned)sysconf(_SC_NPROCESSORS_CONF), 16, 64, 24);
    pid_t                pid[3];
    uint64_t             late = 0;
    c.max_event               = 65528;
    fixture_init(&f, &c, -1);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned p = 0; p < 3; p++)
        if ((pid[p] = fork()) == 0) {
            uint8_t *memory = calloc(1, 65536);
            while (!board->quit)
                if (fixture_write(&f, memory, p == 2 ? 30000 : 200) == 0)
                    board->done[p]++;
            _exit(0);
        }
    for (unsigned round = 0; round < count; round++) {
        struct stream_record r;
        stream_set_open(f.set, true);
        usleep(1000);
        stream_set_open(f.set, false);
        assert_int_equal(quiesce_all_cpus(NULL), 0);
        uint64_t first = 0, second = 0;
        stream_snapshot(f.set);
        for (unsigned i = 0; i < stream_set_count(f.set); i++)
            first += __atomic_load_n(&f.view.stream[i].wpos, __ATOMIC_ACQUIRE) & ~SHM_CLOSED;
        usleep(round % 50 ? 500 : 20000);
        for (unsigned i = 0; i < stream_set_count(f.set); i++)
            second += __atomic_load_n(&f.view.stream[i].wpos, __ATOMIC_ACQUIRE) & ~SHM_CLOSED;
        late += first != second;
        for (unsigned i = 0; i < stream_set_count(f.set); i++) {
            const bool fallback = i == stream_set_count(f.set) - 1;
            do { /* behind a place given up just now there may be more records */
                while (stream_peek(f.set, i, &r))
                    stream_pop(f.set, i);
            } while (fallback && (stream_fallback_blocked(f.set, now_ns()) || stream_peek(f.set, i, &r)));
            stream_release(f.set, i, stream_position(f.set, i));
        }
    }
    board->quit = 1;
    for (unsigned p = 0; p < 3; p++)
        waitpid(pid[p], NULL, 0);
    struct stream_counters n;
    stream_counters(f.set, raw_now_ns(), &n);
    print_message("%u stops, %lu events, %lu late\n", count, (unsigned long)n.events, (unsigned long)late);
    if (n.events != board->done[0] + board->done[1] + board->done[2])
        print_state();
    assert_int_equal(late, 0);
    assert_int_equal(n.events, board->done[0] + board->done[1] + board->done[2]);
    assert_int_equal(n.corrupt, 0);
    munmap(board, sizeof *board);
    fixture_finish(&f);
}
static void test_stops(void **state)
{
    (void)state;
    stops(getenv("AL_FULL") ? 10000 : 1000);
}
static void test_stops_fallback(void **state)
{
    (void)state;
    ring_force_fallback(true);
    stops(getenv("AL_FULL") ? 1000 : 100);
    ring_force_fallback(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),     cmocka_unit_test(test_signals), cmocka_unit_test(test_killed),
        cmocka_unit_test(test_fallback), cmocka_unit_test(test_stops),   cmocka_unit_test(test_stops_fallback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
