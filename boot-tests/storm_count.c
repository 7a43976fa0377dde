/* storm_count - counts the events of a storm (storm.c) in a trace: storm_count FILE FROM_RAW FROM_TSC TO_RAW TO_TSC,
 * for two windows (one inside the other), then PID... of programs, then "-", then TID... of threads. Prints one JSON
 * object: for each window the context switches and the new threads; for each program the processes that it started, and
 * how many of them ended; for each thread how often it was switched away from; and the breaks in each CPU's chain of
 * switches: the thread that comes in goes out next, else a switch is missing (named on stderr). Exit codes: 0 read, 100
 * called wrongly, 111 not to be read. */
#include "autologger/etl/reader.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CPUS_MAX            = 1024,
    LIST_MAX            = 512,
    PIDS                = 1 << 22,
    CLASS_SWITCH        = 0x0524,
    CLASS_THREAD_START  = 0x0501,
    CLASS_THREAD_END    = 0x0502,
    CLASS_PROCESS_START = 0x0301,
    CLASS_PROCESS_END   = 0x0302,
    WINDOWS             = 2
};

struct list {
    uint32_t id[LIST_MAX];
    uint64_t a[LIST_MAX], b[LIST_MAX];
    unsigned count;
};
struct window {
    int64_t  from, to;
    uint64_t switches, threads;
};
struct counts {
    struct window window[WINDOWS];
    struct list   program, thread;
    uint16_t     *parent; /* by pid: its program's index + 1 */
    uint32_t      running[CPUS_MAX];
    bool          known[CPUS_MAX];
    uint64_t      switches, inversions;
    uint32_t     *outs, *missing; /* by thread: recorded switches away from it, missing ones */
    bool         *ended;          /* by thread: it has ended, only its last switch remains */
    uint64_t      broken, silent; /* sums of `missing` over finished threads */
    int64_t       last[CPUS_MAX];
};

static unsigned place(const struct list *l, uint32_t id)
{
    unsigned i = 0;
    while (i < l->count && l->id[i] != id)
        i++;
    return i;
}

static uint32_t u32(const struct etl_event *e, uint32_t at)
{
    uint32_t v = 0;
    if (at + sizeof v <= e->payload_size)
        memcpy(&v, e->payload + at, sizeof v);
    return v;
}

/* Adds up one thread's counts: ids are reused. A thread that is never switched away from has its events withheld by the
 * kernel: some guests' kernels withhold those of idle tasks, and of what their host runs in them. */
static void thread_over(struct counts *c, uint32_t tid)
{
    uint32_t i = tid % PIDS;
    *(c->outs[i] && tid ? &c->broken : &c->silent) += c->missing[i];
    if (c->missing[i] && c->outs[i] && tid)
        fprintf(stderr, "thread %" PRIu32 " came in, and another one went out, %" PRIu32 " times\n", tid,
                c->missing[i]);
    c->outs[i] = c->missing[i] = 0;
    c->ended[i]                = false;
}

static void context_switch(struct counts *c, const struct etl_event *e)
{
    uint32_t in = u32(e, 0), out = u32(e, 4);
    unsigned t = place(&c->thread, out);
    c->switches++;
    if (t < c->thread.count)
        c->thread.a[t]++;
    if (e->cpu >= CPUS_MAX)
        return;
    c->outs[out % PIDS]++;
    if (c->known[e->cpu] && c->running[e->cpu] != out)
        c->missing[c->running[e->cpu] % PIDS]++; /* at least the switch away from it */
    if (c->ended[out % PIDS])
        thread_over(c, out);
    c->running[e->cpu] = in;
    c->known[e->cpu]   = true;
}

static void process(struct counts *c, const struct etl_event *e, bool start)
{
    uint32_t pid = u32(e, 8) % PIDS, parent = u32(e, 12);
    unsigned p = start ? place(&c->program, parent) : c->parent[pid] ? c->parent[pid] - 1u : LIST_MAX;
    if (p < c->program.count)
        (start ? c->program.a : c->program.b)[p]++;
    c->parent[pid] = start && p < c->program.count ? (uint16_t)(p + 1) : 0;
}

static void event(struct counts *c, const struct etl_event *e)
{
    if (e->cpu < CPUS_MAX) {
        c->inversions += e->raw_time < c->last[e->cpu];
        c->last[e->cpu] = e->raw_time;
    }
    for (unsigned i = 0; i < WINDOWS; i++) {
        bool in = e->raw_time >= c->window[i].from && e->raw_time <= c->window[i].to;
        c->window[i].switches += in && e->hook == CLASS_SWITCH;
        /* a thread that starts itself: an exec */
        c->window[i].threads += in && e->hook == CLASS_THREAD_START && e->thread_id != u32(e, 4);
    }
    if (e->hook == CLASS_SWITCH)
        context_switch(c, e);
    else if (e->hook == CLASS_THREAD_START)
        thread_over(c, u32(e, 4)); /* an older thread's with this id */
    else if (e->hook == CLASS_THREAD_END)
        c->ended[u32(e, 4) % PIDS] = true;
    else if (e->hook == CLASS_PROCESS_START || e->hook == CLASS_PROCESS_END)
        process(c, e, e->hook == CLASS_PROCESS_START);
}

static void list_print(const char *name, const struct list *l)
{
    printf("\"%s\": {", name);
    for (unsigned i = 0; i < l->count; i++)
        printf("%s\"%" PRIu32 "\": [%" PRIu64 ", %" PRIu64 "]", i ? ", " : "", l->id[i], l->a[i], l->b[i]);
    printf("}, ");
}

static void broken_print(struct counts *c)
{
    for (uint32_t tid = 0; tid < PIDS; tid++)
        thread_over(c, tid);
    printf("\"broken\": %" PRIu64 ", \"silent\": %" PRIu64 ", ", c->broken, c->silent);
}

int main(int argc, char **argv)
{
    enum { FIXED = 2 + WINDOWS * 4 };
    static struct counts c;
    struct etl_reader   *r = NULL;
    struct etl_event     e;
    struct reason        why = {0};
    if (argc < FIXED || !(c.parent = calloc(PIDS, sizeof *c.parent)) || !(c.outs = calloc(PIDS, sizeof *c.outs)) ||
        !(c.missing = calloc(PIDS, sizeof *c.missing)) || !(c.ended = calloc(PIDS, sizeof *c.ended)))
        return fprintf(stderr, "storm_count FILE WINDOW... PID... - TID...\n"), 100;
    if (etl_reader_open(argv[1], &r, &why))
        return fprintf(stderr, "storm_count: %s\n", why.text), 111;
    bool raw = etl_reader_header(r)->raw.perf_freq == 1000000000;
    for (int i = 0; i < WINDOWS; i++)
        c.window[i] = (struct window){.from = strtoll(argv[2 + i * 4 + !raw], NULL, 10),
                                      .to   = strtoll(argv[4 + i * 4 + !raw], NULL, 10)};
    struct list *list = &c.program;
    for (int i = FIXED; i < argc; i++)
        if (strcmp(argv[i], "-") == 0)
            list = &c.thread;
        else if (list->count < LIST_MAX)
            list->id[list->count++] = (uint32_t)strtoul(argv[i], NULL, 10);
    while (etl_next(r, &e))
        event(&c, &e);
    printf("{\"lost\": %" PRIu32 ", \"switches\": %" PRIu64 ", \"inversions\": %" PRIu64 ", ",
           etl_reader_header(r)->raw.events_lost, c.switches, c.inversions);
    broken_print(&c);
    list_print("programs", &c.program);
    list_print("threads", &c.thread);
    printf("\"windows\": [");
    for (int i = 0; i < WINDOWS; i++)
        printf("%s[%" PRIu64 ", %" PRIu64 "]", i ? ", " : "", c.window[i].switches, c.window[i].threads);
    printf("]}\n");
    etl_reader_close(r);
    return 0;
}
