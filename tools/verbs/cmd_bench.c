/* autologger bench: what writing an event, recording one of the kernel, and reading a trace cost on this machine. */
#include "autologger/provider/bench/bench.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/bench/bench_disk.h"
#include "tools/bench/bench_kernel.h"
#include "tools/bench/bench_latency.h"
#include "tools/bench/bench_read.h"
#include "tools/bench/bench_write_peer.h"

#include <stdlib.h>
#include <string.h>

struct bench {
    const char *name;
    unsigned    usual, least, most; /* rounds */
    wstatus (*run)(unsigned rounds, const char *runs_file, struct bench_result *out, struct reason *why);
};
/* The rows of the library alone, then those against its peer, which runs in its own programs. */
static wstatus writing(unsigned rounds, const char *runs_file, struct bench_result *out, struct reason *why)
{
    static struct bench_result peers;
    (void)runs_file;
    wstatus st = bench_write_peer(rounds, NULL, &peers, why);
    if (!st)
        st = bench_write(rounds, out, why);
    for (unsigned i = 0; i < peers.count && out->count < BENCH_ROWS_MAX && !st; i++)
        out->row[out->count++] = peers.row[i];
    return st;
}
static wstatus latency(unsigned rounds, const char *runs_file, struct bench_result *out, struct reason *why)
{
    return bench_latency(rounds, &bench_latency_usual, NULL, runs_file, out, why);
}
static wstatus cmd_bench_disk(unsigned rounds, const char *runs_file, struct bench_result *out, struct reason *why)
{
    (void)runs_file;
    return bench_disk(rounds, BENCH_DISK_EVENTS, NULL, out, why);
}
static wstatus cmd_bench_kernel(unsigned rounds, const char *runs_file, struct bench_result *out, struct reason *why)
{
    (void)runs_file;
    return bench_kernel(rounds, NULL, out, why);
}
static wstatus bench_reading(unsigned rounds, const char *runs_file, struct bench_result *out, struct reason *why)
{
    (void)runs_file;
    return bench_read(rounds, &bench_read_usual, NULL, out, why);
}
static const struct bench benches[] = {
    {"write", BENCH_ROUNDS_MIN, BENCH_ROUNDS_MIN, 1000, writing},
    {"latency", BENCH_LATENCY_ROUNDS, BENCH_LATENCY_LEAST, BENCH_LATENCY_MOST, latency},
    {"disk", BENCH_DISK_ROUNDS, BENCH_DISK_LEAST, BENCH_DISK_MOST, cmd_bench_disk},
    {"kernel", BENCH_KERNEL_ROUNDS, BENCH_KERNEL_LEAST, BENCH_KERNEL_MOST, cmd_bench_kernel},
    {"read", BENCH_READ_ROUNDS, BENCH_READ_LEAST, BENCH_READ_MOST, bench_reading}};
enum { BENCHES = sizeof benches / sizeof *benches, KEY_RUNS = 0x700 };
#define BENCH_NAMES "write, latency, disk, kernel or read"
struct bench_args {
    struct cmdline      common;
    const struct bench *what;
    unsigned            rounds; /* 0: the usual number */
    const char         *runs;   /* a file; for latency only */
};

static error_t bench_parse(int key, char *arg, struct argp_state *state)
{
    struct bench_args *a = state->input;
    char              *end;
    switch (key) {
    case 'r':
        a->rounds = (unsigned)strtoul(arg, &end, 10);
        if (*end || end == arg || !a->rounds)
            argp_error(state, "--rounds takes a number, not \"%s\"", arg);
        return 0;
    case KEY_RUNS: a->runs = arg; return 0;
    case ARGP_KEY_ARG:
        for (unsigned i = 0; i < BENCHES && !a->what; i++)
            if (strcmp(arg, benches[i].name) == 0)
                a->what = &benches[i];
            else if (i + 1 == BENCHES)
                argp_error(state, "\"%s\" can't be measured. Do: autologger bench " BENCH_NAMES, arg);
        return 0;
    case ARGP_KEY_END:
        if (!a->what)
            argp_error(state, "what to measure is missing. Do: autologger bench " BENCH_NAMES);
        else if (a->rounds && (a->rounds < a->what->least || a->rounds > a->what->most))
            argp_error(state, "--rounds of %s takes %u to %u, not %u", a->what->name, a->what->least, a->what->most,
                       a->rounds);
        else if (a->runs && strcmp(a->what->name, "latency") != 0)
            argp_error(state, "--runs goes with latency alone");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int cmd_bench(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"rounds", 'r', "N", 0,
         "how often everything is measured (default 9, for read and disk 5; least 9 for write, 3 for kernel, 1 for the others)",
         0},
        {"runs", KEY_RUNS, "FILE", 0,
         "of latency: write the times of the 40 runs of the sorting program, with events on, off and left out, to FILE, as JSON",
         0},
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        bench_parse,
        "write|latency|disk|kernel|read",
        CMDLINE_DOC(
            "write: what writing an event costs: into a session of the daemon's as a ratio to LTTng-UST, the library alone as ratios to memcpy of the "
            "record and to one clock call; two writers against one; the instructions of an event that nobody wants. latency: an event when nothing "
            "is in the caches, against LTTng-UST; how soon a program sees an enable or a disable; a sorting program with 10,000 events a second. "
            "disk: events a second into a file, without a loss, against LTTng-UST; the daemon's CPU time for it, against copying the records, copying and writing them, and LTTng's daemons; memory of an idle session. "
            "kernel: what recording a context switch costs, with call stacks and without, in the "
            "thread that switches and in the daemon, as ratios to perf and to a trace instance of the kernel's in the same run; needs root. "
            "read: how fast a trace becomes text and is decoded, as ratios to babeltrace2 on the same events traced by LTTng, and a merge of two "
            "files of 1 GB as a ratio to cp; needs 6 GB below TMPDIR. All but kernel need LTTng (tools/bench-peers).",
            "  autologger bench write --json\n  autologger bench latency\n  autologger bench disk\n  sudo autologger bench kernel\n  autologger bench read --json"),
        NULL,
        NULL,
        NULL};
    struct bench_args          a = {0};
    static struct bench_result result;
    struct reason              why = {0};
    int                        code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = a.what->run(a.rounds ? a.rounds : a.what->usual, a.runs, &result, &why);
    if (st)
        return failure_print("autologger bench", st, &why);
    if (a.common.json)
        bench_print_json(&result, stdout);
    else
        bench_print_text(&result, stdout);
    return VERB_FINE;
}
