/* A processor that is released and taken again: all its events before and after are there, none from in between, the
 * others miss nothing, and the counts stay exact. That the processor itself stays online is the
 * kernel's business: a real one goes in boot-tests/scenarios/processors. Proves: issue 4, CPU hot-plug. Needs
 * CAP_PERFMON and two CPUs; else skipped. */
#include "autologger/kernel/hotplug.h"
#include "autologger/kernel/source/syscalls.h"
#include "autologger/kernel/tests/klog_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

enum { CALLS = 400, SYSCALLS_WORD = 0x40, ROUNDS = 3 };

static void calls_on(unsigned cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (int i = 0; i < CALLS; i++)
        syscall(SYS_getppid);
}

static uint64_t address_of_getppid(void)
{
    uint64_t address[SYS_getppid + 1] = {0};
    int      proc                     = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    syscall_addresses(proc, address, NULL, SYS_getppid + 1);
    close(proc);
    return address[SYS_getppid];
}

static size_t calls_seen(const struct collector *c, unsigned cpu, uint32_t tid, uint64_t address)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += c->event[i].hook == 0x0F33 && c->event[i].cpu == cpu && c->event[i].tid == tid &&
             u64_at(&c->event[i], 0) == address;
    return n;
}

/* Every note is about a processor, and has a time. */
static unsigned notes;
static void     on_note(void *ctx, wstatus number, bool note, const char *item, const char *reason, const char *advice)
{
    (void)ctx, (void)number;
    print_message("condition%s: %s: %s. Do: %s\n", note ? " (note)" : "", item, reason, advice);
    if (strncmp(item, "CPU ", 4) != 0)
        return;
    notes++;
    assert_true(note && strncmp(item, "CPU 1 at ", 9) == 0 && strstr(item, " s"));
}

static void a_processor_goes_and_comes(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    struct klog_config      config = config_make(&c, 0x3, 0);
    uint32_t                tid    = (uint32_t)syscall(SYS_gettid);
    cpu_set_t               all;
    (void)state;
    if (sched_getaffinity(0, sizeof all, &all) < 0 || !CPU_ISSET(0, &all) || !CPU_ISSET(1, &all))
        skip();
    config.mask[2]    = SYSCALLS_WORD;
    config.hook_count = 0;
    config.condition  = on_note;
    if (!start(&c, &config))
        skip();
    for (int i = 0; i < ROUNDS; i++) {
        calls_on(1);
        calls_on(0);
        assert_int_equal(klog_cpus(c.k, "0\n", NULL, NULL), c.cpus - 1);
        calls_on(1); /* this processor is not traced now */
        calls_on(0);
        collect(&c);
        assert_int_equal(klog_cpus(c.k, "0-4095\n", NULL, NULL), c.cpus - 1);
        assert_int_equal(klog_cpus(c.k, "0-4095\n", NULL, NULL), 0);
    }
    calls_on(1);
    sched_setaffinity(0, sizeof all, &all);
    halt(&c);
    check_balance(&c, &n);
    uint64_t address = address_of_getppid();
    print_message("  %zu calls on CPU 0, %zu on CPU 1\n", calls_seen(&c, 0, tid, address),
                  calls_seen(&c, 1, tid, address));
    assert_count(calls_seen(&c, 0, tid, address), 2 * ROUNDS * CALLS, n);
    assert_count(calls_seen(&c, 1, tid, address), (ROUNDS + 1) * CALLS, n);
    assert_true(c.cpus != 2 || notes == 2 * ROUNDS);
    finish(&c);
}

static void lists_of_processors(void **state)
{
    (void)state;
    assert_true(cpu_in_list("0-3,8,10-11\n", 0) && cpu_in_list("0-3,8,10-11\n", 3) && cpu_in_list("0-3,8,10-11\n", 8));
    assert_true(cpu_in_list("0-3,8,10-11\n", 11) && cpu_in_list("5", 5));
    assert_false(cpu_in_list("0-3,8,10-11\n", 4) || cpu_in_list("0-3,8,10-11\n", 9) || cpu_in_list("", 0) ||
                 cpu_in_list("x", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_of_processors),
                                       cmocka_unit_test(a_processor_goes_and_comes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
