/* bench_write_peer.c - see bench_write_peer.h. */
#include "tools/bench/bench_write_peer.h"

#include "tools/bench/bench_stand.h"
#include "tools/bench/bench_steps.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BATCHES     = 30,
    BATCH_BYTES = 1500000,
    ROUNDS_MOST = BENCH_ROUNDS_MOST,
    KINDS       = 3,
    CALL_LIMIT  = 8,
    MACRO_LIMIT = 3,
    TRIES       = 50
};
#define HEADER_BYTES 80u

static const struct bench_write_peer_kind {
    unsigned    bytes; /* of the payload; names the kind in commands */
    const char *row;
    double      goal;
} bench_write_peer_kinds[KINDS] = {{8, "write 8 bytes, enabled", 0.35},
                                   {36, "write int + 32 B string, enabled", 0.35},
                                   {320, "write 64 + 256 bytes, enabled", 0.40}};

struct bench_write_peer_figures {
    double write[KINDS][BENCH_SIDES][ROUNDS_MOST];                       /* ns an event */
    double one[BENCH_SIDES][ROUNDS_MOST], two[BENCH_SIDES][ROUNDS_MOST]; /* events a microsecond */
};

static unsigned batch_of(unsigned bytes) { return BATCH_BYTES / ((HEADER_BYTES + bytes + 7) & ~7u); }

/* Repeats a batch until no event is refused (the last number), because a refused event costs less. Between tries it
 * waits for a daemon that does not get a processor just then. */
static __attribute__((format(printf, 6, 7))) wstatus batch_play(struct bench_stand *s, enum bench_side side,
                                                                double *answer, unsigned count, struct reason *why,
                                                                const char *format, ...)
{
    char    command[80];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    for (unsigned tries = 0; tries < TRIES; tries++) {
        wstatus st = bench_ask(s, side, answer, count, why, "%s", command);
        if (st || answer[count - 1] == 0)
            return st;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return reason_set(why, W_NOT_READY,
                      "%.0f events of a batch were refused, again and again: the session does not keep up",
                      answer[count - 1]);
}

/* The sides take turns, batch by batch; the figure of a side is its median batch. */
static wstatus write_round(struct bench_stand *s, unsigned k, unsigned round, struct bench_write_peer_figures *f,
                           struct reason *why)
{
    double         times[BENCH_SIDES][BATCHES], answer[2];
    const unsigned n  = batch_of(bench_write_peer_kinds[k].bytes);
    wstatus        st = W_SUCCESS;

    for (unsigned b = 0; b < BATCHES; b++)
        for (unsigned side = 0; side < BENCH_SIDES && !st; side++) {
            st             = batch_play(s, side, answer, 2, why, "hot %u %u", bench_write_peer_kinds[k].bytes, n);
            times[side][b] = answer[0] / n;
        }
    for (unsigned side = 0; side < BENCH_SIDES && !st; side++)
        f->write[k][side][round] = bench_median(times[side], BATCHES);
    return st;
}

/* Rates by the processor time of each thread: the load of other processes does not count, the effect of the two threads
 * on each other does. */
static wstatus two_round(struct bench_stand *s, unsigned round, struct bench_write_peer_figures *f, struct reason *why)
{
    double         one[BENCH_SIDES][BATCHES], two[BENCH_SIDES][BATCHES], answer[4];
    const unsigned n  = batch_of(bench_write_peer_kinds[0].bytes);
    wstatus        st = W_SUCCESS;

    for (unsigned b = 0; b < BATCHES; b++)
        for (unsigned side = 0; side < BENCH_SIDES && !st; side++) {
            st = batch_play(s, side, answer, 4, why, "two %u %u %d %d", bench_write_peer_kinds[0].bytes, n, s->cpu[0],
                            s->cpu[1]);
            one[side][b] = n / answer[0] * 1e3;
            two[side][b] = (n / answer[1] + n / answer[2]) * 1e3;
        }
    for (unsigned side = 0; side < BENCH_SIDES && !st; side++) {
        f->one[side][round] = bench_median(one[side], BATCHES);
        f->two[side][round] = bench_median(two[side], BATCHES);
    }
    return st;
}

static void bench_write_peer_rows_make(const struct bench_stand *s, const struct bench_write_peer_figures *f,
                                       unsigned rounds, struct bench_result *out)
{
    struct bench_row row = {.peer = "LTTng-UST", .lower_is_better = true, .unit = "ns"};

    memcpy(row.peer_version, s->lttng_version, sizeof row.peer_version);
    for (unsigned k = 0; k < KINDS; k++) {
        snprintf(row.row, sizeof row.row, "%s", bench_write_peer_kinds[k].row);
        row.goal = bench_write_peer_kinds[k].goal;
        bench_row_add(out, &row, f->write[k][BENCH_SIDE_OURS], f->write[k][BENCH_SIDE_LTTNG], 0, rounds);
    }
    if (s->cpu[0] == s->cpu[1]) /* one processor */
        return;
    bench_row_add(
        out,
        &(struct bench_row){.row = "two writers on two CPUs", .peer = "one writer", .goal = 1.8, .unit = "M events/s"},
        f->two[BENCH_SIDE_OURS], f->one[BENCH_SIDE_OURS], 0, rounds);
    row = (struct bench_row){.row = "two writers on two CPUs", .peer = "LTTng-UST", .unit = "M events/s"};
    memcpy(row.peer_version, s->lttng_version, sizeof row.peer_version);
    bench_row_add(out, &row, f->two[BENCH_SIDE_OURS], f->two[BENCH_SIDE_LTTNG], 0, rounds);
}

static void row_steps(struct bench_result *out, const char *name, unsigned count, unsigned limit)
{
    struct bench_row *row   = &out->row[out->count++];
    double            ratio = (double)count / limit;
    *row =
        (struct bench_row){.lower_is_better = true, .goal = 1, .ours = count, .theirs = limit, .unit = "instructions"};
    snprintf(row->row, sizeof row->row, "%s", name);
    snprintf(row->peer, sizeof row->peer, "%u instructions", limit);
    bench_quartiles(&ratio, 1, row);
}

static wstatus instructions(struct bench_stand *s, struct bench_result *out, struct reason *why)
{
    enum { CALL, MACRO, NOTHING, CALLS };
    struct bench_steps calls[CALLS] = {{0}};
    double             address[4];
    wstatus            st = bench_ask(s, BENCH_SIDE_OURS, address, 4, why, "addresses");

    calls[CALL].entry    = (uint64_t)address[0];
    calls[MACRO].entry   = (uint64_t)address[2];
    calls[NOTHING].entry = (uint64_t)address[3];
    if (!st)
        st = bench_tell(s, BENCH_SIDE_OURS, why, "steps");
    if (!st)
        st = bench_steps_count(s->program[BENCH_SIDE_OURS].pid, calls, CALLS, why);
    if (st == W_NOT_SUPPORTED) /* the other rows stand */
        return W_SUCCESS;
    if (st)
        return st;
    row_steps(out, "EventWrite, nobody wants it", calls[CALL].count, CALL_LIMIT);
    row_steps(out, "TraceLoggingWrite, nobody wants it", calls[MACRO].count - calls[NOTHING].count, MACRO_LIMIT);
    return W_SUCCESS;
}

wstatus bench_write_peer(unsigned rounds, const char *programs, struct bench_result *out, struct reason *why)
{
    struct bench_stand               s;
    struct bench_write_peer_figures *f = calloc(1, sizeof *f);

    if (!f)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the bench");
    rounds     = rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    wstatus st = bench_stand_make(&s, programs, why);
    for (unsigned side = 0; side < BENCH_SIDES && !st; side++)
        st = bench_session_begin(&s, side, BENCH_IN_MEMORY, why);
    for (unsigned i = 0; i < rounds && !st; i++) {
        for (unsigned k = 0; k < KINDS && !st; k++)
            st = write_round(&s, k, i, f, why);
        if (!st && s.cpu[0] != s.cpu[1])
            st = two_round(&s, i, f, why);
    }
    if (!st)
        bench_write_peer_rows_make(&s, f, rounds, out);
    if (!st)
        st = instructions(&s, out, why);
    bench_stand_remove(&s);
    free(f);
    return st;
}
