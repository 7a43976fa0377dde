/* A configuration of Windows through the sealed snapshot: what the snapshot exports is what the store exports, byte by
 * byte.
 * Proves: REG-16. */
#include "registry-sim/store/snapshot.h"
#include "registry-sim/text/tests/trees.h"
#include "registry-sim/text/winpath.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void export_round_trip(void **state)
{
    static const char *const   names[] = {"boot.reg", "boot-utf8.reg"};
    const struct snapshot_head head    = {.time = 1};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct regstore *s, *sealed;
        struct diag_sink sink = {0};
        size_t           size, packed, sizes[2];
        uint8_t         *bytes;
        void            *texts[2];
        char            *reg = made_dup(names[i], &size);
        assert_non_null(reg);
        assert_int_equal(regstore_open_memory(&s, NULL), 0);
        assert_int_equal(reg_import(s, reg, size, names[i], 0, &sink, NULL), 0);
        assert_int_equal(snapshot_pack(s, &head, &bytes, &packed, NULL), 0);
        assert_int_equal(regstore_open_snapshot_bytes(bytes, packed, "real", &sealed, NULL, NULL), 0);
        assert_int_equal(reg_export(s, WINPATH_WMI, true, &texts[0], &sizes[0], NULL), 0);
        assert_int_equal(reg_export(sealed, WINPATH_WMI, true, &texts[1], &sizes[1], NULL), 0);
        assert_true(sizes[0] > 1000);
        assert_int_equal(sizes[0], sizes[1]);
        assert_memory_equal(texts[0], texts[1], sizes[0]);
        free(texts[0]);
        free(texts[1]);
        free(bytes);
        free(reg);
        regstore_close(sealed);
        regstore_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(export_round_trip)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
