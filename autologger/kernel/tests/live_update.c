/* Flags and stacks that change while a kernel logger runs: kept sources lose no event and repeat none, added and
 * removed sources are counted to the last event, and after a daemon's death in the middle the session goes on.
 * Proves: KRN-14, KRN-20; issue 4, UPDATE of a running session. Needs CAP_PERFMON; else skipped. */
#include "autologger/kernel/source/rawlog.h"
#include "autologger/kernel/source/syscalls.h"
#include "autologger/kernel/tests/klog_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CSWITCH_WORD = 0x4, SYSCALLS_WORD = 0x40, HOOK_SWITCH = 0x0524, CALLS = 500, TOGGLES = 8 };

/* ---- updates ---- */

/* Ends the drainer, as when its process ends. */
static void drain_pause(struct collector *c)
{
    __atomic_store_n(&c->stop, 1, __ATOMIC_RELEASE);
    klog_wake(c->k);
    pthread_join(c->drainer, NULL);
    __atomic_store_n(&c->stop, 0, __ATOMIC_RELEASE);
}

static wstatus update(struct collector *c, const struct klog_config *terms, struct reason *why)
{
    return klog_update(c->k, terms, NULL, NULL, why); /* while the drainer drains */
}

static void must_update(struct collector *c, const struct klog_config *terms)
{
    struct reason why = {0};
    if (update(c, terms, &why))
        fail_msg("%s", why.text);
}

/* ---- a workload with a known number of switches: two threads of one CPU that wake each other ---- */

struct player {
    pthread_t    thread;
    int          from, to;
    atomic_uint *turns;
    _Atomic int  tid;
};

static void *play(void *ctx)
{
    struct player *p = ctx;
    cpu_set_t      cpu;
    char           ball;
    CPU_ZERO(&cpu);
    CPU_SET(0, &cpu);
    sched_setaffinity(0, sizeof cpu, &cpu);
    atomic_store(&p->tid, (int)syscall(SYS_gettid));
    while (read(p->from, &ball, 1) == 1 && ball == 'b') {
        if (atomic_fetch_add(p->turns, 1) % 64 == 0)
            usleep(200); /* lets the rings keep up on a loaded machine */
        if (write(p->to, &ball, 1) != 1)
            break;
    }
    return NULL;
}

static uint64_t switches_of(int tid)
{
    char     path[64], line[256];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strstr(line, "ctxt_switches:"))
            sum += strtoull(strchr(line, ':') + 1, NULL, 10);
    fclose(f);
    return sum;
}

/* Waits until both sleep: their switches are recorded, and no more come. */
static uint64_t switches_settled(const struct player p[2])
{
    uint64_t before = 0, now = 1;
    while (before != now) {
        before = now;
        usleep(20000);
        now = switches_of(p[0].tid) + switches_of(p[1].tid);
    }
    return now;
}

static size_t count_switches_of(const struct collector *c, const struct player p[2])
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += c->event[i].hook == HOOK_SWITCH &&
             (u32_at(&c->event[i], 4) == (uint32_t)p[0].tid || u32_at(&c->event[i], 4) == (uint32_t)p[1].tid);
    return n;
}

static size_t count_stacks_of(const struct collector *c, const struct player p[2])
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += c->event[i].hook == 0x1820 &&
             (u32_at(&c->event[i], 12) == (uint32_t)p[0].tid || u32_at(&c->event[i], 12) == (uint32_t)p[1].tid);
    return n;
}

static void stacks_come_and_go_and_no_switch_is_lost(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    struct klog_config      config = config_make(&c, 0x3, CSWITCH_WORD);
    int                     a[2], b[2];
    atomic_uint             turns = 0;
    char                    ball = 'b', end = 'e';
    (void)state;
    assert_int_equal(pipe(a), 0);
    assert_int_equal(pipe(b), 0);
    struct player p[2] = {{.from = a[0], .to = b[1], .turns = &turns}, {.from = b[0], .to = a[1], .turns = &turns}};
    config.hook_count  = 0;
    config.ring_bytes  = 16 << 20;
    if (!start(&c, &config))
        skip();
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&p[i].thread, NULL, play, &p[i]), 0);
    while (!p[0].tid || !p[1].tid)
        usleep(1000);
    switches_settled(p);
    assert_int_equal(write(a[1], &ball, 1), 1);
    for (int i = 0; i < TOGGLES; i++) { /* while the players run */
        config.hook_count = i % 2 == 0;
        config.hooks[0]   = HOOK_SWITCH;
        must_update(&c, &config);
        collect(&c);
        usleep(10000);
    }
    while (read(a[0], &ball, 1) != 1) /* takes the ball away: the first player waits for ever */
        usleep(100);
    uint64_t after = switches_settled(p);
    halt(&c);
    for (int i = 0; i < 2; i++)
        assert_int_equal(write(i ? b[1] : a[1], &end, 1), 1);
    for (int i = 0; i < 2; i++)
        pthread_join(p[i].thread, NULL);
    check_balance(&c, &n);
    size_t seen = count_switches_of(&c, p), stacks = count_stacks_of(&c, p);
    print_message("  %u turns, %llu switches away from the two players; %zu events, %zu stacks\n", atomic_load(&turns),
                  (unsigned long long)after, seen, stacks);
    assert_int_equal(n.lost_ring + n.lost_memory, 0);
    assert_true(after > 1000 && stacks > 0 && stacks < seen);
    assert_int_equal(seen, after); /* all switches of threads that were created after the start */
    finish(&c);
}

/* ---- flags that come and go ---- */

static void calls_make(void)
{
    for (int i = 0; i < CALLS; i++)
        syscall(SYS_getppid);
}

/* The address of the kernel's function of a system call. */
static uint64_t address_of(long number)
{
    uint64_t address[RAW_SYSCALLS] = {0};
    int      proc                  = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    syscall_addresses(proc, address, NULL, RAW_SYSCALLS);
    close(proc);
    return address[number];
}

static size_t count_calls(const struct collector *c, uint32_t tid, uint64_t address)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += c->event[i].hook == 0x0F33 && c->event[i].tid == tid && u64_at(&c->event[i], 0) == address;
    return n;
}

static uint64_t address_of_getppid(void) { return address_of(SYS_getppid); }

static void flags_come_with_their_rundown_and_go(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    struct klog_config      config = config_make(&c, 0x3, 0);
    uint32_t                tid    = (uint32_t)syscall(SYS_gettid);
    (void)state;
    config.hook_count = 0;
    if (!start(&c, &config))
        skip();
    calls_make();
    config.mask[0] = 0x7;
    config.mask[2] = SYSCALLS_WORD;
    must_update(&c, &config);
    calls_make();
    collect(&c);
    config.mask[0] = 0x3;
    config.mask[2] = 0;
    must_update(&c, &config);
    calls_make();
    config.mask[2] = SYSCALLS_WORD; /* the same sources again */
    must_update(&c, &config);
    calls_make();
    config.mask[0] = config.mask[2] = 0; /* no source at all */
    must_update(&c, &config);
    calls_make();
    halt(&c);
    check_balance(&c, &n);
    size_t own_images = 0, kernel = 0, masks = 0;
    for (size_t i = 0; i < c.count; i++) {
        own_images += c.event[i].hook == 0x1403 && u32_at(&c.event[i], 16) == (uint32_t)getpid();
        kernel += c.event[i].hook == 0x1403 && u32_at(&c.event[i], 16) == 0;
        masks += c.event[i].hook == 0x0005 && c.event[i].size >= 32;
    }
    uint64_t address = address_of_getppid();
    print_message("  %zu calls of %d, %zu images of this program by rundown\n", count_calls(&c, tid, address),
                  2 * CALLS, own_images);
    assert_count(count_calls(&c, tid, address), 2 * CALLS, n);
    assert_true(own_images >= 2 && kernel >= 1); /* the start told none of them */
    assert_true(masks >= 6);                     /* the start, four changes, the end */
    finish(&c);
}

/* The requirements on one source change: VIRT_ALLOC needs some system calls, SYSCALL all. */
static void a_source_of_two_flags_misses_nothing(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    struct klog_config      config = config_make(&c, 0x3, 0x8000);
    size_t                  page = (size_t)sysconf(_SC_PAGESIZE), seen = 0;
    uint8_t                *at[4 * CALLS];
    (void)state;
    config.hook_count = 0;
    if (!start(&c, &config))
        skip();
    for (int i = 0; i < 4 * CALLS; i++) {
        if (i % CALLS == CALLS / 2) {
            config.mask[2] ^= SYSCALLS_WORD;
            must_update(&c, &config);
            collect(&c);
        }
        at[i] = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(at[i] != MAP_FAILED);
        if (i % 2 == 0)
            munmap(at[i], page);
    }
    halt(&c);
    check_balance(&c, &n);
    for (size_t i = 0; i < c.count; i++)
        seen += c.event[i].hook == 0x0262 && u64_at(&c.event[i], 8) == page &&
                u32_at(&c.event[i], 16) == (uint32_t)getpid();
    print_message("  %zu allocations of a page of %d\n", seen, 4 * CALLS);
    assert_count(4 * CALLS, seen > 4 * CALLS ? 4 * CALLS : seen, n); /* the C library may make some of its own */
    assert_true(seen + n.withheld >= 4 * CALLS && seen < 4 * CALLS + 50);
    finish(&c);
}

/* No room for one more descriptor: all stays as it was. */
static void an_update_that_fails_changes_nothing(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    struct klog_config      config = config_make(&c, 0x3, 0), now;
    struct reason           why    = {0};
    struct rlimit           limit, low;
    uint32_t                tid = (uint32_t)syscall(SYS_gettid);
    (void)state;
    config.hook_count = 0;
    config.mask[2]    = SYSCALLS_WORD;
    if (!start(&c, &config))
        skip();
    calls_make();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int last = dup(0);
    low      = (struct rlimit){(rlim_t)last + 3, limit.rlim_max};
    close(last);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    config.mask[1] = 0x4296; /* a dozen of sources more */
    config.mask[2] = 0;
    wstatus r      = update(&c, &config, &why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(r, W_NOT_ENOUGH_MEMORY);
    assert_non_null(strstr(why.text, "kernel events cannot be opened"));
    klog_terms(c.k, &now);
    assert_true(now.mask[1] == 0 && now.mask[2] == SYSCALLS_WORD);
    calls_make();
    halt(&c);
    check_balance(&c, &n);
    assert_count(count_calls(&c, tid, address_of_getppid()), 2 * CALLS, n);
    assert_int_equal(count_of(&c, HOOK_SWITCH), 0);
    assert_int_equal(klog_update(c.k, &config, NULL, NULL, &why), W_NOT_READY); /* it has stopped */
    finish(&c);
}

/* ---- a daemon that dies in the middle ---- */

/* Memory of the interrupted update is lost with the daemon. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:klog_update"; }

static struct {
    char name[64];
    int  fd;
} kept[8192];
static jmp_buf death;
/* how many more descriptors it keeps (above 0) or drops (below 0) before that */
static int dies_at;

static void keep(void *ctx, const char *name, int fd, size_t ring_bytes)
{
    unsigned i = 0;
    (void)ctx, (void)ring_bytes;
    while (i < 8191 && *kept[i].name && strcmp(kept[i].name, name) != 0)
        i++;
    if (*kept[i].name && kept[i].fd >= 0)
        close(kept[i].fd);
    snprintf(kept[i].name, sizeof kept[i].name, "%s", name);
    kept[i].fd = fd < 0 ? -1 : dup(fd);
    if (fd >= 0 ? dies_at > 0 && --dies_at == 0 : dies_at < 0 && ++dies_at == 0)
        longjmp(death, 1);
}

static int find_kept(void *ctx, const char *name)
{
    (void)ctx;
    for (unsigned i = 0; i < 8192 && *kept[i].name; i++)
        if (strcmp(kept[i].name, name) == 0)
            return kept[i].fd < 0 ? -1 : dup(kept[i].fd);
    return -1;
}

/* The daemon dies, its successor adopts the session, counts the calls and stops. */
static void dies(int when, uint32_t expected_word1)
{
    static struct collector c;
    struct klog_counters    n;
    struct klog_config      config = config_make(&c, 0x3, 0), now;
    struct reason           why    = {0};
    uint32_t                tid    = (uint32_t)syscall(SYS_gettid);
    config.mask[2]                 = SYSCALLS_WORD;
    config.hook_count              = 0;
    memset(kept, 0, sizeof kept);
    dies_at = 0;
    if (!start(&c, &config))
        skip();
    drain_pause(&c);
    klog_fds(c.k, keep, NULL);
    calls_make();
    config.mask[1]     = CSWITCH_WORD;
    config.hook_count  = 1;
    config.hooks[0]    = 0x0F33; /* its source is opened again */
    dies_at            = when;
    struct klog *first = c.k;
    if (setjmp(death) == 0) {
        klog_update(first, &config, keep, NULL, &why);
        fail_msg("it lives");
    }
    calls_make(); /* no drainer runs */
    if (klog_adopt(&config, find_kept, NULL, &c.k, &why))
        fail_msg("%s", why.text);
    assert_int_equal(klog_start(c.k, &why), 0);
    klog_terms(c.k, &now);
    assert_int_equal(now.mask[1], expected_word1);
    assert_int_equal(pthread_create(&c.drainer, NULL, drain_main, &c), 0);
    calls_make();
    halt(&c);
    check_balance(&c, &n);
    print_message("  %zu calls of %d\n", count_calls(&c, tid, address_of_getppid()), 3 * CALLS);
    assert_count(count_calls(&c, tid, address_of_getppid()), 3 * CALLS, n);
    assert_true((count_of(&c, HOOK_SWITCH) > 0) == (expected_word1 != 0));
    finish(&c);
    klog_destroy(first);
    for (unsigned i = 0; i < 8192 && *kept[i].name; i++)
        if (kept[i].fd >= 0)
            close(kept[i].fd);
}

static void a_change_that_was_not_published_is_undone(void **state)
{
    (void)state;
    dies(1, 0);
}

static void a_change_that_was_published_is_finished(void **state)
{
    (void)state;
    dies(-1, CSWITCH_WORD);
}

/* ---- memory ---- */

/* MIDDLE: more than the rings deliver at once */
enum { SMALL = 1 << 20, MIDDLE = 16 << 20, LARGE = 64 << 20, MANY = 20000 };

static void many_calls(long number)
{
    for (int i = 0; i < MANY; i++)
        syscall(number);
}

static uint64_t lost_for_memory(struct collector *c)
{
    struct klog_counters n;
    klog_counters(c->k, &n);
    return n.lost_memory;
}

/* Nothing is written to the file: a small memory overflows, a larger one takes all later records. Then all is written,
 * the memory becomes small again during calls, and holds the records as long as the file keeps up. */
static void more_memory_holds_what_the_file_does_not_take(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    struct klog_config      config = config_make(&c, 0x3, 0);
    struct reason           why    = {0};
    uint32_t                tid    = (uint32_t)syscall(SYS_gettid);
    uint64_t                most;
    (void)state;
    config.hook_count = 0;
    config.mask[2]    = SYSCALLS_WORD;
    config.raw_bytes  = SMALL;
    config.raw_most   = LARGE;
    if (!start(&c, &config))
        skip();
    assert_true(klog_memory(c.k, &most) == SMALL && most == LARGE);
    many_calls(SYS_getppid);
    klog_drain(c.k, 0);
    assert_true(lost_for_memory(&c) > 0);
    assert_int_equal(klog_resize(c.k, LARGE, &why), 0);
    const uint64_t lost = lost_for_memory(&c);
    assert_int_equal(klog_memory(c.k, &most), LARGE);
    many_calls(SYS_getuid);
    klog_drain(c.k, 0);
    assert_int_equal(lost_for_memory(&c), lost);
    assert_int_equal(klog_resize(c.k, SMALL, &why), W_BUSY);
    assert_int_equal(klog_memory(c.k, &most), LARGE);
    klog_goal_set(c.k, MIDDLE);
    wstatus st = W_BUSY;
    for (int i = 0; i < 5000 && st == W_BUSY; i++) {
        collect(&c);
        st = klog_resize(c.k, MIDDLE, &why);
        usleep(1000);
    }
    klog_goal_set(c.k, 0);
    if (st)
        fail_msg("%s", why.text);
    assert_int_equal(klog_memory(c.k, &most), MIDDLE);
    for (int i = 0; i < MANY / 100; i++) {
        for (int k = 0; k < 100; k++)
            syscall(SYS_getgid);
        collect(&c);
    }
    halt(&c);
    check_balance(&c, &n);
    print_message("  %llu lost before there was more memory, %llu after; most in use: %llu KB\n",
                  (unsigned long long)lost, (unsigned long long)(n.lost_memory - lost),
                  (unsigned long long)n.raw_peak >> 10);
    assert_true(n.raw_peak > 2 * SMALL);
    if (n.lost_ring || n.lost_memory > lost) {
        print_message(
            "skipped: this machine is too busy now: its rings overflow, or there was more at once than the memory that was left\n");
        finish(&c);
        skip();
    }
    assert_true(count_calls(&c, tid, address_of(SYS_getppid)) < MANY);
    assert_count(count_calls(&c, tid, address_of(SYS_getuid)), MANY, n);
    assert_count(count_calls(&c, tid, address_of(SYS_getgid)), MANY, n);
    assert_int_equal(klog_resize(c.k, LARGE, &why), W_NOT_READY); /* it has stopped */
    finish(&c);
}

/* A predecessor died with a larger size promised than allocated: its successor allocates it, and all recorded events
 * are there. */
static void a_successor_has_the_memory_that_was_promised(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    struct klog_config      config = config_make(&c, 0x3, 0);
    struct reason           why    = {0};
    uint32_t                tid    = (uint32_t)syscall(SYS_gettid);
    uint64_t                most;
    memset(kept, 0, sizeof kept);
    dies_at           = 0;
    config.mask[2]    = SYSCALLS_WORD;
    config.hook_count = 0;
    config.raw_bytes  = MIDDLE;
    config.raw_most   = LARGE;
    (void)state;
    if (!start(&c, &config))
        skip();
    drain_pause(&c);
    klog_fds(c.k, keep, NULL);
    calls_make();
    klog_drain(c.k, 0);
    struct klog *first = c.k;
    config.raw_bytes   = LARGE;
    if (klog_adopt(&config, find_kept, NULL, &c.k, &why))
        fail_msg("%s", why.text);
    assert_int_equal(klog_memory(c.k, &most), MIDDLE);
    assert_int_equal(klog_start(c.k, &why), 0);
    assert_int_equal(klog_memory(c.k, &most), LARGE);
    assert_int_equal(pthread_create(&c.drainer, NULL, drain_main, &c), 0);
    calls_make();
    halt(&c);
    check_balance(&c, &n);
    assert_count(count_calls(&c, tid, address_of_getppid()), 2 * CALLS, n);
    finish(&c);
    klog_destroy(first);
    for (unsigned i = 0; i < 8192 && *kept[i].name; i++)
        if (kept[i].fd >= 0)
            close(kept[i].fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_come_and_go_and_no_switch_is_lost),
        cmocka_unit_test(flags_come_with_their_rundown_and_go),
        cmocka_unit_test(a_source_of_two_flags_misses_nothing),
        cmocka_unit_test(an_update_that_fails_changes_nothing),
        cmocka_unit_test(a_change_that_was_not_published_is_undone),
        cmocka_unit_test(a_change_that_was_published_is_finished),
        cmocka_unit_test(more_memory_holds_what_the_file_does_not_take),
        cmocka_unit_test(a_successor_has_the_memory_that_was_promised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
