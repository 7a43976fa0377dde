/* The lists of registrations compared with the table itself, slot by slot, over random steps; a second set of lists is
 * made from the table as a successor makes it. */
#include "autologger/control/registered.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CONNECTIONS = 5, INDEXES = 64, STEPS = 20000, LOOK_EACH = 500 };

static struct state_daemon *table;
static struct registered    lists;

static int by_look(unsigned connection, uint32_t index)
{
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++)
        if (table->registration[i].in_use && table->registration[i].connection == connection &&
            table->registration[i].index == index)
            return (int)i;
    return -1;
}

static unsigned in_use(unsigned connection)
{
    unsigned n = 0;
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++)
        n += table->registration[i].in_use && table->registration[i].connection == connection;
    return n;
}

static void all_agree(const struct registered *l)
{
    for (unsigned c = 0; c < CONNECTIONS; c++) {
        unsigned n = 0;
        for (int i = registered_first(l, c); i >= 0; i = registered_next(l, (unsigned)i), n++) {
            assert_true(table->registration[i].in_use);
            assert_int_equal(table->registration[i].connection, c);
        }
        assert_int_equal(n, in_use(c));
    }
    for (unsigned c = 0; c < CONNECTIONS; c++)
        for (uint32_t index = 0; index < INDEXES; index++)
            assert_int_equal(registered_find(l, table, c, index), by_look(c, index));
}

static void take(unsigned connection, uint32_t index)
{
    const int place = registered_free(&lists);
    assert_true(place >= 0);
    assert_false(table->registration[place].in_use);
    registered_take(&lists, connection);
    table->registration[place] = (struct state_registration){1, connection, index, 0};
}

static void give(int place)
{
    table->registration[place].in_use = 0;
    registered_give(&lists, table->registration[place].connection, (unsigned)place);
    assert_int_equal(registered_free(&lists), place);
}

static void as_the_table_is(void **state)
{
    (void)state;
    unsigned taken = 0, given = 0;
    registered_begin(&lists, table);
    srand(1);
    for (unsigned n = 0; n < STEPS; n++) {
        const unsigned connection = (unsigned)rand() % CONNECTIONS;
        const uint32_t index      = (uint32_t)rand() % INDEXES;
        const int      place      = registered_find(&lists, table, connection, index);
        if (place < 0)
            take(connection, index), taken++;
        else
            give(place), given++;
        if (n % LOOK_EACH == 0)
            all_agree(&lists);
    }
    assert_true(taken > STEPS / 4 && given > STEPS / 4);
    static struct registered successor;
    registered_begin(&successor, table);
    all_agree(&successor);
    while (registered_first(&lists, 0) >= 0) /* a connection closes */
        give(registered_first(&lists, 0));
    all_agree(&lists);
}

static void until_none_is_free(void **state)
{
    (void)state;
    registered_begin(&lists, table);
    unsigned n = 0;
    for (unsigned c = 0; c < CONNECTIONS; c++)
        n += in_use(c);
    for (uint32_t index = 1000; registered_free(&lists) >= 0; index++, n++)
        take(CONNECTIONS - 1, index);
    assert_int_equal(n, STATE_REGISTRATIONS);
    give(STATE_REGISTRATIONS - 1);
    take(0, 5000);
    assert_int_equal(registered_find(&lists, table, 0, 5000), STATE_REGISTRATIONS - 1);
}

static void torn(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++)
        table->registration[i].in_use = 0;
    table->registration[3] = (struct state_registration){1, STATE_CONNECTIONS, 0, 0};
    registered_begin(&lists, table);
    unsigned n = 0;
    for (; registered_free(&lists) >= 0; n++)
        registered_take(&lists, 1);
    assert_int_equal(n, STATE_REGISTRATIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_table_is), cmocka_unit_test(until_none_is_free),
                                       cmocka_unit_test(torn)};
    table                           = calloc(1, sizeof *table);
    if (!table)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(table);
    return failed;
}
