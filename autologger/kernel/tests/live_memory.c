/* MEMINFO and MEMINFO_WS on this machine: figures twice a second that agree with /proc. Proves: issue 4, truth of
 * MEMINFO and MEMINFO_WS. Needs CAP_PERFMON; else skipped. */
#include "autologger/kernel/tests/klog_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { TOUCHED = 32 << 20, RUN_MS = 1300, EVERY_MS = 500, AVAILABLE_AT = 16 };

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void first_numbers(const char *path, const char *format, unsigned long *a, unsigned long *b)
{
    char  text[512];
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    assert_int_equal(sscanf(text, format, a, b), 2);
}

static void sleeper(int ready)
{
    char *p = mmap(NULL, TOUCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        _exit(1);
    memset(p, 1, TOUCHED);
    if (write(ready, "r", 1) != 1)
        _exit(2);
    for (;;)
        pause();
}

static void MEMINFO_and_MEMINFO_WS(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    char                    path[64], byte;
    int                     ready[2], status;
    unsigned long           size, resident, total, unused;
    struct klog_config      config = config_make(&c, 3, 0x880000);
    (void)state;
    config.hook_count = 0;
    uint64_t began    = now_ms();
    if (!start(&c, &config))
        skip();
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        sleeper(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    usleep(RUN_MS * 1000);
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    first_numbers(path, "%lu %lu", &size, &resident);
    first_numbers("/proc/meminfo", "MemTotal: %lu kB MemFree: %lu", &total, &unused);
    halt(&c);
    uint64_t took = now_ms() - began;
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    check_balance(&c, &n);
    size_t             machine = 0, sets = 0;
    const struct seen *last = NULL;
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if (s->hook == HOOK_DESCRIBED && strcmp(s->name, "MemInfo") == 0) {
            assert_int_equal(body_u64(s, 0), total);
            assert_true(body_u64(s, AVAILABLE_AT) > 0 && body_u64(s, AVAILABLE_AT) < total);
            machine++;
        } else if (s->hook == HOOK_DESCRIBED && strcmp(s->name, "WorkingSet") == 0 && s->pid == (uint32_t)pid) {
            uint32_t whose;
            memcpy(&whose, s->body, sizeof whose);
            assert_int_equal(whose, pid);
            last = s;
            sets++;
        }
    }
    print_message("  %zu of the machine in %llu ms, %zu of the process\n", machine, (unsigned long long)took, sets);
    assert_true(machine >= 2 && machine <= took / EVERY_MS + 2);
    assert_true(sets >= 1 && sets <= machine);
    unsigned long page_kb = (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
    assert_int_equal(body_u64(last, 4), size * page_kb);
    assert_int_equal(body_u64(last, 12), resident * page_kb);
    assert_true(resident * page_kb >= TOUCHED / 1024);
    assert_int_equal(c.conditions, 0);
    finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(MEMINFO_and_MEMINFO_WS)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
