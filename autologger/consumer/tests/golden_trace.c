/* The traces of tools/dev/make_traces.c by OpenTrace, ProcessTrace and tdh.h, as a program reads them: counts, first
 * and last time, one order over all of them, buffers, TraceLogging fields by name and value.
 * Proves: CON-01, CON-02, CON-03, CON-04, CON-05, TLG-01 and TLG-13 (decoded without a manifest), TLG-03. D-50: from a
 * clone alone. */
#include "autologger/consumer/tests/traced_files.h"

#define START UINT64_C(133500000000000000)
/* clang-format off */
static const struct row rows[] = {
    {"small.etl", 4, 4, 3, START, START + 300,
     {"Contoso-Made/Request Number=1 Path=/index.html\n", "Contoso-Made/Request Number=2 Path=/\xc3\xa9t\xc3\xa9\n",
      "Contoso-Made/Request Number=3 Path=\n"}},
    {"programs.etl", 121, 103, 6, START, START + 12000, {0}},
    {"compressed.etl", 201, 201, 7, START, START + 20000,
     {"Contoso-Made/Request Number=7 Path=/the/same/long/path/each/time\n"}},
    {"kernel.etl", 930, 930, 8, START, START + 722450, {0}},
};
/* clang-format on */
enum { FILES = sizeof rows / sizeof *rows };

static void each_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++)
        traced_one(&rows[i]);
}

static void all_together(void **state)
{
    (void)state;
    traced_together(rows, 3);
}

int main(void)
{
    snprintf(traced_folder, sizeof traced_folder, "%s", AL_BINARY_DIR "/made");
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_file), cmocka_unit_test(all_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
