/* Is the present boot being traced? By the guard file until there are rows of it, then by its rows.
 * Proves: D-80. */
#include "autologger/daemon/early/guard.h"
#include "tools/setup/under_way.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct tree {
    char             root[64];
    struct machine   machine;
    struct regstore *store;
};

static void put(struct tree *t, const char *path, const char *text)
{
    assert_int_equal(machine_write(&t->machine, path, text, strlen(text), 0644, NULL), 0);
}

static void begin(struct tree *t, bool served, bool open)
{
    struct guard g = {0};
    char         text[2048];
    strcpy(t->root, "/tmp/under-way-XXXXXX");
    assert_non_null(mkdtemp(t->root));
    assert_int_equal(machine_open(t->root, &t->machine, NULL), 0);
    assert_int_equal(regstore_open_memory(&t->store, NULL), 0);
    put(t, "/proc/sys/kernel/random/boot_id", "now\n");
    if (served)
        put(t, "/run/autologger/control", "");
    guard_count_try(&g, 1, 7, open ? "now" : "former");
    text[guard_format(&g, text, sizeof text)] = 0;
    put(t, "/" GUARD_PATH, text);
}

static void end(struct tree *t)
{
    char command[100];
    regstore_close(t->store);
    snprintf(command, sizeof command, "rm -r %s", t->root);
    assert_int_equal(system(command), 0);
}

static void the_guard_is_the_witness_before_rows(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct tree      t;
        struct under_way u;
        begin(&t, i & 1, i & 2);
        under_way_look(&t.machine, t.store, NULL, &u);
        assert_int_equal(u.now, i == 3);
        assert_int_equal(u.number, i == 3 ? 1 : 0); /* the store's number, not the guard's */
        end(&t);
    }
}

/* A row of a running session, of one stopped and not merged, of one merged, and of one that was kept off. */
static void rows_are_the_witness(void **state)
{
    static const struct {
        bool        start, concluded, file, there, now;
        const char *merged, *reason, *boot;
    } cases[] = {
        {true, false, false, false, true, "", "", "now"},
        {true, true, true, true, true, "", "boot-done + 10 s", "now"},
        {true, true, true, true, false, "", "asked", "now"},                  /* stopped one by one */
        {true, true, true, false, false, "", "boot-done + 10 s", "now"},      /* somebody removed the file */
        {true, true, true, true, false, "/x.etl", "boot-done + 10 s", "now"}, /* merged */
        {false, false, false, false, false, "", "", "now"},                   /* kept off */
        {true, false, false, false, false, "", "", "former"},                 /* cut off, an earlier boot */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tree        t;
        struct under_way   u;
        struct result_list rows = {.number = 5};
        struct result_row *r    = result_add(&rows);
        begin(&t, true, false);
        snprintf(rows.boot_id, sizeof rows.boot_id, "%s", cases[i].boot);
        snprintf(rows.stop_reason, sizeof rows.stop_reason, "%s", cases[i].reason);
        snprintf(r->log_path, sizeof r->log_path, "/log.etl");
        snprintf(r->merged_path, sizeof r->merged_path, "%s", cases[i].merged);
        r->start        = cases[i].start;
        r->concluded    = cases[i].concluded;
        r->file_created = cases[i].file;
        if (cases[i].there)
            put(&t, "/log.etl", "x");
        under_way_look(&t.machine, t.store, &rows, &u);
        if (u.now != cases[i].now)
            print_error("case %zu\n", i);
        assert_int_equal(u.now, cases[i].now);
        assert_int_equal(u.number, cases[i].now ? 5 : 0);
        result_list_finish(&rows);
        end(&t);
    }
}

static void how_it_ends(void **state)
{
    static const struct {
        struct boot_settings s;
        const char          *text;
    } cases[] = {
        {{.stops = true, .after_boot_done = true}, "it ends by itself when the machine has been calm for 10 s"},
        {{.stops = true, .after_boot_done = true, .stop_after_ms = 10000, .max_wait_ms = 300000},
         "it ends by itself when the machine has been calm for 10 s, and then 10 s later; at the latest after 5 min"},
        {{.stops = true, .stop_after_ms = 90000}, "it ends by itself 90 s after its start"},
        {{0}, "it goes on until it is stopped: autologger stop --merge"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        under_way_ends(&cases[i].s, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_guard_is_the_witness_before_rows),
                                       cmocka_unit_test(rows_are_the_witness), cmocka_unit_test(how_it_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
