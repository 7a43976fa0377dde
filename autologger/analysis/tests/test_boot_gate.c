/* Gates and populations, over histories made of a recorded boot's figures with noise: the gate finds a planted
 * change and gives no alarm without one; a hidden mode is found with its item. Texts of rules. */
#include "autologger/analysis/boot_gate.h"
#include "autologger/analysis/boot_modes.h"
#include "autologger/analysis/tests/boot_facts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define NOISE 0.01 /* the spread of each length; of the boot as a whole it is as much again */
enum { SIDE = 20, LEAST_NS = 5000000 };

static uint64_t seed = 88172645463325252u;
static double   chance(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}
static double noise(double spread)
{
    double sum = -6;
    for (unsigned i = 0; i < 12; i++)
        sum += chance();
    return exp(spread * sum) * (chance() < 0.02 ? 1 + chance() / 2 : 1); /* now and then something is in the way */
}

static struct boot_figures *figures_of(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, AL_TEST_DIR "/boots/%s.facts", name);
    struct boot         *b = facts_read(path);
    struct boot_figures *f = boot_figures_new();
    assert_true(b && f);
    boot_figures_add(f, b);
    boot_figures_sort(f);
    assert_false(f->failed);
    boot_destroy(b);
    return f;
}

/* A boot like the recorded one; `item` takes `more` ns longer, and so does the boot. */
static void boot_like(struct boot_figures *to, const struct boot_figures *from, const struct boot_item *item,
                      double more)
{
    double total = more;
    boot_figures_begin(to);
    for (unsigned i = 0; i < from->items; i++) {
        const struct boot_item *own  = &from->item[i];
        const double            base = (double)boot_item_value(own, 0), now = base * noise(NOISE);
        if (own->kind == COMPARE_PHASE)
            total += now;
        if (own->kind != COMPARE_BOOT)
            boot_figures_put(to, own->kind, own->name, (int64_t)(now + (own == item ? more : 0)));
    }
    boot_figures_put(to, COMPARE_BOOT, "boot", (int64_t)total);
}

/* A unit of some length, another one each time. */
static const struct boot_item *some_unit(const struct boot_figures *f, unsigned number)
{
    const struct boot_item *found = NULL;
    for (unsigned round = 0; !found || number; round++) {
        assert_true(round < 10000);
        const struct boot_item *i = &f->item[round % f->items];
        if (i->kind == COMPARE_UNIT && boot_item_value(i, 0) > 100000000) {
            found = i;
            number -= number > 0;
        }
    }
    return found;
}

static struct boot_gate judged(const struct boot_figures *f, unsigned before, const char *text, double least)
{
    struct boot_gate_rule rule;
    struct boot_gate      g;
    struct reason         why;
    assert_int_equal(boot_gate_parse(text, &rule, &why), W_SUCCESS);
    assert_true(boot_gate_judge(f, before, &rule, least, &g));
    return g;
}

/* 40 histories with a change of 1 to 10 % in one unit, 40 without a change. */
static void changes(void **state)
{
    enum { HISTORIES = 40 };
    struct boot_figures *base  = figures_of("lock-held");
    unsigned             found = 0, alarms = 0, named = 0;
    (void)state;
    for (unsigned h = 0; h < 2 * HISTORIES; h++) {
        const bool              planted = h % 2;
        const struct boot_item *unit    = some_unit(base, 1 + h);
        const double            more    = (0.01 + 0.09 * (h / 2) / (HISTORIES - 1)) * (double)boot_item_value(unit, 0);
        struct boot_figures    *f       = boot_figures_new();
        assert_non_null(f);
        for (unsigned i = 0; i < 2 * SIDE; i++)
            boot_like(f, base, planted && i >= SIDE ? unit : NULL, planted && i >= SIDE ? more : 0);
        boot_figures_sort(f);
        const struct boot_gate g = judged(f, SIDE, "unit +0 %", 0);
        if (planted) {
            found += g.verdict == GATE_EXCEEDED;
            named += g.verdict == GATE_EXCEEDED && strcmp(g.worst.item->name, unit->name) == 0;
        } else {
            alarms += g.verdict == GATE_EXCEEDED;
        }
        boot_figures_free(f);
    }
    print_message("%u of %d changes of 1 to 10 %% found, %u named; %u of %d histories without a change gave an alarm\n",
                  found, HISTORIES, named, alarms, HISTORIES);
    assert_true(found >= 36 && named >= 36 && alarms <= 1);
    boot_figures_free(base);
}

/* The three answers of one rule, and how many boots more it asks for. */
static void answers(void **state)
{
    static const struct {
        const char            *rule;
        double                 before, after;
        unsigned               boots;
        enum boot_gate_verdict wanted;
    } rows[] = {{"total +3 %", 10e9, 10e9, 20, GATE_HOLDS},       {"total +3 %", 10e9, 11e9, 20, GATE_EXCEEDED},
                {"total +3 %", 10e9, 10.3e9, 20, GATE_NOT_KNOWN}, {"total +3 %", 10e9, 20e9, 4, GATE_NOT_KNOWN},
                {"total +3 %", 10e9, 11e9, 5, GATE_EXCEEDED},     {"total +2 s", 10e9, 11e9, 20, GATE_HOLDS},
                {"total +500 ms", 10e9, 11e9, 20, GATE_EXCEEDED}, {"any +3 %", 10e9, 11e9, 20, GATE_EXCEEDED},
                {"unit +3 %", 10e9, 11e9, 20, GATE_HOLDS} /* there is no unit */};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct boot_figures *f = boot_figures_new();
        for (unsigned i = 0; i < 2 * rows[r].boots; i++) {
            boot_figures_begin(f);
            boot_figures_put(f, COMPARE_BOOT, "boot",
                             (int64_t)((i < rows[r].boots ? rows[r].before : rows[r].after) * (1 + 0.001 * (i % 7))));
        }
        boot_figures_sort(f);
        const struct boot_gate g = judged(f, rows[r].boots, rows[r].rule, LEAST_NS);
        assert_int_equal(g.verdict, rows[r].wanted);
        assert_int_equal(g.items, strncmp(rows[r].rule, "unit", 4) != 0);
        if (rows[r].boots == 4)
            assert_int_equal(g.more, 1); /* five a side are enough for a rule of one item */
        boot_figures_free(f);
    }
}

static void rules(void **state)
{
    static const struct {
        const char            *text;
        enum boot_compare_kind kind;
        const char            *name;
        bool                   every, relative;
        double                 limit;
    } rows[]                         = {{"total +3 %", COMPARE_BOOT, "", false, true, 0.03},
                                        {"total +3%", COMPARE_BOOT, "", false, true, 0.03},
                                        {"any +0 %", COMPARE_BOOT, "", true, true, 0},
                                        {"unit:ssh.service +1.5 s", COMPARE_UNIT, "ssh.service", false, false, 1.5e9},
                                        {"process:a + b +20 ms", COMPARE_PROCESS, "a + b", false, false, 20e6},
                                        {"phase +200ms", COMPARE_PHASE, "", false, false, 200e6}};
    static const char *const wrong[] = {"",          "total",        "total 3 %",       "+3 %",
                                        "total +3",  "total +-3 %",  "total +x %",      "unit: +3 %",
                                        "boot +3 %", "total:x +3 %", "unit +3 minutes", "total +nan %"};
    struct boot_gate_rule    rule;
    struct reason            why;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(boot_gate_parse(rows[i].text, &rule, &why), W_SUCCESS);
        assert_int_equal(rule.kind, rows[i].kind);
        assert_string_equal(rule.name, rows[i].name);
        assert_true(rule.every == rows[i].every && rule.relative == rows[i].relative &&
                    fabs(rule.limit - rows[i].limit) < 1e-6 * (1 + rows[i].limit));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(boot_gate_parse(wrong[i], &rule, &why), W_INVALID_PARAMETER);
        assert_non_null(strstr(why.text, "Do: write WHAT +LIMIT"));
    }
}

/* 25 populations with a hidden mode in 3 to 30 % of their boots, 20 without. */
static void modes(void **state)
{
    enum { FLEETS = 25, WITHOUT = 20, BOOTS = 100 };
    struct boot_figures *base  = figures_of("wait-online");
    unsigned             found = 0, alarms = 0;
    (void)state;
    for (unsigned n = 0; n < FLEETS + WITHOUT; n++) {
        const bool              planted = n < FLEETS;
        const struct boot_item *unit    = some_unit(base, 1 + n);
        const double            share = 0.03 + 0.27 * n / (FLEETS - 1), more = 1e9 + 5e9 * chance();
        struct boot_figures    *f = boot_figures_new();
        struct boot_modes       m;
        unsigned                slow = 0;
        for (unsigned i = 0; i < BOOTS; i++) {
            const bool is = planted && i * 37 % BOOTS < (unsigned)(share * BOOTS + 0.5);
            slow += is;
            boot_like(f, base, is ? unit : NULL, is ? more * noise(0.05) : 0);
        }
        boot_figures_sort(f);
        assert_true(boot_modes_find(f, 0, BOOTS, &m));
        found += planted && m.slow == slow && m.item->kind == COMPARE_UNIT && strcmp(m.item->name, unit->name) == 0 &&
                 fabs(m.more - more) < more / 5;
        alarms += !planted && m.slow;
        boot_figures_free(f);
    }
    print_message("%u of %d hidden modes found with their unit; %u of %d populations without one gave an alarm\n",
                  found, FLEETS, alarms, WITHOUT);
    assert_true(found >= 23 && alarms == 0);
    boot_figures_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules), cmocka_unit_test(answers), cmocka_unit_test(changes),
                                       cmocka_unit_test(modes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
