/* The truth of keywords about the kernel's own work on this machine, each test named by its keyword: a workload with a
 * known number of events. Proves: LEG-12 (what is read ahead), issue 4, POOL, MEMORY, CC, KQUEUE, SYNCOBJECTS,
 * SPINLOCK, AFFINITY, DEBUG_EVENTS, CONTMEMGEN, WS, KE_CLOCK. Needs CAP_PERFMON; else skipped. */
// timeout: 60
#include "autologger/kernel/tests/keyword_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PAGE = 4096 };
static bool is(const struct seen *s, const char *name)
{
    return s->hook == HOOK_DESCRIBED && strcmp(s->name, name) == 0;
}
static uint32_t mine(void) { return (uint32_t)syscall(SYS_gettid); }

/* The place that this thread allocates from most often, and its number of allocations. */
static uint64_t busiest_site(const struct collector *c, unsigned *most)
{
    static struct {
        uint64_t site;
        unsigned count;
    } sites[4096];
    unsigned used = 0;
    uint64_t best = *most = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct seen *s = &c->event[i];
        unsigned           k = 0;
        if (!is(s, "KernelAlloc") || s->tid != mine())
            continue;
        while (k < used && sites[k].site != body_u64(s, 0))
            k++;
        if (k == used && used < 4096)
            sites[used++].site = body_u64(s, 0), sites[k].count = 0;
        if (++sites[k].count > *most)
            *most = sites[k].count, best = sites[k].site;
    }
    return best;
}

/* Each eventfd causes one kmalloc, and one kfree when it is closed. */
static void POOL(void **state)
{
    enum { N = 500 };
    struct collector     c = {0};
    struct klog_counters n;
    unsigned             from_site, freed = 0;
    (void)state;
    if (!begin(&c, (struct keyword){.word1 = 0x40}))
        return;
    for (int i = 0; i < N; i++)
        close(eventfd(0, EFD_CLOEXEC));
    end(&c, &n);
    uint64_t site = busiest_site(&c, &from_site);
    assert_count(from_site, N, n);
    /* each of them is freed before its address is allocated again */
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *a = &c.event[i];
        if (!is(a, "KernelAlloc") || a->tid != mine() || body_u64(a, 0) != site)
            continue;
        assert_true(body_u64(a, 24) >= body_u64(a, 16) && body_u64(a, 8) >> 63);
        for (size_t k = i + 1; k < c.count; k++)
            if (is(&c.event[k], "KernelFree") && body_u64(&c.event[k], 8) == body_u64(a, 8)) {
                freed++;
                break;
            }
    }
    assert_true(freed + n.withheld >= from_site);
    finish(&c);
}

/* Touching memory takes a page each, and giving it back frees it. */
static void MEMORY(void **state)
{
    enum {
        N    = 1000,
        MORE = 500 /* page tables, other needs of the calls, and pages that a sanitizer's build keeps */
    };
    struct collector     c = {0};
    struct klog_counters n;
    (void)state;
    if (!begin(&c, (struct keyword){.word1 = 0x1}))
        return;
    char *p = mmap(NULL, N * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, N * PAGE, MADV_NOHUGEPAGE);
    for (int i = 0; i < N; i++)
        p[i * PAGE] = 1;
    munmap(p, N * PAGE);
    end(&c, &n);
    size_t allocated = 0, freed = 0;
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if (is(s, "PageAlloc") && s->tid == mine())
            allocated += (size_t)1 << body_u32(s, 8);
        if (is(s, "PageFree") && s->tid == mine())
            freed += (size_t)1 << body_u32(s, 8);
    }
    print_message("  %zu pages allocated, %zu freed\n", allocated, freed);
    assert_uint_in_range(allocated + n.withheld, N, N + MORE + n.withheld);
    /* the last ones stay in a list of their processor */
    assert_uint_in_range(freed + n.withheld, N * 9 / 10, N + MORE + n.withheld);
    finish(&c);
}

/* The kernel's own figure may come in batches, so the last one is near the real use. */
static void WS(void **state)
{
    enum { N = 2000 };
    struct collector     c = {0};
    struct klog_counters n;
    int64_t              low = INT64_MAX, high = 0;
    (void)state;
    if (!begin(&c, (struct keyword){.word1 = 0x08000000}))
        return;
    char *p = mmap(NULL, N * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, N * PAGE, MADV_NOHUGEPAGE);
    for (int i = 0; i < N; i++)
        p[i * PAGE] = 1;
    munmap(p, N * PAGE);
    end(&c, &n);
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if (is(s, "WorkingSetChange") && s->tid == mine() && body_u32(s, 8) == 1) {
            int64_t bytes = (int64_t)body_u64(s, 12);
            low           = bytes < low ? bytes : low;
            high          = bytes > high ? bytes : high;
        }
    }
    print_message("  anonymous memory from %lld to %lld bytes\n", (long long)low, (long long)high);
    assert_true(n.withheld || high - low >= (int64_t)N * PAGE * 3 / 4);
    finish(&c);
}

/* A new file's pages enter the page cache once, and leave it when the file is gone. */
static void CC(void **state)
{
    enum { N = 300 };
    static char          block[N * PAGE];
    char                 path[] = AL_BINARY_DIR "/cacheXXXXXX";
    struct collector     c      = {0};
    struct klog_counters n;
    struct stat          st;
    size_t               added = 0, removed = 0;
    (void)state;
    if (!begin(&c, (struct keyword){.word4 = 0x20000}))
        return;
    int fd = mkstemp(path);
    assert_int_equal(write(fd, block, sizeof block), sizeof block);
    fsync(fd);
    assert_int_equal(fstat(fd, &st), 0);
    unlink(path);
    close(fd);
    end(&c, &n);
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if ((is(s, "CachePageAdd") || is(s, "CachePageRemove")) && body_u64(s, 4) == st.st_ino && s->tid == mine())
            *(is(s, "CachePageAdd") ? &added : &removed) += (size_t)1 << body_u32(s, 20);
    }
    print_message("  %zu pages added, %zu removed\n", added, removed);
    assert_count(added, N, n);
    assert_count(removed, N, n);
    finish(&c);
}

/* Read-ahead (on Windows ReadyBoost reports it): pages that enter the cache before any program has read them. */
static void CC_reading_ahead(void **state)
{
    enum { N = 64 };
    static char          block[N * PAGE];
    char                 path[] = AL_BINARY_DIR "/aheadXXXXXX";
    struct collector     c      = {0};
    struct klog_counters n;
    struct stat          st;
    size_t               ahead = 0, later = 0;
    struct session_clock clock = config_make(&c, 0, 0).clock;
    (void)state;
    int fd = mkstemp(path);
    assert_int_equal(write(fd, block, sizeof block), sizeof block);
    fsync(fd);
    assert_int_equal(fstat(fd, &st), 0);
    unlink(path);
    /* on some file systems the pages stay nevertheless */
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    if (!begin(&c, (struct keyword){.word4 = 0x20000})) {
        close(fd);
        return;
    }
    assert_int_equal(readahead(fd, 0, sizeof block), 0);
    uint64_t asked = clock_read(&clock);
    assert_int_equal(pread(fd, block, sizeof block, 0), sizeof block);
    end(&c, &n);
    close(fd);
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if (is(s, "CachePageAdd") && body_u64(s, 4) == st.st_ino && s->tid == mine())
            *(s->time < asked ? &ahead : &later) += (size_t)1 << body_u32(s, 20);
    }
    print_message("  %zu pages before they were read, %zu while\n", ahead, later);
    if (ahead + later)
        assert_count(ahead, N, n);
    finish(&c);
}

/* Each character that a terminal's master writes reaches the other end by a work item of the kernel. */
static void KQUEUE(void **state)
{
    enum { N = 200 };
    struct collector     c = {0};
    struct klog_counters n;
    char                 name[64], byte;
    (void)state;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof name)) {
        print_message("skipped: no terminals here\n");
        skip();
    }
    int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(slave >= 0);
    if (!begin(&c, (struct keyword){.word1 = 0x01000000, .word2 = 0x08000000}))
        return;
    for (int i = 0; i < N; i++)
        assert_true(write(master, "\n", 1) == 1 && read(slave, &byte, 1) == 1 && read(master, &byte, 1) == 1);
    end(&c, &n);
    close(slave);
    close(master);
    /* the function that this thread queued most */
    size_t   queued = 0, started = 0, ended = 0;
    uint64_t function = 0;
    for (size_t i = 0; i < c.count && queued < N / 2; i++) {
        const struct seen *s = &c.event[i];
        if (!is(s, "WorkQueued") || s->tid != mine())
            continue;
        function = body_u64(s, 8);
        queued   = 0;
        for (size_t k = 0; k < c.count; k++)
            queued += is(&c.event[k], "WorkQueued") && c.event[k].tid == mine() && body_u64(&c.event[k], 8) == function;
    }
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        started += is(s, "WorkStart") && body_u64(s, 8) == function;
        if (is(s, "WorkEnd") && body_u64(s, 8) == function) {
            assert_true(body_u64(s, 16) < s->time);
            ended++;
        }
    }
    size_t workers = count_of(&c, 0x0539);
    print_message("  queued %zu, started %zu, ended %zu; WorkerThread %zu\n", queued, started, ended, workers);
    /* an item still waiting is not queued again; the last one may end after the trace */
    assert_uint_in_range(queued + n.withheld, N * 9 / 10, N + n.withheld + 1);
    assert_true(started + n.withheld >= queued && ended + n.withheld + 2 >= started && workers >= ended);
    finish(&c);
}

static void *append(void *arg)
{
    int *fd = arg;
    for (int i = 0; i < 3000; i++)
        if (write(*fd, "0123456789abcdef", 16) != 16)
            break;
    return NULL;
}

/* Four threads append to one file and wait for its lock; each wait has an end, and none is longer than the trace. */
static void SYNCOBJECTS(void **state)
{
    char                 path[] = AL_BINARY_DIR "/lockXXXXXX";
    struct collector     c      = {0};
    struct klog_counters n;
    pthread_t            thread[4];
    size_t               waits = 0;
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && fcntl(fd, F_SETFL, O_APPEND) == 0);
    if (!begin(&c, (struct keyword){.word1 = 0x30000}))
        return;
    for (int round = 0; round < 5; round++) { /* on a busy machine the threads may run one after the other */
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, append, &fd), 0);
        for (int i = 0; i < 4; i++)
            pthread_join(thread[i], NULL);
    }
    end(&c, &n);
    unlink(path);
    close(fd);
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if (!is(s, "LockWait") && !is(s, "SpinLockWait"))
            continue;
        waits += is(s, "LockWait") && s->pid == (uint32_t)getpid();
        assert_true(body_u64(s, 8) <= s->time && body_u64(s, 0) >> 63 && strlen((const char *)s->body + 20) > 4);
    }
    print_message("  %zu waits of ours for a mutex or semaphore, %zu for spinning locks (all)\n", waits,
                  count_named(&c, "SpinLockWait"));
    assert_true(waits > 0 || n.withheld > 0 || sysconf(_SC_NPROCESSORS_ONLN) == 1);
    finish(&c);
}

static void *many_times(void *arg)
{
    int *fd = arg;
    for (int i = 0; i < 20000; i++)
        (void)syscall(SYS_fcntl, *fd, F_SETOWN, getpid()); /* takes a spin lock of the open file's owner */
    return NULL;
}

/* With this keyword alone there are no sleeping locks. The number of collisions is up to the scheduler, but each lies
 * within the trace. */
static void SPINLOCK(void **state)
{
    struct collector     c = {0};
    struct klog_counters n;
    pthread_t            thread[2];
    int                  fd = eventfd(0, EFD_CLOEXEC);
    (void)state;
    if (!begin(&c, (struct keyword){.word1 = 0x10000}))
        return;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, many_times, &fd), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    end(&c, &n);
    close(fd);
    assert_int_equal(count_named(&c, "LockWait"), 0);
    for (size_t i = 0; i < c.count; i++)
        if (is(&c.event[i], "SpinLockWait")) {
            assert_true(body_u64(&c.event[i], 8) <= c.event[i].time && (body_u32(&c.event[i], 16) & 33) == 1);
        }
    print_message("  %zu waits; begun %llu, ended %llu\n", count_named(&c, "SpinLockWait"),
                  (unsigned long long)delivered("lock:contention_begin"),
                  (unsigned long long)delivered("lock:contention_end"));
    assert_true(count_named(&c, "SpinLockWait") <= delivered("lock:contention_end"));
    finish(&c);
}

/* A thread whose affinity changes moves each time. */
static void AFFINITY(void **state)
{
    enum { N = 100 };
    struct collector     c = {0};
    struct klog_counters n;
    cpu_set_t            all, one;
    (void)state;
    sched_getaffinity(0, sizeof all, &all);
    if (CPU_COUNT(&all) < 2 || !CPU_ISSET(0, &all) || !CPU_ISSET(1, &all)) {
        print_message("skipped: needs two processors\n");
        skip();
    }
    if (!begin(&c, (struct keyword){.word1 = 0x1000}))
        return;
    for (int i = 0; i <= N; i++) {
        CPU_ZERO(&one);
        CPU_SET(i & 1, &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    end(&c, &n);
    sched_setaffinity(0, sizeof all, &all);
    size_t   moves = 0, wrong = 0;
    uint32_t at = UINT32_MAX;
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if (!is(s, "ThreadMigration") || body_u32(s, 0) != mine())
            continue;
        wrong += at != UINT32_MAX && body_u32(s, 4) != at; /* it leaves the CPU that it came to */
        at = body_u32(s, 8);
        moves++;
    }
    print_message("  %zu moves\n", moves);
    assert_true(moves + n.withheld >= N && moves <= N + 2 && wrong <= n.withheld);
    finish(&c);
}

/* This program attaches to a child, and detaches. */
static void DEBUG_EVENTS(void **state)
{
    enum { N = 20 };
    struct collector     c = {0};
    struct klog_counters n;
    size_t               attached = 0, detached = 0;
    (void)state;
    if (!begin(&c, (struct keyword){.word0 = 0x400000}))
        return;
    pid_t child = fork();
    if (!child)
        for (;;)
            pause();
    for (int i = 0; i < N; i++) {
        assert_int_equal(ptrace(PTRACE_ATTACH, child, NULL, NULL), 0);
        waitpid(child, NULL, __WALL);
        ptrace(PTRACE_GETEVENTMSG, child, NULL, &n); /* no event */
        assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(ptrace(PTRACE_ATTACH, child, NULL, NULL), -1);
    end(&c, &n);
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if ((!is(s, "DebuggerAttach") && !is(s, "DebuggerDetach")) || s->tid != mine())
            continue;
        assert_int_equal(body_u32(s, 0), child);
        if (is(s, "DebuggerDetach"))
            detached += body_u32(s, 4) == PTRACE_DETACH && body_u32(s, 8) == 0;
        else
            attached += body_u32(s, 4) == PTRACE_ATTACH && (body_u32(s, 8) == 0 || (int32_t)body_u32(s, 8) == -ESRCH);
    }
    assert_count(attached, N + 1, n);
    assert_count(detached, N, n);
    finish(&c);
}

/* The kernel compacts memory on request; each beginning has an end. */
static void CONTMEMGEN(void **state)
{
    struct collector     c = {0};
    struct klog_counters n;
    int                  fd = open("/proc/sys/vm/compact_memory", O_WRONLY | O_CLOEXEC);
    (void)state;
    if (fd < 0) {
        print_message("skipped: memory can't be compacted here\n");
        skip();
    }
    if (!begin(&c, (struct keyword){.word1 = 0x100000}))
        return;
    ssize_t written = write(fd, "1", 1);
    end(&c, &n);
    close(fd);
    size_t begun = 0, ended = 0;
    for (size_t i = 0; i < c.count; i++) {
        begun += is(&c.event[i], "CompactionBegin") && c.event[i].tid == mine();
        ended += is(&c.event[i], "CompactionEnd") && c.event[i].tid == mine();
    }
    print_message("  %zu zones compacted\n", ended);
    assert_true(begun == ended || n.withheld);
    assert_true(begun > 0 || written < 0 || n.withheld);
    finish(&c);
}

/* An idle processor stops its tick. Some guests' kernels withhold events of idle tasks: then they are counted. */
static void KE_CLOCK(void **state)
{
    struct collector     c = {0};
    struct klog_counters n;
    (void)state;
    if (!begin(&c, (struct keyword){.word2 = 0x100000}))
        return;
    for (int i = 0; i < 20; i++)
        usleep(20000);
    end(&c, &n);
    for (size_t i = 0; i < c.count; i++)
        if (is(&c.event[i], "TickStop"))
            assert_true(body_u32(&c.event[i], 0) <= 1 &&
                        (body_u32(&c.event[i], 0) == 0 || body_u32(&c.event[i], 4) == 0));
    assert_int_equal(count_named(&c, "TickStop"), delivered("timer:tick_stop"));
    finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(POOL),         cmocka_unit_test(MEMORY),           cmocka_unit_test(WS),
        cmocka_unit_test(CC),           cmocka_unit_test(CC_reading_ahead), cmocka_unit_test(KQUEUE),
        cmocka_unit_test(SYNCOBJECTS),  cmocka_unit_test(SPINLOCK),         cmocka_unit_test(AFFINITY),
        cmocka_unit_test(DEBUG_EVENTS), cmocka_unit_test(CONTMEMGEN),       cmocka_unit_test(KE_CLOCK)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
