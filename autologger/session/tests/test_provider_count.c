/* D-79: how many events of each provider are in the file: those of the older API, whose records have a class GUID
 * alone, are their provider's, too; those of a program whose library does not say whose they are, are nobody's. */
#include "autologger/ring/classic.h"
#include "autologger/session/tests/fixture.h"

enum { PROVIDERS = 3, FULL = 300, INSTANCES = 20, MESSAGES = 7, PLAIN = 50 };

static const struct guid class_guid = {0x55555555, 1, 2, {3}};

struct stand {
    struct fixture   f;
    struct plan_text t;
    struct session  *s;
    struct program   w[PROVIDERS];
    unsigned         slot[PROVIDERS];
};

static struct guid provider_of(unsigned n)
{
    struct guid g = test_provider;
    g.data1 += n;
    return g;
}

static void write_classic(struct program *w, enum classic_kind kind, int slot, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct etl_event_header h       = {.header_type    = ETL_EVENT64,
                                           .marker         = ETL_MARKER,
                                           .flags          = SHM_CLASSIC,
                                           .event_property = (uint16_t)kind,
                                           .thread_id      = (uint32_t)gettid(),
                                           .process_id     = (uint32_t)getpid(),
                                           .provider       = class_guid};
        struct ring_piece       piece   = {(uint64_t)(uintptr_t)&i, sizeof i, 0};
        bool                    written = false;
        if (slot >= 0)
            classic_slot_set(&h, (uint32_t)slot);
        assert_int_equal(ring_write(&w->view, w->enable, w->ticket, &h, &piece, 1, sizeof i, &written), 0);
        assert_true(written);
    }
}

static void stand_begin(struct stand *t)
{
    struct enable_terms all = {0};
    struct reason       why = {0};

    memset(t, 0, sizeof *t);
    fixture_init(&t->f, true);
    struct plan plan = plan_make(&t->f, &t->t, "count", 64, 2 * t->f.env.cpus, 2 * t->f.env.cpus + 60);
    assert_int_equal(table_add(&t->f.table, &plan, &t->s, &why), 0);
    session_fs_ready(t->s);
    for (unsigned i = 0; i < PROVIDERS; i++) {
        struct guid g = provider_of(i);
        unsigned    entry;
        char        key[8];
        snprintf(key, sizeof key, "key%u", i);
        assert_int_equal(session_enable(t->s, &g, key, &all, &t->slot[i], &entry, &why), 0);
        if (i == 0)
            assert_int_equal(session_start(t->s, &why), 0);
        program_attach(&t->w[i], t->s, (uint32_t)geteuid(), t->slot[i], entry);
    }
}

static uint64_t events_of(const struct stand *t, unsigned i)
{
    struct session_provider p;
    assert_true(session_provider(t->s, i, &p));
    return p.events;
}

static void events_of_the_older_api_are_counted(void **state)
{
    struct stand            t;
    struct ctl_session_info info;
    (void)state;

    stand_begin(&t);
    write_classic(&t.w[0], CLASSIC_FULL, (int)t.slot[0], FULL);
    assert_int_equal(session_flush(t.s), 0);
    write_classic(&t.w[1], CLASSIC_INSTANCE, (int)t.slot[1], INSTANCES);
    write_classic(&t.w[1], CLASSIC_MESSAGE, (int)t.slot[1], MESSAGES);
    for (uint64_t i = 0; i < PLAIN; i++)
        assert_int_equal(program_write(&t.w[0], &i, sizeof i), 0); /* in the same session, of the first provider */
    write_classic(&t.w[2], CLASSIC_FULL, -1, 5);
    write_classic(&t.w[2], CLASSIC_FULL, SHM_PROVIDERS + 17, 5);
    session_stop(t.s);
    session_info(t.s, &info);
    assert_int_equal(info.events_written, FULL + INSTANCES + MESSAGES + PLAIN + 10);
    assert_int_equal(events_of(&t, 0), FULL + PLAIN);
    assert_int_equal(events_of(&t, 1), INSTANCES + MESSAGES);
    assert_int_equal(events_of(&t, 2), 0);
    fixture_finish(&t.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(events_of_the_older_api_are_counted)};
    return cmocka_run_group_tests_name("provider_count", tests, NULL, NULL);
}
