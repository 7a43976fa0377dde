/* System calls of a 32-bit program (narrow_calls.c) on a 64-bit kernel: each has the address of the kernel function
 * that runs for it, and their effects on memory are told; for programs that began before the trace or in it, with the
 * kernel's own filter and without.
 * Proves: issue 4, SYSCALL and VIRT_ALLOC of 32-bit programs. Needs CAP_PERFMON; else skipped. */
#include "autologger/kernel/tests/keyword_fixture.h"
#include "autologger/kernel/tests/narrow.h"

#include <sys/wait.h>

enum {
    TIMES      = 50,
    PAGE       = 4096,
    SYSCALL    = 0x40,
    VIRT_ALLOC = 0x8000,
    ENTER      = 0x0F33,
    ALLOCATED  = 0x0262,
    FREED      = 0x0263
};
#define PROGRAM AL_BINARY_DIR "/tests/narrow_calls"

/* The address of a kernel function that has one of two names. */
static uint64_t symbol(const char *one, const char *other)
{
    char     line[512], name[256];
    uint64_t address = 0, found = 0;
    FILE    *f = fopen("/proc/kallsyms", "re");
    while (f && !found && fgets(line, sizeof line, f))
        if (sscanf(line, "%lx %*c %255s", &address, name) == 2 && (strcmp(name, one) == 0 || strcmp(name, other) == 0))
            found = address;
    if (f)
        fclose(f);
    return found;
}

static pid_t program_start(int *go)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], 0);
        close(ends[0]);
        close(ends[1]);
        execl(PROGRAM, PROGRAM, (char *)NULL);
        _exit(100);
    }
    assert_true(pid > 0);
    close(ends[0]);
    *go = ends[1];
    return pid;
}

static void program_run(pid_t pid, int go)
{
    int status = 0;
    assert_int_equal(write(go, "x", 1), 1);
    close(go);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static unsigned entered(const struct collector *c, uint32_t pid, uint64_t address)
{
    unsigned n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += c->event[i].hook == ENTER && c->event[i].pid == pid && u64_at(&c->event[i], 0) == address;
    return n;
}

static void check_calls(const struct collector *c, uint32_t pid)
{
    /* clang-format off */
    static const struct { const char *name, *other; unsigned times; } should[] = {
        {"__ia32_sys_getppid", "", TIMES}, {"__ia32_sys_getuid16", "", TIMES}, {"__ia32_sys_getuid", "", TIMES},
         {"__ia32_sys_newuname", "", TIMES},
        {"__ia32_compat_sys_ia32_fstat64", "__ia32_compat_sys_x86_fstat64", TIMES},
         {"__ia32_sys_clock_gettime32", "", TIMES},
        {"__ia32_sys_clock_gettime", "", TIMES}, {"__ia32_sys_mmap_pgoff", "", TIMES}, {"__ia32_sys_mremap", "", TIMES},
        {"__ia32_sys_munmap", "", TIMES}, {"__ia32_sys_madvise", "", TIMES}, {"__ia32_sys_brk", "", 3}};
    /* clang-format on */
    for (size_t i = 0; i < sizeof should / sizeof *should; i++) {
        uint64_t address = symbol(should[i].name, should[i].other);
        print_message("  %s at %llx: %u\n", should[i].name, (unsigned long long)address,
                      address ? entered(c, pid, address) : 0);
        assert_true(address);
        assert_int_equal(entered(c, pid, address), should[i].times);
    }
}

static void check_memory(const struct collector *c, uint32_t pid)
{
    unsigned made = 0, unused = 0, grown = 0, gone = 0, heap = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct seen *s = &c->event[i];
        if ((s->hook != ALLOCATED && s->hook != FREED) || u32_at(s, 16) != pid)
            continue;
        uint64_t size  = u64_at(s, 8);
        uint32_t flags = u32_at(s, 20);
        assert_true(u64_at(s, 0) + size <= UINT64_C(1) << 32);
        made += s->hook == ALLOCATED && size == 3 * PAGE && flags == 0x3000;
        unused += s->hook == FREED && size == PAGE && flags == 0x4000;
        grown += s->hook == ALLOCATED && (size == 2 * PAGE || size == 5 * PAGE); /* grown in place or moved */
        gone += s->hook == FREED && size == 5 * PAGE && flags == 0x8000;
        heap += size == 16 * PAGE;
    }
    print_message("  allocated %u, given back %u, grown %u, freed %u, heap %u\n", made, unused, grown, gone, heap);
    assert_true(made == TIMES && unused == TIMES && grown == TIMES && gone == TIMES && heap == 2);
}

static void of_32_bits(bool before, struct keyword k)
{
    static struct collector c;
    struct klog_counters    n;
    int                     go  = -1;
    pid_t                   pid = -1;
    if (access(PROGRAM, X_OK) != 0) {
        print_message("skipped: the compiler makes no programs of 32 bits\n");
        skip();
    }
    memset(&c, 0, sizeof c); /* a failed test has left it */
    if (before)
        pid = program_start(&go);
    if (before)
        usleep(100000); /* it has executed the program by now, and waits for its byte */
    if (!begin(&c, k))
        return;
    if (before)
        usleep(100000); /* the rundown has seen the program */
    else
        pid = program_start(&go);
    program_run(pid, go);
    halt(&c);
    check_balance(&c, &n);
    if (n.lost_ring + n.lost_memory + n.withheld) {
        print_message("skipped: this machine is too busy now: events were lost, and counted\n");
        finish(&c);
        skip();
    }
    if (k.word2 & SYSCALL)
        check_calls(&c, (uint32_t)pid);
    if (k.word1 & VIRT_ALLOC)
        check_memory(&c, (uint32_t)pid);
    finish(&c);
}

static void begun_in_the_trace(void **state)
{
    (void)state;
    of_32_bits(false, (struct keyword){.word1 = VIRT_ALLOC, .word2 = SYSCALL});
}
static void begun_before_the_trace(void **state)
{
    (void)state;
    of_32_bits(true, (struct keyword){.word1 = VIRT_ALLOC, .word2 = SYSCALL});
}
static void memory_alone(void **state)
{
    (void)state;
    of_32_bits(false, (struct keyword){.word1 = VIRT_ALLOC});
}

int main(void)
{
    if (!narrow_calls_here())
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(begun_in_the_trace), cmocka_unit_test(begun_before_the_trace),
                                       cmocka_unit_test(memory_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
