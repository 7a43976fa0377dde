/* autologger bench: what writing an event costs on this machine. */
#include "autologger/provider/bench/bench.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <stdlib.h>
#include <string.h>

struct bench_args {
    struct cmdline common;
    const char    *what;
    unsigned       rounds;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench_args *a = state->input;
    char              *end;
    switch (key) {
    case 'r':
        a->rounds = (unsigned)strtoul(arg, &end, 10);
        if (*end || end == arg || a->rounds < BENCH_ROUNDS_MIN || a->rounds > 1000)
            argp_error(state, "--rounds takes %d to 1000, not \"%s\"", BENCH_ROUNDS_MIN, arg);
        return 0;
    case ARGP_KEY_ARG:
        if (a->what || strcmp(arg, "write"))
            argp_error(state, "\"%s\" can't be measured. Do: autologger bench write", arg);
        a->what = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->what)
            argp_error(state, "what to measure is missing. Do: autologger bench write");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int cmd_bench(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"rounds", 'r', "N", 0, "how often everything is measured (default and least 9)", 0}, OPT_JSON, {0}};
    static const struct argp argp = {
        options, parse, "write",
        CMDLINE_DOC("What writing an event costs: 8, 44 and 320 bytes, enabled and disabled, as ratios to memcpy of the whole record "
                    "and to one clock call in the same run.",
                    "  autologger bench write --json"),
        NULL, NULL, NULL};
    struct bench_args          a   = {.rounds = BENCH_ROUNDS_MIN};
    static struct bench_result result;
    struct reason              why = {0};
    int                        code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = bench_write(a.rounds, &result, &why);
    if (st)
        return failure_print("autologger bench", st, &why);
    if (a.common.json)
        bench_print_json(&result, stdout);
    else
        bench_print_text(&result, stdout);
    return VERB_FINE;
}
