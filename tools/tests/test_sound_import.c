/* Proves: bad input: a rehearsal starts what is sound and shows each refused declaration with 87, file and line. */
#include "tools/setup/sound_import.h"
#include "registry-sim/text/winpath.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

static char folder[64];

static const char *put(const void *data, size_t size)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/a", folder);
    FILE *to = fopen(path, "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(data, 1, size, to), size);
    fclose(to);
    return path;
}

struct wanted {
    const char *text;
    wstatus     status;
    unsigned    refusals;
    const char *session, *provider; /* of the first refusal */
    uint32_t    line;
    const char *sound, *gone; /* keys below WMI that are, are not there; NULL: not asked */
};

static const struct wanted rows[] = {
    {"[Autologger/a]\nBufferSize = 64 KB\n", 0, 0, NULL, NULL, 0, "Autologger\\a", NULL},
    {"[Autologger/a]\nBufferSize = many\n[Autologger/b]\nBufferSize = 64 KB\n", 0, 1, "a", "", 2, "Autologger\\b",
     "Autologger\\a"},
    {"[Autologger/a]\nBufferSize = 64 KB\n[Autologger/a/Web]\nEnableLevel = Lowd\n[Autologger/a/Two]\nEnabled = yes\n",
     0, 1, "a", "Web", 4, "Autologger\\a", NULL},
    /* a refused session takes its providers along */
    {"[Autologger/a/Web]\nEnabled = yes\n[Autologger/a]\nBufferSize = many\nFlushTimer = x\n", 0, 1, "a", "", 4, NULL,
     "Autologger\\a"},
    {"[GlobalLogger]\nEnableKernelFlags = PROC_THRED\n[Autologger/b]\nBufferSize = 64 KB\n", 0, 1, "GlobalLogger", "",
     2, "Autologger\\b", "GlobalLogger"},
    {"Windows Registry Editor Version 5.00\n\n[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger\\a]\n"
     "\"Start\"=dword:xyz\n\n[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger\\b]\n\"Start\"=dword:1\n",
     0, 1, "a", "", 4, "Autologger\\b", "Autologger\\a"},
    {"BufferSize = 64 KB\n", W_INVALID_DATA, 0, NULL, NULL, 0, NULL, NULL},
};

static void expect_key(struct regstore *store, const char *below, bool there)
{
    char key[256];
    if (!below)
        return;
    snprintf(key, sizeof key, WINPATH_WMI "\\%s", below);
    assert_int_equal(regstore_key_exists(store, key), there);
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct wanted *w     = &rows[i];
        struct regstore     *store = NULL;
        struct refusal_list  list  = {0};
        struct reason        why   = {0};
        assert_int_equal(regstore_open_memory(&store, &why), W_SUCCESS);
        assert_int_equal(sound_import(store, put(w->text, strlen(w->text)), &list, &why), w->status);
        if (w->status)
            assert_true(why.text[0] != 0);
        assert_int_equal(list.count, w->refusals);
        if (w->refusals) {
            assert_string_equal(list.items[0].session, w->session);
            assert_string_equal(list.items[0].provider, w->provider);
            assert_int_equal(list.items[0].line, w->line);
            assert_non_null(strstr(list.items[0].reason, "Do: "));
        }
        expect_key(store, w->sound, true);
        expect_key(store, w->gone, false);
        refusal_list_finish(&list);
        regstore_close(store);
    }
}

static void test_rows_of_refusals(void **state)
{
    (void)state;
    static const char   text[] = "[Autologger/a]\nBufferSize = 64 KB\n[Autologger/a/Web]\nEnableLevel = Lowd\n";
    struct regstore    *store  = NULL;
    struct refusal_list list   = {0};
    struct result_list  result = {0};
    struct reason       why    = {0};
    char                guid[GUID_TEXT_SIZE];
    struct guid         of_name = guid_from_name("Web");
    assert_int_equal(regstore_open_memory(&store, &why), W_SUCCESS);
    assert_int_equal(sound_import(store, put(text, strlen(text)), &list, &why), W_SUCCESS);
    assert_int_equal(refusal_list_add_to(&list, &result, &why), W_SUCCESS);
    assert_int_equal(result.count, 1);
    assert_string_equal(result.rows[0].session, "a");
    assert_string_equal(result.rows[0].name, "Web");
    assert_string_equal(result.rows[0].provider, guid_format(&of_name, guid));
    assert_int_equal(result.rows[0].status, W_INVALID_PARAMETER);
    assert_int_equal(result.rows[0].source_line, 4);
    assert_int_equal(result_level(&result.rows[0]), RESULT_FAILED);
    result_list_finish(&result);
    refusal_list_finish(&list);
    regstore_close(store);
}

/* A UTF-16 export with a mistake, and a file that is no text at all. */
static void test_encodings(void **state)
{
    (void)state;
    static const char text[] =
        "Windows Registry Editor Version 5.00\r\n\r\n"
        "[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger\\a]\r\n\"Start\"=dword:xyz\r\n";
    char                wide[2 * sizeof text] = "\xFF\xFE";
    struct regstore    *store                 = NULL;
    struct refusal_list list                  = {0};
    struct reason       why                   = {0};
    for (size_t i = 0; i + 1 < sizeof text; i++)
        wide[2 + 2 * i] = text[i];
    assert_int_equal(regstore_open_memory(&store, &why), W_SUCCESS);
    assert_int_equal(sound_import(store, put(wide, sizeof wide), &list, &why), W_SUCCESS);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0].line, 4);
    refusal_list_finish(&list);
    assert_int_equal(sound_import(store, put("a\0b", 3), &list, &why), W_INVALID_DATA);
    assert_int_equal(sound_import(store, "/nonexistent/a", &list, &why), W_FILE_NOT_FOUND);
    regstore_close(store);
}

/* Forty mistakes of one section: all are kept, by line, and the row says the first and how many more. */
static void test_every_mistake(void **state)
{
    (void)state;
    char                text[4096] = "[Autologger/none/Web]\n[Autologger/a]\n";
    struct regstore    *store      = NULL;
    struct refusal_list list       = {0};
    struct reason       why        = {0};
    for (unsigned i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "NoSuchValueOfASession%u = 64 KB\n", i);
    assert_int_equal(regstore_open_memory(&store, &why), W_SUCCESS);
    assert_int_equal(sound_import(store, put(text, strlen(text)), &list, &why), W_SUCCESS);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0].mistakes, 40);
    assert_int_equal(list.mistake_count, 41);
    assert_int_equal(list.mistakes[0].kind, DIAG_WARNING);
    assert_int_equal(list.mistakes[0].line, 1);
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(list.mistakes[1 + i].kind, DIAG_ERROR);
        assert_int_equal(list.mistakes[1 + i].line, 3 + i);
    }
    const char *more = strstr(list.items[0].reason, " (and 39 more)"), *advice = strstr(list.items[0].reason, " Do: ");
    assert_true(more && advice && more < advice);
    assert_null(strstr(advice + 1, " Do: "));
    refusal_list_finish(&list);
    regstore_close(store);
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/al-sound-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}
static int teardown(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/a", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_rows_of_refusals),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_every_mistake),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
