/* Files of Windows, read in full: the counts of Windows' own tools, time order, no damage. */
#include "autologger/etl/tests/counted_files.h"
#include "tools/dev/foreign.h"

static char folder[4096];

static void counts_and_order(void **state)
{
    static const struct file files[] = {
        {"lxcore_kernel.etl", "lxcore_kernel", 4, 6, 3},
        {"krabsetw_powershell.etl", "usermode_trace", 114, 32, 26},
        {"perfview_SelfDescribingSingleEvent.etl", "Relogger", 23, 12, 3},
        {"ShutdownPerfDiagLogger.etl", "PerfDiag Logger", 17078, 2, 49},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        counted_file(folder, &files[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_and_order)};
    return foreign_path("etl", folder, sizeof folder) ? cmocka_run_group_tests(tests, NULL, NULL) : FOREIGN_SKIPPED;
}
