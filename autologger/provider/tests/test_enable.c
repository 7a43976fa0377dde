/* Proves: API-05 API-06 API-09 API-10 ENB-02 ENB-07 ENB-09 ENB-12 ENB-13 ENB-14: what a provider writes while none,
 * one, or all eight sessions enable it, each by its own level and keywords, in every order of enabling and registering;
 * a provider that nobody asks for costs nothing. D-61 API-08: the callback gets the composite of all sessions, 0xFF and
 * all ones where a session states no level or keywords. The daemon is a thread of the test. */
// timeout: 120
#include "autologger/include/evntprov.h"
#include "autologger/provider/tests/fakedaemon.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct fakedaemon daemon_;
static const struct guid provider_id = {0x77777777, 1, 2, {3}};
static REGHANDLE         handle;

static int setup(void **state)
{
    (void)state;
    fakedaemon_start(&daemon_);
    for (unsigned s = 0; s < FAKE_SESSIONS; s++)
        fakedaemon_session(&daemon_, s, 65536, 32);
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    fakedaemon_stop(&daemon_);
    return 0;
}
static void begin(void)
{
    assert_int_equal(EventRegister((LPCGUID)(const void *)&provider_id, NULL, NULL, &handle), 0);
    assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1));
}
static ULONG put(UCHAR level, ULONGLONG keyword, uint32_t number)
{
    EVENT_DATA_DESCRIPTOR  data;
    const EVENT_DESCRIPTOR d = {.Id = 5, .Level = level, .Keyword = keyword};
    EventDataDescCreate(&data, &number, sizeof number);
    return EventWrite(handle, &d, 1, &data);
}
static uint8_t mask(void) { return daemon_.directory->provider[fake_slot(&daemon_, &provider_id)].mask; }

/* One call reaches k sessions, k = 0 to 8 and back, each with the same bytes; the mask names them. */
static void test_multicast(void **state)
{
    uint8_t first[128];
    (void)state;
    begin();
    for (unsigned step = 0; step <= 2 * FAKE_SESSIONS; step++) {
        const unsigned k = step <= FAKE_SESSIONS ? step : 2 * FAKE_SESSIONS - step;
        assert_int_equal(mask(), (1u << k) - 1);
        assert_int_equal(EventProviderEnabled(handle, 4, 0), k != 0);
        assert_int_equal(put(4, 0, step), 0);
        for (unsigned s = 0; s < FAKE_SESSIONS; s++) {
            const struct stream_record *r = fakedaemon_next(&daemon_, s);
            assert_int_equal(r != NULL, s < k);
            if (!r)
                continue;
            assert_int_equal(r->size, 84);
            if (s == 0)
                memcpy(first, r->data, r->size);
            assert_memory_equal(r->data, first, 16); /* all but the time */
            assert_memory_equal(r->data + 24, first + 24, 60);
            assert_int_equal(r->data[80], step);
            assert_null(fakedaemon_next(&daemon_, s));
        }
        if (step < FAKE_SESSIONS)
            fakedaemon_enable(&daemon_, step, &provider_id, 0, 0, 0, 0);
        else if (step < 2 * FAKE_SESSIONS)
            fakedaemon_disable(&daemon_, k - 1, &provider_id);
    }
    assert_int_equal(EventUnregister(handle), 0);
}

/* EventWriteEx skips the sessions whose bits are set, and takes ids and flags of its own. */
static void test_write_ex(void **state)
{
    const EVENT_DESCRIPTOR d  = {.Id = 5, .Level = 4};
    const GUID             id = {1, 2, 3, {4}}, related = {5, 6, 7, {8}};
    EVENT_DATA_DESCRIPTOR  data;
    (void)state;
    begin();
    EventDataDescCreate(&data, "x", 2);
    assert_int_equal(EventWriteEx(handle, &d, 1, 0, NULL, NULL, 1, &data), 0); /* no session enables it */
    for (unsigned s = 0; s < 3; s++)
        fakedaemon_enable(&daemon_, s, &provider_id, 0, 0, 0, 0);
    for (ULONG64 skip = 0; skip < 16; skip++) {
        assert_int_equal(
            EventWriteEx(handle, &d, skip, skip & 1 ? EVENT_WRITE_FLAG_NO_FAULTING : 0, &id, &related, 1, &data), 0);
        for (unsigned s = 0; s < 3; s++) {
            const struct stream_record *r = fakedaemon_next(&daemon_, s);
            assert_int_equal(r != NULL, !(skip >> s & 1));
            if (!r)
                continue;
            assert_int_equal(r->size, 80 + 24 + 2);
            assert_memory_equal(r->data + 0x40, &id, 16);
            assert_memory_equal(r->data + 88, &related, 16);
            assert_null(fakedaemon_next(&daemon_, s));
        }
    }
    assert_int_equal(EventWriteEx(handle, &d, UINT64_MAX, 0, NULL, NULL, 0, NULL), 0); /* all sessions are skipped */
    assert_int_equal(EventWriteEx(handle, &d, 0, 8, NULL, NULL, 0, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(EventWriteEx(handle, NULL, 1, 0, NULL, NULL, 0, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(EventWriteEx(handle + 8, &d, 1, 0, NULL, NULL, 0, NULL), ERROR_INVALID_HANDLE);
    for (unsigned s = 0; s < 3; s++)
        assert_null(fakedaemon_next(&daemon_, s));
    assert_int_equal(EventUnregister(handle), 0);
}

/* Each session has its own terms: an event that one keeps out can reach another. */
static void test_own_terms(void **state)
{
    static const struct terms {
        uint8_t  level;
        uint64_t any, all;
    } terms[3]                      = {{2, 0x1, 0}, {5, 0x6, 0x2}, {0, 0, 0}};
    static const uint64_t keyword[] = {0, 1, 2, 3, 4, 6, 8};
    unsigned              got[3]    = {0};
    (void)state;
    begin();
    for (unsigned s = 0; s < 3; s++)
        fakedaemon_enable(&daemon_, s, &provider_id, terms[s].level, terms[s].any, terms[s].all, 0);
    for (unsigned level = 0; level <= 5; level++)
        for (unsigned k = 0; k < sizeof keyword / sizeof *keyword; k++) {
            const EVENT_DESCRIPTOR d    = {.Level = (UCHAR)level, .Keyword = keyword[k]};
            bool                   some = false;
            assert_int_equal(put((UCHAR)level, keyword[k], 1), 0);
            for (unsigned s = 0; s < 3; s++) {
                const struct terms *t = &terms[s];
                const bool          want =
                    (!t->level || level <= t->level) &&
                    (!keyword[k] || !t->any || ((keyword[k] & t->any) && (keyword[k] & t->all) == t->all));
                assert_int_equal(fakedaemon_count(&daemon_, s), want);
                got[s] += want;
                some |= want;
            }
            assert_int_equal(EventEnabled(handle, &d), some);
            assert_int_equal(EventProviderEnabled(handle, (UCHAR)level, keyword[k]), some);
        }
    assert_int_equal(got[2], 42);
    assert_true(got[0] > 3 && got[0] < got[1] && got[1] < 42);
    fakedaemon_disable(&daemon_, 2, &provider_id); /* the other two continue */
    assert_int_equal(put(5, 1, 1), 0);
    assert_int_equal(put(2, 1, 1), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 1);
    assert_int_equal(fakedaemon_count(&daemon_, 2), 0);
    static const struct {
        UCHAR     level;
        ULONGLONG keyword;
        BOOLEAN   enabled;
    } left[] = {/* of the first two sessions */
                {2, 1, 1}, {3, 1, 0}, {5, 2, 1}, {5, 4, 0}, {5, 0, 1}, {1, 8, 0}};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        const EVENT_DESCRIPTOR d = {.Level = left[i].level, .Keyword = left[i].keyword};
        assert_int_equal(EventEnabled(handle, &d), left[i].enabled);
        assert_int_equal(EventProviderEnabled(handle, left[i].level, left[i].keyword), left[i].enabled);
    }
    assert_int_equal(EventUnregister(handle), 0);
}

/* Enabling before or after registering gives the same. */
static void test_both_orders(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 2; before++) {
        if (before)
            fakedaemon_enable(&daemon_, 0, &provider_id, 3, 0x10, 0, 0);
        const unsigned told = daemon_.registers;
        assert_int_equal(EventRegister((LPCGUID)(const void *)&provider_id, NULL, NULL, &handle), 0);
        assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, told + 1));
        if (!before)
            fakedaemon_enable(&daemon_, 0, &provider_id, 3, 0x10, 0, 0);
        for (int i = 0; i < 2000 && !EventProviderEnabled(handle, 3, 0x10); i++)
            usleep(1000);
        assert_int_equal(put(3, 0x10, 1), 0);
        assert_int_equal(put(4, 0x10, 2), 0);
        assert_int_equal(put(3, 0x20, 3), 0);
        assert_int_equal(fakedaemon_count(&daemon_, 0), 1);
        fakedaemon_disable(&daemon_, 0, &provider_id);
        assert_int_equal(put(3, 0x10, 4), 0);
        assert_int_equal(fakedaemon_count(&daemon_, 0), 0);
        assert_int_equal(EventUnregister(handle), 0);
    }
}

struct called {
    unsigned  count;
    ULONG     code;
    UCHAR     level;
    ULONGLONG any, all;
};
static VOID on_enable(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
                      PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    struct called *c = context;
    (void)source, (void)filter;
    c->code = code, c->level = level, c->any = any, c->all = all;
    __atomic_add_fetch(&c->count, 1, __ATOMIC_RELEASE);
}
/* Enables or disables in one session, and compares the callback's values. */
static void told(struct called *c, unsigned session, int enable, UCHAR level, ULONGLONG any, ULONGLONG all,
                 struct called want)
{
    const unsigned before = __atomic_load_n(&c->count, __ATOMIC_ACQUIRE);
    if (enable)
        fakedaemon_enable(&daemon_, session, &provider_id, level, any, all, 0);
    else
        fakedaemon_disable(&daemon_, session, &provider_id);
    assert_int_equal(__atomic_load_n(&c->count, __ATOMIC_ACQUIRE), before + 1);
    assert_int_equal(c->code, want.code);
    assert_int_equal(c->level, want.level);
    assert_true(c->any == want.any);
    assert_true(c->all == want.all);
}
static void test_callback_terms(void **state)
{
    struct called c  = {0};
    const ULONG   on = EVENT_CONTROL_CODE_ENABLE_PROVIDER;
    (void)state;
    assert_int_equal(EventRegister((LPCGUID)(const void *)&provider_id, on_enable, &c, &handle), 0);
    assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1));
    told(&c, 0, 1, 0, 0, 0, (struct called){0, on, 0xFF, UINT64_MAX, 0});
    told(&c, 0, 1, 3, 0x10, 0x10, (struct called){0, on, 3, 0x10, 0x10});
    /* the lower level does not replace the higher one */
    told(&c, 1, 1, 1, 0x21, 0x11, (struct called){0, on, 3, 0x31, 0x10});
    /* "all of" without "any of" has no effect */
    told(&c, 2, 1, 0, 0, 0x7, (struct called){0, on, 0xFF, UINT64_MAX, 0});
    told(&c, 2, 0, 0, 0, 0, (struct called){0, on, 3, 0x31, 0x10}); /* two sessions remain */
    told(&c, 0, 0, 0, 0, 0, (struct called){0, on, 1, 0x21, 0x11});
    told(&c, 1, 0, 0, 0, 0, (struct called){0, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0, 0, 0});
    assert_int_equal(EventUnregister(handle), 0);
}

/* Ten million events that no session takes: no memory, no message to the daemon, no descriptor. */
static void test_nobody(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 1000; i++)
        put(4, 1, i);
    const unsigned      messages = daemon_.registers + daemon_.unregisters + daemon_.acks + daemon_.hellos;
    const unsigned long before   = fake_resident_kb();
    for (uint32_t i = 0; i < 10000000; i++)
        if (put(4, 1, i) != 0)
            fail();
    assert_true(fake_resident_kb() <= before + 256);
    assert_int_equal(daemon_.registers + daemon_.unregisters + daemon_.acks + daemon_.hellos, messages);
    for (unsigned s = 0; s < FAKE_SESSIONS; s++)
        assert_null(fakedaemon_next(&daemon_, s));
    assert_int_equal(EventUnregister(handle), 0);
}

int main(void)
{
    fakedaemon_init(&daemon_);
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {T(test_multicast),   T(test_write_ex),       T(test_own_terms),
                                       T(test_both_orders), T(test_callback_terms), T(test_nobody)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    fakedaemon_finish(&daemon_);
    return failed;
}
