/* Why a session or a provider is empty or has losses: one row a cause, with the words and the advice.
 * D-14: a denial is named. Proves: REG-23, REG-10, REG-11. */
#include "autologger/boot/explain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct condition refusal = {.number = W_ACCESS_DENIED,
                                   .note   = true,
                                   .item   = "{guid}",
                                   .reason = "programs of uid 7 may not",
                                   .advice = "--allow 7"};
#define REFUSAL \
    { \
        .items = &refusal, .count = 1 \
    }

static const struct silent_provider {
    const char       *cause;
    struct result_row row;
    wstatus           number; /* 0: nothing to explain */
    const char       *item, *reason, *advice;
} silent_providers[] = {
    {"not enabled", {.start = false}, 0, "", "", ""},
    {"failed by itself", {.start = true, .status = W_INVALID_PARAMETER}, 0, "", "", ""},
    {"wrote", {.start = true, .registrations = 1, .written = 1}, 0, "", "", ""},
    {"wrote, and more was kept out",
     {.start = true, .registrations = 1, .written = 1, .refused_by_level = true, .level = 4},
     0,
     "",
     "",
     ""},
    {"never registered",
     {.start = true, .name = "App"},
     W_WMI_GUID_NOT_FOUND,
     "App",
     "no program registered",
     "start the program"},
    {"denied",
     {.start = true, .name = "App", .conditions = REFUSAL},
     W_ACCESS_DENIED,
     "{guid}",
     "uid 7 may not",
     "--allow"},
    {"denied to one of its users",
     {.start = true, .name = "App", .registrations = 1, .conditions = REFUSAL},
     W_NOT_FOUND,
     "events",
     "wrote no event",
     "use the program"},
    {"ReadyBoost",
     {.start = true, .provider = "{A6AD76E3-867A-4635-91B3-4904BA6374D7}"},
     W_WMI_GUID_NOT_FOUND,
     "{A6AD76E3-867A-4635-91B3-4904BA6374D7}",
     "no program registered",
     "no program on Linux registers it"},
    {"autologger mark, which nobody used",
     {.start = true, .provider = "{7c38bae6-df65-5279-11a3-effd952de377}"},
     0,
     "",
     "",
     ""},
    {"registered and silent",
     {.start = true, .registrations = 1},
     W_NOT_FOUND,
     "events",
     "by 1 program that wrote no event",
     "use the program"},
    {"silent as far as is known",
     {.start = true, .registrations = 2, .level = 4},
     W_NOT_FOUND,
     "events",
     "by 2 programs, and no event passed level 4 (Informational) (macros",
     "EnableLevel = Verbose to see"},
    {"silent as far as is known, keywords",
     {.start = true, .registrations = 1, .match_any = 0x40},
     W_NOT_FOUND,
     "events",
     "no event passed keywords 0x40 (macros",
     "EnableLevel = Verbose and MatchAnyKeyword = 0 to see"},
    {"silent as far as is known, both",
     {.start = true, .registrations = 1, .level = 2, .match_any = 0x40, .match_all = 0x40},
     W_NOT_FOUND,
     "events",
     "level 2 (Error) and keywords 0x40 (all of 0x40)",
     "MatchAnyKeyword = 0"},
    {"kept out by level",
     {.start = true, .registrations = 1, .level = 2, .refused_by_level = true, .refused_level = 4},
     W_NOT_FOUND,
     "EnableLevel",
     "none of level 2 (Error) or below: the lowest that was kept out has level 4 (Informational)",
     "set EnableLevel to 4"},
    {"kept out by an own level",
     {.start = true, .registrations = 1, .level = 9, .refused_by_level = true, .refused_level = 200},
     W_NOT_FOUND,
     "EnableLevel",
     "none of level 9 or below",
     "set EnableLevel to 200"},
    {"kept out by keywords",
     {.start = true, .registrations = 1, .match_any = 0x40, .refused_by_keywords = true, .refused_keywords = 0x8},
     W_NOT_FOUND,
     "MatchAnyKeyword",
     "none that keywords 0x40 let through: what was kept out has keywords 0x8",
     "set MatchAnyKeyword to 0x48, or to 0"},
    {"kept out by all keywords",
     {.start               = true,
      .registrations       = 1,
      .match_any           = 0x3,
      .match_all           = 0x2,
      .refused_by_keywords = true,
      .refused_keywords    = 0x1},
     W_NOT_FOUND,
     "MatchAnyKeyword",
     "keywords 0x3 (all of 0x2)",
     "set MatchAnyKeyword to 0x3 and remove MatchAllKeyword"},
    {"kept out by both",
     {.start               = true,
      .registrations       = 1,
      .level               = 2,
      .match_any           = 0x40,
      .refused_by_level    = true,
      .refused_level       = 5,
      .refused_by_keywords = true,
      .refused_keywords    = 0x8},
     W_NOT_FOUND,
     "MatchAnyKeyword",
     "0x8",
     "0x48"},
    {"kept out by filters",
     {.start = true, .registrations = 1, .refused_by_level = true, .refused_by_filter = true},
     W_NOT_FOUND,
     "Filters",
     "the filters of the provider kept all of them out",
     "change or remove the key Filters"},
    {"kept out without a keyword",
     {.start = true, .registrations = 1, .match_any = 0x40, .refused_by_keywords = true},
     W_NOT_FOUND,
     "EnableProperty",
     "without any keyword",
     "bit 0x10"},
};

static void a_silent_provider_is_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof silent_providers / sizeof *silent_providers; i++) {
        const struct silent_provider *x     = &silent_providers[i];
        struct condition              c     = {0};
        bool                          found = explain_provider(&x->row, &c);
        if (found != (x->number != 0) || (found && (!strstr(c.reason, x->reason) || !strstr(c.advice, x->advice))))
            print_error("%s: \"%s\" Do: \"%s\"\n", x->cause, c.reason, c.advice);
        assert_int_equal(found, x->number != 0);
        if (!found)
            continue;
        assert_int_equal(c.number, x->number);
        assert_int_equal(c.note, x->number != W_WMI_GUID_NOT_FOUND);
        assert_string_equal(c.item, x->item);
        assert_non_null(strstr(c.reason, x->reason));
        assert_non_null(strstr(c.advice, x->advice));
    }
}

static const struct empty_session {
    const char       *cause;
    struct result_row row, providers[3];
    unsigned          count;
    const char       *reason, *advice; /* reason NULL: nothing to explain */
} empty_sessions[] = {
    {"off", {.start = false, .stopped = true}, {{.start = true}}, 1, NULL, NULL},
    {"failed", {.start = true, .stopped = true, .status = W_DISK_FULL}, {{.start = true}}, 1, NULL, NULL},
    {"still running", {.start = true}, {{.start = true}}, 1, NULL, NULL},
    {"not empty", {.start = true, .stopped = true, .written = 1}, {{.start = true}}, 1, NULL, NULL},
    {"all was lost", {.start = true, .stopped = true, .lost_ring = 5}, {{.start = true}}, 1, NULL, NULL},
    {"no provider",
     {.start = true, .stopped = true, .session = "web"},
     {{.start = true}},
     0,
     "no provider is declared",
     "[Autologger/web/"},
    {"all off",
     {.start = true, .stopped = true},
     {{.start = false}, {.start = true, .status = W_INVALID_PARAMETER}},
     2,
     "no provider of this session is both sound and enabled",
     "Enabled to 1"},
    {"three causes",
     {.start = true, .stopped = true},
     {{.start = true},
      {.start = true, .registrations = 1, .refused_by_level = true},
      {.start = true, .registrations = 2}},
     3,
     "of 3 providers 1 never registered, 1 kept out by level, keywords or filters, 1 silent",
     "rows of its providers"},
    {"denied",
     {.start = true, .stopped = true},
     {{.start = true, .conditions = REFUSAL}, {.start = true}},
     2,
     "of 2 providers 1 denied to the users of its programs, 1 never registered",
     "rows of its providers"},
    {"kernel",
     {.start = true, .stopped = true, .kernel = true},
     {{.start = false}},
     0,
     "the kernel had no event",
     "CSWITCH"},
};

static void an_empty_session_is_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof empty_sessions / sizeof *empty_sessions; i++) {
        const struct empty_session *x     = &empty_sessions[i];
        struct condition            c     = {0};
        bool                        found = explain_empty(&x->row, x->providers, x->count, &c);
        if (found != (x->reason != NULL) || (found && !strstr(c.reason, x->reason)))
            print_error("%s: \"%s\"\n", x->cause, c.reason);
        assert_int_equal(found, x->reason != NULL);
        if (!found)
            continue;
        assert_true(c.note);
        assert_non_null(strstr(c.reason, x->reason));
        assert_non_null(strstr(c.advice, x->advice));
    }
}

static void a_memory_bound_is_explained(void **state)
{
    struct result_row s = {.start = true, .asked = {64, 8, 24}, .given = {64, 8, 24}, .suggested_maximum = 48};
    struct condition  c;
    (void)state;
    assert_false(explain_lost(&s, &c));
    s.lost_ring         = 7;
    s.suggested_minimum = 24;
    s.peak_bytes        = 10 * 65536;
    s.users_most        = 3;
    assert_true(explain_lost(&s, &c));
    assert_string_equal(c.item, "MaximumBuffers");
    assert_non_null(strstr(c.reason, "not all of 24 buffers"));
    assert_non_null(strstr(c.reason, "3 users shared them"));
    assert_string_equal(c.advice, "set MaximumBuffers to 48");
    s.peak_bytes = 22 * 65536;
    assert_true(explain_lost(&s, &c));
    assert_int_equal(c.number, W_NOT_ENOUGH_MEMORY);
    assert_false(c.note); /* a loss is never just a note */
    assert_non_null(strstr(c.reason, "7 events found no room: all of 24 buffers of 64 KB"));
    assert_string_equal(c.advice, "set MaximumBuffers to 48");
    s.asked.maximum_buffers = 4000; /* the buffers were asked for, but there was no memory for them */
    assert_true(explain_lost(&s, &c));
    assert_non_null(strstr(c.advice, "MaxNonPagedPoolUsage"));
    s.kernel = true; /* MaximumBuffers does not bound a kernel session's ring */
    assert_false(explain_lost(&s, &c));
    s.lost_memory = 1;
    assert_true(explain_lost(&s, &c));
    assert_non_null(strstr(c.reason, "1 event found"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_provider_is_explained),
        cmocka_unit_test(an_empty_session_is_explained),
        cmocka_unit_test(a_memory_bound_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
