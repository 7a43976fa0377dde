/* The unit of each process, as the trace tells it: rundown, fork, exec, move; how many processes each unit had; the
 * process of an event.
 * Proves: issue 4 "everything downstream can group by unit". */
#include "autologger/consumer/unit_table.h"
#include "autologger/etl/tests/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TRAITS "\x1c\0Autologger-Kernel-Cgroups"
#define SCHEMA "\x23\0\0ProcessCgroup\0ProcessId\0\x08Unit\0\x82\x23"

static struct image m;
static int64_t      now = 2000000;

static void process(uint16_t hook, uint32_t by, uint32_t pid, uint32_t parent)
{
    uint8_t bytes[64] = {0};
    memcpy(bytes + 8, &pid, 4);
    memcpy(bytes + 12, &parent, 4);
    image_kernel(&m, now++, hook, 4, by, bytes, sizeof bytes);
}

static void thread(uint32_t pid, uint32_t tid)
{
    uint32_t ids[2] = {pid, tid};
    image_kernel(&m, now++, 0x0501, 3, pid, ids, sizeof ids);
}

static void told(uint32_t pid, const char *unit)
{
    struct guid provider = guid_from_name("Autologger-Kernel-Cgroups");
    uint32_t    at       = m.pos;
    uint8_t     bytes[64];
    memcpy(bytes, &pid, 4);
    memcpy(bytes + 4, unit, strlen(unit) + 1);
    image_tracelogging(&m, now++, TRAITS, sizeof TRAITS, SCHEMA, sizeof SCHEMA - 1, bytes, strlen(unit) + 5);
    memcpy(image_last(&m) + at + offsetof(struct etl_event_header, provider), &provider, sizeof provider);
}

static void switches(int64_t at, uint32_t comes, uint32_t goes)
{
    uint32_t ids[6] = {comes, goes};
    now             = at;
    image_kernel(&m, now++, 0x0524, 4, 0, ids, sizeof ids);
}

static const struct unit_row *row(const struct unit_row *rows, unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void units_by_processes(void **state)
{
    struct etl_file_info   info = build_info(4096);
    struct etl_reader     *r;
    struct etl_event       e;
    struct decoded         names;
    struct unit_table      t = {0};
    const struct unit_row *rows;
    uint8_t                write[56] = {0}, four = 200;
    (void)state;

    m = image_start(&info);
    image_buffer(&m, 0, 1);
    process(0x0303, 0, 1, 0);
    told(1, "init.scope");
    process(0x0301, 1, 100, 1); /* a fork: in the unit of the parent, */
    thread(100, 100);
    told(100, "web.service");     /* until it is moved; */
    process(0x0302, 100, 100, 1); /* an exec changes nothing, */
    process(0x0301, 100, 100, 1);
    thread(100, 100);
    process(0x0301, 100, 200, 100); /* a child is in the same unit, too, */
    thread(200, 200);
    process(0x0302, 200, 200, 100);
    process(0x0301, 1, 200, 1); /* and the next process of that id is in its own parent's unit */
    thread(200, 201);
    process(0x0301, 1, 300, 1);
    told(300, "");
    process(0x0301, 7777, 400, 7777); /* its parent is not known */
    process(0x0303, 0, 4, 0);
    switches(3000000, 100, 0);
    switches(3000500, 201, 100); /* 500 ticks of 100 ns */
    switches(3000800, 0, 999);   /* the thread that leaves is not the one that came: a switch is missing */
    write[8]  = four;
    write[48] = 100;
    image_kernel(&m, now++, 0x010B, 3, 0, write, sizeof write);
    switches(3001000, 100, 0);
    image_event(&m, 3001700, 1); /* the end: 700 more */
    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, NULL), W_SUCCESS);
    struct schema_set *set    = schema_set_new();
    uint64_t           events = 0;
    while (etl_next(r, &e)) {
        decoded_names(set, &e, &names);
        unit_table_see(&t, &e, &names);
        events++;
    }
    schema_set_free(set);
    unsigned n = unit_table_end(&t, &rows);
    assert_int_equal(row(rows, n, "web.service")->processes, 2);
    assert_int_equal(row(rows, n, "init.scope")->processes, 2);
    assert_int_equal(row(rows, n, "(none)")->processes, 1);
    assert_int_equal(row(rows, n, "(not told)")->processes, 1);
    assert_int_equal(row(rows, n, "web.service")->cpu, 500 + 700);
    assert_int_equal(row(rows, n, "init.scope")->cpu, 0);
    assert_int_equal(row(rows, n, "(not told)")->cpu, 300);
    assert_int_equal(row(rows, n, "(idle)")->cpu, 200);
    assert_int_equal(row(rows, n, "web.service")->written, 200);
    for (unsigned i = 0; i < n; i++)
        events -= rows[i].events;
    assert_int_equal(events, 0);
    unit_table_finish(&t);
    etl_reader_close(r);
    image_free(&m);
}

static void names_by_pattern(void **state)
{
    (void)state;
    assert_true(process_units_match("web", "web.service") && process_units_match("w*", "web.service") &&
                process_units_match("*", "a.scope"));
    assert_true(process_units_match("web.service", "web.service") && process_units_match("none", "") &&
                process_units_match("user-*.slice", "user-1.slice"));
    assert_false(process_units_match("web", "web.socket") || process_units_match("*", "") ||
                 process_units_match("none", "none.service.d") || process_units_match("web", "webs.service"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(units_by_processes), cmocka_unit_test(names_by_pattern)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
