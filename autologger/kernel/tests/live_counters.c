/* PERF_COUNTER on this machine: what processes have used, as getrusage() says. Proves: issue 4, truth of PERF_COUNTER.
 * Needs CAP_PERFMON and CAP_NET_ADMIN; else skipped. */
#include "autologger/kernel/tests/klog_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
    PAGE      = 4096,
    THREADS   = 4,
    PAGES     = 300,
    PROCESSES = 20,
    HANDLES   = 7,
    SLACK     = 16,
    STEP      = 64 /* before Linux 6.2 a thread may keep that many pages uncounted */
};

static void *touch(void *arg)
{
    char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)arg;
    if (p == MAP_FAILED)
        _exit(1);
    madvise(p, PAGES * PAGE, MADV_NOHUGEPAGE);
    for (int i = 0; i < PAGES; i++)
        p[i * PAGE] = 1;
    return NULL;
}

static void user_of_memory(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, touch, NULL))
            _exit(2);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    _exit(0);
}

static void sleeper(int ready)
{
    for (int i = 0; i < HANDLES; i++)
        if (dup(ready) < 0)
            _exit(1);
    touch(NULL);
    if (write(ready, "r", 1) != 1)
        _exit(2);
    for (;;)
        pause();
}

static uint64_t number_after(const char *text, const char *label)
{
    const char *p = strstr(text, label);
    assert_non_null(p);
    return strtoull(p + strlen(label), NULL, 10) * 1024;
}

static void check_living(const struct collector *c, pid_t pid, const char *status_text)
{
    const struct seen *s = find(c, 0x0321, 0, (uint32_t)pid, 0);
    assert_non_null(s);
    assert_true(s->size == 104 && s->version == 2 && !find(c, 0x0321, 0, (uint32_t)pid, (size_t)(s - c->event) + 1));
    assert_int_equal(u64_at(s, 16), number_after(status_text, "VmPeak:"));
    assert_int_equal(u64_at(s, 24), number_after(status_text, "VmHWM:"));
    assert_int_equal(u64_at(s, 56), number_after(status_text, "VmSize:"));
    assert_int_equal(u64_at(s, 64), number_after(status_text, "VmRSS:"));
    assert_true(u32_at(s, 4) >= PAGES && u32_at(s, 8) >= HANDLES + 1);
    const struct seen *end = find(c, 0x0304, 8, (uint32_t)pid, 0);
    assert_true(end && end->time > s->time);
}

static void PERF_COUNTER_at_exit_and_stop(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    struct rusage           used[PROCESSES];
    pid_t                   pid[PROCESSES], living;
    int                     status, ready[2];
    char                    byte, text[4096], path[64];
    struct klog_config      config = config_make(&c, 0xB, 0);
    (void)state;
    config.hook_count = 0;
    if (!start(&c, &config))
        skip();
    for (int i = 0; i < PROCESSES; i++) {
        if ((pid[i] = fork()) == 0)
            user_of_memory();
        assert_int_equal(wait4(pid[i], &status, 0, &used[i]), pid[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(pipe(ready), 0);
    if ((living = fork()) == 0)
        sleeper(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    usleep(50000); /* asleep by now */
    halt(&c);
    snprintf(path, sizeof path, "/proc/%d/status", (int)living);
    int     fd   = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, text, sizeof text - 1);
    assert_true(size > 0);
    text[size] = 0;
    close(fd);
    kill(living, SIGKILL);
    assert_int_equal(waitpid(living, &status, 0), living);
    close(ready[0]);
    close(ready[1]);
    check_balance(&c, &n);
    check_living(&c, living, text);
    if (c.conditions) {
        finish(&c);
        print_message("skipped: no task statistics here\n");
        skip();
    }
    for (int i = 0; i < PROCESSES; i++) {
        const struct seen *s   = find(&c, 0x0320, 0, (uint32_t)pid[i], 0),
                          *end = find(&c, 0x0302, 8, (uint32_t)pid[i], 0);
        assert_true(s && end && s->size == 104 && s->time < end->time);
        uint64_t faults = (uint64_t)used[i].ru_minflt + (uint64_t)used[i].ru_majflt; /* a few more come while it ends */
        if (u32_at(s, 4) > faults || u32_at(s, 4) + SLACK < faults ||
            u64_at(s, 24) > (uint64_t)used[i].ru_maxrss * 1024 || u64_at(s, 16) < THREADS * PAGES * PAGE)
            fail_msg("process %d: %u faults of %llu, peak %llu of %llu", i, u32_at(s, 4), (unsigned long long)faults,
                     (unsigned long long)u64_at(s, 24), (unsigned long long)used[i].ru_maxrss * 1024);
        assert_true(faults >= THREADS * PAGES && u64_at(s, 24) >= (THREADS * PAGES - (THREADS + 1) * STEP) * PAGE);
    }
    finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(PERF_COUNTER_at_exit_and_stop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
