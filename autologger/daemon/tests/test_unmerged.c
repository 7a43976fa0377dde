/* Files of a boot that was shut down before they were merged: moved aside once, whatever happens in between; a boot
 * that is removed takes its note along. The store is a real file, so that it can be opened as the daemon does. */
#include "autologger/daemon/end/unmerged.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], store_path[96], log_path[96], aside_path[96];

static int folder_make(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/autologger-unmerged-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(store_path, sizeof store_path, "%s/r.db", folder);
    snprintf(log_path, sizeof log_path, "%s/web_um_premerge.etl", folder);
    snprintf(aside_path, sizeof aside_path, "%s/web_um_premerge.boot-1.etl", folder);
    return 0;
}

static int folder_remove(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void file_put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *file_get(const char *path, char out[32])
{
    FILE *f = fopen(path, "r");
    *out    = 0;
    if (f && !fgets(out, 32, f))
        *out = 0;
    if (f)
        fclose(f);
    return f ? out : "(none)";
}

static struct regstore *store_open(bool write)
{
    struct regstore *store = NULL;
    struct reason    why   = {0};
    assert_int_equal(regstore_open(store_path, write, &store, &why), W_SUCCESS);
    return store;
}

static void boot_save(const char *boot_id, bool noted)
{
    struct result_list list  = {0};
    struct reason      why   = {0};
    struct regstore   *store = store_open(true);
    struct result_row *r     = result_add(&list);
    snprintf(list.boot_id, sizeof list.boot_id, "%s", boot_id);
    strcpy(r->session, "web");
    strcpy(r->key, "HKEY_LOCAL_MACHINE\\SYSTEM\\web");
    strcpy(r->log_path, log_path);
    r->start = r->stopped = r->concluded = r->file_created = true;
    assert_int_equal(result_save(store, &list, &why), W_SUCCESS);
    if (noted)
        assert_int_equal(unmerged_note(store, boot_id, &why), W_SUCCESS);
    regstore_close(store);
    result_list_finish(&list);
}

/* The daemon's step at its start. Returns the number of boots to be merged. */
static unsigned look(void)
{
    struct unmerged u = {
        .os = os_linux(), .store_path = store_path, .store_open = regstore_open, .job = {.end_fd = -1}};
    struct regstore *store = store_open(false);
    unmerged_look(&u, store);
    regstore_close(store);
    unmerged_move(&u);
    unsigned count = u.count;
    unmerged_finish(&u);
    return count;
}

static void expect_row(uint32_t boot, const char *path)
{
    struct result_list list;
    struct reason      why;
    struct regstore   *store = store_open(false);
    assert_int_equal(result_load_number(store, boot, &list, &why), W_SUCCESS);
    assert_string_equal(list.rows[0].log_path, path);
    result_list_finish(&list);
    regstore_close(store);
}

static void names_aside(void **state)
{
    static const struct {
        const char *path, *aside;
    } rows[] = {
        {"/l/x_km_premerge.etl", "/l/x_km_premerge.boot-7.etl"},
        {"/l/x_km_premerge.etl.003", "/l/x_km_premerge.boot-7.etl.003"},
        {"/l.etl/x", "/l.etl/x.boot-7"},
        {"x", "x.boot-7"},
    };
    char out[64];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(unmerged_aside(rows[i].path, 7, out, sizeof out));
        assert_string_equal(out, rows[i].aside);
    }
    assert_true(unmerged_aside("x.etl", 7, out, 13));
    assert_false(unmerged_aside("x.etl", 7, out, 12));
}

static void a_noted_file_is_moved_once(void **state)
{
    char             text[32];
    struct regstore *store;
    (void)state;
    boot_save("one", true);
    file_put(log_path, "of boot 1");
    assert_int_equal(look(), 1);
    assert_string_equal(file_get(aside_path, text), "of boot 1");
    assert_int_equal(access(log_path, F_OK), -1);
    expect_row(1, aside_path);
    boot_save("two", false); /* writes a file of the same name */
    file_put(log_path, "of boot 2");
    assert_int_equal(look(), 1); /* and another boot that is not merged */
    assert_string_equal(file_get(log_path, text), "of boot 2");
    assert_string_equal(file_get(aside_path, text), "of boot 1");
    unlink(aside_path); /* removed by a user: the file at log_path is still not boot 1's */
    assert_int_equal(look(), 1);
    assert_string_equal(file_get(log_path, text), "of boot 2");
    store = store_open(true);
    assert_int_equal(unmerged_forget(store, "one", NULL), W_SUCCESS);
    assert_int_equal(unmerged_forget(store, "one", NULL), W_SUCCESS);
    assert_int_equal(result_last(store), 2);
    regstore_close(store);
    assert_int_equal(look(), 0);
}

/* A start was killed when the rows had the new path, and the file was not moved yet; then, when it was. */
static void a_start_that_was_killed_goes_on(void **state)
{
    char text[32];
    (void)state;
    boot_save("one", true);
    file_put(log_path, "of boot 1");
    assert_int_equal(look(), 1);
    for (int moved_back = 1; moved_back >= 0; moved_back--) {
        struct regstore *store = store_open(true);
        assert_int_equal(unmerged_note(store, "one", NULL), W_SUCCESS); /* Moved is 0 again */
        regstore_close(store);
        if (moved_back)
            assert_int_equal(rename(aside_path, log_path), 0);
        assert_int_equal(look(), 1);
        assert_string_equal(file_get(aside_path, text), "of boot 1");
        assert_int_equal(access(log_path, F_OK), -1);
        expect_row(1, aside_path);
    }
}

static void a_boot_that_was_given_up_is_forgotten(void **state)
{
    struct unmerged u = {
        .os = os_linux(), .store_path = store_path, .store_open = regstore_open, .job = {.end_fd = -1}};
    struct regstore *store;
    char             key[RESULT_KEY_SIZE];
    (void)state;
    boot_save("one", true);
    boot_save("two", false);
    store = store_open(true);
    assert_int_equal(regstore_delete_key(store, result_key(1, key), NULL), W_SUCCESS);
    regstore_close(store);
    store = store_open(false);
    unmerged_look(&u, store);
    regstore_close(store);
    unmerged_move(&u);
    unmerged_step(&u, -1);
    assert_int_equal(u.count, 0);
    assert_int_equal(look(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_aside),
        cmocka_unit_test_setup_teardown(a_noted_file_is_moved_once, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(a_start_that_was_killed_goes_on, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(a_boot_that_was_given_up_is_forgotten, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
