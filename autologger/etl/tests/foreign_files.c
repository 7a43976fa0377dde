/* Real files of Windows, read in full: counts as the data's README says, time order, no damage.
 * Proves: CON-02 (chronological over CPUs), SPC-09 (decoding an .etl), the reader's real-file rows. */
#include "autologger/etl/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const struct file {
    const char *name, *logger;
    unsigned    events, processors, buffers;
} files[] = {
    {"lxcore_kernel.etl", "lxcore_kernel", 4, 6, 3},
    {"krabsetw_powershell.etl", "usermode_trace", 114, 32, 26},
    {"perfview_SelfDescribingSingleEvent.etl", "Relogger", 23, 12, 3},
    {"ShutdownPerfDiagLogger.etl", "PerfDiag Logger", 17078, 2, 49},
};
static char folder[4096];

static void counts_and_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char               path[5000];
        struct etl_reader *r;
        struct reason      why;
        struct etl_event   e;
        unsigned           count = 0, inversions = 0, damage;
        int64_t            last = INT64_MIN;

        snprintf(path, sizeof path, "%s/etl/%s", folder, files[i].name);
        assert_int_equal(etl_reader_open(path, &r, &why), W_SUCCESS);
        while (etl_next(r, &e)) {
            count++;
            inversions += e.raw_time < last;
            last = e.raw_time;
        }
        etl_reader_damage(r, &damage);
        assert_int_equal(damage, 0);
        assert_int_equal(count, files[i].events);
        assert_string_equal(etl_reader_header(r)->logger_name, files[i].logger);
        assert_int_equal(etl_reader_header(r)->raw.processors, files[i].processors);
        assert_int_equal(etl_reader_header(r)->buffers_found, files[i].buffers);
        assert_int_equal(inversions, 0);
        assert_int_equal(etl_reader_header(r)->buffers_found, etl_reader_header(r)->raw.buffers_written);
        etl_reader_close(r);
    }
}

int main(void)
{
    const char *data = getenv("AUTOLOGGER_DATA");
    snprintf(folder, sizeof folder, "%s", data ? data : AL_SOURCE_DIR "/../shared/data");
    if (access(folder, R_OK) != 0) {
        printf("skipped: no folder %s (set AUTOLOGGER_DATA)\n", folder);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_and_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
