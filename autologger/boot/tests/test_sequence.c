/* Boots on a fake machine: order, Status of every session and provider, values written back, no file before the file
 * system is ready.
 * Proves: REG-02, REG-04, REG-05, REG-07, REG-09, REG-10, REG-12, REG-20, REG-26, KRN-01, KRN-19, COR-22. */
#include "autologger/boot/sequence.h"
#include "autologger/boot/start.h"
#include "registry-sim/base/os_fake.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/winpath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#define REG_HEADER "Windows Registry Editor Version 5.00\r\n\r\n"
#define REG_WMI "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI"

struct machine {
    struct os_fake      *fake;
    struct session_env   env;
    struct session_table table;
    struct regstore     *store;
    struct journal      *journal;
    struct result_list   rows;
};

static wstatus kernel_allowed(const struct klog_config *config, struct klog **out, struct reason *why)
{
    (void)config, (void)why;
    *out = NULL; /* a fake machine has no perf events; the session exists nevertheless */
    return W_SUCCESS;
}
static wstatus kernel_forbidden(const struct klog_config *config, struct klog **out, struct reason *why)
{
    (void)config, (void)out;
    return reason_set(why, W_PRIVILEGE_NOT_HELD, "perf events need CAP_PERFMON");
}

static void machine_boot(struct machine *m, const char *declared, bool kernel)
{
    struct reason    why  = {0};
    struct diag_sink sink = {0};
    memset(m, 0, sizeof *m);
    m->fake                = os_fake_create();
    m->env.os              = &m->fake->os;
    m->env.cpus            = (unsigned)m->fake->cpu_count;
    m->env.kernel_open     = kernel ? kernel_allowed : kernel_forbidden;
    m->env.changed_fd      = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    m->env.machine.cpu_mhz = 1000;
    m->table.env           = &m->env;
    m->table.ceiling       = plan_memory_ceiling(m->fake->ram_bytes);
    assert_int_equal(directory_create(m->env.os, &m->table.directory, &why), 0);
    assert_int_equal(journal_create(m->env.os, "boot-1", &m->journal, &why), 0);
    assert_int_equal(regstore_open_memory(&m->store, &why), 0);
    wstatus st = strncmp(declared, "Windows", 7) == 0
                     ? reg_import(m->store, declared, strlen(declared), "declared", 0, &sink, &why)
                     : ini_import(m->store, declared, strlen(declared), "declared", plan_vocabulary(), &sink, &why);
    assert_int_equal(st, 0);
    assert_int_equal(boot_run(&m->table, "/logs", m->store, m->journal, &m->rows, &why), 0);
    assert_int_equal(m->fake->created_count, 0); /* S3 */
}

static void machine_fs_ready(struct machine *m)
{
    for (int i = 0; i < SHM_SESSIONS; i++)
        if (m->table.slot[i]) {
            session_fs_ready(m->table.slot[i]);
            logger_pass(m->table.slot[i]->logger, false, false);
            boot_update(&m->table, m->table.slot[i], &m->rows);
        }
}

static void machine_end(struct machine *m)
{
    table_finish(&m->table);
    directory_destroy(m->table.directory);
    journal_destroy(m->journal);
    result_list_finish(&m->rows);
    regstore_close(m->store);
    close(m->env.changed_fd);
    os_fake_destroy(m->fake);
}

static const char two_sessions[] =
    "[Autologger/Zebra]\n[Autologger/alpha]\n[Autologger/alpha/App]\n[Autologger/alpha/Off]\nEnabled = no\n"
    "[Autologger/Never]\nStart = no\nBufferSize = 64\n"
    "[GlobalLogger]\nEnableKernelFlags = PROC_THREAD+LOADER\n";

static void order_is_global_logger_then_names(void **state)
{
    static const char *const order[] = {"NT Kernel Logger", "alpha", "alpha", "alpha", "Never", "Zebra"};
    struct machine           m;
    (void)state;
    machine_boot(&m, two_sessions, true);
    assert_int_equal(m.rows.count, 6);
    for (unsigned i = 0; i < 6; i++) {
        assert_string_equal(m.rows.rows[i].session, order[i]);
        assert_int_equal(m.rows.rows[i].status, 0);
    }
    assert_false(result_find(&m.rows, "Never", "")->start);
    assert_null(table_find(&m.table, "Never"));
    assert_non_null(table_find(&m.table, "ZEBRA"));
    machine_end(&m);
}

static void status_is_written_back_once(void **state)
{
    struct machine m;
    struct reason  why;
    uint32_t       value = 99;
    (void)state;
    machine_boot(&m, "[Autologger/numbered]\nFileMax = 3\nFileCounter = 2\n[Autologger/bad]\nLogFileMode = NEWFILE\n",
                 true);
    assert_int_equal(regstore_get_dword(m.store, WINPATH_WMI "\\Autologger\\numbered", "Status", &value, NULL),
                     W_FILE_NOT_FOUND);
    assert_int_equal(journal_replay(m.journal, m.store, &why), 0);
    assert_int_equal(regstore_get_dword(m.store, WINPATH_WMI "\\Autologger\\numbered", "Status", &value, NULL), 0);
    assert_int_equal(value, 0);
    assert_int_equal(regstore_get_dword(m.store, WINPATH_WMI "\\Autologger\\numbered", "FileCounter", &value, NULL), 0);
    assert_int_equal(value, 3);
    assert_int_equal(regstore_get_dword(m.store, WINPATH_WMI "\\Autologger\\bad", "Status", &value, NULL), 0);
    assert_int_equal(value, 87);
    assert_int_equal(regstore_get_dword(m.store, WINPATH_WMI "\\Autologger", "Status", &value, NULL), 0);
    /* again: a value changed since is not overwritten */
    assert_int_equal(regstore_set_dword(m.store, WINPATH_WMI "\\Autologger\\numbered", "FileCounter", 1, &why), 0);
    assert_int_equal(journal_replay(m.journal, m.store, &why), 0);
    assert_int_equal(regstore_get_dword(m.store, WINPATH_WMI "\\Autologger\\numbered", "FileCounter", &value, NULL), 0);
    assert_int_equal(value, 1);
    machine_end(&m);
}

/* Each provider's own Status is written to its key; the session's stays 0. */
static void each_provider_has_a_status(void **state)
{
#define S REG_WMI "\\Autologger\\s"
    static const char declared[] =
        REG_HEADER "[" S "]\r\n\"Start\"=dword:1\r\n\"Guid\"=\"{1a15901b-0686-4433-955f-2ee7f9c61cfc}\"\r\n"
                   "[" S "\\{aaaaaaaa-0000-0000-0000-000000000001}]\r\n\"Enabled\"=dword:1\r\n[" S
                   "\\{aaaaaaaa-0000-0000-0000-000000000002}]\r\n"
                   "\"Enabled\"=dword:1\r\n\"EnableLevel\"=\"high\"\r\n[" S "\\nobody]\r\n\"Enabled\"=dword:1\r\n";
    static const struct {
        const char *key;
        wstatus     status;
    } rows[] = {
        {S, 0},
        {S "\\{aaaaaaaa-0000-0000-0000-000000000001}", 0},
        {S "\\{aaaaaaaa-0000-0000-0000-000000000002}", 87},
        {S "\\nobody", 87},
    };
#undef S
    struct machine m;
    struct reason  why;
    (void)state;
    machine_boot(&m, declared, true);
    assert_int_equal(journal_replay(m.journal, m.store, &why), 0);
    for (int saved = 0; saved < 2; saved++) { /* from the journal; and from the rows, when the daemon has a store */
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            uint32_t value = 99;
            assert_int_equal(regstore_get_dword(m.store, rows[i].key, "Status", &value, &why), 0);
            assert_int_equal(value, rows[i].status);
            assert_int_equal(regstore_set_dword(m.store, rows[i].key, "Status", 98, &why), 0);
        }
        assert_int_equal(result_save(m.store, &m.rows, &why), 0);
    }
    machine_end(&m);
}

static void results_survive_the_store(void **state)
{
    struct machine     m;
    struct reason      why;
    struct result_list loaded;
    (void)state;
    machine_boot(&m, two_sessions, false);
    struct result_row *k = result_find(&m.rows, "NT Kernel Logger", "");
    k->written           = UINT64_C(0x123456789ab);
    assert_int_equal(result_save(m.store, &m.rows, &why), 0);
    assert_int_equal(result_load(m.store, &loaded, &why), 0);
    assert_int_equal(loaded.count, m.rows.count);
    for (unsigned i = 0; i < loaded.count; i++) {
        struct result_row *a = &m.rows.rows[i], *b = &loaded.rows[i];
        assert_string_equal(a->session, b->session);
        assert_string_equal(a->provider, b->provider);
        assert_int_equal(a->status, b->status);
        assert_string_equal(a->reason, b->reason);
        assert_string_equal(a->key, b->key);
        assert_int_equal(a->source_line, b->source_line);
        assert_int_equal(a->written, b->written);
        assert_int_equal(a->conditions.count, b->conditions.count);
        assert_memory_equal(&a->given, &b->given, sizeof a->given);
    }
    assert_string_equal(loaded.rows[0].session, "NT Kernel Logger");
    result_list_finish(&loaded);
    machine_end(&m);
}

static void disk_full(struct machine *m) { m->fake->volumes[0].capacity = m->fake->volumes[0].used; }
static void disk_read_only(struct machine *m) { m->fake->volumes[0].read_only = true; }
static void file_in_the_way(struct machine *m) { assert_int_equal(os_fake_put(m->fake, "/logs/way", "x", 1), 0); }
static void folder_in_the_way(struct machine *m) { assert_int_equal(os_fake_put_folder(m->fake, "/logs/own.etl"), 0); }

/* Each takes three quarters of the rest: memory is kept for the sessions that follow. */
#define GREEDY(name) "[Autologger/" name "]\nBufferSize = 16 MB\nMinimumBuffers = 60\n"

/* Each mistake gives its own Status, its own reason, the place of its declaration, and advice. */
static const struct mistake {
    const char *declared, *session;
    wstatus     status;
    const char *reason; /* a part of it */
    uint32_t    line;
    bool        no_rights;
    void (*machine)(struct machine *m); /* runs before the file system is ready */
} mistakes[] = {
    {REG_HEADER "[" REG_WMI "\\Autologger\\s]\r\n\"Start\"=dword:1\r\n", "s", 87, "Guid", 3, false, NULL},
    {REG_HEADER "[" REG_WMI
                "\\Autologger\\s]\r\n\"Start\"=dword:1\r\n\"Guid\"=\"{1a15901b-0686-4433-955f-2ee7f9c61cfc}\"\r\n"
                "\"BufferSize\"=\"64\"\r\n",
     "s", 87, "BufferSize", 6, false, NULL},
    {"[GlobalLogger]\nEnableKernelFlags = PROC_THREAD\n[Autologger/NT Kernel Logger]\n[Autologger/x]\n",
     "NT Kernel Logger", 183, "GlobalLogger", 3, false, NULL},
    {"[Autologger/a]\nGuid = {1a15901b-0686-4433-955f-2ee7f9c61cfc}\n[Autologger/b]\nGuid = {1a15901b-0686-4433-955f-2ee7f9c61cfc}\n",
     "b", 183, "\"a\"", 3, false, NULL},
    {"[Autologger/s]\nLogFileMode = NEWFILE\nMaxFileSize = 5\n", "s", 87, "NEWFILE", 2, false, NULL},
    {"[Autologger/s]\nMaxFileSize = 0\nLogFileMode = CIRCULAR\n", "s", 87, "MaxFileSize", 0, false, NULL},
    {REG_HEADER "[" REG_WMI "\\GlobalLogger]\r\n\"Start\"=dword:1\r\n\"EnableKernelFlags\"=hex:01,00\r\n[" REG_WMI
                "\\Autologger\\s]\r\n\"Start\"=dword:1\r\n\"Guid\"=\"not a guid\"\r\n",
     "s", 87, "Guid", 8, false, NULL},
    {"[Autologger/s]\n", "s", 19, "Read-only", 1, false, disk_read_only},
    {"[Autologger/s]\n", "s", 112, "", 1, false, disk_full},
    {"[Autologger/s]\nFileName = way/s.etl\n", "s", 267, "way", 1, false, file_in_the_way},
    {"[Autologger/s]\nFileName = own.etl\n", "s", 161, "own.etl", 1, false, folder_in_the_way},
    {GREEDY("s") GREEDY("s2") GREEDY("s3") GREEDY("s4") GREEDY("s5") GREEDY("t"), "t", 8, "", 0, false, NULL},
    {"[GlobalLogger]\nEnableKernelFlags = PROC_THREAD\n", "NT Kernel Logger", 1314, "CAP_PERFMON", 1, true, NULL},
    {"[Autologger/a]\nFileName = same.etl\n[Autologger/b]\nFileName = same.etl\n", "b", 32, "\"a\"", 3, false, NULL},
};

static void every_mistake_has_its_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const struct mistake *x = &mistakes[i];
        struct machine        m;
        machine_boot(&m, x->declared, !x->no_rights);
        if (x->machine)
            x->machine(&m);
        machine_fs_ready(&m);
        struct result_row *row = NULL;
        for (unsigned r = 0; r < m.rows.count; r++) /* two rows may have one name: take the failed one */
            if (strcmp(m.rows.rows[r].session, x->session) == 0 && !*m.rows.rows[r].provider && m.rows.rows[r].status)
                row = &m.rows.rows[r];
        if (!row || row->status != x->status || !strstr(row->reason, x->reason) ||
            (x->line && row->source_line != x->line))
            print_error("mistake %zu: Status %u, reason \"%s\", %s:%u\n", i, row ? row->status : 0,
                        row ? row->reason : "(no row)", row ? row->source_file : "", row ? row->source_line : 0);
        assert_non_null(row);
        assert_int_equal(row->status, x->status);
        assert_non_null(strstr(row->reason, x->reason));
        assert_true(strlen(row->reason) > 10);
        assert_string_equal(row->source_file, "declared");
        assert_true(row->source_line > 0 && (!x->line || row->source_line == x->line));
        assert_int_equal(result_level(row), RESULT_FAILED);
        machine_end(&m);
    }
}

static void what_is_sound_starts_beside_a_mistake(void **state)
{
    struct machine m;
    (void)state;
    machine_boot(&m, "[Autologger/bad]\nLogFileMode = NEWFILE\n[Autologger/good]\n[Autologger/good/P]\n", true);
    assert_int_equal(result_find(&m.rows, "bad", "")->status, 87);
    assert_int_equal(result_find(&m.rows, "good", "")->status, 0);
    assert_non_null(table_find(&m.table, "good"));
    machine_fs_ready(&m);
    assert_int_equal(result_find(&m.rows, "good", "")->status, 0);
    assert_true(m.fake->created_count > 0);
    boot_conclude(&m.rows, result_find(&m.rows, "good", "")->key, 4);
    boot_conclude(&m.rows, result_find(&m.rows, "good", "")->key, 4); /* once is enough */
    assert_int_equal(m.rows.rows[2].conditions.count, 1);             /* P: nobody registered it */
    assert_int_equal(result_level(&m.rows.rows[2]), RESULT_NOTE);
    machine_end(&m);
}

/* The second session of a name fails, and neither takes the other's row, in memory or in the store. */
static void rows_of_one_name_are_two(void **state)
{
    struct machine     m;
    struct reason      why;
    struct result_list loaded;
    (void)state;
    machine_boot(
        &m,
        "[GlobalLogger]\nEnableKernelFlags = PROC_THREAD\n[Autologger/NT Kernel Logger]\n[Autologger/NT Kernel Logger/App]\n",
        true);
    machine_fs_ready(&m);
    assert_int_equal(result_save(m.store, &m.rows, &why), 0);
    assert_int_equal(result_load(m.store, &loaded, &why), 0);
    assert_true(loaded.count >= 2);
    assert_string_equal(loaded.rows[0].key, WINPATH_WMI "\\GlobalLogger");
    assert_int_equal(loaded.rows[0].status, 0);
    assert_string_equal(loaded.rows[1].session, "NT Kernel Logger");
    assert_int_equal(loaded.rows[1].status, W_ALREADY_EXISTS);
    assert_false(loaded.rows[1].file_created);
    result_list_finish(&loaded);
    machine_end(&m);
}

/* Values of the boot as a whole: the limit of memory, and nothing is silently ignored. */
static void boot_values_hold_or_are_named(void **state)
{
    struct machine m;
    (void)state;
    machine_boot(&m,
                 "[Boot]\nOnce = yes\n[HKLM/SYSTEM/CurrentControlSet/Control/WMI]\nMaxNonPagedPoolUsage = 20\n"
                 "StackCaptureTimeout = 5\nEtwMaxLoggers = 40\n[Autologger/s]\n",
                 true);
    assert_int_equal(m.table.ceiling, m.fake->ram_bytes / 5);
    struct result_row *row = result_find(&m.rows, "s", "");
    assert_int_equal(row->status, 0);
    assert_int_equal(m.table.most, 40);
    bool timeout = false, loggers = false;
    for (unsigned i = 0; i < row->conditions.count; i++) {
        timeout |= strcmp(row->conditions.items[i].item, "StackCaptureTimeout") == 0 &&
                   row->conditions.items[i].number == W_NOT_SUPPORTED;
        loggers |= strcmp(row->conditions.items[i].item, "EtwMaxLoggers") == 0;
    }
    assert_true(timeout && !loggers);
    machine_end(&m);
}

/* A request with a name in use is answered before a plan is made: the rest of the request is not read. */
static void a_taken_name_is_told_before_the_plan(void **state)
{
    static const struct {
        const char *declared;
        wstatus     status;
    } row[] = {
        {"[Autologger/ALPHA]\nLogFileMode = NEWFILE\n", W_ALREADY_EXISTS}, /* and no FileName */
        {"[Autologger/free]\nLogFileMode = NEWFILE\n", W_INVALID_PARAMETER},
        /* the Guid of another session */
        {"[Autologger/alpha]\nGuid = {9e814aad-3204-11d2-9a82-006008a86939}\nLogFileMode = NEWFILE\n",
         W_INVALID_PARAMETER},
    };
    struct machine m;
    (void)state;
    machine_boot(&m, two_sessions, true);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct condition_list found = {0};
        struct regstore      *store = NULL;
        struct session       *s     = NULL;
        struct diag_sink      sink  = {0};
        struct reason         why   = {0};
        assert_int_equal(regstore_open_memory(&store, &why), 0);
        assert_int_equal(
            ini_import(store, row[i].declared, strlen(row[i].declared), "asked", plan_vocabulary(), &sink, &why), 0);
        assert_int_equal(boot_start_one(&m.table, "/logs", store, false, &s, &found, &why), row[i].status);
        assert_null(s);
        condition_list_finish(&found);
        regstore_close(store);
    }
    machine_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_global_logger_then_names),
        cmocka_unit_test(status_is_written_back_once),
        cmocka_unit_test(each_provider_has_a_status),
        cmocka_unit_test(results_survive_the_store),
        cmocka_unit_test(every_mistake_has_its_status),
        cmocka_unit_test(what_is_sound_starts_beside_a_mistake),
        cmocka_unit_test(rows_of_one_name_are_two),
        cmocka_unit_test(boot_values_hold_or_are_named),
        cmocka_unit_test(a_taken_name_is_told_before_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
