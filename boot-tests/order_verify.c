/* order_verify - checks that a merged trace has the true order of events. order_verify FILE TID TID, the threads of an
 * order_writer. A turn is right when its events come in this order: event 1, the system call's beginning, its end,
 * event 2, a switch away from the thread; and at each of the first four the preceding switches have the thread running
 * on that CPU. Prints key=value pairs. Exit codes: 0 all turns are right, 1 not, 100 called wrongly, 111 not to be
 * read. */
#include "autologger/etl/reader.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_MAX = 1024, PIDS = 1 << 22, HOOK_SWITCH = 0x0524, THREADS = 2, SHOWN = 5 };
enum step { WROTE_1, CALL_BEGAN, CALL_ENDED, WROTE_2, LEFT, STEPS };
static const struct guid provider = {0x0de2c0de, 0x7e57, 0x0001, {0x80, 0, 0, 0, 0, 0, 0, 1}};

struct player {
    uint32_t tid;
    unsigned next;
    bool     wrong;
    uint64_t turns, right;
};
struct state {
    struct player player[THREADS];
    uint32_t      running[CPUS_MAX];
    bool          known[CPUS_MAX];
    /* by thread: switches away from it; times that the switches had it running, but another thread's event came */
    uint32_t *outs, *doubt;
    unsigned  shown;
};

static uint32_t u32(const struct etl_event *e, uint32_t at)
{
    uint32_t v = 0;
    if (at + sizeof v <= e->payload_size)
        memcpy(&v, e->payload + at, sizeof v);
    return v;
}

static void step(struct state *s, struct player *p, enum step what, const struct etl_event *e)
{
    if (what == LEFT && p->next != LEFT)
        return; /* other threads of the machine may run in between, anywhere */
    if (p->next != what) {
        if (s->shown++ < SHOWN)
            fprintf(stderr, "thread %" PRIu32 ", turn %" PRIu64 ": step %d where %u is due, at %" PRId64 "\n", p->tid,
                    p->turns, what, p->next, e->raw_time);
        p->wrong = true;
    }
    if (what != LEFT && e->cpu < CPUS_MAX && s->known[e->cpu] && s->running[e->cpu] != p->tid) {
        s->doubt[s->running[e->cpu] % PIDS]++;
        s->running[e->cpu] = p->tid;
    }
    p->next = (what + 1) % STEPS;
    if (what != LEFT)
        return;
    p->turns++;
    p->right += !p->wrong;
    p->wrong = false;
}

/* The name of an event that describes itself: behind size and tags. */
static const char *name_of(const struct etl_event *e)
{
    const uint8_t *schema;
    uint32_t       size;
    return etl_ext_find(e, ETL_EXT_SCHEMA_TL, &schema, &size) && size > 3 && memchr(schema + 3, 0, size - 3)
               ? (const char *)schema + 3
               : "";
}

static void event(struct state *s, const struct etl_event *e)
{
    if (e->hook == HOOK_SWITCH && e->cpu < CPUS_MAX) {
        uint32_t in = u32(e, 0), out = u32(e, 4);
        for (int i = 0; i < THREADS; i++)
            if (s->player[i].tid == out)
                step(s, &s->player[i], LEFT, e);
        s->outs[out % PIDS]++;
        s->running[e->cpu] = in;
        s->known[e->cpu]   = true;
        return;
    }
    for (int i = 0; i < THREADS && e->kind == ETL_KIND_EVENT; i++) {
        struct player *p = &s->player[i];
        if (e->thread_id != p->tid)
            continue;
        if (guid_equal(&e->provider, &provider))
            step(s, p, e->id == 1 ? WROTE_1 : WROTE_2, e);
        else if (strcmp(name_of(e), "sys_enter_getpgid") == 0)
            step(s, p, CALL_BEGAN, e);
        else if (strcmp(name_of(e), "sys_exit_getpgid") == 0)
            step(s, p, CALL_ENDED, e);
    }
}

int main(int argc, char **argv)
{
    static struct state s;
    struct etl_reader  *r = NULL;
    struct etl_event    e;
    struct reason       why   = {0};
    uint64_t            turns = 0, right = 0, wrong_cpu = 0, silent = 0;
    if (argc != 2 + THREADS || !(s.outs = calloc(PIDS, sizeof *s.outs)) || !(s.doubt = calloc(PIDS, sizeof *s.doubt)))
        return fprintf(stderr, "order_verify FILE TID TID\n"), 100;
    if (etl_reader_open(argv[1], &r, &why))
        return fprintf(stderr, "order_verify: %s\n", why.text), 111;
    for (int i = 0; i < THREADS; i++)
        s.player[i].tid = (uint32_t)strtoul(argv[2 + i], NULL, 10);
    while (etl_next(r, &e))
        event(&s, &e);
    etl_reader_close(r);
    for (int i = 0; i < THREADS; i++) {
        turns += s.player[i].turns;
        right += s.player[i].right;
    }
    /* see storm_count.c: the kernel withholds events of threads that are never switched away from */
    for (uint32_t tid = 0; tid < PIDS; tid++)
        *(s.outs[tid] && tid ? &wrong_cpu : &silent) += s.doubt[tid];
    printf("turns=%" PRIu64 " right=%" PRIu64 " not_running=%" PRIu64 " kept_back=%" PRIu64 "\n", turns, right,
           wrong_cpu, silent);
    return turns && right == turns && !wrong_cpu ? 0 : 1;
}
