/* Boots by number: one number each, marks that stay, and what Keep gives up: the oldest, their files and nothing else.
 * D-27: a boot's loss is that of `status`, with what the kernel withheld. Proves: ANA-12. */
#include "autologger/boot/history.h"
#include "autologger/etl/writer.h"
#include "registry-sim/base/os_fake.h"
#include "registry-sim/text/winpath.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct machine {
    struct os_fake  *fake;
    struct regstore *store;
};

static int set_up(void **state)
{
    struct machine *m = calloc(1, sizeof *m);
    m->fake           = os_fake_create();
    os_fake_put_folder(m->fake, "/logs/sub");
    *state = m;
    return regstore_open_memory(&m->store, NULL) == W_SUCCESS ? 0 : -1;
}

static int tear_down(void **state)
{
    struct machine *m = *state;
    regstore_close(m->store);
    os_fake_destroy(m->fake);
    free(m);
    return 0;
}

/* An .etl file as the writer makes it: one buffer of 4 KB, and `more` further ones. */
static void put_etl(struct machine *m, const char *path, unsigned more)
{
    const struct etl_file_info info = {.logger_name = "s",
                                       .file_name   = path,
                                       .buffer_size = 4096,
                                       .processors  = 1,
                                       .logger_id   = 1,
                                       .clock_type  = 1,
                                       .perf_freq   = 10000000};
    struct etl_writer         *w;
    struct reason              why          = {0};
    uint8_t                    buffer[4096] = {0};
    assert_int_equal(etl_writer_create(&m->fake->os, path, &info, 0, &w, &why), 0);
    for (unsigned i = 0; i < more; i++)
        assert_int_equal(etl_writer_put(w, buffer, 100, 0, (int64_t)i, &why), 0);
    etl_writer_destroy(w);
}

static bool there(struct machine *m, const char *path)
{
    struct os_stat st;
    return m->fake->os.lstat(&m->fake->os, path, &st) == 0;
}

/* Saves boot `id` with one session for each path (NULL ends the list), all created and stopped in that boot. */
static void save(struct machine *m, const char *id, const char *const *paths)
{
    struct result_list list = {.time = 100, .target_ms = 1};
    struct reason      why  = {0};
    snprintf(list.boot_id, sizeof list.boot_id, "%s", id);
    for (; *paths; paths++) {
        struct result_row *r = result_add(&list);
        snprintf(r->session, sizeof r->session, "s%u", list.count);
        snprintf(r->log_path, sizeof r->log_path, "%s", *paths);
        r->start = r->stopped = r->concluded = r->file_created = true;
        r->written                                             = 10;
    }
    assert_int_equal(result_save(m->store, &list, &why), 0);
    result_list_finish(&list);
}
#define SAVE(m, id, ...) save(m, id, (const char *const[]){__VA_ARGS__, NULL})

/* "5 4* 2": the numbers from the newest on, baselines with a star. */
static const char *numbers(struct machine *m)
{
    static char    text[256];
    struct history h;
    assert_int_equal(history_load(m->store, &h, NULL), 0);
    *text = 0;
    for (unsigned i = 0; i < h.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u%s", i ? " " : "", h.boots[i].list.number,
                 h.boots[i].baseline ? "*" : "");
    history_finish(&h);
    return text;
}

static struct history_pruned prune(struct machine *m, uint64_t boots, uint64_t bytes)
{
    struct history_pruned out;
    struct reason         why = {0};
    assert_int_equal(history_prune(&m->fake->os, m->store, "/logs", boots, bytes, &out, &why), 0);
    assert_int_equal(os_fake_open_files(m->fake), 0);
    return out;
}

static void a_boot_keeps_its_number(void **state)
{
    struct machine    *m = *state;
    struct result_list list;
    assert_string_equal(numbers(m), "");
    assert_int_equal(result_load(m->store, &list, NULL), W_FILE_NOT_FOUND);
    SAVE(m, "a", "/logs/a.etl");
    SAVE(m, "b", "/logs/b.etl");
    assert_int_equal(history_mark(m->store, 1, true, NULL), 0);
    SAVE(m, "a", "/logs/a.etl", "/logs/a2.etl"); /* later in boot a: by its daemon, or recovered */
    assert_string_equal(numbers(m), "2 1*");
    assert_int_equal(result_load_number(m->store, 1, &list, NULL), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.boot_id, "a");
    assert_int_equal(list.number, 1);
    result_list_finish(&list);
    SAVE(m, "a", "/logs/a.etl");                             /* deleted rows stay deleted */
    assert_int_equal(result_load(m->store, &list, NULL), 0); /* the boot saved last, not the newest */
    assert_int_equal(list.number, 1);
    assert_int_equal(list.count, 1);
    result_list_finish(&list);
    assert_int_equal(result_load_number(m->store, 3, &list, NULL), W_FILE_NOT_FOUND);
    assert_int_equal(history_mark(m->store, 3, true, NULL), W_FILE_NOT_FOUND);
    assert_int_equal(history_mark(m->store, 1, false, NULL), 0);
    assert_string_equal(numbers(m), "2 1");
}

static void a_number_comes_once(void **state)
{
    struct machine *m = *state;
    char            id[8];
    for (int i = 1; i <= 12; i++) {
        snprintf(id, sizeof id, "b%d", i);
        SAVE(m, id, "/logs/x.etl");
        prune(m, 2, 0);
    }
    assert_string_equal(numbers(m), "12 11");
    SAVE(m, "b10", "/logs/x.etl"); /* boot b10 was removed: it gets a new number */
    assert_string_equal(numbers(m), "13 12 11");
}

static void everything_is_kept(void **state)
{
    struct machine    *m    = *state;
    struct result_list list = {.boot_id         = "id",
                               .time            = 7,
                               .rehearsal       = true,
                               .early_ns        = 1,
                               .ready_ns        = UINT64_C(1) << 40,
                               .armed_ns        = 3,
                               .held_ns         = 4,
                               .first_kernel_ns = 5,
                               .first_user_ns   = 6,
                               .target_ms       = 8,
                               .boot_done_ms    = 9,
                               .change_number   = 10,
                               .kernel_phase    = true,
                               .stop_reason     = "boot-done + 10 s"},
                       back;
    assert_int_equal(result_save(m->store, &list, NULL), 0);
    assert_int_equal(result_load(m->store, &back, NULL), 0);
    list.number = 1;
    assert_memory_equal(&list, &back, sizeof list);
}

static void a_boot_in_a_line(void **state)
{
    struct machine    *m    = *state;
    struct result_list list = {.boot_id = "id"};
    struct history     h;
    static const struct {
        const char *provider, *log, *merged;
        wstatus     status;
        uint64_t    written, lost;
        bool        made;
    } rows[] = {{"", "/logs/k.etl", "/logs/m.etl", 0, 100, 0, true},
                {"", "/logs/u.etl", "/logs/m.etl", 0, 20, 3, true}, /* a loss is a failure */
                {"{0063715b-eeda-4007-9429-ad526f62696e}", "", "", 0, 20, 0, false},
                {"", "/logs/never.etl", "", 87, 0, 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct result_row *r = result_add(&list);
        snprintf(r->session, sizeof r->session, "s%zu", i);
        snprintf(r->provider, sizeof r->provider, "%s", rows[i].provider);
        snprintf(r->log_path, sizeof r->log_path, "%s", rows[i].log);
        snprintf(r->merged_path, sizeof r->merged_path, "%s", rows[i].merged);
        r->start        = true;
        r->status       = rows[i].status;
        r->written      = rows[i].written;
        r->lost_memory  = rows[i].lost;
        r->withheld     = i == 0 ? 50 : 0; /* a note */
        r->file_created = rows[i].made;
        r->peak_bytes   = i < 2 ? 1000 : 0;
    }
    condition_add(&list.rows[0].conditions, 50, true, "x", "", 0, "", "a note");
    assert_int_equal(result_save(m->store, &list, NULL), 0);
    assert_int_equal(history_load(m->store, &h, NULL), 0);
    assert_int_equal(h.count, 1);
    const struct history_boot *b = &h.boots[0];
    assert_int_equal(b->sessions, 2);
    assert_int_equal(b->failed, 2);
    assert_int_equal(b->notes, 1);
    assert_int_equal(b->written, 120);
    assert_int_equal(b->lost, 53);
    assert_int_equal(b->peak_bytes, 2000);
    assert_int_equal(b->file_count, 3);
    assert_string_equal(b->files[1], "/logs/m.etl");
    assert_false(b->finished);
    assert_null(b->list.rows);
    history_finish(&h);
    list.boot_done_ms = 5000;
    assert_int_equal(result_save(m->store, &list, NULL), 0);
    assert_int_equal(history_load(m->store, &h, NULL), 0);
    assert_true(h.boots[0].finished);
    history_finish(&h);
    result_list_finish(&list);
}

/* ---- Keep ---- */

static void keep_a_number_of_boots(void **state)
{
    struct machine *m = *state;
    char            id[8], path[32];
    for (int i = 1; i <= 5; i++) {
        snprintf(id, sizeof id, "b%d", i);
        snprintf(path, sizeof path, "/logs/%d.etl", i);
        put_etl(m, path, 0);
        SAVE(m, id, path);
    }
    struct history_pruned out = prune(m, 0, 0);
    assert_int_equal(out.boots, 0);
    assert_int_equal(history_mark(m->store, 2, true, NULL), 0);
    out = prune(m, 3, 0);
    assert_string_equal(numbers(m), "5 4 3 2*"); /* the baseline does not count */
    assert_int_equal(out.boots, 1);
    assert_int_equal(out.files, 1);
    assert_int_equal(out.bytes, 4096);
    assert_false(there(m, "/logs/1.etl"));
    assert_true(there(m, "/logs/2.etl"));
    prune(m, 1, 0);
    assert_string_equal(numbers(m), "5 2*");
    assert_true(there(m, "/logs/5.etl"));
    assert_false(there(m, "/logs/3.etl"));
}

static void keep_a_number_of_bytes(void **state)
{
    struct machine *m = *state;
    put_etl(m, "/logs/1.etl", 1);
    SAVE(m, "b1", "/logs/1.etl");
    put_etl(m, "/logs/2.etl", 9); /* 40 KB */
    SAVE(m, "b2", "/logs/2.etl");
    put_etl(m, "/logs/3.etl", 1); /* 8 KB */
    SAVE(m, "b3", "/logs/3.etl");
    prune(m, 0, 56 << 10);
    assert_string_equal(numbers(m), "3 2 1"); /* 56 KB are 56 KB */
    struct history_pruned out = prune(m, 0, 20 << 10);
    assert_string_equal(numbers(m), "3"); /* oldest first: boot 1, though small, does not outlive boot 2 */
    assert_int_equal(out.files, 2);
    prune(m, 1, 1);
    assert_string_equal(numbers(m), "3"); /* never the newest */
    assert_true(there(m, "/logs/3.etl"));
}

/* Keep of [Boot] in the store. */
static void keep_of_the_store(void **state)
{
    struct machine       *m = *state;
    struct history_pruned out;
    SAVE(m, "b1", "/logs/1.etl");
    SAVE(m, "b2", "/logs/2.etl");
    SAVE(m, "b3", "/logs/3.etl");
    regstore_set_string(m->store, WINPATH_WMI "\\Autologger", "Keep", "3 boots, 1 GB", NULL);
    assert_int_equal(history_keep(&m->fake->os, m->store, "/logs", &out, NULL), 0);
    assert_string_equal(numbers(m), "3 2 1");
    regstore_set_string(m->store, WINPATH_WMI "\\Autologger", "Keep", "2 boots", NULL);
    assert_int_equal(history_keep(&m->fake->os, m->store, "/logs", &out, NULL), 0);
    assert_string_equal(numbers(m), "3 2");
    regstore_set_string(m->store, WINPATH_WMI "\\Autologger", "Keep", "two", NULL);
    assert_int_equal(history_keep(&m->fake->os, m->store, "/logs", &out, NULL), W_INVALID_PARAMETER);
    assert_string_equal(numbers(m), "3 2");
}

/* A session without FileMax writes the same file at each boot: the file belongs to the newest boot. */
static void a_file_that_another_boot_names_stays(void **state)
{
    struct machine *m = *state;
    put_etl(m, "/logs/same.etl", 3);
    put_etl(m, "/logs/old.etl", 0);
    SAVE(m, "b1", "/logs/same.etl", "/logs/old.etl");
    SAVE(m, "b2", "/logs/same.etl");
    prune(m, 0, 20 << 10); /* 16 KB once, not twice, and 4 KB */
    assert_string_equal(numbers(m), "2 1");
    prune(m, 1, 0);
    assert_true(there(m, "/logs/same.etl"));
    assert_false(there(m, "/logs/old.etl"));
}

static void nothing_else_is_removed(void **state)
{
    static const char text[] = "this is somebody's text and not a log file, however it is called";
    struct machine   *m      = *state;
    os_fake_put_folder(m->fake, "/home");
    put_etl(m, "/home/other.etl", 0);
    os_fake_put(m->fake, "/logs/text.etl", text, sizeof text);
    os_fake_put_folder(m->fake, "/logs/folder.etl");
    os_fake_put_link(m->fake, "/logs/link.etl", "/home/other.etl");
    os_fake_put_link(m->fake, "/logs/away", "/home");
    put_etl(m, "/logs/sub/yes.etl", 0);
    os_fake_put_folder(m->fake, "/logsother");
    put_etl(m, "/logsother/x.etl", 0);
    SAVE(m, "b1", "/home/other.etl", "/logs/text.etl", "/logs/folder.etl", "/logs/link.etl", "/logs/away/other.etl",
         "/logs/../home/other.etl", "/logs/./sub/yes.etl", "/logsother/x.etl", "/logs/missing.etl", "relative.etl",
         "/logs", "/logs/", "/logs/sub/yes.etl");
    SAVE(m, "b2", "/logs/b2.etl");
    struct history_pruned out = prune(m, 1, 0);
    assert_int_equal(out.boots, 1);
    assert_int_equal(out.files, 1);
    assert_int_equal(out.stayed, 0);
    assert_false(there(m, "/logs/sub/yes.etl"));
    static const char *const stay[] = {"/home/other.etl", "/logs/text.etl", "/logs/folder.etl",
                                       "/logs/link.etl",  "/logs/away",     "/logsother/x.etl"};
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
        assert_true(there(m, stay[i]));
}

/* H4: the store forgets a boot before its files are removed; if the store refuses, the files stay. */
static void files_go_after_the_store(void **state)
{
    struct machine *m = *state;
    put_etl(m, "/logs/1.etl", 0);
    SAVE(m, "b1", "/logs/1.etl");
    SAVE(m, "b2", "/logs/2.etl");
    struct history_pruned out;
    assert_int_equal(regstore_begin(m->store, NULL), 0); /* the store can't begin a second transaction */
    assert_int_equal(history_prune(&m->fake->os, m->store, "/logs", 1, 0, &out, NULL), W_INVALID_OPERATION);
    regstore_rollback(m->store);
    assert_int_equal(out.boots, 0);
    assert_true(there(m, "/logs/1.etl"));
    assert_string_equal(numbers(m), "2 1");
    m->fake->fail[FAKE_UNLINK].at    = 1;
    m->fake->fail[FAKE_UNLINK].error = EPERM;
    out                              = prune(m, 1, 0);
    assert_int_equal(out.stayed, 1);
    assert_int_equal(out.files, 0);
    assert_string_equal(numbers(m), "2");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_boot_keeps_its_number), T(a_number_comes_once),
        T(everything_is_kept),      T(a_boot_in_a_line),
        T(keep_a_number_of_boots),  T(keep_a_number_of_bytes),
        T(keep_of_the_store),       T(a_file_that_another_boot_names_stays),
        T(nothing_else_is_removed), T(files_go_after_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
