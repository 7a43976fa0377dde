/* Proves: COR-06 COR-07 COR-18 COR-20: the fallback stream (no rseq): a writer that stops or dies between reserving and
 * publishing holds nobody up, tears nothing, and its event is counted. */
// timeout: 60
#include "autologger/ring/tests/fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

extern void (*ring_fallback_testpoint)(void);

static struct fixture f;
static unsigned       last; /* index of the fallback stream */

static int setup(void **state)
{
    struct stream_config c = fixture_config(2, 12, 16, 4);
    (void)state;
    ring_force_fallback(true);
    fixture_init(&f, &c, -1);
    last = stream_set_count(f.set) - 1;
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    ring_fallback_testpoint = NULL;
    fixture_finish(&f);
    ring_force_fallback(false);
    return 0;
}
static void stop_here(void) { raise(SIGSTOP); }
static void die_here(void) { raise(SIGKILL); }

/* A child that stops or dies after reserving 100 + 80 bytes. */
static pid_t stuck_child(void (*where)(void))
{
    static const uint8_t payload[100] = {7};
    int                  status;
    pid_t                pid = fork();
    if (pid == 0) {
        ring_fallback_testpoint = where;
        _exit(fixture_write(&f, payload, sizeof payload) == W_NOT_ENOUGH_MEMORY ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    return pid;
}
static unsigned drain(uint8_t expect)
{
    struct stream_record r;
    unsigned             n = 0;
    stream_snapshot(f.set);
    while (stream_peek(f.set, last, &r)) {
        assert_int_equal(r.data[80], expect);
        stream_pop(f.set, last);
        n++;
    }
    stream_release(f.set, last, stream_position(f.set, last));
    stream_set_pool(f.set, 4 - (stream_set_busy(f.set) < 4 ? stream_set_busy(f.set) : 4));
    return n;
}

static void test_killed(void **state)
{
    uint8_t                payload[200] = {9};
    struct stream_counters n;
    (void)state;
    stuck_child(die_here);
    for (int i = 0; i < 5; i++)
        assert_int_equal(fixture_write(&f, payload, sizeof payload), 0); /* other writers keep logging */
    assert_int_equal(drain(9), 0);                                       /* their records lie behind the hole */
    assert_false(stream_fallback_blocked(f.set, 1));                     /* the thread is gone: given up at once */
    assert_int_equal(drain(9), 5);
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.abandoned, 1);
    assert_int_equal(n.lost, 1);
    assert_int_equal(n.corrupt, 0);
}

static void test_stopped(void **state)
{
    uint8_t                payload[200] = {9};
    struct stream_counters n;
    int                    status;
    uint32_t               granted = stream_set_granted(f.set);
    (void)state;
    pid_t pid = stuck_child(stop_here);
    for (int i = 0; i < 5; i++)
        assert_int_equal(fixture_write(&f, payload, sizeof payload), 0);
    assert_int_equal(drain(9), 0);
    assert_true(stream_fallback_blocked(f.set, 1));
    assert_true(stream_fallback_blocked(f.set, 900000000));
    assert_false(stream_fallback_blocked(f.set, 1100000000)); /* given up after 1 s */
    assert_int_equal(drain(9), 5);
    /* memory that the stopped thread may still write to is never reused, however often the ring wraps */
    for (unsigned i = 0; i < 300; i++) {
        assert_int_equal(fixture_write(&f, payload, sizeof payload), 0);
        if (i == 150) {
            kill(pid, SIGCONT);
            assert_int_equal(waitpid(pid, &status, 0), pid);
            assert_int_equal(status, 0); /* its write returned ERROR_NOT_ENOUGH_MEMORY, and it counted no loss itself */
        }
        assert_int_equal(drain(9), 1);
    }
    assert_int_equal(stream_set_granted(f.set), granted);
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.abandoned, 1);
    assert_int_equal(n.lost, 1);
    assert_int_equal(n.corrupt, 0);
}

/* Reserved, but without a mark: the slot is still 0. */
static void test_unmarked(void **state)
{
    uint8_t                payload[200] = {9};
    struct stream_counters n;
    (void)state;
    assert_int_equal(fixture_write(&f, payload, sizeof payload), 0);
    assert_int_equal(drain(9), 1);
    __atomic_fetch_add(&f.view.stream[last].wpos, 184, __ATOMIC_SEQ_CST); /* a writer's first step */
    for (int i = 0; i < 5; i++)
        assert_int_equal(fixture_write(&f, payload, sizeof payload), 0);
    assert_int_equal(drain(9), 0);
    assert_true(stream_fallback_blocked(f.set, 5));
    assert_false(stream_fallback_blocked(f.set, 1000000006));
    assert_int_equal(drain(9), 5);
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.abandoned, 1);
    assert_int_equal(n.lost, 1);
    /* and across the end of a chunk: the filler is missing */
    while ((f.view.stream[last].wpos & 4095) < 4096 - 280)
        assert_int_equal(fixture_write(&f, payload, sizeof payload), 0);
    drain(9);
    uint64_t at              = f.view.stream[last].wpos;
    f.view.stream[last].wpos = (at | 4095) + 1;
    assert_int_equal(fixture_write(&f, payload, sizeof payload), 0);
    assert_int_equal(drain(9), 0);
    assert_true(stream_fallback_blocked(f.set, 7));
    assert_false(stream_fallback_blocked(f.set, 1000000008));
    assert_int_equal(drain(9), 1);
}

/* Threads of one process against a reader, with atomics only, so that ThreadSanitizer can check them. */
enum { THREADS = 4, EVENTS = 4000 };
static void *writer(void *arg)
{
    uint32_t payload[10] = {(uint32_t)(uintptr_t)arg};
    for (uint32_t i = 0; i < EVENTS;) {
        payload[1] = i;
        if (fixture_write(&f, payload, sizeof payload) == 0)
            i++;
        else
            sched_yield();
    }
    return NULL;
}
static void test_threads(void **state)
{
    pthread_t            t[THREADS];
    uint32_t             next[THREADS] = {0};
    unsigned             left          = THREADS * EVENTS;
    uint64_t             time          = 0;
    struct stream_record r;
    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, writer, (void *)i);
    while (left) {
        stream_snapshot(f.set);
        while (stream_peek(f.set, last, &r)) {
            uint32_t who[2];
            memcpy(who, r.data + 80, sizeof who);
            assert_true(who[0] < THREADS);
            assert_int_equal(who[1], next[who[0]]++);
            assert_true(r.time >= time);
            assert_true(r.cpu < 2);
            time = r.time;
            stream_pop(f.set, last);
            left--;
        }
        stream_release(f.set, last, stream_position(f.set, last));
        stream_set_pool(f.set, 3);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {T(test_killed), T(test_stopped), T(test_unmarked), T(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
