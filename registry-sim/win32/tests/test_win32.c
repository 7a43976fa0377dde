/* GUIDs, Status table, UTF-16 and FILETIME. Proves: API-29, REG-17 (names without case); a provider's GUID by its
 * name. */
#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/utf16.h"
#include "registry-sim/win32/wstatus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void status_table_is_sorted_and_complete(void **state)
{
    (void)state;
    /* every number of autologger-registry.md section 7 and session-semantics.md section 12 */
    static const wstatus named[] = {0,    1,    2,    3,    5,    6,    8,    13,   14,   19,   21,   24,  32,   50,
                                    87,   112,  122,  123,  161,  170,  183,  206,  234,  267,  534,  998, 1168, 1223,
                                    1313, 1314, 1450, 1460, 1502, 1784, 1901, 4200, 4201, 4206, 4317, 7007};
    size_t               count;
    const struct wstatus_row *rows = wstatus_table(&count);

    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        assert_non_null(wstatus_find(named[i]));
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || rows[i - 1].number < rows[i].number);
        assert_true(strlen(rows[i].text) > 5 && strlen(rows[i].advice) > 5);
    }
    assert_null(wstatus_find(99999));
}

/* API-29: by the names of winerror.h, each once. */
static void numbers_have_their_names(void **state)
{
    /* clang-format off */
    static const struct { wstatus number; const char *name; } named[] = {
        {0, "ERROR_SUCCESS"}, {5, "ERROR_ACCESS_DENIED"}, {6, "ERROR_INVALID_HANDLE"}, {8, "ERROR_NOT_ENOUGH_MEMORY"},
         {13, "ERROR_INVALID_DATA"},
        {32, "ERROR_SHARING_VIOLATION"}, {50, "ERROR_NOT_SUPPORTED"}, {87, "ERROR_INVALID_PARAMETER"},
         {112, "ERROR_DISK_FULL"},
        {161, "ERROR_BAD_PATHNAME"}, {183, "ERROR_ALREADY_EXISTS"}, {234, "ERROR_MORE_DATA"},
         {534, "ERROR_ARITHMETIC_OVERFLOW"},
        {1313, "ERROR_NO_SUCH_PRIVILEGE"}, {1314, "ERROR_PRIVILEGE_NOT_HELD"}, {1450, "ERROR_NO_SYSTEM_RESOURCES"},
         {1502, "ERROR_LOG_FILE_FULL"},
        {4200, "ERROR_WMI_GUID_NOT_FOUND"}, {4201, "ERROR_WMI_INSTANCE_NOT_FOUND"}};
    /* clang-format on */
    size_t                    count;
    const struct wstatus_row *rows = wstatus_table(&count);
    (void)state;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        assert_string_equal(wstatus_name(named[i].number), named[i].name);
    for (size_t i = 0; i < count; i++) {
        assert_memory_equal(rows[i].name, "ERROR_", 6);
        assert_string_equal(wstatus_name(rows[i].number), rows[i].name);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(rows[i].name, rows[k].name);
    }
}

static void guid_text_round_trips(void **state)
{
    struct guid g, h;
    char        text[GUID_TEXT_SIZE];
    (void)state;
    assert_true(guid_parse("{9E814AAD-3204-11D2-9A82-006008A86939}", &g));
    assert_string_equal(guid_format(&g, text), "{9e814aad-3204-11d2-9a82-006008a86939}");
    assert_true(guid_parse("9e814aad-3204-11d2-9a82-006008a86939", &h) && guid_equal(&g, &h));
    static const char *bad[] = {"",
                                "{",
                                "9e814aad",
                                "{9e814aad-3204-11d2-9a82-006008a86939",
                                "9e814aad-3204-11d2-9a82-006008a86939}",
                                "{9e814aad-3204-11d2-9a82-006008a86939} "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(guid_parse(bad[i], &g));
    assert_false(guid_parse_braced("9e814aad-3204-11d2-9a82-006008a86939", &g));
}

static void provider_name_hash(void **state)
{
    static const char *rows[][2] = {{"MySource", "{a61ea624-4944-55fc-c2a8-37838829438d}"},
                                    {"MyProvider", "{b3864c38-4273-58c5-545b-8b3608343471}"},
                                    {"LinuxEtw", "{6535c658-d024-5f9a-907d-600ffbf39765}"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char        text[GUID_TEXT_SIZE];
        struct guid g = guid_from_name(rows[i][0]);
        assert_string_equal(guid_format(&g, text), rows[i][1]);
    }
}

static void names_compare_without_case(void **state)
{
    (void)state;
    assert_int_equal(name_compare("Autologger", "AUTOLOGGER"), 0);
    assert_int_equal(name_compare("Größe-Ωμέγα-Ж", "GRÖßE-ωΜΈΓΑ-ж"), 0);
    assert_true(name_compare("a", "B") < 0 && name_compare("ab", "A") > 0 && name_compare("a", "AB") < 0 &&
                name_compare("", "a") < 0);
    assert_true(name_compare("plainä", "PLAINz") > 0 && name_compare("PLAINZ", "plainÄ") < 0 &&
                name_compare("xÄ", "Xä") == 0);
    /* around the letters */
    assert_true(name_compare("[", "a") > 0 && name_compare("`", "A") > 0 && name_compare("{", "Z") > 0);
    char *fold = name_fold_dup("äb\xED\xA0\x80");
    assert_string_equal(fold, "ÄB\xED\xA0\x80");
    free(fold);
}

static void utf16_round_trips(void **state)
{
    static const char *texts[] = {"", "plain", "Größe", "\xF0\x9F\x9A\x80", "\xED\xA0\x80x"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint8_t wide[64];
        char    back[64];
        size_t  n = utf8_to_utf16le(texts[i], strlen(texts[i]), wide, sizeof wide);
        assert_int_equal(utf16le_to_utf8(wide, n, back, sizeof back), strlen(texts[i]));
        assert_string_equal(back, texts[i]);
    }
    char small[4]; /* room for whole characters only, always terminated */
    assert_int_equal(utf16le_to_utf8("a\0\xE4\0b\0", 6, small, 3), 4);
    assert_string_equal(small, "a");
}

static void filetime_text(void **state)
{
    char text[FILETIME_TEXT_SIZE];
    (void)state;
    assert_string_equal(filetime_format(FILETIME_UNIX_EPOCH + 8873095, text), "1970-01-01T00:00:00.887309500Z");
    assert_int_equal(filetime_to_unix_ns(filetime_from_unix_ns(1234567800)), 1234567800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_table_is_sorted_and_complete),
        cmocka_unit_test(numbers_have_their_names),
        cmocka_unit_test(guid_text_round_trips),
        cmocka_unit_test(provider_name_hash),
        cmocka_unit_test(names_compare_without_case),
        cmocka_unit_test(utf16_round_trips),
        cmocka_unit_test(filetime_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
