/* The table of values, its INI vocabulary, and the pages made from it.
 * Proves: REG-13, REG-14, REG-15, REG-16 (the words of values), KRN-10, KRN-15 (@file, unknown names). */
#include "autologger/plan/amounts.h"
#include "autologger/plan/boot_settings.h"
#include "autologger/plan/reference.h"
#include "autologger/plan/values.h"
#include "autologger/wire/filter.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/winpath.h"
#include "registry-sim/win32/utf16.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <cmocka.h>

#define ROWS(table) (sizeof(table) / sizeof *(table))
#define WMI WINPATH_WMI
#define SESSION_KEY WMI "\\Autologger\\web"
#define PROVIDER_KEY SESSION_KEY "\\{aaaaaaaa-0000-0000-0000-000000000001}"

static const struct {
    unsigned    scope;
    const char *key;
} scope_keys[] = {
    {IN_WMI, WMI},
    {IN_GLOBAL_LOGGER, WMI "\\GlobalLogger"},
    {IN_WPP, WMI "\\globallogger\\{x}"},
    {IN_BOOT, WMI "\\autologger"},
    {IN_AUTOLOGGER, SESSION_KEY},
    {IN_PROVIDER, PROVIDER_KEY},
    {IN_FILTERS, PROVIDER_KEY "\\Filters"},
    {IN_FILTER_PART, PROVIDER_KEY "\\filters\\EventNameFilter"},
    {IN_SETS, WMI "\\CollectorSet"},
    {IN_SET, WMI "\\collectorset\\web"},
    {IN_AUTOLOGGER, WMI "\\CollectorSet\\web\\requests"},
    {IN_PROVIDER, WMI "\\CollectorSet\\web\\requests\\{x}"},
    {IN_FILTERS, WMI "\\CollectorSet\\web\\requests\\{x}\\Filters"},
    {IN_AUTOLOGGER, "HKLM/SYSTEM/ControlSet001/Control/WMI/AutoLogger/a b"},
    {IN_GLOBAL_LOGGER, "HKEY_LOCAL_MACHINE\\PE_SYSTEM\\ControlSet002\\Control\\WMI\\GlobalLogger"},
    {0, WMI "\\XPerfBootmgr"},
    {0, WMI "\\Security\\x"},
    {0, PROVIDER_KEY "\\Filter"},
    {0, PROVIDER_KEY "\\Filters\\a\\b"},
    {0, "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control"},
    {0, "HKEY_LOCAL_MACHINE\\SYSTEM\\ControlSet\\Control\\WMI"},
    {0, "HKEY_LOCAL_MACHINE\\SYSTEM\\ControlSetX01\\Control\\WMI"},
    {0, ""},
};

static void keys_have_their_scope(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(scope_keys); i++)
        if (value_scope_of(scope_keys[i].key) != scope_keys[i].scope)
            fail_msg("%s: %u", scope_keys[i].key, value_scope_of(scope_keys[i].key));
}

static void table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < VALUE_COUNT; i++) {
        const struct value_row *row = &value_rows[i];
        assert_true(row->scopes && *row->name && strlen(row->help) > 5 && strlen(row->absent) > 0);
        assert_true(!row->high || (row->low <= row->high && row->fallback <= row->high));
        for (size_t j = 0; j < i; j++)
            if ((row->scopes & value_rows[j].scopes) && strcasecmp(row->name, value_rows[j].name) == 0)
                fail_msg("%s stands twice in one scope", row->name);
        for (unsigned scope = IN_WMI; scope <= IN_FILTER_PART; scope *= 2)
            if (row->scopes & scope)
                assert_ptr_equal(value_find(scope, row->name), row);
    }
    size_t                  count;
    const struct value_bit *bits = mode_bits(&count);
    for (size_t i = 0; i < count; i++)
        assert_true(bits[i].bit && !(bits[i].bit & (bits[i].bit - 1)) && (i == 0 || bits[i].bit > bits[i - 1].bit));
    bits = property_bits(&count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(bits[i].bit, i + 1 < count ? 1u << i : PROPERTY_CPU_TIME); /* Windows', and ours */
}

/* Texts for each kind of words, and the texts that they give back. */
static const struct {
    enum value_words words;
    const char      *text, *back;
} samples[] = {
    {WORDS_BOOL, "yes", "yes"},
    {WORDS_BOOL, "OFF", "no"},
    {WORDS_BOOL, "1", "yes"},
    {WORDS_BOOL, "7", "7"},
    {WORDS_NUMBER, "300", "300"},
    {WORDS_NUMBER, "0x12c", "300"},
    {WORDS_NUMBER, "4294967295", "4294967295"},
    {WORDS_BITS, "0x40", "0x40"},
    {WORDS_BITS, "64 + 0x1", "0x41"},
    {WORDS_KILOBYTES, "1024 KB", "1024 KB"},
    {WORDS_KILOBYTES, "1 mb", "1024 KB"},
    {WORDS_KILOBYTES, "64", "64 KB"},
    {WORDS_MEGABYTES, "2 GB", "2048"},
    {WORDS_MEGABYTES, "100", "100"},
    {WORDS_MEGABYTES, "2048KB", "2"},
    {WORDS_SECONDS, "1 min", "60"},
    {WORDS_SECONDS, "5", "5"},
    {WORDS_SECONDS, "2000 ms", "2"},
    {WORDS_TIME, "5 min", "300 s"},
    {WORDS_TIME, "30", "30 s"},
    {WORDS_CLOCK, "qpc", "QPC"},
    {WORDS_CLOCK, "SystemTime", "SystemTime"},
    {WORDS_CLOCK, "9", "9"},
    {WORDS_MODE, "SEQUENTIAL+USE_KBYTES_FOR_SIZE", "SEQUENTIAL+USE_KBYTES_FOR_SIZE"},
    {WORDS_MODE, "0", "0"},
    {WORDS_MODE, "real_time + 0x40000000", "REAL_TIME+0x40000000"},
    {WORDS_MODE, "0x400", "BUFFERING"},
    {WORDS_LEVEL, "informational", "Informational"},
    {WORDS_LEVEL, "info", "Informational"},
    {WORDS_LEVEL, "17", "17"},
    {WORDS_PROPERTY, "SID+STACK_TRACE", "SID+STACK_TRACE"},
    {WORDS_KERNEL_FLAGS, "cswitch+PROC_THREAD+Loader", "PROC_THREAD+LOADER+CSWITCH"},
    {WORDS_HOOKS, "Profile+0x0501+cswitch", "Profile+ThreadCreate+CSwitch"},
    {WORDS_GUID, "{0063715B-eeda-4007-9429-ad526f62696e}", "{0063715B-eeda-4007-9429-ad526f62696e}"},
    {WORDS_GUID, "0063715b-eeda-4007-9429-ad526f62696e", "{0063715b-eeda-4007-9429-ad526f62696e}"},
    {WORDS_PATH, "c:/test/a.etl", "c:/test/a.etl"},
    {WORDS_TEXT, "\xc3\x84\xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\x84\xe2\x82\xac \xf0\x9f\x98\x80"},
    {WORDS_DWORD_LIST, "4096, 0x10", "4096, 16"},
    {WORDS_ID_LIST, "17, 100-103", "17, 100-103"},
    {WORDS_ID_LIST, "not 1,2,3", "1-3"}, /* "not" is a value of its own */
    {WORDS_ID_LIST, "0-63", "0-63"},
    {WORDS_ID_LIST, "65535, 5 , 4, 0x10", "65535, 5, 4, 16"},
    {WORDS_ID_LIST, "7,8", "7, 8"},
    {WORDS_NAME_LIST, "web , db,x y", "web, db, x y"},
    {WORDS_NAME_LIST, "a;b", "a, b"},
    {WORDS_PAYLOAD, "Start: Size>=4096 and Name contains 'a b', Other: x is y",
     "Start: Size >= 4096 and Name contains 'a b', Other: x is y"},
    {WORDS_STOP_AFTER, "boot-done + 10 s", "boot-done + 10 s"},
    {WORDS_STOP_AFTER, "90 s", "90 s"},
    {WORDS_KEEP, "10 boots, 2 GB", "10 boots, 2 GB"},
    {WORDS_USER_STACKS, "frame-pointers", "frame-pointers"},
    {WORDS_USER_STACKS, "DWARF", "dwarf 8 KB"},
    {WORDS_USER_STACKS, "dwarf, 2 KB", "dwarf 2 KB"},
    {WORDS_USER_STACKS, "dwarf 1536 B", "dwarf 1536 B"},
};

static const char *key_of(const struct value_row *row)
{
    for (size_t i = 0; i < ROWS(scope_keys); i++)
        if (row->scopes & scope_keys[i].scope)
            return scope_keys[i].key;
    return NULL;
}

static void free_value(struct regvalue *v)
{
    free((void *)(uintptr_t)v->data);
    *v = (struct regvalue){0};
}

/* Every row of values.def: text -> typed value -> text -> the same bytes. */
static void every_row_round_trips(void **state)
{
    const struct ini_vocabulary *words = plan_vocabulary();
    (void)state;
    for (size_t i = 0; i < VALUE_COUNT; i++) {
        const struct value_row *row  = &value_rows[i];
        const char             *key  = key_of(row);
        unsigned                used = 0;
        for (size_t s = 0; s < ROWS(samples); s++) {
            struct regvalue first = {0}, second = {0};
            struct reason   why = {0};
            if (samples[s].words != row->words)
                continue;
            used++;
            if (words->parse(words->ctx, key, row->name, samples[s].text, NULL, &first, &why) != W_SUCCESS)
                fail_msg("%s = %s: %s", row->name, samples[s].text, why.text);
            assert_int_equal(first.type, row->type);
            assert_string_equal(first.name, row->name);
            char *text = words->print(words->ctx, key, &first);
            assert_non_null(text);
            assert_string_equal(text, samples[s].back);
            assert_int_equal(words->parse(words->ctx, key, row->name, text, NULL, &second, &why), W_SUCCESS);
            assert_int_equal(first.size, second.size);
            assert_memory_equal(first.data, second.data, first.size);
            free(text);
            free_value(&first);
            free_value(&second);
        }
        assert_true(used > 0 || row->words == WORDS_HEX);
    }
}

static void the_real_flags_and_stacks_have_words(void **state)
{
    static const uint8_t flags[32]  = {0x07, 0x07, 0, 0, 0x86, 0x02},
                         hooks[]    = {0x2e, 0x0f, 0, 0, 0x24, 0x05, 0, 0, 0x32, 0x05, 0, 0};
    static const uint8_t keyword[8] = {0x40};
    static const struct {
        struct regvalue value;
        const char     *key, *text;
    } rows[] = {
        {{"EnableKernelFlags", REG_TYPE_BINARY, flags, 32, NULL, 0},
         WMI "\\GlobalLogger",
         "PROC_THREAD+LOADER+DISK_IO+DISK_IO_INIT+PROFILE+CSWITCH+DPC+DISPATCHER"},
        {{"stackwalkingfilter", REG_TYPE_BINARY, hooks, 12, NULL, 0},
         WMI "\\GlobalLogger",
         "Profile+CSwitch+ReadyThread"},
        {{"MatchAnyKeyword", REG_TYPE_QWORD, keyword, 8, NULL, 0}, PROVIDER_KEY, "0x40"},
        /* not expressible in words: another length, type, key or name; bytes that would read back differently */
        {{"EnableKernelFlags", REG_TYPE_BINARY, flags, 4, NULL, 0}, WMI "\\GlobalLogger", NULL},
        {{"MatchAnyKeyword", REG_TYPE_DWORD, keyword, 4, NULL, 0}, PROVIDER_KEY, NULL},
        {{"MatchAnyKeyword", REG_TYPE_QWORD, keyword, 8, NULL, 0}, "HKLM\\x", NULL},
        {{"Mine", REG_TYPE_QWORD, keyword, 8, NULL, 0}, PROVIDER_KEY, NULL},
        {{"FileName", REG_TYPE_SZ, (const uint8_t *)"a\0", 2, NULL, 0}, SESSION_KEY, NULL},
        {{"FileName", REG_TYPE_EXPAND_SZ, (const uint8_t *)"a\0\0\0", 4, NULL, 0}, SESSION_KEY, NULL},
        {{"FileName", REG_TYPE_SZ, (const uint8_t *)"\n\0\0\0", 4, NULL, 0}, SESSION_KEY, NULL},
        {{"FileName", REG_TYPE_SZ, (const uint8_t *)"\"\0\0\0", 4, NULL, 0}, SESSION_KEY, NULL},
        {{"StackCaching", REG_TYPE_BINARY, flags, 3, NULL, 0}, SESSION_KEY, NULL},
        {{"BufferSize", REG_TYPE_DWORD, flags, 2, NULL, 0}, SESSION_KEY, NULL},
        {{"StackWalkingFilter", REG_TYPE_BINARY, NULL, 0, NULL, 0}, SESSION_KEY, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        char *text = plan_vocabulary()->print(NULL, rows[i].key, &rows[i].value);
        if (!rows[i].text && text)
            fail_msg("%s gave '%s'", rows[i].value.name, text);
        if (rows[i].text)
            assert_string_equal(text, rows[i].text);
        free(text);
    }
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *key, *name, *text, *part;
    } rows[] = {
        {SESSION_KEY, "BuferSize", "64", "no value of this name is known here, did you mean BufferSize?"},
        {SESSION_KEY, "Unrelated", "64", "no value of this name"},
        {PROVIDER_KEY, "BufferSize", "64", "no value of this name"},
        {"HKLM\\SOFTWARE", "x", "1", "write a literal"},
        {SESSION_KEY, "BufferSize", "64 KiB", "'64 KiB' is not a number with one of the units B KB MB GB"},
        {SESSION_KEY, "BufferSize", "100 B", "no whole number of KB"},
        {SESSION_KEY, "BufferSize", "99999999 GB", "too large"},
        {SESSION_KEY, "BufferSize", "99999999999999999999", "is not a number"},
        {SESSION_KEY, "MinimumBuffers", "4294967296", "32 bits"},
        {SESSION_KEY, "MinimumBuffers", "-1", "not a number"},
        {SESSION_KEY, "MinimumBuffers", "", "not a number"},
        {SESSION_KEY, "MinimumBuffers", "12x", "not a number"},
        {SESSION_KEY, "MinimumBuffers", "0x", "not a number"},
        {SESSION_KEY, "MaxFileSize", "512 KB", "USE_KBYTES_FOR_SIZE"},
        {SESSION_KEY, "FlushTimer", "500 ms", "USE_MS_FLUSH_TIMER"},
        {SESSION_KEY, "Start", "yess", "did you mean yes?"},
        {SESSION_KEY, "ClockType", "SystemTme", "did you mean SystemTime?"},
        {SESSION_KEY, "LogFileMode", "SEQUENTIAL+CIRCULR", "unknown word 'CIRCULR', did you mean CIRCULAR?"},
        {SESSION_KEY, "LogFileMode", "", "unknown word ''"},
        {SESSION_KEY, "EnableKernelFlags", "PROC_THRED", "unknown kernel flag 'PROC_THRED', did you mean PROC_THREAD?"},
        {SESSION_KEY, "StackWalkingFilter", "Profle", "did you mean Profile?"},
        {SESSION_KEY, "StackWalkingFilter", "@/no/such/file", "can't be opened"},
        {SESSION_KEY, "Guid", "{1}", "not of the form"},
        {SESSION_KEY, "StackCaching", "1,x", "not a number"},
        {PROVIDER_KEY, "EnableLevel", "Informal", "unknown word 'Informal'"},
        {PROVIDER_KEY, "EnableLevel", "Verbos", "did you mean Verbose?"},
        {PROVIDER_KEY "\\Filters", "EventIds", "65536", "16 bits"},
        {PROVIDER_KEY "\\Filters", "EventIds", "0-64", "more than 64"},
        {PROVIDER_KEY "\\Filters", "EventIds", "1, 0-63", "more than 64"},
        {PROVIDER_KEY "\\Filters", "EventIds", "9-7", "no range"},
        {PROVIDER_KEY "\\Filters", "EventIds", "not", "not"},
        {PROVIDER_KEY "\\Filters", "EventIds", "not ", "names no event id"},
        {PROVIDER_KEY "\\Filters", "EventIds", "7, x", "'x'"},
        {PROVIDER_KEY "\\Filters", "StackWalkIds", "7-", "not a number"},
        {PROVIDER_KEY "\\Filters", "SchematizedFilters", "x", "hex:"},
        {WMI "\\Autologger", "StopAfter", "boot-done 10 s", "boot-done + TIME"},
        {WMI "\\Autologger", "StopAfter", "soon", "units"},
        {WMI "\\Autologger", "Keep", "10 boats", "number of boots"},
        {WMI "\\Autologger", "MaxWait", "1500 ms", "no whole number of s"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct regvalue value = {0};
        struct reason   why   = {0};
        wstatus         st = plan_vocabulary()->parse(NULL, rows[i].key, rows[i].name, rows[i].text, "/", &value, &why);
        wstatus         expected = value_scope_of(rows[i].key) ? W_INVALID_PARAMETER : W_BAD_PATHNAME;
        if (st != expected || !strstr(why.text, rows[i].part))
            fail_msg("%s = %s: Status %u '%s'", rows[i].name, rows[i].text, st, why.text);
    }
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void stacks_from_a_file(void **state)
{
    char                         folder[] = "/tmp/al-values-XXXXXX", path[256];
    struct regvalue              value    = {0};
    struct reason                why      = {0};
    const struct ini_vocabulary *words    = plan_vocabulary();
    (void)state;
    assert_non_null(mkdtemp(folder));
    write_file(folder, "good.txt",
               "! the three of the blog\nProfile CSwitch+\n\n  ReadyThread ! why it ran\n+0x0501\n");
    write_file(folder, "bad.txt", "Profile\nCSwich\n");
    write_file(folder, "empty.txt", "! nothing\n");
    assert_int_equal(words->parse(NULL, SESSION_KEY, "StackWalkingFilter", "@good.txt", folder, &value, &why),
                     W_SUCCESS);
    char *text = words->print(NULL, SESSION_KEY, &value);
    assert_string_equal(text, "Profile+CSwitch+ReadyThread+ThreadCreate");
    free(text);
    free_value(&value);
    assert_int_equal(words->parse(NULL, SESSION_KEY, "StackWalkingFilter", "@bad.txt", folder, &value, &why),
                     W_INVALID_PARAMETER);
    assert_non_null(strstr(why.text, "bad.txt:2: unknown stack name 'CSwich', did you mean CSwitch?"));
    assert_int_equal(words->parse(NULL, SESSION_KEY, "StackWalkingFilter", "@empty.txt", folder, &value, &why),
                     W_INVALID_PARAMETER);
    static const char *const names[] = {"good.txt", "bad.txt", "empty.txt"};
    for (size_t i = 0; i < ROWS(names); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void boot_settings_are_read(void **state)
{
    static const struct {
        const char *name, *text;
    } rows[] = {{"Once", "yes"}, {"StopAfter", "boot-done + 10 s"}, {"MaxWait", "5 min"}, {"Keep", "10 boots, 2 GB"}};
    struct regstore     *store;
    struct boot_settings s;
    struct reason        why;
    (void)state;
    assert_int_equal(regstore_open_memory(&store, &why), W_SUCCESS);
    assert_int_equal(boot_settings_read(store, &s, &why), W_SUCCESS); /* no key at all */
    assert_false(s.once || s.stops || s.declared);
    regstore_set_dword(store, WMI "\\Autologger", "Status", 0, &why);
    assert_int_equal(boot_settings_read(store, &s, &why), W_SUCCESS); /* a written-back value does not make a [Boot] */
    assert_false(s.declared || s.stops);
    regstore_set_dword(store, WMI "\\Autologger", "Once", 0, &why);
    assert_int_equal(boot_settings_read(store, &s, &why), W_SUCCESS); /* any other value does: the defaults apply */
    assert_true(s.declared && s.stops && s.after_boot_done && !s.once);
    assert_int_equal(s.stop_after_ms, 10000);
    assert_int_equal(s.max_wait_ms, 300000);
    regstore_set_string(store, WMI "\\Autologger", "StopAfter", "Never", &why);
    assert_int_equal(boot_settings_read(store, &s, &why), W_SUCCESS);
    assert_false(s.stops);
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct regvalue value = {0};
        assert_int_equal(
            plan_vocabulary()->parse(NULL, WMI "\\Autologger", rows[i].name, rows[i].text, "", &value, &why),
            W_SUCCESS);
        assert_int_equal(regstore_set(store, WMI "\\Autologger", &value, &why), W_SUCCESS);
        free_value(&value);
    }
    assert_int_equal(boot_settings_read(store, &s, &why), W_SUCCESS);
    assert_true(s.once && s.stops && s.after_boot_done);
    assert_int_equal(s.stop_after_ms, 10000);
    assert_int_equal(s.max_wait_ms, 300000);
    assert_int_equal(s.keep_boots, 10);
    assert_int_equal(s.keep_bytes, 2147483648u);
    assert_int_equal(s.conditions.count, 0); /* all values apply */
    boot_settings_finish(&s);
    regstore_set_string(store, WMI "\\Autologger", "Keep", "ten", &why);
    assert_int_equal(boot_settings_read(store, &s, &why), W_INVALID_PARAMETER);
    boot_settings_finish(&s);
    regstore_close(store);
}

static void the_reference_page_has_every_row(void **state)
{
    char  *page = NULL, *kept;
    size_t size, count;
    FILE  *out = open_memstream(&page, &size);
    (void)state;
    plan_reference(out);
    fclose(out);
    for (size_t i = 0; i < VALUE_COUNT; i++) {
        char cell[64];
        snprintf(cell, sizeof cell, "\n| %s | %s |", value_rows[i].name, value_type_name(value_rows[i].type));
        assert_non_null(strstr(page, cell));
        assert_non_null(strstr(page, value_rows[i].help));
    }
    const struct value_bit *bits = mode_bits(&count);
    for (size_t i = 0; i < count; i++)
        assert_non_null(strstr(page, bits[i].name));
    FILE *file = fopen(AL_SOURCE_DIR "/docs/reference/values.md", "r");
    assert_non_null(file);
    kept       = calloc(1, size + 2);
    size_t got = fread(kept, 1, size + 1, file);
    fclose(file);
    if (got != size || memcmp(kept, page, size) != 0)
        fail_msg("docs/reference/values.md is out of date: autologger_plan_reference > docs/reference/values.md");
    free(kept);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_have_their_scope),  cmocka_unit_test(table_is_sound),
        cmocka_unit_test(every_row_round_trips),  cmocka_unit_test(the_real_flags_and_stacks_have_words),
        cmocka_unit_test(mistakes_are_named),     cmocka_unit_test(stacks_from_a_file),
        cmocka_unit_test(boot_settings_are_read), cmocka_unit_test(the_reference_page_has_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
