/* Start, Enabled and keys that were changed after a boot had read them are noted, once, with the place of the
 * change. */
#include "autologger/boot/changed.h"
#include "registry-sim/text/winpath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WEB WINPATH_WMI "\\Autologger\\web"
#define APP WEB "\\{1}"

struct fixture {
    struct regstore   *store;
    struct result_list rows;
};

static struct result_row *row_add(struct fixture *f, const char *key, const char *provider, bool start)
{
    struct result_row *r = result_add(&f->rows);
    snprintf(r->key, sizeof r->key, "%s", key);
    snprintf(r->provider, sizeof r->provider, "%s", provider);
    r->start = start;
    return r;
}

static void fixture_make(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(regstore_open_memory(&f->store, NULL), 0);
    assert_int_equal(regstore_set_dword(f->store, WEB, "Start", 1, NULL), 0);
    assert_int_equal(regstore_set_dword(f->store, APP, "Enabled", 1, NULL), 0);
    row_add(f, WEB, "", true);
    row_add(f, APP, "{1}", true);
}

static void fixture_finish(struct fixture *f)
{
    result_list_finish(&f->rows);
    regstore_close(f->store);
}

static void nothing_changed(void **state)
{
    struct fixture f;
    (void)state;
    fixture_make(&f);
    row_add(&f, WINPATH_WMI "\\Autologger\\unread", "", false)->status = W_INVALID_PARAMETER;
    assert_int_equal(regstore_set_dword(f.store, WINPATH_WMI "\\Autologger\\unread", "Start", 1, NULL), 0);
    snprintf(row_add(&f, WINPATH_WMI "\\Autologger\\used", "", false)->reason, 100, "traced once in boot 1"); /* D-81 */
    assert_int_equal(regstore_set_dword(f.store, WINPATH_WMI "\\Autologger\\used", "Start", 1, NULL), 0);
    /* a row of a declaration that no store accepted */
    row_add(&f, WINPATH_WMI "\\Autologger\\refused", "", true)->status = W_INVALID_PARAMETER;
    assert_int_equal(changed_note(&f.rows, f.store), 0);
    fixture_finish(&f);
}

static void switched_off_and_on(void **state)
{
    struct fixture  f;
    const uint8_t   zero[4] = {0};
    struct regvalue off     = {
            .name = "Start", .type = REG_TYPE_DWORD, .data = zero, .size = 4, .source_file = "off.reg", .source_line = 5};
    (void)state;
    fixture_make(&f);
    row_add(&f, WINPATH_WMI "\\Autologger\\idle", "", false);
    assert_int_equal(regstore_set(f.store, WEB, &off, NULL), 0);
    assert_int_equal(regstore_delete_value(f.store, APP, "Enabled", NULL), 0); /* an absent value is 0 */
    assert_int_equal(regstore_set_dword(f.store, WINPATH_WMI "\\Autologger\\idle", "Start", 1, NULL), 0);
    assert_int_equal(changed_note(&f.rows, f.store), 3);
    const struct condition *web = &f.rows.rows[0].conditions.items[0], *app = &f.rows.rows[1].conditions.items[0],
                           *idle = &f.rows.rows[2].conditions.items[0];
    assert_int_equal(web->number, W_REVISION_MISMATCH);
    assert_true(web->note);
    assert_string_equal(
        web->reason,
        "Start is 0 in the store now and was 1 when this boot read it (off.reg:5): the next boot will not start it");
    assert_string_equal(web->advice, "if that was not you, set Start to 1 again");
    assert_non_null(strstr(app->reason, "Enabled is 0 in the store now and was 1"));
    assert_non_null(strstr(idle->reason, "was 0 when this boot read it: the next boot will start it"));
    assert_int_equal(result_level(&f.rows.rows[0]), RESULT_NOTE);
    assert_int_equal(changed_note(&f.rows, f.store), 0); /* already said */
    fixture_finish(&f);
}

static void a_declaration_is_gone(void **state)
{
    struct fixture f;
    (void)state;
    fixture_make(&f);
    assert_int_equal(regstore_delete_key(f.store, WEB, NULL), 0);
    assert_int_equal(changed_note(&f.rows, f.store), 1); /* its providers were deleted with it */
    assert_non_null(strstr(f.rows.rows[0].conditions.items[0].reason, "no longer in the store"));
    fixture_finish(&f);
    fixture_make(&f);
    assert_int_equal(regstore_delete_key(f.store, APP, NULL), 0);
    assert_int_equal(changed_note(&f.rows, f.store), 1);
    assert_int_equal(f.rows.rows[1].conditions.count, 1);
    fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changed),
        cmocka_unit_test(switched_off_and_on),
        cmocka_unit_test(a_declaration_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
