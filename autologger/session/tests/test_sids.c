/* Proves: SEC-09: a program's claim of who wrote an event counts for nothing: where a session asks for users' SIDs
 * (EnableProperty), each event that carries one carries that of the user whose program it was, also when several users
 * write, or one has no such SID. */
#include "autologger/session/tests/fixture.h"

enum { CLAIMS = 4 };

/* Writes one event with a SID item of `size` bytes, each of them `fill`. */
static void claim(struct program *w, uint8_t fill, uint16_t size, bool extended)
{
    struct etl_event_header h          = {.header_type = ETL_EVENT64,
                                          .marker      = ETL_MARKER,
                                          .flags       = extended ? ETL_EVENT_EXTENDED : 0,
                                          .provider    = test_provider,
                                          .id          = 7};
    struct etl_ext_item     item[2]    = {{16, ETL_EXT_TS_ID, 1, 4},
                                          {(uint16_t)(sizeof item[1] + ((size + 7u) & ~7u)), ETL_EXT_SID, 0, size}};
    uint8_t                 bytes[128] = {0};
    bool                    written;
    memcpy(bytes, &item[0], sizeof item[0]);
    memcpy(bytes + 16, &item[1], sizeof item[1]);
    memset(bytes + 24, fill, size);
    const uint32_t          total = 16u + item[1].total;
    const struct ring_piece piece = {(uint64_t)(uintptr_t)bytes, total, 0};
    assert_int_equal(ring_write(&w->view, w->enable, w->ticket, &h, &piece, 1, total, &written), 0);
    assert_true(written);
}

static void sids_are_those_of_the_writers(void **state)
{
    struct fixture       f;
    struct plan_text     text;
    struct session      *s;
    struct program       root, user;
    struct reason        why;
    struct filter_block  property = {.size = sizeof property, .property = PROPERTY_SID};
    struct enable_terms  terms    = {.filter = &property};
    struct etl_reader   *r        = NULL;
    struct etl_event     e;
    const uint8_t       *data;
    uint32_t             size;
    unsigned             slot, entry, roots = 0, users = 0, none = 0;
    static const uint8_t root_sid[12] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0},
                         user_sid[16] = {1, 2, 0, 0, 0, 0, 0, 22, 1, 0, 0, 0, 0xE9, 3, 0, 0};
    (void)state;
    fixture_init(&f, true);
    struct plan p = plan_make(&f, &text, "sids", 16, 16, 64);
    assert_int_equal(table_add(&f.table, &p, &s, &why), 0);
    assert_int_equal(session_enable(s, &test_provider, "key", &terms, &slot, &entry, &why), 0);
    program_attach(&root, s, 0, slot, entry);
    program_attach(&user, s, 1001, slot, entry);
    assert_int_equal(session_start(s, &why), 0);
    session_fs_ready(s);
    for (uint8_t i = 0; i < CLAIMS; i++) {
        claim(&root, i, 12, true);
        claim(&user, i, 16, true);
        claim(&user, i, 12, true); /* the size of root's SID: too short for the user's own */
        claim(&user, i, 16, false);
    }
    session_stop(s);
    assert_int_equal(etl_reader_open(text.path, &r, &why), 0);
    while (etl_next(r, &e)) {
        if (e.kind != ETL_KIND_EVENT)
            continue;
        if (!etl_ext_find(&e, ETL_EXT_SID, &data, &size)) {
            none++;
        } else if (size == 12) {
            assert_memory_equal(data, root_sid, 12);
            roots++;
        } else {
            assert_int_equal(size, 16);
            assert_memory_equal(data, user_sid, 16);
            users++;
        }
    }
    assert_int_equal(roots, CLAIMS);
    assert_int_equal(users, CLAIMS);
    assert_int_equal(none, 2 * CLAIMS);
    etl_reader_close(r);
    fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sids_are_those_of_the_writers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
