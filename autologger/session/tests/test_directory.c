/* The directory of providers: slots are found and reused, and a slot never used costs no memory. The mask has a bit for
 * each session, with its terms; a ninth session has no place. Filters lie beside each other, their places are reused,
 * and a successor finds them.
 * Proves: ENB-08, ENB-09, ENB-10 (what is kept of a provider). */
#include "autologger/session/directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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
    struct directory *d     = made();
    const struct guid first = guid_of(0), none = guid_of(MANY);
    const int64_t     page = sysconf(_SC_PAGESIZE);
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
    assert_int_equal(directory_get(d, &g), MANY - 1); /* exists already */
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
    directory_disable(d, MANY - 1, 0); /* free, but was used once */
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

/* A bit is set while its session enables the provider, with that session's terms; those of others do not change. */
static void the_mask_follows_each_enablement(void **state)
{
    static const unsigned order[] = {3, 0, 7, 5, 1, 6, 2, 4}; /* of disabling */
    struct directory     *d       = made();
    const struct guid     g = guid_of(0), other = guid_of(1);
    const unsigned        slot = (unsigned)directory_get(d, &g), beside = (unsigned)directory_get(d, &other);
    struct shm_provider  *p   = &d->shm->provider[slot];
    struct reason         why = {0};
    unsigned              entry, mask = 0;
    (void)state;
    directory_register(d, slot, 1);
    directory_register(d, beside, 1);
    assert_int_equal(p->mask, 0);
    for (unsigned i = 0; i < SHM_PROVIDER_SESSIONS; i++) {
        const struct enable_terms terms = {.level = (uint8_t)(i + 1), .any = 0x10u << i, .all = i};
        assert_int_equal(directory_enable(d, slot, 40 + i, &terms, &entry, &why), W_SUCCESS);
        assert_int_equal(entry, i);
        assert_int_equal(p->mask, mask |= 1u << i);
    }
    assert_int_equal(directory_enable(d, slot, 60, &(struct enable_terms){0}, &entry, &why), W_NO_SYSTEM_RESOURCES);
    assert_int_equal(p->mask, 0xFF);
    for (unsigned i = 0; i < SHM_PROVIDER_SESSIONS; i++) {
        const uint32_t before = p->enable[order[i]].generation;
        directory_disable(d, slot, order[i]);
        assert_int_equal(p->mask, mask &= ~(1u << order[i]));
        assert_int_not_equal(p->enable[order[i]].generation, before); /* writers with the old terms notice it */
        for (unsigned k = 0; k < SHM_PROVIDER_SESSIONS; k++) {
            const struct shm_enable *e = &p->enable[k];
            assert_int_equal(e->enabled != 0, mask >> k & 1);
            if (e->enabled)
                assert_true(e->session == 40 + k && e->level == k + 1 && e->any == 0x10u << k && e->all == k);
        }
    }
    assert_int_equal(directory_enable(d, slot, 60, &(struct enable_terms){.level = 9}, &entry, &why), W_SUCCESS);
    assert_true(p->mask == 1 && entry == 0 && p->enable[0].session == 60 && p->enable[0].level == 9 &&
                p->enable[0].any == 0);
    assert_int_equal(d->shm->provider[beside].mask, 0);
    directory_destroy(d);
}

static struct filter_block *filter_of(uint8_t fill, size_t size)
{
    static uint8_t       bytes[FILTER_SCHEMATIZED_MAX * 8];
    struct filter_block *b = NULL;
    struct reason        why;
    memset(bytes, fill, sizeof bytes);
    assert_int_equal(filter_add(&b, FILTER_SCHEMATIZED, bytes, size, &why), W_SUCCESS);
    return b;
}

static void filters_lie_beside_each_other(void **state)
{
    enum { SIZE = 500, LARGE = 8000 };
    struct directory *d = made(), *again;
    struct reason     why;
    unsigned          entry, filled = 0;
    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        struct filter_block *b     = filter_of((uint8_t)i, SIZE + 8 * i);
        struct guid          g     = guid_of(i);
        struct enable_terms  terms = {.filter = b};
        assert_int_equal(directory_get(d, &g), (int)i);
        assert_int_equal(directory_enable(d, i, 1, &terms, &entry, &why), W_SUCCESS);
        free(b);
    }
    for (unsigned round = 0; round < 3; round++) { /* changed, removed, changed again: other filters stay */
        struct filter_block *b     = filter_of(200, SIZE * (round + 1));
        struct enable_terms  terms = {.filter = round == 1 ? NULL : b};
        assert_int_equal(directory_change(d, 7, 0, &terms, &why), W_SUCCESS);
        free(b);
    }
    int fd = dup(d->fd);
    assert_int_equal(directory_adopt(fd, &again, &why), W_SUCCESS);
    for (unsigned i = 0; i < MANY; i++) {
        uint32_t                   size;
        const struct filter_block *b    = directory_filter(again, i, 0);
        const uint8_t             *data = filter_part(b, FILTER_SCHEMATIZED, &size);
        assert_int_equal(size, i == 7 ? SIZE * 3 : SIZE + 8 * i);
        for (uint32_t k = 0; k < size; k++)
            assert_int_equal(data[k], i == 7 ? 200 : i);
    }
    directory_destroy(again);
    struct filter_block *large = filter_of(9, LARGE);
    struct enable_terms  terms = {.filter = large};
    wstatus              st    = W_SUCCESS;
    for (unsigned i = MANY; i < SHM_PROVIDERS && !st; i++, filled += !st) {
        struct guid g    = guid_of(i);
        int         slot = directory_get(d, &g);
        st               = directory_enable(d, (unsigned)slot, 1, &terms, &entry, &why);
    }
    assert_int_equal(st, W_NO_SYSTEM_RESOURCES);
    assert_true(filled > SHM_FILTER_BYTES / (LARGE + 128) - 10 && filled < SHM_FILTER_BYTES / LARGE);
    assert_int_equal(directory_change(d, 0, 0, &terms, &why), W_NO_SYSTEM_RESOURCES); /* and keeps its filter */
    assert_int_equal(*(const uint8_t *)filter_part(directory_filter(d, 0, 0), FILTER_SCHEMATIZED, &(uint32_t){0}), 0);
    directory_disable(d, MANY, 0);
    assert_int_equal(directory_change(d, 0, 0, &terms, &why), W_SUCCESS); /* in the freed place */
    free(large);
    directory_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_touched_where_a_slot_was_taken),
                                       cmocka_unit_test(slots_are_found_and_used_again),
                                       cmocka_unit_test(filters_lie_beside_each_other),
                                       cmocka_unit_test(all_can_be_taken),
                                       cmocka_unit_test(the_mask_follows_each_enablement),
                                       cmocka_unit_test(an_adopted_directory_knows_its_slots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
