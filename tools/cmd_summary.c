/* autologger summary: what a trace file holds, in figures. */
#include "autologger/consumer/summary.h"
#include "tools/store_access.h"
#include "tools/summary_view.h"
#include "tools/verb.h"

struct summary_args {
    struct cmdline common;
    const char    *file;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct summary_args *a = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one FILE at a time");
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file)
            argp_error(state, "FILE is missing");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int cmd_summary(int argc, char **argv)
{
    static const struct argp_option options[] = {OPT_JSON, {0}};
    static const struct argp        argp      = {
        options, parse, "FILE",
        CMDLINE_DOC("What a trace file (.etl, of Windows too) holds: time, losses, events by provider, stacks, damage.",
                    "  autologger summary autologger-rehearsal/c/traces/first-boot.etl"),
        NULL, NULL, NULL};
    struct summary_args a = {0};
    int                 code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    return summary_view_file("autologger summary", a.file, a.common.json);
}
