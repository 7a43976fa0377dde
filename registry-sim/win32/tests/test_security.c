/* SIDs and security descriptors: text and bytes there and back, the order in which entries decide, bytes that lie. */
#include "registry-sim/win32/security.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void sids_there_and_back(void **state)
{
    static const char *const good[] = {"S-1-5-18", "S-1-1-0", "S-1-5-32-559", "S-1-22-1-4294967295",
                                       "S-1-281474976710655-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15"};
    static const char *const bad[]  = {"",
                                       "S",
                                       "S-1",
                                       "S-1-5",
                                       "S-2-5-18",
                                       "S-1-5-18-",
                                       "S-1-5--18",
                                       "S-1-5-4294967296",
                                       "S-1-5-x",
                                       "S-1-5-18 ",
                                       "S-1-281474976710656-1",
                                       "S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16"};
    char                     text[SID_TEXT];
    struct sid               s, again;
    uint32_t                 id;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(sid_parse(good[i], &s));
        assert_string_equal(sid_format(&s, text), good[i]);
        assert_true(sid_read(s.bytes, s.size, &again));
        assert_true(sid_equal(&s, &again));
        for (size_t cut = 0; cut < s.size; cut++)
            assert_false(sid_read(s.bytes, cut, &again));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sid_parse(bad[i], &s));
    assert_true(sid_parse("s-1-22-2-0x10", &s));
    assert_true(sid_is_group(&s, &id));
    assert_int_equal(id, 16);
    assert_false(sid_is_user(&s, &id));
    s = sid_of_user(1000);
    assert_string_equal(sid_format(&s, text), "S-1-22-1-1000");
    assert_true(sid_is_user(&s, &id));
    assert_int_equal(id, 1000);
}

/* The caller has exactly the SIDs of the list. */
struct token {
    struct sid sid[3];
    unsigned   count;
};
static bool is(void *ctx, const struct sid *s)
{
    const struct token *t = ctx;
    for (unsigned i = 0; i < t->count; i++)
        if (sid_equal(&t->sid[i], s))
            return true;
    return false;
}

static void entries_decide_in_order(void **state)
{
    struct security_entry e[]   = {{.rights = 0x281}, {.rights = 0x80, .deny = true}, {.rights = 0x400}};
    struct token          alice = {.count = 2}, dev = {.count = 1}, nobody = {.count = 0};
    struct security_entry got;
    uint8_t              *bytes;
    size_t                size;
    (void)state;
    e[0].who = dev.sid[0] = sid_of_group(50);
    e[1].who = alice.sid[0] = sid_of_user(1000);
    e[2].who                = sid_of_user(1000);
    alice.sid[1]            = sid_of_group(50);
    assert_int_equal(security_build(e, 3, &bytes, &size), 0);
    assert_true(security_valid(bytes, size));
    /* entries that deny come first, whatever order they were given in */
    assert_true(security_entry_get(bytes, size, 0, &got) && got.deny);
    assert_true(security_entry_get(bytes, size, 2, &got) && got.rights == 0x400);
    assert_false(security_entry_get(bytes, size, 3, &got));
    assert_true(security_granted(bytes, size, 0x281, is, &dev));
    assert_false(security_granted(bytes, size, 0x400, is, &dev));
    assert_false(security_granted(bytes, size, 0x80, is, &alice));  /* refused to her, though her group has it */
    assert_true(security_granted(bytes, size, 0x601, is, &alice));  /* from two entries */
    assert_false(security_granted(bytes, size, 0x681, is, &alice)); /* if one of several rights is refused, all are */
    assert_false(security_granted(bytes, size, 1, is, &nobody));
    assert_true(security_granted(bytes, size, 0, is, &nobody));
    free(bytes);
}

/* As Windows' registry has it: owner and group S-1-5-32-544, Everyone 0x1800, SYSTEM 0x120fff, generic all for
 * Administrators; inherit-only and audit entries are no answer. Made by hand from the layout of SECURITY_DESCRIPTOR. */
static const uint8_t of_windows[] = {
    1,    0, 4,  0x80, 20, 0, 0,  0,    36,   0,    0,    0, 0,    0,    0,  0, 52, 0,    0, 0, 1,    2, 0, 0,
    0,    0, 0,  5,    32, 0, 0,  0,    0x20, 2,    0,    0, 1,    2,    0,  0, 0,  0,    0, 5, 32,   0, 0, 0,
    0x20, 2, 0,  0,    2,  0, 92, 0,    4,    0,    0,    0, 0,    0,    20, 0, 0,  0x18, 0, 0, 1,    1, 0, 0,
    0,    0, 0,  1,    0,  0, 0,  0,    0,    8,    20,   0, 0xff, 0xff, 0,  0, 1,  1,    0, 0, 0,    0, 0, 1,
    0,    0, 0,  0,    0,  0, 20, 0,    0xff, 0x0f, 0x12, 0, 1,    1,    0,  0, 0,  0,    0, 5, 18,   0, 0, 0,
    0,    0, 24, 0,    0,  0, 0,  0x10, 1,    2,    0,    0, 0,    0,    0,  5, 32, 0,    0, 0, 0x20, 2, 0, 0};

static void a_descriptor_of_windows(void **state)
{
    struct token everyone = {.count = 1}, administrator = {.count = 1};
    (void)state;
    assert_true(sid_parse("S-1-1-0", &everyone.sid[0]) && sid_parse("S-1-5-32-544", &administrator.sid[0]));
    assert_true(security_valid(of_windows, sizeof of_windows));
    assert_true(security_granted(of_windows, sizeof of_windows, 0x800, is, &everyone));
    assert_false(security_granted(of_windows, sizeof of_windows, 0x200, is, &everyone));
    assert_true(security_granted(of_windows, sizeof of_windows, 0x1fff, is, &administrator));
    for (size_t cut = 0; cut < sizeof of_windows; cut++) {
        uint8_t *less = malloc(cut ? cut : 1); /* ends where readable memory ends */
        memcpy(less, of_windows, cut);
        assert_false(security_granted(less, cut, 0x800, is, &everyone));
        free(less);
    }
}

/* Every byte wrong in turn: nothing beyond the given bytes is read (the sanitizers see it), and an unsound descriptor
 * grants nothing. */
static void bytes_that_lie(void **state)
{
    struct token everyone = {.count = 1};
    uint8_t      copy[sizeof of_windows];
    (void)state;
    sid_parse("S-1-1-0", &everyone.sid[0]);
    for (size_t i = 0; i < sizeof copy; i++)
        for (unsigned v = 0; v < 256; v++) {
            struct security_entry e;
            memcpy(copy, of_windows, sizeof copy);
            copy[i]          = (uint8_t)v;
            const bool valid = security_valid(copy, sizeof copy);
            const bool yes   = security_granted(copy, sizeof copy, 0x800, is, &everyone);
            assert_true(valid || !yes);
            for (unsigned n = 0; security_entry_get(copy, sizeof copy, n, &e); n++)
                assert_true(valid && e.who.size <= SID_MOST);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sids_there_and_back), cmocka_unit_test(entries_decide_in_order),
                                       cmocka_unit_test(a_descriptor_of_windows), cmocka_unit_test(bytes_that_lie)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
