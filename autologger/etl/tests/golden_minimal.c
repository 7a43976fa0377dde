/* The writer makes the minimal file of etl-format.md section 9, byte by byte; and the reader reads it back.
 * Proves: SES-14 (header clock), SES-20 (mode in the header). */
#include "autologger/etl/tests/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

struct patch {
    size_t      at;
    const char *hex;
};
/* all bytes that are neither zero nor filler; 00s between them are listed where they matter */
/* clang-format off */
static const struct patch expected[] = {
    {0x000, "00100000"}, {0x004, "A0010000"}, {0x008, "A0010000"}, {0x028, "00000100"}, {0x02C, "03000000"},
    {0x030, "A0010000"}, {0x034, "2100"}, {0x036, "0400"}, {0x048, "020002C0"}, {0x04C, "54010000"},
    {0x050, "0400000004000000"}, {0x058, "40420F0000000000"}, {0x068, "00100000"}, {0x06C, "0A000105"},
    {0x070, "614A0000"}, {0x074, "01000000"}, {0x078, "029CFB8E90E5D501"}, {0x080, "5A620200"}, {0x088, "01000000"},
    {0x08C, "02000000"}, {0x090, "01000000"}, {0x094, "08000000"}, {0x09C, "B80B0000"}, {0x160, "823BC85290E5D501"},
    {0x168, "8096980000000000"}, {0x170, "8205638E90E5D501"}, {0x178, "01000000"}, {0x180, "640065006D006F000000"},
    {0x18A, "640065006D006F002E00650074006C000000"},
    {0x1000, "00100000"}, {0x1004, "A0000000"},
    {0x1008, "A0000000"}, /* Windows writes A0100000; this is valid, too: the writer checklist, 8.3 */
    {0x1010, "C0D8A70000000000"}, {0x1018, "0100000000000000"}, {0x1028, "00000100"}, {0x102C, "03000000"},
    {0x1030, "A0000000"}, {0x1034, "21000000"}, {0x1048, "540013C0"}, {0x1050, "D20400002E160000"},
    {0x1058, "808D5B0000000000"}, {0x1060, "78563412BC9AF0DE1122334455667788"}, {0x1070, "0700000004000000"},
    {0x1098, "2A000000"},
};
/* clang-format on */

static void build_expected(uint8_t out[0x2000])
{
    memset(out, 0xFF, 0x2000);
    memset(out, 0, 0x1A0);
    memset(out + 0x1000, 0, 0xA0);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        for (size_t k = 0; expected[i].hex[2 * k]; k++) {
            unsigned v;
            assert_int_equal(sscanf(expected[i].hex + 2 * k, "%2X", &v), 1);
            out[expected[i].at + k] = (uint8_t)v;
        }
}

static void writer_makes_the_minimal_file(void **state)
{
    char                 folder[] = "/tmp/al-etl-XXXXXX", path[64];
    static uint8_t       want[0x2000], got[0x2001], buffer[0x1000];
    struct etl_writer   *w;
    struct reason        why;
    struct etl_file_info info = build_info(0x1000);
    uint64_t             end;
    (void)state;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/demo.etl", folder);
    build_expected(want);
    info.processors = 1;
    memcpy(&info.boot_time, want + 0x160, 8);
    memcpy(&info.start_time, want + 0x170, 8);
    memcpy(&end, want + 0x78, 8);
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
    struct etl_event_header h     = build_event(6000000, 4);
    uint32_t                value = 42;
    memset(buffer, 0x55, sizeof buffer);
    memcpy(buffer + 72, &h, sizeof h);
    memcpy(buffer + 72 + sizeof h, &value, sizeof value);
    assert_int_equal(etl_writer_put(w, buffer, 0x9C, 0, 11000000, &why), W_SUCCESS);
    assert_int_equal(etl_writer_finish(w, end, 0, true, &why), W_SUCCESS);
    etl_writer_destroy(w);

    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(got, 1, sizeof got, f), sizeof want);
    fclose(f);
    for (size_t i = 0; i < sizeof want; i++)
        if (got[i] != want[i])
            fail_msg("byte %#zx is %02x, should be %02x", i, got[i], want[i]);

    struct etl_reader *r;
    struct etl_event   e;
    unsigned           damage;
    assert_int_equal(etl_reader_open(path, &r, &why), W_SUCCESS);
    const struct etl_file_header *head = etl_reader_header(r);
    assert_string_equal(head->logger_name, "demo");
    assert_string_equal(head->file_name, "demo.etl");
    assert_int_equal(head->raw.clock_type, 1);
    assert_int_equal(head->raw.log_file_mode, 1);
    assert_int_equal(head->buffers_found, 2);
    assert_true(etl_next(r, &e));
    assert_int_equal(e.hook, 0);
    assert_true(e.kind == ETL_KIND_SYSTEM && e.filetime == info.start_time);
    assert_true(etl_next(r, &e));
    assert_int_equal(e.id, 7);
    assert_int_equal(e.payload_size, 4);
    assert_int_equal(e.payload[0], 42);
    assert_true(e.filetime == info.start_time + 5000000); /* half a second */
    assert_true(guid_equal(&e.provider, &build_provider));
    assert_false(etl_next(r, &e));
    etl_reader_damage(r, &damage);
    assert_int_equal(damage, 0);
    etl_reader_close(r);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(writer_makes_the_minimal_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
