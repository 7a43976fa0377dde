/* Uevents as the kernel sends them, and invalid ones: fields by name, the rest as properties, hostile records. Missing
 * uevents are an event in their place, and not a record. */
#include "autologger/kernel/tests/convert_fixture.h"

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask = {0x1}, .clock = {1, CLOCK_READ_RAW, 1000000000}});
    return 0;
}

static void record(uint64_t time, const char *text, uint32_t size, uint32_t said, uint64_t lost)
{
    uint32_t          padded = (uint32_t)((sizeof(struct raw_device) + size + 7) & ~(size_t)7);
    struct raw_device r      = {.own = {RAW_DEVICE, 0, (uint16_t)padded, time, 0, 0}, .lost = lost, .text_size = said};
    maker_put(&maker, &r, sizeof r);
    maker_put(&maker, text, size);
    memset(maker.chunk + maker.used, 0xEE, padded - sizeof r - size); /* bytes behind the record do not belong to it */
    maker.used += padded - (uint32_t)sizeof r - size;
    maker.records++;
}

static void convert_all(struct convert *c)
{
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 100000, UINT64_MAX);
    assert_int_equal(convert_init(c, &config, &maker.log, NULL), 0);
    take_all(c);
}

static void expect_fields(unsigned event, const char *const want[6], uint64_t number, const char *rest)
{
    const char *p = described_fields(event);
    uint64_t    n;
    for (int i = 0; i < 6; i++, p += strlen(p) + 1)
        assert_string_equal(p, want[i]);
    memcpy(&n, p, sizeof n);
    assert_int_equal(n, number);
    assert_string_equal(p + sizeof n, rest);
}

#define ADDED \
    "add@/devices/pci0000:00/0000:00:05.0/nvme/nvme0/nvme0n1\0ACTION=add\0DEVPATH=/devices/pci0000:00/0000:00:05.0/nvme/nvme0/nvme0n1\0" \
    "SUBSYSTEM=block\0MAJOR=259\0MINOR=0\0DEVNAME=nvme0n1\0DEVTYPE=disk\0DISKSEQ=9\0SEQNUM=1431"

#define REMOVED "remove@/x\0ACTION=remove\0DEVPATH=/x\0SEQNUM=1444"

static void as_the_kernel_sends_them(void **state)
{
    struct convert c;
    (void)state;
    record(1000, ADDED, sizeof ADDED, sizeof ADDED, 0);
    record(2000, "", 0, 0, 12);
    record(3000, REMOVED, sizeof REMOVED, sizeof REMOVED, 0);
    convert_all(&c);
    assert_int_equal(out.count, 3);
    assert_int_equal(out.event[0].type, ETL_EVENT64);
    expect_fields(0,
                  (const char *const[]){"add", "/devices/pci0000:00/0000:00:05.0/nvme/nvme0/nvme0n1", "block", "disk",
                                        "nvme0n1", ""},
                  1431, "MAJOR=259 MINOR=0 DISKSEQ=9");
    uint64_t missing;
    memcpy(&missing, described_fields(1), sizeof missing);
    assert_int_equal(missing, 12);
    expect_fields(2, (const char *const[]){"remove", "/x", "", "", "", ""}, 1444, "");
    assert_true(out.event[0].time < out.event[1].time && out.event[1].time < out.event[2].time);
    assert_true(c.converted == 2 && c.loaded == 2 && c.lost == 0); /* the gap is not a drained record */
    convert_finish(&c);
}

static void as_nobody_should(void **state)
{
    static char    huge[8000];
    struct convert c;
    (void)state;
    memset(huge, 'a', sizeof huge);
    memcpy(huge, "x\0ACTION=", 9);
    record(1000, "no end", 6, 6, 0);          /* no NUL at all */
    record(2000, "x\0ACTION=add", 12, 12, 0); /* its last text has no NUL: it is left out */
    record(3000, huge, sizeof huge, sizeof huge, 0);
    record(4000, "x\0A=b", 6, 60000, 0); /* lies about its length */
    convert_all(&c);
    assert_int_equal(c.converted + c.lost, 4);
    assert_int_equal(c.lost, 1);
    assert_int_equal(out.count, 3);
    for (unsigned i = 0; i < 3; i++)
        expect_fields(i, (const char *const[]){"", "", "", "", "", ""}, 0, "");
    convert_finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(as_the_kernel_sends_them, setup, teardown),
                                       cmocka_unit_test_setup_teardown(as_nobody_should, setup, teardown),
                                       cmocka_unit_test(every_class_is_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
