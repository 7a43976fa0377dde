/* Files of Windows by OpenTrace, ProcessTrace and tdh.h, as a program reads them. */
#include "autologger/consumer/tests/traced_files.h"
#include "tools/dev/foreign.h"

/* clang-format off */
static const struct row rows[] = {
    {"lxcore_kernel.etl", 4, 4, 3, 132392018711387363, 132392018769038717,
     {"Microsoft.Windows.Subsystem.LxCore/BreakPoint ErrorLevel=2 ", " LxPid=-1 LxTid=-1 LxNs=0",
      " Function=LxpInstanceStart Line=2659 Message=[0xc0000034] LxpInstanceInitialize\n"}},
    {"krabsetw_powershell.etl", 114, 2, 26, 133245763580175449, 133245764954389431, {0}},
    {"perfview_SelfDescribingSingleEvent.etl", 23, 19, 3, 132949636352722435, 132949636386377035,
     {"MySource/TestEvent b=Hello c=World!\n"}},
    {"ShutdownPerfDiagLogger.etl", 17078, 17078, 49, 132273542277445790, 132273837516538124, {0}},
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_file), cmocka_unit_test(all_together)};
    return foreign_path("etl", traced_folder, sizeof traced_folder) ? cmocka_run_group_tests(tests, NULL, NULL)
                                                                    : FOREIGN_SKIPPED;
}
