/* ALL_FAULTS and HARD_FAULTS on this machine: known numbers of page faults of each class are found again, by process
 * and address.
 * Proves: issue 4, truth of ALL_FAULTS and HARD_FAULTS. Needs CAP_PERFMON; else skipped. */
#include "autologger/kernel/tests/klog_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
    PAGE            = 4096,
    ANONYMOUS       = 500,
    ZERO_READ       = 100,
    PRIVATE_WRITTEN = 100,
    BLOCKS          = 30,
    AROUND          = 16,
    VIOLATIONS      = 10,
    HARD            = 50,
    STRIDE          = 64
};
struct regions {
    char  *anonymous, *zero, *private_file, *shared_file, *none;
    size_t copied;
};

static char *memory(size_t pages, int prot)
{
    char *p = mmap(NULL, pages * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* EINVAL: there are no huge pages */
    if (p == MAP_FAILED || (madvise(p, pages * PAGE, MADV_NOHUGEPAGE) && errno != EINVAL))
        _exit(2);
    return p;
}

static int file_of(size_t pages, char path[256])
{
    static char block[PAGE];
    snprintf(path, 256, "%s/faultsXXXXXX", AL_BINARY_DIR);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < pages; i++) {
        memset(block, (int)i, sizeof block);
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    }
    return fd;
}

static void look(const volatile char *at) { (void)*at; }

static sigjmp_buf back;
static void       on_violation(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void violate(volatile char *none)
{
    struct sigaction a = {.sa_handler = on_violation, .sa_flags = SA_NODEFER};
    sigaction(SIGSEGV, &a, NULL);
    for (volatile int i = 0; i < VIOLATIONS; i++)
        if (sigsetjmp(back, 1) == 0)
            none[8] = 1;
}

static void workload(int fd, int out)
{
    struct rusage  before, after;
    struct regions r = {.anonymous = memory(ANONYMOUS, PROT_READ | PROT_WRITE),
                        .zero      = memory(ZERO_READ, PROT_READ | PROT_WRITE),
                        .none      = memory(1, PROT_NONE)};
    r.private_file   = mmap(NULL, PRIVATE_WRITTEN * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    r.shared_file    = mmap(NULL, BLOCKS * AROUND * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    if (r.private_file == MAP_FAILED || r.shared_file == MAP_FAILED)
        _exit(3);
    for (int i = 0; i < ANONYMOUS; i++)
        r.anonymous[i * PAGE] = 1;
    for (int i = 0; i < ZERO_READ; i++)
        look(&r.zero[i * PAGE]);
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < ZERO_READ; i++)
        r.zero[i * PAGE] = 1;
    getrusage(RUSAGE_SELF, &after);
    r.copied = (size_t)(after.ru_minflt - before.ru_minflt);
    for (int i = 0; i < PRIVATE_WRITTEN; i++)
        r.private_file[i * PAGE] = 1;
    for (int i = 0; i < BLOCKS; i++)
        look(&r.shared_file[i * AROUND * PAGE]);
    violate(r.none);
    _exit(write(out, &r, sizeof r) == sizeof r ? 0 : 4);
}

/* Counts events of that class and process within the pages. Each has a program counter. */
static size_t faults(const struct collector *c, uint16_t hook, pid_t pid, const char *from, size_t pages)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct seen *s = &c->event[i];
        if (s->hook != hook || s->pid != (uint32_t)pid || u64_at(s, 0) - (uintptr_t)from >= pages * PAGE)
            continue;
        assert_true(s->size == 16 && s->version == 2 && u64_at(s, 8) != 0);
        n++;
    }
    return n;
}

/* Counts the pages with such an event. A processor may fault at one page twice: the kernel interrupts a fault when
 * other work is due, and the program faults again. So there are at most a few more events than pages. */
static size_t pages_faulted(const struct collector *c, uint16_t hook, pid_t pid, const char *from, size_t pages)
{
    static bool  seen[ANONYMOUS];
    size_t       n     = 0;
    const size_t whole = faults(c, hook, pid, from, pages);

    assert_true(pages <= ANONYMOUS);
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < c->count; i++) {
        const struct seen *s    = &c->event[i];
        const uint64_t     page = (u64_at(s, 0) - (uintptr_t)from) / PAGE;
        if (s->hook != hook || s->pid != (uint32_t)pid || page >= pages || seen[page])
            continue;
        seen[page] = true;
        n++;
    }
    assert_true(whole - n <= 1 + pages / 50);
    return n;
}

static void ALL_FAULTS_by_class(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    struct regions          r;
    char                    path[256];
    int                     pipes[2], status, fd = file_of(BLOCKS * AROUND, path);
    struct klog_config      config = config_make(&c, 0x1003, 0);
    (void)state;
    config.hooks[0]   = 0x020B;
    config.hook_count = 1;
    unlink(path);
    if (!start(&c, &config))
        skip();
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0)
        workload(fd, pipes[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(pipes[0], &r, sizeof r), sizeof r);
    close(pipes[0]);
    close(pipes[1]);
    close(fd);
    halt(&c);
    check_balance(&c, &n);
    assert_count(pages_faulted(&c, 0x020B, pid, r.anonymous, ANONYMOUS), ANONYMOUS, n);
    assert_count(pages_faulted(&c, 0x020B, pid, r.zero, ZERO_READ), ZERO_READ, n);
    assert_count(faults(&c, 0x020A, pid, r.shared_file, BLOCKS * AROUND), BLOCKS, n);
    if (c.conditions == 0) { /* only x86 has the error code that shows writes */
        /* a kernel that maps no shared page of zeros on a read has nothing to copy on the later write */
        const size_t copied = r.copied < ZERO_READ / 2 ? 0 : ZERO_READ;
        printf("  %zu of %d pages that had been read were copied when they were written\n", r.copied, ZERO_READ);
        assert_count(pages_faulted(&c, 0x020C, pid, r.zero, ZERO_READ), copied, n);
        assert_count(pages_faulted(&c, 0x020C, pid, r.private_file, PRIVATE_WRITTEN), PRIVATE_WRITTEN, n);
        assert_count(faults(&c, 0x020F, pid, r.none, 1), VIOLATIONS, n);
        assert_count(faults(&c, 0x020F, pid, NULL, SIZE_MAX / PAGE), VIOLATIONS, n);
    }
    assert_int_equal(faults(&c, 0x020A, pid, r.anonymous, ANONYMOUS) + faults(&c, 0x020C, pid, r.anonymous, ANONYMOUS) +
                         faults(&c, 0x020A, pid, r.private_file, PRIVATE_WRITTEN) +
                         faults(&c, 0x020E, pid, r.shared_file, BLOCKS * AROUND),
                     0);
    /* one stack for each fault of that class, of the thread that faulted */
    assert_true(count_of(&c, 0x1820) + n.stacks_missing >= ANONYMOUS && count_of(&c, 0x1820) <= count_of(&c, 0x020B));
    finish(&c);
}

static bool in_memory(int fd, size_t pages)
{
    unsigned char here[HARD * STRIDE];
    void         *p   = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    bool          any = false;
    assert_true(p != MAP_FAILED && pages <= sizeof here);
    assert_int_equal(mincore(p, pages * PAGE, here), 0);
    for (size_t i = 0; i < pages; i++)
        any |= here[i] & 1;
    munmap(p, pages * PAGE);
    return any;
}

static void HARD_FAULTS_of_a_file(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    char                    path[256];
    int                     status, fd = file_of(HARD * STRIDE, path);
    struct klog_config      config = config_make(&c, 0x2003, 0);
    (void)state;
    config.hook_count = 0;
    assert_int_equal(fsync(fd), 0);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    bool evicted = !in_memory(fd, HARD * STRIDE);
    if (!evicted || !start(&c, &config)) {
        unlink(path);
        close(fd);
        print_message("skipped: %s\n", evicted ? "no right" : "the file cannot be put out of memory");
        skip();
    }
    char *map = mmap(NULL, HARD * STRIDE * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(madvise(map, HARD * STRIDE * PAGE, MADV_RANDOM), 0); /* no read-ahead */
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < HARD; i++)
            look(&map[i * STRIDE * PAGE]);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    munmap(map, HARD * STRIDE * PAGE);
    halt(&c);
    unlink(path);
    close(fd);
    check_balance(&c, &n);
    size_t   found = 0, named = 0, timed = 0;
    uint64_t key = 0;
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if (s->hook != 0x0220 || u32_at(s, 32) != (uint32_t)pid ||
            u64_at(s, 16) - (uintptr_t)map >= HARD * STRIDE * PAGE)
            continue;
        assert_true(s->size == 40 && s->version == 2 && u32_at(s, 36) == PAGE);
        assert_int_equal(u64_at(s, 8), u64_at(s, 16) - (uintptr_t)map); /* the offset in the file */
        assert_true(u64_at(s, 0) <= s->time && u64_at(s, 24) >> 63 && (u64_at(s, 24) & 15) == 0);
        assert_true(!key || key == u64_at(s, 24));
        key = u64_at(s, 24);
        timed += u64_at(s, 0) < s->time;
        found++;
    }
    for (size_t i = 0; i < c.count; i++)
        if ((c.event[i].hook == 0x0420 || c.event[i].hook == 0x0424) && u64_at(&c.event[i], 0) == key)
            named += text_has(&c.event[i], 8, strrchr(path, '/') + 1);
    print_message("  %zu hard faults, %zu with a duration; %zu name events\n", found, timed, named);
    assert_int_equal(found, HARD);
    assert_int_equal(named, 2); /* before the first, and at the stop */
    if (delivered("filemap:mm_filemap_fault") >= HARD)
        assert_int_equal(timed, HARD);
    finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ALL_FAULTS_by_class), cmocka_unit_test(HARD_FAULTS_of_a_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
