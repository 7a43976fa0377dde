/* Which files of a boot are merged, and under which name; files that are left after a merge that was killed before it
 * could remove them.
 * Proves: CTL-17 (boot_<FLAGS>_1_km_premerge and um_premerge become boot_<FLAGS>_1). */
#include "autologger/daemon/end/merge_boot.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/autologger-parts-XXXXXX";

static void row_add(struct result_list *l, const char *session, bool kernel, const char *file)
{
    struct result_row *r = result_add(l);
    assert_non_null(r);
    snprintf(r->session, sizeof r->session, "%s", session);
    snprintf(r->log_path, sizeof r->log_path, "%s/%s", folder, file);
    r->kernel = kernel;
    r->start = r->file_created = true;
    FILE *f                    = fopen(r->log_path, "w");
    assert_non_null(f);
    assert_true(fprintf(f, "12345") == 5);
    fclose(f);
}

static const char *name_of(const char *path) { return strrchr(path, '/') + 1; }

static void names(void **state)
{
    static const struct {
        const char *session;
        bool        kernel;
        const char *file, *target;
    } cases[] = {
        {"GlobalLogger", true, "boot_PROC_THREAD+LOADER_1_km_premerge.etl", "boot_PROC_THREAD+LOADER_1.etl"},
        {"XBootMgrSession", false, "boot_PROC_THREAD+LOADER_1_um_premerge.etl", "boot_PROC_THREAD+LOADER_1.etl"},
        {"GlobalLogger", true, "x_km_premerge.etl.003", "x.etl.003"},
        /* a user session stays one, whatever its file's name */
        {"web", false, "x_km_premerge.etl", "web-merged.etl"},
        {"web", false, "web.etl.003", "web-merged.etl.003"}, /* FileMax: each boot's file stays */
        {"GlobalLogger", true, "x.etl.016", "GlobalLogger-merged.etl.016"},
        {"web", false, "web.v.1234", "web-merged.etl"},
        {"a/b", false, "web.etl", "a_b-merged.etl"},
        {"GlobalLogger", true, "GlobalLogger.etl", "GlobalLogger-merged.etl"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct result_list rows = {0};
        struct merge_parts parts;
        row_add(&rows, cases[i].session, cases[i].kernel, cases[i].file);
        merge_parts_select(os_linux(), &rows, &parts);
        assert_int_equal(parts.count, 1);
        assert_int_equal(parts.bytes, 5);
        assert_string_equal(name_of(parts.target), cases[i].target);
        unlink(rows.rows[0].log_path);
        result_list_finish(&rows);
    }
}

/* Two sessions of kernel events: the first one's file is merged; the other's stays, and is not removed as a
 * left-over. */
static void a_second_kernel_session_keeps_its_file(void **state)
{
    struct result_list rows = {0};
    struct merge_parts parts;
    (void)state;
    row_add(&rows, "NT Kernel Logger", true, "k.etl");
    row_add(&rows, "second", true, "second.etl");
    row_add(&rows, "web", false, "web.etl");
    merge_parts_select(os_linux(), &rows, &parts);
    assert_true(parts.count == 2 && parts.own_count == 1 && parts.bytes == 10);
    assert_string_equal(parts.row[1]->session, "web");
    merge_parts_note(&parts);
    assert_string_equal(rows.rows[1].merged_path, rows.rows[1].log_path);
    assert_string_equal(name_of(rows.rows[2].merged_path), "NT Kernel Logger-merged.etl");
    assert_int_equal(rows.rows[1].conditions.count, 1);
    assert_true(rows.rows[1].conditions.items[0].note);
    merge_parts_select(os_linux(), &rows, &parts);
    assert_true(parts.count == 0 && parts.own_count == 0);
    merge_parts_left(os_linux(), &rows, &parts);
    assert_int_equal(parts.count, 2); /* these may be removed */
    for (unsigned i = 0; i < rows.count; i++)
        unlink(rows.rows[i].log_path);
    result_list_finish(&rows);
}

/* A folder whose name ends like a premerge file keeps its name. */
static void only_the_file_name_is_cut(void **state)
{
    struct result_list rows = {0};
    struct merge_parts parts;
    char               below[100];
    (void)state;
    snprintf(below, sizeof below, "%s/d_km_premerge", folder);
    assert_int_equal(os_linux()->mkdir(os_linux(), below, 0755), 0);
    row_add(&rows, "GlobalLogger", true, "d_km_premerge/x_km_premerge.etl");
    merge_parts_select(os_linux(), &rows, &parts);
    assert_string_equal(parts.target + strlen(folder), "/d_km_premerge/x.etl");
    unlink(rows.rows[0].log_path);
    rmdir(below);
    result_list_finish(&rows);
}

/* Without a kernel session any user session's file may give the merged file its name; otherwise only the kernel's
 * does. */
static void who_gives_the_name(void **state)
{
    struct result_list rows = {0};
    struct merge_parts parts;
    (void)state;
    row_add(&rows, "a", false, "a.etl");
    row_add(&rows, "b", false, "boot_um_premerge.etl");
    merge_parts_select(os_linux(), &rows, &parts);
    assert_string_equal(name_of(parts.target), "boot.etl");
    row_add(&rows, "GlobalLogger", true, "kernel.etl");
    merge_parts_select(os_linux(), &rows, &parts);
    assert_string_equal(name_of(parts.target), "GlobalLogger-merged.etl");
    for (unsigned i = 0; i < rows.count; i++)
        unlink(rows.rows[i].log_path);
    result_list_finish(&rows);
}

static void selection_and_what_is_left(void **state)
{
    struct result_list rows = {0};
    struct merge_parts parts, left;
    (void)state;
    row_add(&rows, "one", false, "one.etl");
    row_add(&rows, "GlobalLogger", true, "kernel.etl");
    row_add(&rows, "failed", false, "failed.etl");
    row_add(&rows, "off", false, "off.etl");
    row_add(&rows, "gone", false, "gone.etl");
    rows.rows[2].file_created = false;
    rows.rows[3].start        = false;
    unlink(rows.rows[4].log_path);
    merge_parts_select(os_linux(), &rows, &parts);
    assert_int_equal(parts.count, 2);
    assert_string_equal(parts.row[0]->session, "GlobalLogger"); /* first, though declared later */
    assert_string_equal(parts.row[1]->session, "one");
    merge_parts_left(os_linux(), &rows, &left);
    assert_int_equal(left.count, 0);

    merge_parts_note(&parts);
    assert_string_equal(name_of(rows.rows[0].merged_path), "GlobalLogger-merged.etl");
    assert_string_equal(rows.rows[2].merged_path, "");
    /* killed here: nothing is merged again, but the files are still to be removed */
    merge_parts_select(os_linux(), &rows, &parts);
    assert_int_equal(parts.count, 0);
    merge_parts_left(os_linux(), &rows, &left);
    assert_int_equal(left.count, 2);
    merge_parts_remove(os_linux(), &left);
    assert_int_equal(access(rows.rows[0].log_path, F_OK), -1);
    assert_int_equal(access(rows.rows[1].log_path, F_OK), -1);
    assert_int_equal(access(rows.rows[2].log_path, F_OK), 0);
    merge_parts_left(os_linux(), &rows, &left);
    assert_int_equal(left.count, 0);
    unlink(rows.rows[2].log_path);
    unlink(rows.rows[3].log_path);
    result_list_finish(&rows);
}

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}
static int folder_remove(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(only_the_file_name_is_cut),
                                       cmocka_unit_test(a_second_kernel_session_keeps_its_file),
                                       cmocka_unit_test(who_gives_the_name),
                                       cmocka_unit_test(selection_and_what_is_left)};
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
