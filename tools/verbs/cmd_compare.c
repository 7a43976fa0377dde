/* autologger compare: what got slower from one boot to another, or from boots before a change to boots after it. */
#include "tools/base/verb.h"
#include "tools/files/compare_run.h"
#include "tools/files/compare_sides.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_JUNIT = 0x700 };
struct compare_args {
    struct compare_run   one; /* its common options come first */
    struct compare_sides many;
    const char         **word;          /* all that is no option; room for each argument */
    unsigned             words, versus; /* versus: the number of words before "vs" */
    bool                 has_versus;
};

static void compare_word(struct compare_args *a, char *arg, struct argp_state *state)
{
    if (strcmp(arg, "vs") != 0) {
        a->word[a->words++] = arg;
        return;
    }
    if (a->has_versus)
        argp_error(state, "\"vs\" stands once, between the boots before and those after");
    a->has_versus = true;
    a->versus     = a->words;
}

static void compare_gate(struct compare_args *a, const char *arg, struct argp_state *state)
{
    struct reason why = {0};
    if (a->many.gate_count == SIDES_GATES)
        argp_error(state, "at most %d gates", SIDES_GATES);
    if (boot_gate_parse(arg, &a->many.gates[a->many.gate_count++].rule, &why))
        argp_error(state, "--gate: %s", why.text);
}

/* What goes together. */
static void compare_check(struct compare_args *a, struct argp_state *state)
{
    if (a->has_versus) {
        if (!a->versus || a->versus == a->words)
            argp_error(state, "boots before \"vs\" and boots after it are needed");
        if (a->one.last || a->one.page)
            argp_error(state, "--last and --output are for one boot AFTER, without \"vs\"");
        if (a->many.junit && !a->many.gate_count)
            argp_error(state, "--junit has the answers of gates: --gate is missing");
        return;
    }
    if (a->many.gate_count || a->many.junit)
        argp_error(state, "gates need several boots on each side: BEFORE... vs AFTER...");
    if (a->words > COMPARE_FILES)
        argp_error(state, "at most %d traces", COMPARE_FILES);
    if (a->words < (a->one.last ? 1 : 2))
        argp_error(state, a->one.last ? "AFTER is missing" : "BEFORE and AFTER are missing; or --last N AFTER");
}

static error_t compare_parse(int key, char *arg, struct argp_state *state)
{
    struct compare_args *a = state->input;
    char                *end;
    switch (key) {
    case ARGP_KEY_ARG: compare_word(a, arg, state); return 0;
    case 'n':
        a->one.last = (unsigned)strtoul(arg, &end, 10);
        if (*end || !a->one.last || a->one.last >= COMPARE_FILES)
            argp_error(state, "--last: a number from 1 to %d", COMPARE_FILES - 1);
        return 0;
    case 'o': a->one.page = arg; return 0;
    case 'm':
        a->one.least_ms = strtod(arg, &end);
        if (*end || !(a->one.least_ms >= 0))
            argp_error(state, "--least: milliseconds");
        return 0;
    case 'g': compare_gate(a, arg, state); return 0;
    case KEY_JUNIT: a->many.junit = arg; return 0;
    case ARGP_KEY_END: compare_check(a, state); return 0;
    default: return cmdline_option(&a->one.common, key, arg);
    }
}

static int compare_act(struct compare_args *a)
{
    if (!a->has_versus) {
        memcpy(a->one.files, a->word, a->words * sizeof *a->word);
        a->one.file_count = a->words;
        return compare_run(&a->one);
    }
    a->many.common       = a->one.common;
    a->many.least_ms     = a->one.least_ms;
    a->many.before       = a->word;
    a->many.before_count = a->versus;
    a->many.after        = a->word + a->versus;
    a->many.after_count  = a->words - a->versus;
    return compare_sides(&a->many);
}

int cmd_compare(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"last", 'n', "N", 0, "compare with the median of the last N boots that the store remembers, too", 0},
        {"output", 'o', "PAGE", 0, "write the page of AFTER there, with the comparison in it", 0},
        {"least", 'm', "MS", 0, "leave out what changed by fewer milliseconds (default 5)", 0},
        {"gate", 'g', "RULE", 0,
         "with vs: exit with 1 if the boots show that a limit is exceeded, with 2 if they do not show that it holds: "
         "'total +3 %', 'unit +200 ms', 'unit:ssh.service +1 s', 'any +5 %' (repeat for more)",
         0},
        {"junit", KEY_JUNIT, "FILE", 0, "write the gates' answers as JUnit's XML", 0},
        OPT_STORE,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        compare_parse,
        "BEFORE... AFTER\nBEFORE... vs AFTER...\n--last N AFTER",
        CMDLINE_DOC(
            "What got slower in the boot AFTER: by phase, unit, initramfs script, process, initcall and disk. Several traces BEFORE stand "
            "for their median. With vs: boots before a change and boots after it, as traces or folders of traces; how sure each change is, "
            "and whether some boots of a side are unlike the others.",
            "  autologger compare monday.etl today.etl\n  autologger compare old/ vs new/ --gate 'total +3 %'"
            "\n  autologger compare --last 5 /var/log/autologger/c/boot/boot.etl -o today.html"),
        NULL,
        NULL,
        NULL};
    struct compare_args *a    = calloc(1, sizeof *a);
    const char         **word = calloc((size_t)argc + 1, sizeof *word);
    int                  code = VERB_REFUSED;
    if (a && word) {
        a->one.least_ms = 5;
        a->word         = word;
        if (cmdline_parse(&argp, argc, argv, a, &code))
            code = compare_act(a);
    }
    free(word);
    free(a);
    return code;
}
