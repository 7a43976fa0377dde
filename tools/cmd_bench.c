/* autologger bench: what writing an event, recording one of the kernel, and reading a trace cost on this machine. */
#include "autologger/provider/bench/bench.h"
#include "tools/bench_kernel.h"
#include "tools/bench_read.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <stdlib.h>
#include <string.h>

struct bench {
    const char *name;
    unsigned    usual, least, most; /* rounds */
    wstatus (*run)(unsigned rounds, struct bench_result *out, struct reason *why);
};
static wstatus kernel(unsigned rounds, struct bench_result *out, struct reason *why) { return bench_kernel(rounds, NULL, out, why); }
static wstatus reading(unsigned rounds, struct bench_result *out, struct reason *why) { return bench_read(rounds, &bench_read_usual, NULL, out, why); }
static const struct bench benches[] = {{"write", BENCH_ROUNDS_MIN, BENCH_ROUNDS_MIN, 1000, bench_write},
                                       {"kernel", BENCH_KERNEL_ROUNDS, BENCH_KERNEL_LEAST, BENCH_KERNEL_MOST, kernel},
                                       {"read", BENCH_READ_ROUNDS, BENCH_READ_LEAST, BENCH_READ_MOST, reading}};
enum { BENCHES = sizeof benches / sizeof *benches };
struct bench_args {
    struct cmdline      common;
    const struct bench *what;
    unsigned            rounds; /* 0: as usual */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench_args *a = state->input;
    char              *end;
    switch (key) {
    case 'r':
        a->rounds = (unsigned)strtoul(arg, &end, 10);
        if (*end || end == arg || !a->rounds)
            argp_error(state, "--rounds takes a number, not \"%s\"", arg);
        return 0;
    case ARGP_KEY_ARG:
        for (unsigned i = 0; i < BENCHES && !a->what; i++)
            if (strcmp(arg, benches[i].name) == 0)
                a->what = &benches[i];
            else if (i + 1 == BENCHES)
                argp_error(state, "\"%s\" can't be measured. Do: autologger bench write, kernel or read", arg);
        return 0;
    case ARGP_KEY_END:
        if (!a->what)
            argp_error(state, "what to measure is missing. Do: autologger bench write, kernel or read");
        else if (a->rounds && (a->rounds < a->what->least || a->rounds > a->what->most))
            argp_error(state, "--rounds of %s takes %u to %u, not %u", a->what->name, a->what->least, a->what->most, a->rounds);
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int cmd_bench(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"rounds", 'r', "N", 0, "how often everything is measured (default 9, for read 5; least 9 for write, 3 for kernel, 1 for read)", 0}, OPT_JSON, {0}};
    static const struct argp argp = {
        options, parse, "write|kernel|read",
        CMDLINE_DOC("write: what writing an event costs: 8, 44 and 320 bytes, enabled and disabled, as ratios to memcpy of the whole record "
                    "and to one clock call in the same run. kernel: what recording a context switch costs, with call stacks and without, in the "
                    "thread that switches and in the daemon, as ratios to perf and to a trace instance of the kernel's in the same run; needs root. "
                    "read: how fast a trace becomes text and is decoded, as ratios to babeltrace2 on the same events traced by LTTng, and a merge of two "
                    "files of 1 GB as a ratio to cp; needs 6 GB below TMPDIR.",
                    "  autologger bench write --json\n  sudo autologger bench kernel\n  autologger bench read --json"),
        NULL, NULL, NULL};
    struct bench_args          a   = {0};
    static struct bench_result result;
    struct reason              why = {0};
    int                        code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = a.what->run(a.rounds ? a.rounds : a.what->usual, &result, &why);
    if (st)
        return failure_print("autologger bench", st, &why);
    if (a.common.json)
        bench_print_json(&result, stdout);
    else
        bench_print_text(&result, stdout);
    return VERB_FINE;
}
