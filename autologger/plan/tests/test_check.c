/* Checking a whole store, and the real XBootMgr configuration.
 * Proves: REG-01, REG-02, REG-03, REG-06, REG-07, REG-08, REG-11, REG-13, REG-15, KRN-11, KRN-12. */
#include "autologger/kernel/tables/flags.h"
#include "autologger/plan/check.h"
#include "autologger/wire/shm.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/winpath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define WMI "[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\"
#define GUID(n) "\"Guid\"=\"{11111111-0000-0000-0000-00000000000" n "}\"\n"

static void note_row(void *ctx, const struct check_row *row)
{
    static const char *const kinds[] = {"boot", "session", "provider"};
    FILE                    *out     = ctx;

    fprintf(out, "%s %s start %d status %u line %u conditions %u", kinds[row->kind], row->name, row->start, row->status,
            row->source_line, row->conditions->count);
    if (row->kind == CHECK_SESSION && row->start && !row->status)
        fprintf(out, " max %u path %s", row->plan->given.maximum_buffers, row->plan->log_path);
    fprintf(out, "%s%s\n", *row->reason ? ": " : "", row->reason);
}

static char *check_text(const char *text, const struct plan_limits *limits)
{
    struct regstore *store;
    struct diag_sink sink = {0};
    struct reason    why  = {0};
    char            *rows = NULL;
    size_t           size;

    assert_int_equal(regstore_open_memory(&store, &why), W_SUCCESS);
    if (text && reg_import(store, text, strlen(text), "all.reg", 0, &sink, &why) != W_SUCCESS)
        fail_msg("not imported: %s", why.text);
    FILE *out = open_memstream(&rows, &size);
    assert_int_equal(plan_check(store, limits, note_row, out, &why), W_SUCCESS);
    fclose(out);
    regstore_close(store);
    return rows;
}

static void rows_in_the_order_of_boot(void **state)
{
    static const char text[] = "Windows Registry Editor Version 5.00\n" WMI "Autologger\\zeta]\n\"Start\"=dword:"
                               "1\n" GUID("1")                             /* 2 */
        WMI "Autologger\\Beta]\n\"Start\"=dword:1\n" GUID("1")             /* 5 */
        WMI "Autologger\\alpha]\n\"Start\"=dword:1\n"                      /* 8: no Guid */
        WMI "Autologger\\nt kernel logger]\n\"Start\"=dword:1\n" GUID("2") /* 10 */
        WMI "Autologger\\off]\n\"Start\"=dword:0\n" GUID("1")              /* 13: not started, no clash */
        WMI "Autologger\\Beta\\{aaaaaaaa-0000-0000-0000-000000000001}]\n\"Enabled\"=dword:1\n" /* 16 */
        WMI "Autologger\\Beta\\other]\n\"Enabled\"=dword:1\n"                                  /* 18 */
        WMI "GlobalLogger]\n\"Start\"=dword:1\n\"EnableKernelFlags\"=hex:07,00,00,00\n"        /* 20 */
        WMI "Autologger]\n\"Once\"=dword:1\n"                                                  /* 23 */
            "[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI]\n\"StackCaptureTimeout\"=dword:5\n";
    struct plan_limits limits = {.processors = 1, .ram_bytes = GIB, .memory_left = GIB / 10, .log_dir = "/l"};
    (void)state;
    char *rows = check_text(text, &limits);
    /* [Boot] has the line of its key; a key that its first subkey created has the line that the store keeps */
    char *boot = strstr(rows, "boot Boot start 1 status 0");
    assert_ptr_equal(boot, rows);
    assert_string_equal(strchr(rows, '\n') + 1, "session NT Kernel Logger start 1 status 0 line 20 conditions 0 max 24 "
                                                "path "
                                                "/l/c/Windows/System32/LogFiles/WMI/NT Kernel Logger.etl\n"
                                                "session alpha start 1 status 87 line 8 conditions 0: Guid is missing; "
                                                "an Autologger session must have one. Do: add "
                                                "\"Guid\"=\"{b0852799-3dbe-5ce2-58e6-c85a06fc28df}\", or another of "
                                                "its own\n"
                                                "session Beta start 1 status 0 line 5 conditions 0 max 24 path "
                                                "/l/c/Windows/System32/LogFiles/WMI/Beta.etl\n"
                                                "provider other start 0 status 87 line 18 conditions 0: the key "
                                                "'other' is not a GUID in braces\n"
                                                "provider {aaaaaaaa-0000-0000-0000-000000000001} start 1 status 0 line "
                                                "16 conditions 0\n"
                                                "session NT Kernel Logger start 1 status 183 line 10 conditions 0: a "
                                                "session named 'NT Kernel Logger' is started "
                                                "before this one\n"
                                                "session off start 0 status 0 line 13 conditions 0\n"
                                                "session zeta start 1 status 183 line 2 conditions 0: the session "
                                                "'Beta', started before this one, has the same Guid "
                                                "{11111111-0000-0000-0000-000000000001}\n");
    free(rows);
    rows = check_text(NULL, &limits);
    assert_string_equal(rows, "");
    free(rows);
}

static void sessions_share_the_ceiling(void **state)
{
    static const char text[] = "Windows Registry Editor Version 5.00\n" WMI "Autologger\\a]\n\"Start\"=dword:1\n" GUID(
        "1") "\"BufferSize\"=dword:400\n\"MinimumBuffers\"=dword:40\n" WMI
             "Autologger\\b]\n\"Start\"=dword:1\n" GUID("2") "\"BufferSize\"=dword:400\n\"MinimumBuffers\"=dword:"
                                                             "40\n" WMI "Autologger\\c]\n\"Start\"=dword:1\n" GUID(
                                                                 "3") "\"BufferSize\"=dword:400\n" WMI
                                                                      "Autologger\\d]\n\"Start\"=dword:1\n" GUID(
                                                                          "4") "\"BufferSize\"=dword:4\n";
    struct plan_limits limits = {.processors = 1, .ram_bytes = 1000 * MIB, .memory_left = 100 * MIB, .log_dir = "/l"};
    (void)state;
    char *rows = check_text(text, &limits);
    /* a asks for 86 MB at most; the following b, c and d need 66, so a quarter is kept for them */
    assert_non_null(strstr(rows, "session a start 1 status 0 line 2 conditions 1 max 75 "));
    /* 25, less 2 MB and 8 KB */
    assert_non_null(strstr(rows, "session b start 1 status 0 line 7 conditions 1 max 22 "));
    assert_non_null(strstr(rows, "session c start 1 status 0 line 12 conditions 1 max 2 ")); /* 3, less 8 KB */
    assert_non_null(strstr(rows, "session d start 1 status 0 line 16 conditions 0 max 24 "));
    free(rows);
}

static void who_finds_nothing_left_gets_8(void **state)
{
    static const char text[] = "Windows Registry Editor Version 5.00\n" WMI "Autologger\\a]\n\"Start\"=dword:1\n" GUID(
        "1") "\"BufferSize\"=dword:400\n\"MinimumBuffers\"=dword:40\n" WMI
             "Autologger\\b]\n\"Start\"=dword:1\n" GUID("2") "\"BufferSize\"=dword:1000\n" WMI
                                                             "Autologger\\off]\n\"Start\"=dword:0\n" GUID(
                                                                 "3") "\"MinimumBuffers\"=dword:40\n";
    struct plan_limits limits = {.processors = 1, .ram_bytes = 200 * MIB, .memory_left = 20 * MIB, .log_dir = "/l"};
    (void)state;
    char *rows = check_text(text, &limits);
    assert_non_null(strstr(rows, "session a start 1 status 0 line 2 conditions 1 max 15 "));
    assert_non_null(strstr(
        rows, "session b start 1 status 8 line 10 conditions 1: the least that a session needs is 2 x 1 processors x "
              "4096 KB = 8192 KB, but 5120 KB are left of what all boot sessions"));
    free(rows);
}

/* Every place for a session is used, each session has default buffers and begins with the memory that the others
 * left. */
static void every_place_has_memory(void **state)
{
    static const char text[] =
        "Windows Registry Editor Version 5.00\n" WMI "Autologger\\a]\n\"Start\"=dword:1\n" GUID("1");
    static const struct {
        uint64_t ram;
        unsigned processors;
        uint32_t first, last;
    } rows[] = {{24 * GIB, 64, 640, 179}, {22 * GIB, 64, 640, 150}, {24 * GIB, 16, 160, 160}, {2 * GIB, 2, 26, 26}};
    struct regstore *store;
    struct diag_sink sink = {0};
    struct reason    why  = {0};
    (void)state;

    assert_int_equal(regstore_open_memory(&store, &why), W_SUCCESS);
    assert_int_equal(reg_import(store, text, strlen(text), "all.reg", 0, &sink, &why), W_SUCCESS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan_limits limits = {
            .processors = rows[i].processors, .ram_bytes = rows[i].ram, .log_dir = "/l", .now = true};
        limits.memory_left = plan_memory_ceiling(limits.ram_bytes);
        for (unsigned n = 0; n < SHM_SESSIONS; n++) {
            struct plan p;
            if (plan_from_key(store, WINPATH_WMI "\\Autologger\\a", &limits, &p, &why))
                fail_msg("session %u of row %zu: %s", n, i, why.text);
            assert_int_equal(p.given.minimum_buffers, 2 * rows[i].processors);
            /* less than usual is a condition, not a failure */
            assert_int_equal(p.conditions.count, p.given.maximum_buffers < p.asked.maximum_buffers);
            assert_true(!p.conditions.count ||
                        (p.conditions.items[0].note && p.conditions.items[0].number == W_NOT_ENOUGH_MEMORY));
            if (n == 0)
                assert_int_equal(p.given.maximum_buffers, rows[i].first);
            if (n == SHM_SESSIONS - 1)
                assert_int_equal(p.given.maximum_buffers, rows[i].last);
            limits.memory_left -= p.memory_bytes;
            plan_finish(&p);
        }
    }
    regstore_close(store);
}

/* The same at a boot, which knows the sessions to come. */
static void a_boot_has_every_place(void **state)
{
    struct plan_limits limits = {
        .processors = 64, .ram_bytes = 24 * GIB, .memory_left = 24 * GIB / 10, .log_dir = "/l"};
    char    *text = NULL, *rows;
    size_t   size;
    unsigned started = 0;
    (void)state;

    FILE *to = open_memstream(&text, &size);
    fputs("Windows Registry Editor Version 5.00\n", to);
    for (unsigned n = 0; n < SHM_SESSIONS; n++)
        fprintf(to, WMI "Autologger\\s%u]\n\"Start\"=dword:1\n\"Guid\"=\"{11111111-0000-0000-0000-0000000000%02x}\"\n",
                n, n);
    fclose(to);
    rows = check_text(text, &limits);
    for (const char *at = rows; (at = strstr(at, "start 1 status 0 ")); at++)
        started++;
    assert_int_equal(started, SHM_SESSIONS);
    free(rows);
    free(text);
}

/* -- the INI dialect with these words ---------------------------------------------------------------------------- */

static const char ini[] = "[Boot]\nOnce = yes\nStopAfter = boot-done + 10 s\nMaxWait = 5 min\nKeep = 10 boots, 2 GB\n"
                          "[GlobalLogger]\n"
                          "EnableKernelFlags = PROC_THREAD+LOADER+CSWITCH+DISPATCHER+PROFILE+DISK_IO\n"
                          "StackWalkingFilter = Profile+CSwitch\nBufferSize = 1024 KB\n"
                          "[Autologger/web]\nLogFileMode = SEQUENTIAL+USE_KBYTES_FOR_SIZE\nMaxFileSize = 512\n"
                          "[Autologger/web/Contoso-Web]\nEnableLevel = Informational\nMatchAnyKeyword = 0x40\n"
                          "[Autologger/web/service]\nUnit = web.service\n"
                          "[Autologger/web/Service Control Manager]\nGuid = {0063715b-eeda-4007-9429-ad526f62696e}\n";

static void ini_store(const char *text, struct regstore **store, struct diag_sink *sink, wstatus expected)
{
    struct reason why = {0};

    assert_int_equal(regstore_open_memory(store, &why), W_SUCCESS);
    wstatus st = ini_import(*store, text, strlen(text), "boot.ini", plan_vocabulary(), sink, &why);
    if (st != expected)
        fail_msg("ini_import: %u %s", st, why.text);
}

/* ENB-06: ids in words; an id list implies a filter, "not" keeps ids out; exported, it is the same again. */
static void ini_filters_become_a_plan(void **state)
{
    static const struct {
        const char *text, *filters; /* filters of the plan; NULL: the import is refused */
    } rows[] = {
        {"EventIds = not 17, 100-102\n", "event ids not 17, 100, 101, 102"},
        {"EventIds = 17\n", "event ids 17"},
        {"EventIds = 17\nEventIdFilterIn = no\n", "event ids not 17"},
        {"EventIdFilterIn = yes\nEventIds = not 17\n", "event ids 17"},
        {"EventIds = hex:11,00\n", "event ids not 17"}, /* bytes imply nothing */
        {"EventIds = 17\nEnabled = no\n", ""},
        {"ExeFilter = web, db\nStackWalkIds = 0-1\n", "programs web;db; stacks of ids 0, 1"},
        {"EventIds = 0-64\n", NULL},
        {"EventIds = seventeen\n", NULL},
        {"EventIds = 17\n[Autologger/web/Contoso-Web/Filters/EventNameFilter]\nNames = Begin, End\nFilterIn = yes\nLevel = Warning\n",
         "event ids 17; event names Begin, End level 3"},
    };
    struct plan_limits limits = {.processors = 2, .ram_bytes = 24 * GIB, .memory_left = 2 * GIB, .log_dir = "/l"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct regstore *store, *again;
        struct diag_sink sink = {0};
        struct plan      p;
        struct reason    why;
        char             text[1024], words[256] = "", *exported;
        size_t           size;
        snprintf(
            text, sizeof text,
            "[Autologger/web]\n[Autologger/web/Contoso-Web]\nEnableProperty = STACK_TRACE\n[Autologger/web/Contoso-Web/Filters]\n%s",
            rows[i].text);
        ini_store(text, &store, &sink, rows[i].filters ? W_SUCCESS : W_INVALID_DATA);
        if (!rows[i].filters) {
            regstore_close(store);
            continue;
        }
        assert_int_equal(ini_export(store, "HKLM", plan_vocabulary(), &exported, &size, &why), W_SUCCESS);
        ini_store(exported, &again, &sink, W_SUCCESS);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(plan_from_key(k ? again : store, WINPATH_WMI "\\Autologger\\web", &limits, &p, &why),
                             W_SUCCESS);
            assert_int_equal(p.provider_count, 1);
            assert_int_equal(p.providers[0].status, 0);
            assert_non_null(p.providers[0].filter); /* STACK_TRACE */
            filter_describe(p.providers[0].filter, words, sizeof words);
            assert_string_equal(words, rows[i].filters);
            plan_finish(&p);
        }
        free(exported);
        regstore_close(store);
        regstore_close(again);
    }
}

/* A filter section with only a part of the filter enables it as well, unless [.../Filters] says otherwise; exported, it
 * is enabled or disabled as before. */
static void parts_of_filters_switch_them_on(void **state)
{
#define PROVIDER_WITH "[Autologger/web]\n[Autologger/web/Contoso-Web]\n"
#define NAMES_ONLY "[Autologger/web/Contoso-Web/Filters/EventNameFilter]\nNames = Begin\nFilterIn = yes\n"
    static const struct {
        const char *text;
        bool        on;
    } rows[]                  = {{PROVIDER_WITH NAMES_ONLY, true},
                                 {PROVIDER_WITH NAMES_ONLY "[Autologger/web/Contoso-Web/Filters/StackNameFilter]\nNames = End\n", true},
                                 {PROVIDER_WITH NAMES_ONLY "[Autologger/web/Contoso-Web/Filters]\nEnabled = no\n", false},
                                 {PROVIDER_WITH NAMES_ONLY "[Autologger/web/Contoso-Web/Filters]\nEnabled = -\n", false}};
    struct plan_limits limits = {.processors = 2, .ram_bytes = 24 * GIB, .memory_left = 2 * GIB, .log_dir = "/l"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct regstore *store;
        struct diag_sink sink = {0};
        struct plan      p;
        struct reason    why;
        char            *text = strdup(rows[i].text);
        size_t           size;
        for (int round = 0; round < 3; round++) {
            ini_store(text, &store, &sink, W_SUCCESS);
            free(text);
            assert_int_equal(plan_from_key(store, WINPATH_WMI "\\Autologger\\web", &limits, &p, &why), W_SUCCESS);
            assert_int_equal(p.providers[0].filter != NULL, rows[i].on);
            assert_int_equal(p.providers[0].conditions.count != 0 &&
                                 p.providers[0].conditions.items[0].number == W_NOT_SUPPORTED,
                             !rows[i].on);
            plan_finish(&p);
            assert_int_equal(ini_export(store, "HKLM", plan_vocabulary(), &text, &size, &why), W_SUCCESS);
            regstore_close(store);
        }
        free(text);
    }
}

static void ini_words_become_a_plan(void **state)
{
    struct plan_limits limits = {.processors = 2, .ram_bytes = 24 * GIB, .memory_left = 2 * GIB, .log_dir = "/l"};
    struct regstore   *store, *again;
    struct diag_sink   sink = {0};
    struct plan        p;
    struct reason      why;
    char              *text;
    size_t             size;
    (void)state;
    ini_store(ini, &store, &sink, W_SUCCESS);
    assert_int_equal(sink.errors + sink.warnings, 0);
    assert_int_equal(plan_from_key(store, WINPATH_WMI "\\GlobalLogger", &limits, &p, &why), W_SUCCESS);
    assert_true(p.start && p.kernel && p.hook_count == 2);
    assert_int_equal(p.given.buffer_kb, 1024);
    assert_string_equal(p.source_file, "boot.ini");
    assert_int_equal(p.source_line, 6);
    plan_finish(&p);
    assert_int_equal(plan_from_key(store, WINPATH_WMI "\\Autologger\\web", &limits, &p, &why), W_SUCCESS);
    assert_int_equal(p.max_file_size, 512);
    assert_int_equal(p.provider_count, 3);
    for (unsigned i = 0; i < p.provider_count; i++) {
        bool unit = strcmp(p.providers[i].name, "service") == 0;
        assert_true(p.providers[i].enabled && p.providers[i].status == W_SUCCESS);
        assert_int_equal(p.providers[i].conditions.count, 0);
        assert_true(unit ? strcmp(p.providers[i].units, "web.service") == 0 : !p.providers[i].units);
        if (strcmp(p.providers[i].name, "Contoso-Web") == 0) {
            struct guid hash = guid_from_name("Contoso-Web");
            assert_true(guid_equal(&p.providers[i].guid, &hash));
            assert_int_equal(p.providers[i].level, 4);
            assert_int_equal(p.providers[i].match_any, 0x40);
        }
    }
    plan_finish(&p);
    /* export gives words again, and they mean the same */
    assert_int_equal(ini_export(store, WINPATH_WMI, plan_vocabulary(), &text, &size, &why), W_SUCCESS);
    assert_non_null(strstr(text, "PROC_THREAD+LOADER+DISK_IO+PROFILE+CSWITCH+DISPATCHER"));
    assert_non_null(strstr(text, "Informational"));
    assert_null(strstr(text, "hex"));
    assert_null(strstr(text, "dword"));
    ini_store(text, &again, &sink, W_SUCCESS);
    assert_int_equal(plan_from_key(again, WINPATH_WMI "\\Autologger\\web", &limits, &p, &why), W_SUCCESS);
    assert_int_equal(p.provider_count, 3);
    plan_finish(&p);
    free(text);
    regstore_close(store);
    regstore_close(again);
}

static void collect(void *ctx, const struct diag *diag) { fprintf(ctx, "%u: %s\n", diag->line, diag->what); }

static void ini_mistakes_come_all_at_once(void **state)
{
    static const char bad[] = "[GlobalLogger]\nEnableKernelFlags = PROC_THRED\nBuferSize = 64 KB\nBufferSize = 64 KiB\n"
                              "[Autologger/web]\nLogFileMode = SEQUENTAL\n";
    struct regstore  *store;
    char             *seen = NULL;
    size_t            size;
    FILE             *out  = open_memstream(&seen, &size);
    struct diag_sink  sink = {.fn = collect, .ctx = out};
    (void)state;
    ini_store(bad, &store, &sink, W_INVALID_DATA);
    fclose(out);
    assert_int_equal(sink.errors, 4);
    assert_non_null(strstr(seen, "2: EnableKernelFlags: unknown kernel flag 'PROC_THRED', did you mean PROC_THREAD?"));
    assert_non_null(strstr(seen, "3: BuferSize: no value of this name is known here, did you mean BufferSize?"));
    assert_non_null(strstr(seen, "4: BufferSize: '64 KiB'"));
    assert_non_null(strstr(seen, "6: LogFileMode: unknown word 'SEQUENTAL', did you mean SEQUENTIAL?"));
    assert_false(regstore_key_exists(store, WINPATH_WMI "\\GlobalLogger"));
    free(seen);
    regstore_close(store);
}

/* -- a boot configuration as Windows has it ------------------------------------------------------------------------ */

static struct regstore *windows_store(void)
{
    struct regstore *store;
    struct diag_sink sink = {0};
    struct reason    why  = {0};
    FILE            *file = fopen(AL_SOURCE_DIR "/tools/tests/made/boot.reg", "rb");

    assert_non_null(file);
    static uint8_t bytes[65536];
    size_t         size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_int_equal(regstore_open_memory(&store, &why), W_SUCCESS);
    assert_int_equal(reg_import(store, bytes, size, "boot.reg", 0, &sink, &why), W_SUCCESS);
    return store;
}

#define WINDOWS_NAME "boot_PROC_THREAD+LOADER+DISK_IO+DISK_IO_INIT+DPC+CSWITCH+DISPATCHER+PROFILE_1_"

static void check_windows_kernel(struct regstore *store, struct plan_limits *limits)
{
    struct plan   p;
    struct reason why;
    char          text[512];
    size_t        count, named = 0;

    assert_int_equal(plan_from_key(store, WINPATH_WMI "\\GlobalLogger", limits, &p, &why), W_SUCCESS);
    assert_string_equal(p.name, "NT Kernel Logger");
    assert_true(p.start && p.kernel && p.global_logger);
    assert_int_equal(p.asked.buffer_kb, 1024);
    assert_int_equal(p.asked.minimum_buffers, 300);
    assert_int_equal(p.asked.maximum_buffers, 600);
    assert_memory_equal(&p.asked, &p.given, sizeof p.asked);
    assert_int_equal(p.memory_bytes, 600 * MIB);
    assert_int_equal(p.clock_type, 1);
    assert_int_equal(p.max_file_size, 0);
    assert_int_equal(p.log_file_mode, 0);
    assert_string_equal(p.log_path, "/logs/c/traces/" WINDOWS_NAME "km_premerge.etl");
    /* the keywords in the file's name are the flags, none missing, none more */
    group_mask_format(p.group_mask, text, sizeof text);
    for (char *word = strtok(text, "+"); word; word = strtok(NULL, "+"), named++) {
        char pattern[40];
        snprintf(pattern, sizeof pattern, named ? "%s" : "_%s", word);
        assert_non_null(strstr(WINDOWS_NAME, pattern));
    }
    assert_int_equal(named, 8);
    assert_int_equal(p.hook_count, 3);
    assert_string_equal(hook_name(p.hooks[0]), "Profile");
    assert_string_equal(hook_name(p.hooks[1]), "CSwitch");
    assert_string_equal(hook_name(p.hooks[2]), "ReadyThread");
    for (count = 0; count < p.conditions.count; count++)
        assert_true(p.conditions.items[count].note);
    assert_string_equal(p.source_file, "boot.reg");
    limits->memory_left -= p.memory_bytes;
    plan_finish(&p);
}

static void check_windows_user(struct regstore *store, const struct plan_limits *limits)
{
    struct plan   p;
    struct reason why;
    char          guid[GUID_TEXT_SIZE];

    assert_int_equal(plan_from_key(store, WINPATH_WMI "\\Autologger\\BootTrace", limits, &p, &why), W_SUCCESS);
    assert_string_equal(p.name, "BootTrace");
    assert_string_equal(guid_format(&p.guid, guid), "{7e57b007-0001-4004-8001-0123456789ab}");
    assert_int_equal(p.given.minimum_buffers, 4);
    assert_int_equal(p.given.maximum_buffers, 12);
    assert_int_equal(p.given.buffer_kb, 1024);
    assert_false(p.kernel);
    assert_int_equal(p.conditions.count, 0);
    assert_string_equal(p.log_path, "/logs/c/traces/" WINDOWS_NAME "um_premerge.etl");
    assert_int_equal(p.provider_count, 2);
    assert_string_equal(p.providers[0].name, "Service Control Manager");
    assert_string_equal(p.providers[1].name, "ReadyBoost");
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(p.providers[i].status, 0);
        assert_true(p.providers[i].enabled);
        assert_int_equal(p.providers[i].level, 0);
        assert_int_equal(p.providers[i].match_any, i ? 0x40 : 0);
        assert_true(p.providers[i].source_line > 0);
    }
    plan_finish(&p);
}

static void a_windows_configuration(void **state)
{
    struct plan_limits limits = {.processors = 2, .ram_bytes = 24 * GIB, .log_dir = "/logs"};
    struct regstore   *store  = windows_store();
    struct plan        small;
    struct reason      why;
    (void)state;
    limits.memory_left = plan_memory_ceiling(limits.ram_bytes);
    check_windows_kernel(store, &limits);
    check_windows_user(store, &limits);
    limits.ram_bytes   = 4 * GIB; /* 409.6 MB: what a small machine gives */
    limits.memory_left = plan_memory_ceiling(limits.ram_bytes);
    assert_int_equal(plan_from_key(store, WINPATH_WMI "\\GlobalLogger", &limits, &small, &why), W_SUCCESS);
    assert_int_equal(small.asked.maximum_buffers, 600);
    assert_int_equal(small.given.maximum_buffers, 409);
    assert_int_equal(small.given.minimum_buffers, 300);
    plan_finish(&small);
    regstore_close(store);
}

/* The stack bytes copied per event fit into a buffer, are a multiple of 8, and need an event that has a stack. */
static void user_stacks_are_bounded(void **state)
{
    static const struct {
        const char *ini;
        unsigned    bytes;
        size_t      notes;
    } rows[] = {
        {"UserStacks = dwarf\nBufferSize = 64 KB\nStackWalkingFilter = Profile\n", 8192, 0},
        {"UserStacks = frame-pointers\nStackWalkingFilter = Profile\n", 0, 0},
        {"StackWalkingFilter = Profile\n", 0, 0},
        {"UserStacks = dwarf 1001 B\nStackWalkingFilter = Profile\n", 1000, 1},
        {"UserStacks = dwarf 100 B\nStackWalkingFilter = Profile\n", 512, 1},
        {"UserStacks = dwarf 32 KB\nBufferSize = 16 KB\nStackWalkingFilter = Profile\n", 15 * 1024, 1},
        {"UserStacks = dwarf\n", 8192, 1},
    };
    struct plan_limits limits = {.processors = 2, .ram_bytes = 24 * GIB, .memory_left = 2 * GIB, .log_dir = "/l"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct regstore *store;
        struct diag_sink sink = {0};
        struct plan      p;
        struct reason    why;
        char             text[400];
        size_t           notes = 0;
        snprintf(text, sizeof text,
                 "[GlobalLogger]\nFileName = C:\\a.etl\nEnableKernelFlags = PROC_THREAD+LOADER+PROFILE\n%s",
                 rows[i].ini);
        ini_store(text, &store, &sink, W_SUCCESS);
        assert_int_equal(plan_from_key(store, WINPATH_WMI "\\GlobalLogger", &limits, &p, &why), W_SUCCESS);
        assert_int_equal(p.user_stack_bytes, rows[i].bytes);
        for (size_t k = 0; k < p.conditions.count; k++)
            notes += strcmp(p.conditions.items[k].item, "UserStacks") == 0;
        assert_int_equal(notes, rows[i].notes);
        plan_finish(&p);
        regstore_close(store);
    }
}

/* The stack table's size is bounded, and there is no table where no reader would understand its keys, or no event has a
 * stack. */
static void stack_caching_is_bounded(void **state)
{
    static const struct {
        const char *ini;
        unsigned    bytes, buckets;
        size_t      notes;
    } rows[] = {
        {"StackCaching = 3072, 256\nStackWalkingFilter = Profile\n", 3072 << 10, 256, 0},
        {"StackCaching = 0, 256\nStackWalkingFilter = Profile\n", 0, 0, 0},
        {"StackCaching = 3072\nStackWalkingFilter = Profile\n", 0, 0, 0}, /* other lengths are ignored */
        {"StackWalkingFilter = Profile\n", 0, 0, 0},
        {"StackCaching = 70000, 0\nStackWalkingFilter = Profile\n", 65536 << 10, 1, 1},
        {"StackCaching = 3072, 256\n", 0, 0, 1},
        {"StackCaching = 3072, 256\nLogFileMode = REAL_TIME\nStackWalkingFilter = Profile\n", 0, 0, 1},
    };
    struct plan_limits limits = {.processors = 2, .ram_bytes = 24 * GIB, .memory_left = 2 * GIB, .log_dir = "/l"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct regstore *store;
        struct diag_sink sink = {0};
        struct plan      p;
        struct reason    why;
        char             text[400];
        size_t           notes = 0;
        snprintf(text, sizeof text,
                 "[GlobalLogger]\nFileName = C:\\a.etl\nEnableKernelFlags = PROC_THREAD+LOADER+PROFILE\n%s",
                 rows[i].ini);
        ini_store(text, &store, &sink, W_SUCCESS);
        assert_int_equal(plan_from_key(store, WINPATH_WMI "\\GlobalLogger", &limits, &p, &why), W_SUCCESS);
        assert_int_equal(p.stack_cache_bytes, rows[i].bytes);
        assert_int_equal(p.stack_cache_buckets, rows[i].buckets);
        for (size_t k = 0; k < p.conditions.count; k++)
            notes += strcmp(p.conditions.items[k].item, "StackCaching") == 0;
        assert_int_equal(notes, rows[i].notes);
        plan_finish(&p);
        regstore_close(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stack_caching_is_bounded),      cmocka_unit_test(rows_in_the_order_of_boot),
        cmocka_unit_test(sessions_share_the_ceiling),    cmocka_unit_test(who_finds_nothing_left_gets_8),
        cmocka_unit_test(every_place_has_memory),        cmocka_unit_test(a_boot_has_every_place),
        cmocka_unit_test(ini_filters_become_a_plan),     cmocka_unit_test(parts_of_filters_switch_them_on),
        cmocka_unit_test(ini_words_become_a_plan),       cmocka_unit_test(user_stacks_are_bounded),
        cmocka_unit_test(ini_mistakes_come_all_at_once), cmocka_unit_test(a_windows_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
