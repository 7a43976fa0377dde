/* Suggested buffers go into the store as a whole, or are only shown; sessions that did not run are left alone. */
#include "tools/setup/tune.h"

#include "registry-sim/text/winpath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEY(name) WINPATH_WMI "\\Autologger\\" name

static struct result_row *row_add(struct result_list *rows, const char *name, uint32_t minimum, uint32_t maximum)
{
    struct result_row *r = result_add(rows);
    snprintf(r->session, sizeof r->session, "%s", name);
    snprintf(r->key, sizeof r->key, KEY("%s"), name);
    r->start           = true;
    r->asked.buffer_kb = r->given.buffer_kb = 64;
    r->suggested_minimum                    = minimum;
    r->suggested_maximum                    = maximum;
    return r;
}

static void collect(void *ctx, const struct tune_change *c)
{
    char line[300];
    strcat(ctx, tune_line(c, line, sizeof line));
    strcat(ctx, "\n");
}

static uint32_t value(struct regstore *store, const char *key, const char *name)
{
    uint32_t v = 0;
    return regstore_get_dword(store, key, name, &v, NULL) ? 0 : v;
}

static void what_ran_is_tuned(void **state)
{
    struct regstore   *store;
    struct result_list rows = {0};
    struct reason      why;
    char               lines[1000] = "";
    unsigned           changes;
    (void)state;
    assert_int_equal(regstore_open_memory(&store, NULL), 0);
    regstore_set_dword(store, KEY("web"), "MinimumBuffers", 4, NULL);
    regstore_set_dword(store, KEY("web"), "MaximumBuffers", 26, NULL);
    regstore_set_dword(store, KEY("same"), "MinimumBuffers", 6, NULL);
    regstore_set_dword(store, KEY("same"), "MaximumBuffers", 9, NULL);
    regstore_set_dword(store, KEY("default"), "Start", 1, NULL);
    regstore_set_dword(store, KEY("larger"), "BufferSize", 256, NULL);
    regstore_set_dword(store, KEY("failed"), "MinimumBuffers", 4, NULL);
    row_add(&rows, "web", 4, 12);
    row_add(&rows, "same", 6, 9);
    row_add(&rows, "default", 5, 8);
    row_add(&rows, "larger", 9, 16); /* 64 KB then, 256 KB now */
    row_add(&rows, "failed", 5, 8)->status = W_NOT_ENOUGH_MEMORY;
    row_add(&rows, "gone", 5, 8);
    row_add(&rows, "idle", 0, 0);
    static const char expected[] = "web: MaximumBuffers 26 -> 12\ndefault: MinimumBuffers (default) -> 5\n"
                                   "default: MaximumBuffers (default) -> 8\nlarger: MinimumBuffers (default) -> 3\n"
                                   "larger: MaximumBuffers (default) -> 4\n";
    assert_int_equal(tune_apply(store, &rows, true, collect, lines, &changes, &why), 0);
    assert_string_equal(lines, expected);
    assert_int_equal(changes, 5);
    assert_int_equal(value(store, KEY("web"), "MaximumBuffers"), 26); /* only shown */
    *lines = 0;
    assert_int_equal(tune_apply(store, &rows, false, collect, lines, &changes, &why), 0);
    assert_string_equal(lines, expected);
    assert_int_equal(value(store, KEY("web"), "MinimumBuffers"), 4);
    assert_int_equal(value(store, KEY("web"), "MaximumBuffers"), 12);
    assert_int_equal(value(store, KEY("larger"), "MaximumBuffers"), 4);
    assert_int_equal(value(store, KEY("failed"), "MinimumBuffers"), 4);
    assert_false(regstore_key_exists(store, KEY("gone")));
    assert_int_equal(tune_apply(store, &rows, false, NULL, NULL, &changes, &why), 0);
    assert_int_equal(changes, 0); /* twice is fine */
    result_list_finish(&rows);
    regstore_close(store);
}

static void a_store_that_cannot_be_written_stays(void **state)
{
    struct regstore   *store;
    struct result_list rows    = {0};
    struct reason      why     = {0};
    unsigned           changes = 9;
    (void)state;
    assert_int_equal(regstore_open_memory(&store, NULL), 0);
    regstore_set_dword(store, KEY("web"), "MinimumBuffers", 4, NULL);
    row_add(&rows, "web", 6, 12);
    assert_int_equal(regstore_begin(store, NULL), 0); /* the caller's transaction: transactions do not nest */
    assert_int_not_equal(tune_apply(store, &rows, false, NULL, NULL, &changes, &why), 0);
    assert_int_equal(changes, 0);
    regstore_rollback(store);
    assert_int_equal(value(store, KEY("web"), "MinimumBuffers"), 4);
    result_list_finish(&rows);
    regstore_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ran_is_tuned),
        cmocka_unit_test(a_store_that_cannot_be_written_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
