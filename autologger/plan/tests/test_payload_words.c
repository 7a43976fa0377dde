/* Proves: ENB-06: payload filters in words: read, checked against the event's fields, said again in the same words,
 * each mistake with what is wrong; as a value of the section Filters, to the block that programs go by. */
#include "autologger/plan/payload_words.h"
#include "autologger/plan/plan.h"
#include "autologger/plan/publishers.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/winpath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DESCRIBED WINPATH_WMI "\\Autologger\\x\\{aaaaaaaa-0000-0000-0000-000000000001}\\Filters"
#define UNKNOWN WINPATH_WMI "\\Autologger\\x\\{aaaaaaaa-0000-0000-0000-000000000002}\\Filters"

/* A manifest with "Start" as 17, versions 0 and 1, whose fields are Size (UInt32) and Name (UnicodeString). */
static enum publisher_answer layout(void *ctx, const struct guid *provider, bool id, unsigned nth,
                                    struct payload_clause *c, bool *more, struct reason *why)
{
    (void)ctx;
    if (provider->data4[7] != 1)
        return PUBLISHER_MISSING;
    *more = nth == 0;
    if (strcmp(c->event, id ? "17" : "Start") != 0) {
        reason_set(why, W_INVALID_PARAMETER, "no event '%s'", c->event);
        return PUBLISHER_UNKNOWN;
    }
    c->id      = 17;
    c->version = (uint8_t)nth;
    c->steps   = 2;
    c->step[0] = (struct payload_step){.in = 8, .slot = PAYLOAD_NO_SLOT};
    c->step[1] = (struct payload_step){.in = 1, .slot = PAYLOAD_NO_SLOT};
    for (unsigned i = 0; i < c->predicates; i++)
        c->predicate[i].step = strcmp(c->predicate[i].field, "Size") != 0;
    return PUBLISHER_FOUND;
}
static bool nobody(void *ctx, const char *name, struct guid *out) { return (void)ctx, (void)name, (void)out, false; }
static enum publisher_answer no_word(void *ctx, const struct guid *g, enum publisher_word kind, const char *word,
                                     uint64_t *value, char *near)
{
    (void)ctx, (void)g, (void)kind, (void)word, (void)value;
    *near = 0;
    return PUBLISHER_MISSING;
}
static const struct plan_publishers known = {NULL, nobody, no_word, layout};

static void words_and_back(void **state)
{
    static const struct {
        const char *key, *text, *said; /* said: NULL = the same text */
        unsigned    events;
    } rows[] = {
        {DESCRIBED, "Start: Size >= 4096", NULL, 2},
        {DESCRIBED, "17: Size >= 4096 and Name contains x", NULL, 2},
        {DESCRIBED, "Start:Size>=4096 or Name is not 'a b'", "Start: Size >= 4096 or Name is not 'a b'", 2},
        {DESCRIBED, "  Start :  Size  ==  0x10 ,17:Size<>3", "Start: Size = 0x10, 17: Size != 3", 4},
        {DESCRIBED, "Start: Size between 5 and 10 and Size not between 6 and 0x7", NULL, 2},
        {DESCRIBED, "Start: Size modulo 100", NULL, 2},
        {DESCRIBED, "Start: Name NOT Contains 'it''s, a b'", "Start: Name not contains 'it''s, a b'", 2},
        {DESCRIBED, "Start: Name is ''", NULL, 2},
        {DESCRIBED, "Start: Name is 'and' and Name is not 'or'", NULL, 2},
        {DESCRIBED, "Start: Size < 1 and Size > 2 and Size <= 3 and Size != 4", NULL, 2},
        {UNKNOWN, "Request: status = 500 and url contains /api/", NULL, 1},
        {UNKNOWN, "'My Event': 'a field' = {12345678-9abc-def0-1122-334455667788}, Other: x is true", NULL, 2},
        {UNKNOWN, "'17': x = -5", NULL, 1},
        {UNKNOWN, "Request: path is C:\\x", "Request: path is 'C:\\x'", 1},
    };
    char text[4096];
    (void)state;
    plan_publishers_use(&known);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct payload_bytes b, again;
        struct payload_head  head;
        struct reason        why = {0};
        if (payload_words_parse(rows[i].key, rows[i].text, &b, &why))
            fail_msg("%s: %s", rows[i].text, why.text);
        assert_int_equal(payload_check(b.at, b.size, &why), 0);
        memcpy(&head, b.at, sizeof head);
        assert_int_equal(head.events, rows[i].events);
        payload_describe(b.at, b.size, text, sizeof text);
        assert_string_equal(text, rows[i].said ? rows[i].said : rows[i].text);
        assert_int_equal(payload_words_parse(rows[i].key, text, &again, &why), 0);
        assert_int_equal(again.size, b.size);
        assert_memory_equal(again.at, b.at, b.size);
    }
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *key, *text, *said;
    } rows[] = {
        {DESCRIBED, "", "no event with a ':'"},
        {DESCRIBED, "Start", "no event with a ':'"},
        {DESCRIBED, ": Size = 1", "no event with a ':'"},
        {DESCRIBED, "'Start: Size = 1", "no event with a ':'"},
        {DESCRIBED, "Start:", "there is no field"},
        {DESCRIBED, "Start: Size", "there is no operator"},
        {DESCRIBED, "Start: Size like 5", "there is no operator"},
        {DESCRIBED, "Start: Size not 5", "there is no operator"},
        {DESCRIBED, "Start: Size not modulo 5", "there is no operator"},
        {DESCRIBED, "Start: Size =", "there is no value"},
        {DESCRIBED, "Start: Name is 'x", "there is no value"},
        {DESCRIBED, "Start: Size between 5", "takes two values"},
        {DESCRIBED, "Start: Size between 5,6", "takes two values"},
        {DESCRIBED, "Start: Size = 1 and Size = 2 or Size = 3", "cannot be mixed"},
        {DESCRIBED, "Start: Size = 1 or Size = 2 and Size = 3", "cannot be mixed"},
        {DESCRIBED, "Start: Size = 1 Size = 2", "is expected"},
        {DESCRIBED, "Start: Size = 1 and", "there is no field"},
        {DESCRIBED, "Start: Size = 1,", "no event with a ':'"},
        {DESCRIBED, "Start: Size = x", "is no whole number"},
        {DESCRIBED, "Start: Size contains 1", "does not go with 'contains'"},
        {DESCRIBED, "Begin: Size = 1", "no event 'Begin'"},
        {UNKNOWN, "17: Size = 1", "no manifest of the provider {aaaaaaaa-0000-0000-0000-000000000002}"},
        {UNKNOWN, "E: a > x", "is no number"},
        {UNKNOWN, "E: a=1 and a=1 and a=1 and a=1 and a=1 and a=1 and a=1 and a=1 and a=1", "more than 8 predicates"},
    };
    struct payload_bytes b;
    (void)state;
    plan_publishers_use(&known);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reason why = {0};
        const wstatus st  = payload_words_parse(rows[i].key, rows[i].text, &b, &why);
        if (!st || !strstr(why.text, rows[i].said))
            fail_msg("'%s': %u %s", rows[i].text, st, why.text);
    }
    /* too long, and more events than there is room for */
    char *text = malloc(20000);
    assert_non_null(text);
    *text = 0;
    for (unsigned i = 0; i < 70; i++)
        sprintf(text + strlen(text), "%sE%u: field = value", i ? ", " : "", i);
    struct reason why = {0};
    assert_int_equal(payload_words_parse(UNKNOWN, text, &b, &why), 87);
    assert_non_null(strstr(why.text, "more than 4096 bytes together"));
    memset(text, 'x', 9000);
    text[9000] = 0;
    assert_int_equal(payload_words_parse(UNKNOWN, text, &b, &why), 87);
    assert_non_null(strstr(why.text, "9000 letters"));
    free(text);
}

/* From INI to the block, and back to INI; a value that is no such filter gives the provider's Status. */
static void through_the_store(void **state)
{
    static const char ini[] =
        "[Autologger/x]\nFileName = x.etl\n[Autologger/x/p]\nGuid = {aaaaaaaa-0000-0000-0000-000000000002}\n"
        "[Autologger/x/p/Filters]\nPayload = Request: status = 500 and url contains '/a b/'\n";
    const struct plan_limits limits = {
        .processors = 1, .ram_bytes = 1u << 30, .memory_left = 1u << 27, .log_dir = "/", .now = true};
    struct regstore *store;
    struct plan      plan = {0};
    struct reason    why  = {0};
    struct diag_sink sink = {0};
    char            *text, said[300];
    size_t           size;
    (void)state;
    plan_publishers_use(&known);
    assert_int_equal(regstore_open_memory(&store, &why), 0);
    assert_int_equal(ini_import(store, ini, sizeof ini - 1, "x.ini", plan_vocabulary(), &sink, &why), 0);
    assert_int_equal(plan_from_key(store, WINPATH_WMI "\\Autologger\\x", &limits, &plan, &why), 0);
    assert_int_equal(plan.provider_count, 1);
    assert_int_equal(plan.providers[0].status, 0);
    filter_describe(plan.providers[0].filter, said, sizeof said);
    assert_string_equal(said, "payload Request: status = 500 and url contains '/a b/'");
    assert_int_equal(filter_check(plan.providers[0].filter, plan.providers[0].filter->size, &why), 0);
    assert_int_equal(ini_export(store, WINPATH_WMI, plan_vocabulary(), &text, &size, &why), 0);
    assert_non_null(strstr(text, "Payload = Request: status = 500 and url contains '/a b/'\n"));
    free(text);
    plan_finish(&plan);
    regstore_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_and_back), cmocka_unit_test(mistakes_are_named),
                                       cmocka_unit_test(through_the_store)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
