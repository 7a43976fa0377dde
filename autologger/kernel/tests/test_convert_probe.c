/* How drivers probe devices, from the kernel's own events at its functions: starts and ends by thread, also nested, an
 * end without a start, the reason of a deferral, a successor in between. */
#include "autologger/kernel/tests/convert_fixture.h"

enum { THREAD = 501, OTHER = 502 };

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask = {0x1}, .clock = {1, CLOCK_READ_RAW, 1000000000}});
    for (unsigned kind = SRC_PROBE_START; kind <= SRC_FIRMWARE_END; kind++)
        for (unsigned i = 0; i < 3; i++)
            maker.log.header->source[kind].field[i] = (struct raw_field){(uint16_t)(16 + 4 * i), 4};
    return 0;
}

/* A record with up to three texts, each where its __data_loc says. */
static void record(unsigned source, uint64_t time, uint32_t tid, const char *a, const char *b, const char *c)
{
    const char *const text[]   = {a, b, c};
    uint8_t           raw[512] = {0};
    uint32_t          at       = 32;
    for (unsigned i = 0; i < 3 && text[i]; i++) {
        const uint32_t length = (uint32_t)strlen(text[i]) + 1, where = at | length << 16;
        memcpy(raw + 16 + 4 * i, &where, sizeof where);
        memcpy(raw + at, text[i], length);
        at += length;
    }
    maker_sample(&maker, 0, source, time, tid, tid, 0, 0, raw, (at + 7) & ~7u);
}

static void end_of(unsigned source, uint64_t time, uint32_t tid, int32_t result)
{
    uint8_t raw[32] = {0};
    memcpy(raw + 16, &result, sizeof result);
    maker_sample(&maker, 0, source, time, tid, tid, 0, 0, raw, sizeof raw);
}

static const char *expect_texts(unsigned event, const char *const *want, unsigned count)
{
    const char *p = described_fields(event);
    for (unsigned i = 0; i < count; i++, p += strlen(p) + 1)
        assert_string_equal(p, want[i]);
    return p;
}
#define TEXTS(event, ...) \
    expect_texts(event, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void expect_end(const char *p, int32_t result, uint64_t ns)
{
    int32_t  r;
    uint64_t n;
    memcpy(&r, p, sizeof r);
    memcpy(&n, p + sizeof r, sizeof n);
    assert_int_equal(r, result);
    assert_int_equal(n, ns);
}

static void each_end_has_its_start(void **state)
{
    (void)state;
    record(SRC_PROBE_START, 1000, THREAD, "0000:00:04.0", "xhci_hcd", "pci");
    record(SRC_PROBE_START, 2000, THREAD, "usb1", "usb", "usb"); /* within the other one */
    record(SRC_PROBE_START, 2100, OTHER, "eth", "slow driver", "platform");
    end_of(SRC_PROBE_END, 3000, THREAD, 0);
    record(SRC_FIRMWARE_START, 3100, THREAD, "xhci.bin", "0000:00:04.0", NULL);
    end_of(SRC_FIRMWARE_END, 3600, THREAD, -2);
    end_of(SRC_PROBE_END, 4000, THREAD, -517);
    end_of(SRC_PROBE_END, 5100, OTHER, -5);
    end_of(SRC_PROBE_END, 6000, OTHER, 0); /* began before the session */
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 100000, UINT64_MAX);
    run();
    assert_int_equal(out.count, 9);
    TEXTS(0, "0000:00:04.0", "xhci_hcd", "pci");
    expect_end(TEXTS(3, "usb1", "usb", "usb"), 0, 1000);
    TEXTS(4, "xhci.bin", "0000:00:04.0");
    expect_end(TEXTS(5, "xhci.bin", "0000:00:04.0"), -2, 500);
    expect_end(TEXTS(6, "0000:00:04.0", "xhci_hcd", "pci"), -517, 3000);
    expect_end(TEXTS(7, "eth", "slow driver", "platform"), -5, 3000);
    expect_end(TEXTS(8, "", "", ""), 0, 0);
    assert_int_equal(out.event[7].tid, OTHER);
}

static void the_words_of_a_deferral(void **state)
{
    (void)state;
    record(SRC_PROBE_DEFERRED, 1000, THREAD, "al-consumer", "supplier %s not ready\n", "al-supplier");
    record(SRC_PROBE_DEFERRED, 1100, THREAD, "al-defer", "clock not there yet (%d)\n", "");
    record(SRC_PROBE_DEFERRED, 1200, THREAD, "phy", "no %s yet, %s\n", "regulator");
    record(SRC_PROBE_DEFERRED, 1300, THREAD, "mute", "", "");
    record(SRC_PROBE_DEFERRED, 1400, THREAD, "ends", "100%", "text");
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 100000, UINT64_MAX);
    run();
    assert_int_equal(out.count, 5);
    TEXTS(0, "al-consumer", "supplier al-supplier not ready", "al-supplier");
    TEXTS(1, "al-defer", "clock not there yet (%d)", "");
    TEXTS(2, "phy", "no regulator yet, %s", "");
    TEXTS(3, "mute", "", "");
    TEXTS(4, "ends", "100%", "");
}

/* A successor's converter knows the probes in progress. */
static void a_successor_knows_the_start(void **state)
{
    struct convert c;
    int            fd = memfd_create("snapshot", MFD_CLOEXEC);
    (void)state;
    record(SRC_PROBE_START, 1000, THREAD, "0000:00:04.0", "xhci_hcd", "pci");
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 2000, 1500);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    take_all(&c);
    assert_true(convert_settled(&c));
    assert_int_equal(convert_snapshot_write(&c, c.read_pos, fd, NULL), 0);
    convert_finish(&c);
    end_of(SRC_PROBE_END, 3000, THREAD, 0);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 100000, UINT64_MAX);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    assert_int_equal(convert_snapshot_read(&c, fd, NULL), 0);
    take_all(&c);
    convert_finish(&c);
    close(fd);
    assert_int_equal(out.count, 2);
    expect_end(TEXTS(1, "0000:00:04.0", "xhci_hcd", "pci"), 0, 2000);
}

/* More calls at a time than are kept: only the oldest loses its names. */
static void very_many_at_a_time(void **state)
{
    enum { MANY = 300, KEPT = 256 };
    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        record(SRC_PROBE_START, 1000 + i, 1000 + i, "device", "driver", "bus");
    for (uint32_t i = 0; i < MANY; i++)
        end_of(SRC_PROBE_END, 5000 + i, 1000 + i, 0);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 100000, UINT64_MAX);
    run();
    assert_int_equal(out.count, 2 * MANY);
    for (unsigned i = 0; i < MANY; i++)
        TEXTS(MANY + i, i < MANY - KEPT ? "" : "device");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(each_end_has_its_start), T(the_words_of_a_deferral),
                                       T(a_successor_knows_the_start), T(very_many_at_a_time),
                                       cmocka_unit_test(every_class_is_read_back)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
