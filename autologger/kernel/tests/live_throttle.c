/* Sampling that the kernel holds back: told in the trace, with CPU and source, and counted. The limit of the machine is
 * lowered meanwhile, to above what others sample with. Proves: issue 4 "loss: throttling". Needs root; else skipped. */
// timeout: 60
#include "autologger/kernel/tests/klog_fixture.h"

#define LIMIT "/proc/sys/kernel/perf_event_max_sample_rate"
enum { SAMPLES = 4000, INTERVAL = 500 /* 50 us */ };

static unsigned long limit_read(void)
{
    unsigned long limit = 0;
    FILE         *f     = fopen(LIMIT, "r");
    if (f && fscanf(f, "%lu", &limit) != 1)
        limit = 0;
    if (f)
        fclose(f);
    return limit;
}

static bool limit_write(unsigned long limit)
{
    FILE *f = fopen(LIMIT, "w");
    return f && fprintf(f, "%lu\n", limit) > 0 && fclose(f) == 0;
}

static unsigned long before;
static int           restore(void **state)
{
    (void)state;
    return before && !limit_write(before);
}

static void throttling_is_told(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    struct klog_config      config = config_make(&c, 0x01000000, 0x2);
    (void)state;
    config.profile_interval = INTERVAL;
    config.hook_count       = 0;
    before                  = limit_read();
    if (geteuid() != 0 || before <= SAMPLES || !limit_write(SAMPLES))
        skip();
    if (!start(&c, &config))
        skip();
    spin(300);
    halt(&c);
    check_balance(&c, &n);
    size_t begun = count_named(&c, "Throttled"), ended = count_named(&c, "Unthrottled");
    print_message("  held back %llu times, told %zu and %zu\n", (unsigned long long)n.throttled, begun, ended);
    assert_true(n.throttled > 0 && begun == n.throttled && ended > 0);
    for (size_t i = 0; i < c.count; i++)
        if (c.event[i].hook == HOOK_DESCRIBED && strcmp(c.event[i].name, "Throttled") == 0)
            assert_true(body_u32(&c.event[i], 0) == c.event[i].cpu &&
                        strcmp((const char *)c.event[i].body + 4, "cpu-clock") == 0);
    finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(throttling_is_told, restore)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
