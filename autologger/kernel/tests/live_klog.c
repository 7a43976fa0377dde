/* The kernel logger on this machine's real events. Proves: KRN-03, KRN-04, KRN-05, KRN-06, KRN-07, KRN-08, KRN-09,
 * KRN-12, KRN-16, KRN-19, KRN-24, and issue 2 "a CSwitch stack test". Needs CAP_PERFMON; else skipped. */
// timeout: 60
#include "autologger/kernel/tests/klog_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static pid_t run_true(const char *marker)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "sleep 0.05; : $0", marker, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void check_process(const struct collector *c, pid_t pid)
{
    const struct seen *fork_start = find(c, 0x0301, 8, (uint32_t)pid, 0);
    assert_non_null(fork_start);
    assert_int_equal(fork_start->version, 4);
    assert_int_equal(u32_at(fork_start, 12), getpid());
    assert_int_equal(fork_start->pid, getpid());
    const struct seen *fork_end = find(c, 0x0302, 8, (uint32_t)pid, 0);
    const struct seen *exec     = find(c, 0x0301, 8, (uint32_t)pid, (size_t)(fork_start - c->event) + 1);
    assert_non_null(fork_end);
    assert_non_null(exec);
    const struct seen *end = find(c, 0x0302, 8, (uint32_t)pid, (size_t)(exec - c->event) + 1);
    assert_non_null(end);
    assert_int_equal(u64_at(fork_start, 0), u64_at(fork_end, 0));
    assert_int_equal(u64_at(exec, 0), u64_at(end, 0));
    assert_true(u64_at(fork_start, 0) != u64_at(exec, 0)); /* a new life: a new key */
    /* root: pointer 8, attributes 8, SID 12, then the image name and the command line */
    size_t at = 36 + 16 + (getuid() ? 16 : 12);
    char   text[512];
    size_t text_at = at + strlen((const char *)exec->payload + at) + 1;
    utf16le_to_utf8(exec->payload + text_at, exec->size - text_at, text, sizeof text);
    print_message("  program '%s', command line '%s'\n", (const char *)exec->payload + at, text);
    assert_true(text_has(exec, text_at, "klog-marker"));
}

static void check_images(const struct collector *c, pid_t pid)
{
    bool libc = false;
    for (size_t i = 0; i < c->count; i++) {
        const struct seen *s = &c->event[i];
        if (s->hook != 0x030A || u32_at(s, 16) != (uint32_t)pid)
            continue;
        assert_int_equal(s->version, 3);
        assert_true(u64_at(s, 0) % 4096 == 0 && u64_at(s, 8) % 4096 == 0 && u64_at(s, 8) > 0 && u32_at(s, 24) != 0);
        if (text_has(s, 56, "\\Device\\HarddiskVolume1\\") && text_has(s, 56, "libc.so"))
            libc = u64_at(s, 8) > 1 << 20; /* the size of the whole file, not of one segment */
    }
    assert_true(libc);
}

/* Every stack belongs, by exact time and on the same CPU, to an event with a requested stack. */
static void check_stacks(struct collector *c)
{
    size_t profile = 0, switches = 0, ready = 0, all = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct seen *s = &c->event[i], *t = NULL;
        if (s->hook != 0x1820)
            continue;
        assert_true(s->size > 16 && s->size % 8 == 0);
        for (size_t back = 1; back <= i && back < 5000 && !t; back++)
            if (c->event[i - back].cpu == s->cpu && c->event[i - back].time == u64_at(s, 0) &&
                c->event[i - back].hook != 0x1820)
                t = &c->event[i - back];
        assert_non_null(t);
        all++;
        profile += t->hook == 0x0F2E;
        switches += t->hook == 0x0524;
        ready += t->hook == 0x0532;
        if (t->hook == 0x0F2E)
            assert_int_equal(u32_at(s, 12), u32_at(t, 8));
        if (t->hook == 0x0524)
            assert_int_equal(u32_at(s, 12), u32_at(t, 0)); /* the thread that comes in */
    }
    print_message("  stacks: %zu of samples, %zu of switches, %zu of ready threads\n", profile, switches, ready);
    assert_true(profile > 0 && switches > 0 && ready > 0);
    assert_int_equal(profile + switches + ready, all); /* KRN-12: on these three alone */
}

static void real_configuration(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    (void)state;
    struct klog_config config = config_make(&c, 0x707, 0x286);
    if (!start(&c, &config))
        skip();
    usleep(50000);
    pid_t pid = run_true("klog-marker");
    write_and_sync();
    spin(200);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    collect(&c);
    usleep(100000);
    halt(&c);
    check_balance(&c, &n);
    assert_int_equal(c.conditions, 0);
    if (n.lost_ring + n.lost_memory) { /* losses are counted; the checks below need every event */
        print_message("skipped: this machine is too busy now, %llu events were lost\n",
                      (unsigned long long)(n.lost_ring + n.lost_memory));
        finish(&c);
        skip();
    }
    check_process(&c, pid);
    check_images(&c, pid);
    check_stacks(&c);
    assert_true(count_of(&c, 0x0524) > 10 && count_of(&c, 0x0532) > 10 && count_of(&c, 0x0F2E) > 50);
    if (delivered("irq:softirq_entry") > 10 && delivered("irq:softirq_exit") > 10)
        assert_true(count_of(&c, 0x0F44) + count_of(&c, 0x0F45) > 0);
    assert_true(count_of(&c, 0x010D) > 0);
    if (requests_told())
        assert_true(count_of(&c, 0x010B) > 0);
    assert_true(count_of(&c, 0x0303) > 2 && count_of(&c, 0x0503) > 2 && count_of(&c, 0x1403) > 2);
    assert_true(count_of(&c, 0x0304) > 2 && count_of(&c, 0x0504) > 2 && count_of(&c, 0x1404) > 2);
    assert_true(count_of(&c, 0x0F49) == 1 && count_of(&c, 0x0F4A) == 1 && count_of(&c, 0x0008) == 2 &&
                count_of(&c, 0x0005) == 2);
    assert_int_equal(klog_horizon(c.k), UINT64_MAX);
    finish(&c);
}

/* ---- the stack of a context switch is that of the thread that comes in ---- */

static int      block_fd[2][2];
static uint32_t block_tid[2];

/* Each thread blocks in a system call from its own code, so that frame pointers lead straight to it. */
#define BLOCKS_IN(name, which) \
    static __attribute__((noinline, used, aligned(128))) long name(long fd, char *byte) \
    { \
        long r; \
        __asm__ volatile("syscall" \
                         : "=a"(r) \
                         : "0"((long)SYS_read), "D"(fd), "S"(byte), "d"(1L) \
                         : "rcx", "r11", "memory"); \
        __asm__ volatile("" ::: "memory"); \
        return r + (which); \
    } \
    static void *name##_main(void *arg) \
    { \
        char byte; \
        (void)arg; \
        __atomic_store_n(&block_tid[which], (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE); \
        for (int i = 0; i < 20; i++) \
            if (name(block_fd[which][0], &byte) != 1 + (which)) \
                return NULL; \
        return NULL; \
    }
BLOCKS_IN(blocks_in_f, 0)
BLOCKS_IN(blocks_in_g, 1)

/* Waits until the thread sleeps, so that a byte wakes it. All run on one CPU that is never idle (some guest kernels
 * drop perf's records while a CPU's idle task is current). */
static void wait_asleep(unsigned which)
{
    char path[64], text[256];
    for (int i = 0; i < 20000; i++, sched_yield()) {
        snprintf(path, sizeof path, "/proc/self/task/%u/stat", __atomic_load_n(&block_tid[which], __ATOMIC_ACQUIRE));
        int     fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n  = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        if (fd >= 0)
            close(fd);
        text[n > 0 ? n : 0] = 0;
        const char *end     = strrchr(text, ')');
        if (end && end[1] && end[2] == 'S')
            return;
    }
}

enum { FUNCTION_BYTES = 128 };
static bool frame_in(const struct seen *s, uintptr_t function)
{
    for (size_t at = 16; at + 8 <= s->size; at += 8)
        if (u64_at(s, at) >= function && u64_at(s, at) < function + FUNCTION_BYTES)
            return true;
    return false;
}

static void switch_stack_is_the_incoming_one(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    pthread_t               thread[2];
    (void)state;
    struct klog_config config = config_make(&c, 0x7, 0x4);
    if (!start(&c, &config))
        skip();
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0); /* the threads inherit it */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe(block_fd[i]), 0);
        assert_int_equal(pthread_create(&thread[i], NULL, i ? blocks_in_g_main : blocks_in_f_main, NULL), 0);
    }
    for (int i = 0; i < 40; i++) {
        wait_asleep((unsigned)i % 2);
        assert_int_equal(write(block_fd[i % 2][1], "x", 1), 1);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        close(block_fd[i][0]);
        close(block_fd[i][1]);
    }
    sched_setaffinity(0, sizeof before, &before);
    halt(&c);
    check_balance(&c, &n);
    unsigned f = 0, g = 0;
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if (s->hook != 0x1820 || u32_at(s, 8) != (uint32_t)getpid())
            continue;
        bool in_f = frame_in(s, (uintptr_t)blocks_in_f), in_g = frame_in(s, (uintptr_t)blocks_in_g);
        f += u32_at(s, 12) == block_tid[0] && in_f;
        g += u32_at(s, 12) == block_tid[1] && in_g;
        assert_false(in_f && u32_at(s, 12) != block_tid[0]);
        assert_false(in_g && u32_at(s, 12) != block_tid[1]);
    }
    print_message("  switches to A that show f: %u, to B that show g: %u\n", f, g);
    assert_true(f >= 10 && g >= 10);
    finish(&c);
}

/* ---- rings far too small: losses are counted, exactly ---- */

/* Nearly all losses of this cause lie in gaps that begin at or after `from` and end at or before `until`; a gap's event
 * follows its end, on its CPU. */
static void check_gaps(const struct collector *c, const struct session_clock *clock, const char *cause, uint64_t from,
                       uint64_t until)
{
    uint64_t placed = 0, all = 0, slack = clock->freq / 20;
    for (size_t i = 0; i < c->count; i++) {
        const struct seen *s = &c->event[i];
        if (s->hook != HOOK_DESCRIBED || strcmp(s->name, "Lost") != 0 || strcmp((const char *)s->body + 4, cause) != 0)
            continue;
        const char *source = (const char *)s->body + 4 + strlen(cause) + 1;
        uint32_t    cpu    = body_u32(s, 0);
        uint64_t    at[3]; /* count, began, ended */
        memcpy(at, source + strlen(source) + 1, sizeof at);
        uint64_t began = s->time - at[1] * clock->freq / 1000000000, ended = s->time - at[2] * clock->freq / 1000000000;
        assert_true(at[0] > 0 && *source && cpu == s->cpu && began <= ended);
        all += at[0];
        placed += at[1] && began + slack >= from && ended <= until + slack ? at[0] : 0;
    }
    print_message("  %llu of %llu in gaps of that time\n", (unsigned long long)placed, (unsigned long long)all);
    assert_true(all > 0 && placed >= all / 10 * 9);
}

static void overload_is_counted(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    (void)state;
    struct klog_config config = config_make(&c, 0x7, 0x204);
    config.ring_bytes         = 8 * 4096;
    if (!start(&c, &config))
        skip();
    int there[2], back[2];
    assert_int_equal(pipe(there) | pipe(back), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char b;
        close(there[1]);
        while (read(there[0], &b, 1) == 1 && write(back[1], &b, 1) == 1)
            ;
        _exit(7);
    }
    close(there[0]);
    struct timespec a, b;
    uint64_t        before = clock_read(&config.clock);
    clock_gettime(CLOCK_MONOTONIC, &a);
    __atomic_store_n(&c.hold, 1, __ATOMIC_RELEASE);
    do { /* a storm of switches, while the drainer is held back */
        char byte = 'x';
        for (int i = 0; i < 100; i++)
            if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
                fail();
        clock_gettime(CLOCK_MONOTONIC, &b);
    } while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < 300);
    __atomic_store_n(&c.hold, 0, __ATOMIC_RELEASE);
    close(there[1]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(back[0]);
    close(back[1]);
    halt(&c);
    uint64_t after = clock_read(&config.clock); /* only after this is the drainer's pass over for sure */
    check_balance(&c, &n);
    assert_true(n.lost_ring > 0 && n.converted > 0);
    check_gaps(&c, &config.clock, "ring", before, after);
    finish(&c);
}

static void memory_bound_is_counted(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    (void)state;
    struct klog_config config = config_make(&c, 0x7, 0x206);
    config.raw_bytes          = 128 << 10;
    /* on a busy machine the log is full before start() returns */
    uint64_t before = clock_read(&config.clock);
    if (!start(&c, &config))
        skip();
    for (int i = 0; i < 2000; i++)
        usleep(50);
    halt(&c); /* nothing was converted so far: the log is full */
    uint64_t after = clock_read(&config.clock);
    check_balance(&c, &n);
    assert_true(n.lost_memory > 0 && n.raw_peak <= 132 << 10);
    check_gaps(&c, &config.clock, "memory", before, after);
    finish(&c);
}

/* ---- a successor goes on: nothing lost, nothing twice ---- */

struct kept {
    struct {
        char name[64];
        int  fd;
    } row[4096];
    unsigned count;
    void    *map[256];
    size_t   bytes;
};
static void keep(void *ctx, const char *name, int fd, size_t ring_bytes)
{
    struct kept *kept = ctx;
    assert_true(kept->count < 4096);
    snprintf(kept->row[kept->count].name, 64, "%s", name);
    kept->row[kept->count++].fd = dup(fd);
    if (ring_bytes) { /* a ring ends with its last mapping */
        unsigned i = 0;
        while (kept->map[i])
            i++;
        kept->bytes  = ring_bytes;
        kept->map[i] = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        assert_true(kept->map[i] != MAP_FAILED);
    }
}
static int kept_find(void *ctx, const char *name)
{
    struct kept *kept = ctx;
    for (unsigned i = 0; i < kept->count; i++)
        if (strcmp(kept->row[i].name, name) == 0)
            return kept->row[i].fd;
    return -1;
}

static void successor_goes_on(void **state)
{
    static struct collector c;
    static struct kept      kept;
    struct klog_counters    n;
    struct reason           why;
    (void)state;
    struct klog_config config = config_make(&c, 0x7, 0x206);
    config.raw_bytes          = 1 << 20; /* small: snapshots are taken, bytes are reused */
    if (!start(&c, &config))
        skip();
    for (int i = 0; i < 30; i++) {
        spin(10);
        usleep(2000);
        collect(&c);
    }
    /* the predecessor dies: unreleased events are not in the file */
    spin(30);
    __atomic_store_n(&c.stop, 1, __ATOMIC_RELEASE);
    klog_wake(c.k);
    pthread_join(c.drainer, NULL);
    klog_fds(c.k, keep, &kept);
    for (unsigned cpu = 0; cpu < c.cpus; cpu++) { /* peeked, popped, never released */
        struct klog_record r;
        for (int i = 0; i < 500 && klog_peek(c.k, cpu, &r); i++)
            klog_pop(c.k, cpu);
    }
    klog_destroy(c.k);
    spin(30); /* no drainer: the rings hold the records */
    wstatus r = klog_adopt(&config, kept_find, &kept, &c.k, &why);
    if (r)
        fail_msg("%u: %s", r, why.text);
    for (unsigned i = 0; i < 256 && kept.map[i]; i++)
        munmap(kept.map[i], kept.bytes);
    c.stop = 0;
    assert_int_equal(pthread_create(&c.drainer, NULL, drain_main, &c), 0);
    spin(50);
    collect(&c);
    halt(&c);
    check_balance(&c, &n); /* all events, the predecessor's too, are the collected ones: none missing, none twice */
    assert_int_equal(count_of(&c, 0x0F2E) > 200, 1);
    assert_true(count_of(&c, 0x0F49) == 1 && count_of(&c, 0x0F4A) == 1);
    finish(&c);
}

/* A copy of a running logger (autologger-early save) is complete: records between the drain and the count are not
 * lost. */
static int kept_find_memory(void *ctx, const char *name)
{
    return strcmp(name, "raw") == 0 || strncmp(name, "state.", 6) == 0 ? kept_find(ctx, name) : -1;
}

static void *switches_main(void *arg)
{
    for (volatile int *stop = arg; !*stop;)
        usleep(20);
    return NULL;
}

/* No kernel withholds any of these: they belong to this program's own threads. */
static void switches_are_whole(void *ctx, const char *name, uint64_t attempted, uint64_t drained, uint64_t lost)
{
    (void)ctx, (void)lost;
    if (strcmp(name, "sched:sched_switch") == 0)
        assert_true(attempted > 100 && attempted == drained);
}

static void copy_of_one_that_goes_on(void **state)
{
    static struct collector c;
    static struct kept      kept;
    static volatile int     stop_switches;
    struct klog_counters    n;
    struct reason           why;
    pthread_t               busy[2];
    (void)state;
    struct klog_config config = config_make(&c, 0x7, 0x204);
    if (!start(&c, &config))
        skip();
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&busy[i], NULL, switches_main, (void *)&stop_switches), 0);
    spin(100);
    __atomic_store_n(&c.stop, 1, __ATOMIC_RELEASE);
    klog_wake(c.k);
    pthread_join(c.drainer, NULL);
    klog_leave(c.k);
    klog_fds(c.k, keep, &kept);
    klog_destroy(c.k);
    for (unsigned i = 0; i < 256 && kept.map[i]; i++)
        munmap(kept.map[i], kept.bytes);
    wstatus r = klog_adopt(&config, kept_find_memory, &kept, &c.k, &why);
    if (r)
        fail_msg("%u: %s", r, why.text);
    c.stop = 0;
    assert_int_equal(pthread_create(&c.drainer, NULL, drain_main, &c), 0);
    halt(&c);
    stop_switches = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(busy[i], NULL);
    check_balance(&c, &n);
    assert_true(n.attempted > 100 && n.lost_ring == 0);
    klog_sources(c.k, switches_are_whole, NULL);
    finish(&c);
}

/* Raw memory is reused once its events are in the file: far more passes through it than fits. */
static void raw_memory_is_reused(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    (void)state;
    struct klog_config config = config_make(&c, 0x7, 0x206);
    config.raw_bytes          = 2 << 20;
    if (!start(&c, &config))
        skip();
    for (int round = 0; round < 600 && c.used < config.raw_bytes * 5 / 4; round++) {
        for (int i = 0; i < 400; i++)
            usleep(1);
        collect(&c);
    }
    halt(&c);
    check_balance(&c, &n);
    assert_true(c.used > config.raw_bytes); /* events are smaller than their raw records */
    assert_int_equal(n.lost_memory, 0);
    finish(&c);
}

/* ---- without the right ---- */

static void missing_right_is_named(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct collector   c      = {0};
        struct klog_config config = config_make(&c, 0x7, 0x2);
        struct reason      why    = {0};
        struct klog       *k      = NULL;
        if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
            _exit(3);
        wstatus r = klog_create(&config, &k, &why);
        if (r == 0)
            _exit(2); /* this machine lets any user trace */
        _exit(r == W_PRIVILEGE_NOT_HELD && why.status == r && !k && strstr(why.text, "CAP_PERFMON") &&
                      strstr(why.text, "perf_event_paranoid is") && c.conditions == 0
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* KRN-09: one sample for each interval of a thread's processor time. */
static void samples_come_at_the_interval(void **state)
{
    static const uint32_t interval[] = {10000, 2500}; /* 1 ms, 0.25 ms */
    (void)state;
    for (size_t i = 0; i < sizeof interval / sizeof *interval; i++) {
        struct collector     c = {0};
        struct klog_counters n;
        struct klog_config   config = config_make(&c, 0x01000000, 0x2);
        struct timespec      from, to;
        const uint32_t       tid  = (uint32_t)syscall(SYS_gettid);
        size_t               seen = 0;
        config.profile_interval   = interval[i];
        config.hook_count         = 0;
        if (!start(&c, &config))
            skip();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        spin(400);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
        halt(&c);
        check_balance(&c, &n);
        for (size_t e = 0; e < c.count; e++)
            seen += c.event[e].hook == 0x0F2E && u32_at(&c.event[e], 8) == tid;
        const uint64_t ns =
            (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000 + (uint64_t)to.tv_nsec - (uint64_t)from.tv_nsec;
        const uint64_t wanted = ns / (interval[i] * UINT64_C(100));
        print_message("  %zu samples in %llu us, %llu intervals of %u ns\n", seen, (unsigned long long)ns / 1000,
                      (unsigned long long)wanted, interval[i] * 100);
        finish(&c);
        if (n.throttled + n.lost_ring + n.lost_memory) { /* counted: fewer samples came than requested */
            print_message("skipped: the kernel held samples back\n");
            skip();
        }
        /* a virtual processor's clock also runs while its host serves others */
        assert_in_range(seen * 100, wanted * 80, wanted * 135 + 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_configuration),           cmocka_unit_test(switch_stack_is_the_incoming_one),
        cmocka_unit_test(overload_is_counted),          cmocka_unit_test(memory_bound_is_counted),
        cmocka_unit_test(raw_memory_is_reused),         cmocka_unit_test(successor_goes_on),
        cmocka_unit_test(copy_of_one_that_goes_on),     cmocka_unit_test(missing_right_is_named),
        cmocka_unit_test(samples_come_at_the_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
