/* FileMax and FileCounter over 20 boots of one machine with one disk and one store: numbers wrap round, each boot
 * writes a file of its own, a session that can't start counts on, and a boot by an old snapshot does the same as a boot
 * that reads the store.
 * Proves: REG-02, REG-09. */
#include "autologger/boot/sequence.h"
#include "autologger/daemon/file_numbers.h"
#include "registry-sim/base/os_fake.h"
#include "registry-sim/store/snapshot.h"
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

enum { BOOTS = 20 };
#define WEB WINPATH_WMI "\\Autologger\\web"
#define BAD WINPATH_WMI "\\Autologger\\bad"

static const char declared[] = "[Autologger/web]\nFileName = web.etl\nFileMax = 5\nBufferSize = 4\n"
                               "[Autologger/plain]\nFileName = plain.etl\nBufferSize = 4\n"
                               "[Autologger/bad]\nFileMax = 3\nLogFileMode = NEWFILE\n";

struct machine {
    struct os_fake  *fake;
    struct regstore *store;
    struct regstore *sealed; /* sealed on the first day; NULL: boots read the store */
};

static struct machine machine_make(bool by_snapshot)
{
    struct machine             m    = {.fake = os_fake_create()};
    const struct snapshot_head head = {.store_path = "/r.db", .log_dir = "/logs"};
    struct diag_sink           sink = {0};
    uint8_t                   *bytes;
    size_t                     size;
    assert_int_equal(regstore_open_memory(&m.store, NULL), 0);
    assert_int_equal(ini_import(m.store, declared, sizeof declared - 1, "boot.ini", plan_vocabulary(), &sink, NULL), 0);
    assert_int_equal(snapshot_pack(m.store, &head, &bytes, &size, NULL), 0);
    if (by_snapshot)
        assert_int_equal(regstore_open_snapshot_bytes(bytes, size, "boot.snapshot", &m.sealed, NULL, NULL), 0);
    free(bytes);
    os_fake_put_folder(m.fake, "/logs");
    return m;
}

static void machine_end(struct machine *m)
{
    regstore_close(m->sealed);
    regstore_close(m->store);
    os_fake_destroy(m->fake);
}

static uint32_t counter(struct machine *m, const char *key)
{
    uint32_t value = 0;
    regstore_get_dword(m->store, key, "FileCounter", &value, NULL);
    return value;
}

/* One boot from power-on to power-off; `twice`: the daemon dies after it took the numbers, and its successor takes them
 * again. Returns the path that session web wrote, in static memory. */
static const char *boot(struct machine *m, int number, bool twice)
{
    static char          path[1024];
    struct session_env   env   = {.os = &m->fake->os, .cpus = 1, .log_dir = "/logs", .machine.cpu_mhz = 1000};
    struct session_table table = {.env = &env, .ceiling = plan_memory_ceiling(m->fake->ram_bytes)};
    struct result_list   rows  = {.time = (uint64_t)number};
    struct journal      *journal;
    struct reason        why = {0};

    env.changed_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    snprintf(rows.boot_id, sizeof rows.boot_id, "boot-%d", number);
    assert_int_equal(directory_create(env.os, &table.directory, &why), 0);
    assert_int_equal(journal_create(env.os, rows.boot_id, &journal, &why), 0);
    assert_int_equal(boot_run(&table, "/logs", m->sealed ? m->sealed : m->store, journal, &rows, &why), 0);
    for (int i = 0; m->sealed && i < 1 + twice; i++)
        file_numbers_renew(&table, m->store, journal, &rows);
    for (int i = 0; i < SHM_SESSIONS; i++)
        if (table.slot[i]) {
            session_fs_ready(table.slot[i]);
            logger_pass(table.slot[i]->logger, false, false);
            boot_update(&table, table.slot[i], &rows);
        }
    assert_int_equal(journal_replay(journal, m->store, &why), 0);
    assert_int_equal(result_save(m->store, &rows, &why), 0);
    assert_int_equal(result_find(&rows, "web", "")->status, 0);
    assert_int_equal(result_find(&rows, "bad", "")->status, 87);
    assert_string_equal(result_find(&rows, "plain", "")->log_path, "/logs/plain.etl");
    snprintf(path, sizeof path, "%s", result_find(&rows, "web", "")->log_path);
    table_finish(&table);
    directory_destroy(table.directory);
    journal_destroy(journal);
    result_list_finish(&rows);
    close(env.changed_fd);
    return path;
}

static unsigned numbered_files(struct machine *m)
{
    unsigned count = 0;
    for (unsigned i = 1; i <= 99; i++) {
        char   path[64];
        size_t size;
        snprintf(path, sizeof path, "/logs/web.etl.%03u", i);
        count += os_fake_bytes(m->fake, path, &size) && size;
    }
    return count;
}

static void twenty_boots(bool by_snapshot, bool twice)
{
    struct machine m = machine_make(by_snapshot);
    for (int i = 1; i <= BOOTS; i++) {
        char     expected[64];
        unsigned web = (unsigned)(i - 1) % 5 + 1, bad = (unsigned)(i - 1) % 3 + 1;
        snprintf(expected, sizeof expected, "/logs/web.etl.%03u", web);
        assert_string_equal(boot(&m, i, twice), expected);
        assert_int_equal(counter(&m, WEB), web);
        assert_int_equal(counter(&m, BAD), bad); /* also when it can't start */
        assert_int_equal(numbered_files(&m), i < 5 ? (unsigned)i : 5);
    }
    assert_int_equal(counter(&m, WINPATH_WMI "\\Autologger\\plain"), 0);
    machine_end(&m);
}

static void by_the_store(void **state)
{
    (void)state;
    twenty_boots(false, false);
}
static void by_one_old_snapshot(void **state)
{
    (void)state;
    twenty_boots(true, false);
}
static void by_a_snapshot_and_a_daemon_that_dies(void **state)
{
    (void)state;
    twenty_boots(true, true);
}

/* An administrator's change between two boots takes effect, whatever the snapshot says. */
static void a_changed_number_holds(void **state)
{
    (void)state;
    struct machine m = machine_make(true);
    assert_string_equal(boot(&m, 1, false), "/logs/web.etl.001");
    regstore_set_dword(m.store, WEB, "FileCounter", 3, NULL);
    assert_string_equal(boot(&m, 2, false), "/logs/web.etl.004");
    regstore_set_dword(m.store, WEB, "FileMax", 2, NULL);
    assert_string_equal(boot(&m, 3, false), "/logs/web.etl.001");
    regstore_delete_key(m.store, WEB, NULL); /* the snapshot starts it nevertheless */
    assert_string_equal(boot(&m, 4, false), "/logs/web.etl.001");
    machine_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_the_store), cmocka_unit_test(by_one_old_snapshot),
                                       cmocka_unit_test(by_a_snapshot_and_a_daemon_that_dies),
                                       cmocka_unit_test(a_changed_number_holds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
