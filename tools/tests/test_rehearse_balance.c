/* Proves: COR-20 attempted = written + lost, where attempted is another's count; a difference is not called balanced.
 * D-76: "written" is what is in the file, also of a kernel session whose file was full. */
#include "tools/live/rehearse_balance.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#define DEMO "{3ace9e29-7869-56c5-e486-5fa29f6eacdf}"
#define KEY "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger\\web\\" DEMO

static void report_read(const char *text, struct demo_report *out)
{
    char path[] = "/tmp/al-report-XXXXXX";
    int  fd     = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    demo_report_read(path, out);
    unlink(path);
}

static void test_user_session(void **state)
{
    (void)state;
    static const struct {
        uint64_t written, lost;
        uint32_t level;
        bool     holds, filtered;
    } rows[] = {
        {100, 0, 0, true, false},  {90, 10, 5, true, false}, {90, 0, 0, false, false},
        {101, 0, 0, false, false}, {40, 0, 3, true, true},   {101, 0, 3, false, true},
    };
    struct demo_report demo;
    report_read("nonsense\nprovider=" DEMO " attempted=100 name=x\nprovider={bad} attempted=5\n", &demo);
    assert_int_equal(demo.count, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct regstore   *store = NULL;
        struct result_list list  = {0};
        struct balance     b;
        assert_int_equal(regstore_open_memory(&store, NULL), W_SUCCESS);
        assert_int_equal(regstore_set_dword(store, KEY, "EnableLevel", rows[i].level, NULL), W_SUCCESS);
        struct result_row *session = result_add(&list), *provider;
        strcpy(session->session, "web");
        session->start       = true;
        session->written     = rows[i].written;
        session->lost_memory = rows[i].lost;
        provider             = result_add(&list);
        strcpy(provider->session, "web");
        strcpy(provider->provider, DEMO);
        strcpy(provider->key, KEY);
        provider->start = true;
        assert_true(balance_of(&list, &list.rows[0], &demo, store, &b));
        assert_int_equal(b.attempted, 100);
        assert_int_equal(b.filtered, rows[i].filtered);
        assert_int_equal(balance_holds(&b), rows[i].holds);
        assert_false(balance_of(&list, &list.rows[1], &demo, store, &b));
        result_list_finish(&list);
        regstore_close(store);
    }
}

static void line_is(const struct balance *b, const char *wanted)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *to   = open_memstream(&text, &size);
    assert_non_null(to);
    balance_print(b, to);
    fclose(to);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_kernel_session(void **state)
{
    (void)state;
    struct demo_report demo = {0};
    struct result_list list = {0};
    struct balance     b;
    struct result_row *row = result_add(&list);
    row->kernel = row->start = true;
    row->attempted           = 50;
    row->converted           = 44;
    row->written             = 1000; /* events: not records */
    row->lost_ring           = 4;
    row->lost_conversion     = 2;
    assert_true(balance_of(&list, row, &demo, NULL, &b));
    assert_true(balance_holds(&b));
    assert_int_equal(b.written, 1000);
    assert_int_equal(b.lost, 6);
    row->written   = 700; /* the file was full */
    row->lost_file = 300;
    assert_true(balance_of(&list, row, &demo, NULL, &b));
    assert_true(balance_holds(&b));
    assert_int_equal(b.written, 700);
    assert_int_equal(b.lost, 306);
    line_is(
        &b,
        ": attempted 50 = converted 44 + lost 6   (records, counted by the kernel); events written 700 + lost on the way to the file 300\n");
    row->withheld  = 2;
    row->lost_ring = 2;
    row->lost_file = 0;
    assert_true(balance_of(&list, row, &demo, NULL, &b));
    assert_true(balance_holds(&b));
    line_is(
        &b,
        ": attempted 50 = converted 44 + lost 6   (records, counted by the kernel; 2 of the lost were withheld by a filter of this kernel); "
        "events written 700\n");
    row->converted = 43;
    assert_true(balance_of(&list, row, &demo, NULL, &b));
    assert_false(balance_holds(&b));
    row->status = W_PRIVILEGE_NOT_HELD;
    assert_false(balance_of(&list, row, &demo, NULL, &b));
    result_list_finish(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_user_session), cmocka_unit_test(test_kernel_session)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
