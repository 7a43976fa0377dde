/* The directory of providers: slots are found, used again, and a place that nobody ever took costs no memory. Proves: REG-19. */
#include "autologger/session/directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MANY = 40 };

static struct guid guid_of(unsigned n) { return (struct guid){.data1 = n + 1}; }

static int64_t bytes_in_use(const struct directory *d)
{
    struct stat st;
    assert_int_equal(fstat(d->fd, &st), 0);
    return (int64_t)st.st_blocks * 512;
}

static struct directory *made(void)
{
    struct directory *d;
    struct reason     why;
    assert_int_equal(directory_create(os_linux(), &d, &why), W_SUCCESS);
    return d;
}

static void memory_is_touched_where_a_slot_was_taken(void **state)
{
    struct directory  *d     = made();
    const struct guid  first = guid_of(0), none = guid_of(MANY);
    const int64_t      page  = sysconf(_SC_PAGESIZE);
    (void)state;
    assert_int_equal(directory_find(d, &first), -1);
    assert_int_equal(directory_get(d, &first), 0);
    assert_int_equal(directory_find(d, &none), -1);
    assert_true(bytes_in_use(d) <= 2 * page);
    directory_destroy(d);
}

static void slots_are_found_and_used_again(void **state)
{
    struct directory *d = made();
    struct guid       g;
    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        g = guid_of(i);
        assert_int_equal(directory_get(d, &g), (int)i);
        directory_register(d, i, 1);
    }
    directory_register(d, 7, -1); /* free */
    g = guid_of(7);
    assert_int_equal(directory_find(d, &g), -1);
    g = guid_of(MANY - 1);
    assert_int_equal(directory_get(d, &g), MANY - 1); /* there already */
    g = guid_of(1000);
    assert_int_equal(directory_get(d, &g), 7);
    g = guid_of(1001);
    assert_int_equal(directory_get(d, &g), MANY);
    directory_destroy(d);
}

static void all_can_be_taken(void **state)
{
    struct directory *d = made();
    struct guid       g;
    (void)state;
    for (unsigned i = 0; i < SHM_PROVIDERS; i++) {
        g = guid_of(i);
        assert_int_equal(directory_get(d, &g), (int)i);
    }
    g = guid_of(SHM_PROVIDERS);
    assert_int_equal(directory_get(d, &g), -1);
    directory_destroy(d);
}

/* A successor finds what there was, and takes new slots behind it. */
static void an_adopted_directory_knows_its_slots(void **state)
{
    struct directory   *d = made(), *next;
    struct reason       why;
    struct enable_terms terms = {.level = 4};
    unsigned            entry;
    struct guid         g;
    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        g = guid_of(i);
        assert_int_equal(directory_get(d, &g), (int)i);
        assert_int_equal(directory_enable(d, i, 0, &terms, &entry, &why), W_SUCCESS);
    }
    directory_disable(d, MANY - 1, 0); /* free, and was taken once */
    assert_int_equal(directory_adopt(dup(d->fd), &next, &why), W_SUCCESS);
    directory_counted(next);
    g = guid_of(MANY - 2);
    assert_int_equal(directory_find(next, &g), MANY - 2);
    g = guid_of(2000);
    assert_int_equal(directory_get(next, &g), MANY - 1);
    g = guid_of(2001);
    assert_int_equal(directory_get(next, &g), MANY);
    directory_destroy(next);
    directory_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_touched_where_a_slot_was_taken), cmocka_unit_test(slots_are_found_and_used_again),
        cmocka_unit_test(all_can_be_taken), cmocka_unit_test(an_adopted_directory_knows_its_slots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
