/* bench_latency.c - see bench_latency.h. */
#include "tools/bench/bench_latency.h"

#include "autologger/control/client.h"
#include "tools/bench/bench_stand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    KINDS           = 2,
    TRIES           = 5,
    CHANGE_MS       = 12,
    CHANGES_MOST    = 1000,
    RATE            = 10000,
    EVENTS_AN_ARRAY = 3,
    CALIBRATIONS    = 4,
    CHANGE_WAIT_MS  = 20000
};
#define SEEN_GOAL_MS 10.0
const struct bench_latency_size bench_latency_usual = {.samples = 101,
                                                       .changes = 100,
                                                       .runs    = BENCH_SORT_RUNS,
                                                       .run_ms  = 250};

static const struct {
    unsigned    bytes;
    const char *row;
} bench_latency_kinds[KINDS] = {{8, "cold event of 8 bytes, median"}, {36, "cold event of int + 32 B string, median"}};
static const struct guid bench_latency_counted = {0x1d2c6e54,
                                                  0x3b7f,
                                                  0x5a10,
                                                  {0x8e, 0x21, 0x6b, 0x65, 0x6e, 0x63, 0x68, 0x01}};
static const struct guid typed = {0x1d2c6e54, 0x3b7f, 0x5a10, {0x8e, 0x21, 0x6b, 0x65, 0x6e, 0x63, 0x68, 0x02}};

enum bench_latency_how { WITHOUT, OFF, ON, HOWS }; /* no events in the code; no session wants them; a session does */
struct latency {
    struct bench_stand               s;
    struct control_client           *c;
    const struct bench_latency_size *size;
    double                           cold[KINDS][BENCH_SIDES][BENCH_LATENCY_MOST];
    double                           seen_p99[BENCH_LATENCY_MOST], seen_middle[BENCH_LATENCY_MOST]; /* ms */
    size_t                           length;                                                        /* of an array */
    unsigned                         repeat;                                                        /* arrays a run */
    double                           cpu[HOWS][BENCH_SORT_RUNS], wall[HOWS][BENCH_SORT_RUNS];       /* us */
    double                           rate; /* events a second, off */
};

static wstatus cold_round(struct latency *l, unsigned round, struct reason *why)
{
    double  answer[2];
    wstatus st = W_SUCCESS;
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned side = 0; side < BENCH_SIDES && !st; side++) {
            st = bench_ask(&l->s, side, answer, 2, why, "cold %u %u", bench_latency_kinds[k].bytes, l->size->samples);
            l->cold[k][side][round] = answer[0];
        }
    return st;
}

static wstatus bench_latency_change(struct latency *l, const struct guid *provider, bool on, unsigned wait_ms,
                                    struct reason *why)
{
    struct ctl_enable_request r  = {.provider = *provider, .code = on ? CTL_CODE_ENABLE : CTL_CODE_DISABLE};
    wstatus                   st = control_enable(l->c, &r, BENCH_SESSION, wait_ms, why);
    return st == W_WMI_GUID_NOT_FOUND && !on ? W_SUCCESS : st; /* it was off */
}

static int bench_latency_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Measures from before the controller's request until a polling program sees the change. W_RETRY: fewer changes were
 * seen than made, because two coincided on a busy machine; try again, further apart. */
static wstatus seen_once(struct latency *l, unsigned round, unsigned apart_ms, struct reason *why)
{
    double         asked[CHANGES_MOST], seen[CHANGES_MOST], took[CHANGES_MOST], ready;
    const unsigned n  = l->size->changes;
    wstatus        st = bench_ask(&l->s, BENCH_SIDE_OURS, &ready, 1, why, "watch %u", n);

    for (unsigned i = 0; i < n && !st; i++) {
        nanosleep(&(struct timespec){.tv_nsec = (long)apart_ms * 1000000 + (long)(i * 7919 % 1000) * 1000}, NULL);
        asked[i] = bench_clock_ns();
        /* the provider is enabled when the round begins, and when it ends */
        st = bench_latency_change(l, &bench_latency_counted, i % 2 != 0, 0, why);
    }
    if (!st && bench_hear(&l->s, BENCH_SIDE_OURS, seen, n, why))
        return W_RETRY;
    for (unsigned i = 0; i < n && !st; i++)
        took[i] = (seen[i] - asked[i]) / 1e6;
    if (st)
        return st;
    qsort(took, n, sizeof *took, bench_latency_compare);
    l->seen_p99[round]    = took[n - 1 - n / 100];
    l->seen_middle[round] = took[n / 2];
    return W_SUCCESS;
}

static wstatus seen_round(struct latency *l, unsigned round, struct reason *why)
{
    wstatus st = W_RETRY;
    for (unsigned tries = 0; tries < TRIES && st == W_RETRY; tries++)
        st = seen_once(l, round, CHANGE_MS * (1 + tries), why);
    return st == W_RETRY ? reason_set(why, W_NOT_READY, "changes were not seen one by one: the machine is too busy")
                         : st;
}

/* ---- the program that sorts ---- */

static wstatus sort_run(struct latency *l, enum bench_latency_how how, double answer[3], struct reason *why)
{
    wstatus st = how == WITHOUT ? W_SUCCESS : bench_latency_change(l, &typed, how == ON, CHANGE_WAIT_MS, why);
    return st ? st
              : bench_ask(&l->s, BENCH_SIDE_OURS, answer, 3, why, "sort %zu %u %d", l->length, l->repeat,
                          how != WITHOUT);
}

/* Finds the array length that gives RATE events a second of processor time. */
static wstatus sort_calibrate(struct latency *l, struct reason *why)
{
    double  answer[3];
    wstatus st = W_SUCCESS;

    l->length = 4096;
    l->repeat = l->size->run_ms * RATE / 1000 / EVENTS_AN_ARRAY + 1;
    for (unsigned i = 0; i < CALIBRATIONS && !st; i++) {
        st      = sort_run(l, OFF, answer, why);
        l->rate = answer[2] / answer[0] * 1e9;
        if (i + 1 < CALIBRATIONS)
            l->length = (size_t)((double)l->length * l->rate / (double)RATE) + 1;
    }
    return st;
}

static wstatus sort_rounds(struct latency *l, struct reason *why)
{
    double  answer[3];
    wstatus st = sort_calibrate(l, why);

    for (unsigned i = 0; i < l->size->runs && !st; i++)
        for (unsigned turn = 0; turn < HOWS && !st; turn++) {
            const enum bench_latency_how how = (i + turn) % HOWS; /* no variant is always the first */
            st                               = sort_run(l, how, answer, why);
            l->cpu[how][i]                   = answer[0] / 1e3;
            l->wall[how][i]                  = answer[1] / 1e3;
        }
    return st;
}

static void numbers_print(FILE *f, const char *name, const double *v, unsigned n, const char *end)
{
    fprintf(f, "  \"%s\": [", name);
    for (unsigned i = 0; i < n; i++)
        fprintf(f, "%s%.0f", i ? ", " : "", v[i]);
    fprintf(f, "]%s\n", end);
}

static wstatus runs_save(const struct latency *l, const char *path, struct reason *why)
{
    static const char *const names[HOWS][2] = {
        {"without_cpu_us", "without_wall_us"}, {"off_cpu_us", "off_wall_us"}, {"on_cpu_us", "on_wall_us"}};
    FILE *f = fopen(path, "we");
    if (f) {
        const unsigned n = l->size->runs;
        fprintf(
            f,
            "{\n  \"what\": \"a program that allocates, fills and sorts arrays and writes three events an array; microseconds a run\",\n"
            "  \"array_length\": %zu, \"arrays_a_run\": %u, \"events_a_second\": %.0f,\n",
            l->length, l->repeat, l->rate);
        for (unsigned how = 0; how < HOWS; how++) {
            numbers_print(f, names[how][0], l->cpu[how], n, ",");
            numbers_print(f, names[how][1], l->wall[how], n, how + 1 < HOWS ? "," : "");
        }
        fputs("}\n", f);
    }
    int  error = errno;
    bool bad   = !f || ferror(f);
    if (f && fclose(f))
        bad = true;
    return bad ? reason_set(why, wstatus_from_errno(error), "%s: %s", path, strerror(error)) : W_SUCCESS;
}

/* ---- rows ---- */

static void bench_latency_rows_make(const struct latency *l, unsigned rounds, struct bench_result *out)
{
    struct bench_row row = {.peer = "LTTng-UST", .lower_is_better = true, .goal = 0.5, .unit = "ns"};

    out->count = 0;
    memcpy(row.peer_version, l->s.lttng_version, sizeof row.peer_version);
    for (unsigned k = 0; k < KINDS; k++) {
        snprintf(row.row, sizeof row.row, "%s", bench_latency_kinds[k].row);
        bench_row_add(out, &row, l->cold[k][BENCH_SIDE_OURS], l->cold[k][BENCH_SIDE_LTTNG], 0, rounds);
    }
    row = (struct bench_row){.row             = "enable or disable seen by a program, p99",
                             .peer            = "10 ms",
                             .lower_is_better = true,
                             .goal            = 1,
                             .unit            = "ms"};
    bench_row_add(out, &row, l->seen_p99, NULL, SEEN_GOAL_MS, rounds);
    row = (struct bench_row){
        .row = "enable or disable seen by a program, median", .peer = "10 ms", .lower_is_better = true, .unit = "ms"};
    bench_row_add(out, &row, l->seen_middle, NULL, SEEN_GOAL_MS, rounds);
    row = (struct bench_row){.peer = "the same, events off", .lower_is_better = true, .goal = 1.01, .unit = "us"};
    snprintf(row.row, sizeof row.row, "sorting with %.0f events a second", l->rate);
    bench_row_add(out, &row, l->cpu[ON], l->cpu[OFF], 0, l->size->runs);
    row = (struct bench_row){.row             = "sorting, events off",
                             .peer            = "the same, without events",
                             .lower_is_better = true,
                             .goal            = 1.01,
                             .unit            = "us"};
    bench_row_add(out, &row, l->cpu[OFF], l->cpu[WITHOUT], 0, l->size->runs);
}

static wstatus sessions_begin(struct latency *l, struct reason *why)
{
    char    runtime[400];
    wstatus st = W_SUCCESS;
    for (unsigned side = 0; side < BENCH_SIDES && !st; side++)
        st = bench_session_begin(&l->s, side, BENCH_IN_MEMORY, why);
    return st ? st : control_open(bench_stand_path(&l->s, "run", runtime), &l->c, why);
}

wstatus bench_latency(unsigned rounds, const struct bench_latency_size *size, const char *programs,
                      const char *runs_file, struct bench_result *out, struct reason *why)
{
    struct latency *l = calloc(1, sizeof *l);

    if (!l)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the bench");
    rounds     = rounds < BENCH_LATENCY_LEAST  ? BENCH_LATENCY_LEAST
                 : rounds > BENCH_LATENCY_MOST ? BENCH_LATENCY_MOST
                                               : rounds;
    l->size    = size;
    wstatus st = bench_stand_make(&l->s, programs, why);
    if (!st)
        st = sessions_begin(l, why);
    for (unsigned i = 0; i < rounds && !st; i++) {
        st = cold_round(l, i, why);
        if (!st)
            st = seen_round(l, i, why);
    }
    if (!st)
        st = sort_rounds(l, why);
    struct ctl_session_info last = {0};
    if (!st && !(st = control_query(l->c, BENCH_SESSION, &last, why)) && ctl_events_lost(&last))
        st = reason_set(why, W_GEN_FAILURE, "the session lost %llu events: the figures mean nothing",
                        (unsigned long long)ctl_events_lost(&last));
    if (!st && runs_file)
        st = runs_save(l, runs_file, why);
    if (l->c)
        control_close(l->c);
    bench_stand_remove(&l->s);
    if (!st)
        bench_latency_rows_make(l, rounds, out);
    free(l);
    return st;
}
