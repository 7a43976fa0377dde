/* Where a Windows path lives here. Proves: REG-06. */
#include "registry-sim/text/winpath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *name, *path; /* NULL: refused with `status` */
    wstatus     status;
    bool        absolute_ok;
} rows[] = {
    {"c:\\test\\boot_A+B_1_km_premerge.etl", "/var/log/al/c/test/boot_A+B_1_km_premerge.etl", 0, false},
    {"D:/x.etl", "/var/log/al/d/x.etl", 0, false},
    {"%systemroot%\\System32\\LogFiles\\WMI\\a.etl", "/var/log/al/c/Windows/System32/LogFiles/WMI/a.etl", 0, false},
    {"name.etl", "/var/log/al/name.etl", 0, false},
    {"sub\\n\xC3\xA4me.etl.001", "/var/log/al/sub/n\xC3\xA4me.etl.001", 0, false},
    {"%Other%\\x", "/var/log/al/%Other%/x", 0, false},
    {"a..b/..c", "/var/log/al/a..b/..c", 0, false},
    {"/var/log/al/x.etl", "/var/log/al/x.etl", 0, false},
    {"/home/u/x.etl", "/home/u/x.etl", 0, true},
    {"/home/u/x.etl", NULL, W_BAD_PATHNAME, false},
    {"/var/log/almost/x.etl", NULL, W_BAD_PATHNAME, false},
    {"/var/log/al/../x", NULL, W_INVALID_NAME, true},
    {"", NULL, W_INVALID_NAME, false},
    {"..\\x", NULL, W_INVALID_NAME, false},
    {"C:\\a\\..\\..\\x", NULL, W_INVALID_NAME, false},
    {"C:\\a\\.\\x", NULL, W_INVALID_NAME, false},
    {"C:\\a\\\\x", NULL, W_INVALID_NAME, false},
    {"C:\\a\\", NULL, W_INVALID_NAME, false},
    {"C:\\", NULL, W_INVALID_NAME, false},
    {"C:", NULL, W_BAD_PATHNAME, false},
    {"C:x", NULL, W_BAD_PATHNAME, false},
    {"%SystemRoot%", NULL, W_INVALID_NAME, false},
    {"/", NULL, W_INVALID_NAME, true},
    {"a\nb", NULL, W_INVALID_NAME, false},
    {"a\xFF", NULL, W_INVALID_NAME, false},
    {"\\\\?\\C:\\x", NULL, W_BAD_PATHNAME, false},
    {"\\\\server\\share\\x", NULL, W_BAD_PATHNAME, false},
    {"//server/x", NULL, W_BAD_PATHNAME, true},
    {"\\??\\C:\\x", NULL, W_BAD_PATHNAME, false},
    {"\\x", NULL, W_BAD_PATHNAME, false},
};

static void every_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char         *path;
        struct reason why = {0};
        wstatus       st =
            winpath_map(rows[i].name, i % 2 ? "/var/log/al/" : "/var/log/al", rows[i].absolute_ok, &path, &why);
        if (st != rows[i].status)
            print_message("%s: %s\n", rows[i].name, why.text);
        assert_int_equal(st, rows[i].status);
        if (rows[i].path)
            assert_string_equal(path, rows[i].path);
        else
            assert_true(!path && strlen(why.text) > 10);
        free(path);
    }
}

static void long_names(void **state)
{
    char          name[1100], *path;
    struct reason why;
    (void)state;
    memset(name, 'x', sizeof name);
    for (size_t i = 200; i < 1024; i += 200)
        name[i] = '\\';
    name[1024] = 0;
    assert_int_equal(winpath_map(name, "/l", false, &path, &why), 0);
    free(path);
    name[1024] = 'x', name[1025] = 0;
    assert_int_equal(winpath_map(name, "/l", false, &path, &why), W_FILENAME_EXCED_RANGE);
    memset(name, 'x', 256);
    name[256] = 0;
    assert_int_equal(winpath_map(name, "/l", false, &path, &why), W_FILENAME_EXCED_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form), cmocka_unit_test(long_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
