/* autologger compare: what got slower from one boot to another. */
#include "tools/base/verb.h"
#include "tools/files/compare_run.h"

#include <stdlib.h>

static error_t compare_parse(int key, char *arg, struct argp_state *state)
{
    struct compare_run *a = state->input;
    char               *end;
    switch (key) {
    case ARGP_KEY_ARG:
        if (a->file_count == COMPARE_FILES)
            argp_error(state, "at most %d traces", COMPARE_FILES);
        a->files[a->file_count++] = arg;
        return 0;
    case 'n':
        a->last = (unsigned)strtoul(arg, &end, 10);
        if (*end || !a->last || a->last >= COMPARE_FILES)
            argp_error(state, "--last: a number from 1 to %d", COMPARE_FILES - 1);
        return 0;
    case 'o': a->page = arg; return 0;
    case 'm':
        a->least_ms = strtod(arg, &end);
        if (*end || !(a->least_ms >= 0))
            argp_error(state, "--least: milliseconds");
        return 0;
    case ARGP_KEY_END:
        if (a->file_count < (a->last ? 1 : 2))
            argp_error(state, a->last ? "AFTER is missing" : "BEFORE and AFTER are missing; or --last N AFTER");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int cmd_compare(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"last", 'n', "N", 0, "compare with the median of the last N boots that the store remembers, too", 0},
        {"output", 'o', "PAGE", 0, "write the page of AFTER there, with the comparison in it", 0},
        {"least", 'm', "MS", 0, "leave out what changed by fewer milliseconds (default 5)", 0},
        OPT_STORE,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        compare_parse,
        "BEFORE... AFTER\n--last N AFTER",
        CMDLINE_DOC(
            "What got slower in the boot AFTER: by phase, unit, initramfs script, process, initcall and disk. Several traces BEFORE stand "
            "for their median.",
            "  autologger compare monday.etl today.etl\n  autologger compare --last 5 /var/log/autologger/c/boot/boot.etl -o today.html"),
        NULL,
        NULL,
        NULL};
    struct compare_run a = {.least_ms = 5};
    int                code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    return compare_run(&a);
}
