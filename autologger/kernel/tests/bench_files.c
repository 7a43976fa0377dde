/* The extra cost of a system call while its session runs: a child's own CPU time for each of a few calls, the least of
 * several rounds, with nothing, FILE_IO, SYSCALL and VIRT_ALLOC in turn; and how long loading the BPF programs takes.
 * Figures only: nothing is asserted about them. Needs CAP_PERFMON and CAP_BPF; else skipped. */
// timeout: 120
#include "autologger/kernel/tests/klog_fixture.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { CALLS = 4000, ROUNDS = 12, KINDS = 4 };
static const char *const kind_name[KINDS] = {"getppid", "pread", "open+close", "mmap+munmap"};

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool call(unsigned kind, int fd)
{
    char byte;
    switch (kind) {
    case 0: return syscall(SYS_getppid) >= 0;
    case 1: return syscall(SYS_pread64, fd, &byte, 1L, 0L) >= 0;
    case 2: return syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY)) == 0;
    default: {
        long at = syscall(SYS_mmap, NULL, 4096L, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
        return syscall(SYS_munmap, at, 4096L) == 0;
    }
    }
}

/* ns per call (or pair), the least of all rounds */
static void measure(double ns[KINDS])
{
    int pipes[2], status;
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        double best[KINDS] = {0};
        int    fd          = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        for (unsigned round = 0; round < ROUNDS; round++)
            for (unsigned kind = 0; kind < KINDS; kind++) {
                uint64_t from = cpu_ns();
                for (int i = 0; i < CALLS; i++)
                    if (!call(kind, fd))
                        _exit(1);
                double each = (double)(cpu_ns() - from) / (double)CALLS;
                if (!round || each < best[kind])
                    best[kind] = each;
                usleep(20000); /* lets the drainer keep up */
            }
        _exit(write(pipes[1], best, sizeof best) == sizeof best ? 0 : 2);
    }
    assert_int_equal(read(pipes[0], ns, KINDS * sizeof *ns), KINDS * sizeof *ns);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(pipes[0]);
    close(pipes[1]);
}

static void cost(void **state)
{
    static const struct {
        const char *name;
        uint32_t    mask[3];
    } session[] = {{"none", {0}}, {"FILE_IO", {0x6000000}}, {"SYSCALL", {0, 0, 0x40}}, {"VIRT_ALLOC", {0, 0x8000}}};
    double bare[KINDS];
    (void)state;
    for (size_t i = 0; i < sizeof session / sizeof *session; i++) {
        static struct collector c;
        struct klog_config      config = config_make(&c, session[i].mask[0], session[i].mask[1]);
        struct klog_counters    n      = {0};
        struct timespec         a, b;
        double                  ns[KINDS];
        config.mask[2]    = session[i].mask[2];
        config.hook_count = 0;
        config.ring_bytes = 8 << 20;
        config.raw_bytes  = 256 << 20;
        clock_gettime(CLOCK_MONOTONIC, &a);
        if (i && !start(&c, &config))
            skip();
        clock_gettime(CLOCK_MONOTONIC, &b);
        measure(i ? ns : bare);
        if (i) {
            klog_stop(c.k);
            klog_counters(c.k, &n);
            halt(&c);
            finish(&c);
        }
        print_message("%-12s started in %6.1f ms, lost %llu:", session[i].name,
                      (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6,
                      (unsigned long long)(n.lost_ring + n.lost_memory));
        for (unsigned k = 0; k < KINDS; k++)
            print_message("  %s %.0f ns%s", kind_name[k], i ? ns[k] - bare[k] : bare[k], i ? " more" : "");
        print_message("\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
