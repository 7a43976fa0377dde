#include "autologger/analysis/counts.h"

#include "autologger/analysis/traced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const counts_words[COUNTS_TABLES] = {"provider", "event", "process", "cpu", "level"};

/* A table with a hash over name and number. */
struct counts_building {
    struct count_table *t;
    size_t              capacity, slots, *slot; /* index + 1 */
};
struct counts_run {
    struct counts         *c;
    struct counts_building building[COUNTS_TABLES];
    struct traced          machine;
    struct field_sink      sink;
    bool                   failed;
};

static size_t counts_hash(const char *name, uint64_t number)
{
    uint64_t h = UINT64_C(1469598103934665603) ^ number * UINT64_C(0x9E3779B97F4A7C15); /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 29);
}

static bool counts_grow(struct counts_building *b)
{
    size_t slots = b->slots ? b->slots * 2 : 64, *slot = calloc(slots, sizeof *slot);

    if (!slot)
        return false;
    for (size_t i = 0; i < b->t->rows; i++) {
        size_t at = counts_hash(b->t->row[i].name, b->t->row[i].number) & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = i + 1;
    }
    free(b->slot);
    b->slot  = slot;
    b->slots = slots;
    return true;
}

static struct count_row *counts_row_at(struct counts_building *b, const char *name, uint64_t number)
{
    if ((b->t->rows + 1) * 2 > b->slots && !counts_grow(b))
        return NULL;
    size_t at = counts_hash(name, number) & (b->slots - 1);
    for (; b->slot[at]; at = (at + 1) & (b->slots - 1)) {
        struct count_row *r = &b->t->row[b->slot[at] - 1];
        if (r->number == number && strcmp(r->name, name) == 0)
            return r;
    }
    if (b->t->rows == b->capacity) {
        size_t capacity = b->capacity ? b->capacity * 2 : 32;
        void  *more     = realloc(b->t->row, capacity * sizeof *b->t->row);
        if (!more)
            return NULL;
        b->t->row   = more;
        b->capacity = capacity;
    }
    char *copied = strdup(name);
    if (!copied)
        return NULL;
    b->t->row[b->t->rows] = (struct count_row){.name = copied, .number = number};
    b->slot[at]           = b->t->rows + 1;
    return &b->t->row[b->t->rows++];
}

static struct count_row *counts_count(struct counts_run *r, enum counts_by by, const char *name, uint64_t number,
                                      uint32_t bytes)
{
    struct count_row *row = counts_row_at(&r->building[by], name, number);
    if (!row) {
        r->failed = true;
        return NULL;
    }
    row->events++;
    row->bytes += bytes;
    return row;
}

/* The same event in two channels has two rows. */
static void analysis_count_event(struct counts_run *r, const char *name, const struct trace_event *x)
{
    const char       *channel = decoded_channel(&x->names);
    struct count_row *row     = counts_count(r, COUNTS_EVENT, name, channel ? x->e.channel : 0, x->e.record_size);
    struct text       clean   = {0};
    if (!row || !channel || row->channel)
        return;
    text_utf8(&clean, channel, strlen(channel));
    row->channel = strdup(text_get(&clean));
    r->failed |= !row->channel;
    text_finish(&clean);
}

static void count_second(struct counts_run *r, const struct etl_event *e)
{
    struct counts *c = r->c;

    if (e->filetime < c->start) {
        c->before++;
        return;
    }
    uint64_t at = (e->filetime - c->start) / 10000000;
    if (at >= COUNTS_SECONDS) {
        c->beyond++;
        return;
    }
    if (at >= c->seconds) {
        size_t seconds = at + 1 > c->seconds * 2 ? at + 1 : c->seconds * 2;
        void  *more    = realloc(c->second, seconds * sizeof *c->second);
        if (!more) {
            r->failed = true;
            return;
        }
        c->second = more;
        memset(c->second + c->seconds, 0, (seconds - c->seconds) * sizeof *c->second);
        c->seconds = seconds;
    }
    c->second[at].events++;
    c->second[at].bytes += e->record_size;
}

static void counts_see(struct counts_run *r, const struct trace_event *x)
{
    static const char *const levels[] = {"(any)", "critical", "error", "warning", "informational", "verbose"};
    char                     guid[GUID_TEXT_SIZE], name[sizeof x->names.own + 700];
    const struct etl_event  *e        = &x->e;
    const char              *provider = x->names.provider ? x->names.provider : guid_format(&e->provider, guid);
    struct text              clean    = {0};
    uint32_t                 used;

    traced_see(&r->machine, e, &x->names);
    text_utf8(&clean, provider, strlen(provider)); /* a provider's name may be invalid text */
    provider = text_get(&clean);
    counts_count(r, COUNTS_PROVIDER, provider, 0, e->record_size);
    snprintf(name, sizeof name, "%.390s/%s", provider, x->names.event);
    analysis_count_event(r, name, x);
    uint32_t pid = traced_process_of(&r->machine, e);
    counts_count(r, COUNTS_PROCESS, traced_process_name(&r->machine, pid), pid, e->record_size);
    counts_count(r, COUNTS_CPU, "", e->cpu, e->record_size);
    counts_count(r, COUNTS_LEVEL, e->level < sizeof levels / sizeof *levels ? levels[e->level] : "", e->level,
                 e->record_size);
    count_second(r, e);
    r->c->undecoded += decoded_fields(e, &x->names, &r->sink, &used) != DECODE_OK;
    r->c->events++;
    r->c->bytes += e->record_size;
    text_finish(&clean);
}

static int counts_by_count(const void *a, const void *b)
{
    const struct count_row *x = a, *y = b;
    if (x->events != y->events)
        return x->events > y->events ? -1 : 1;
    int d = strcmp(x->name, y->name);
    return d ? d : x->number < y->number ? -1 : x->number > y->number;
}

static void counts_ignore(void *self, const struct field *f) { (void)self, (void)f; }

wstatus counts_create(struct trace *t, struct counts **out, struct reason *why)
{
    const struct trace_event *x;
    struct counts_run         r = {.c = calloc(1, sizeof *r.c), .sink.emit = counts_ignore};

    if (!r.c)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for counts");
    for (int i = 0; i < COUNTS_TABLES; i++)
        r.building[i].t = &r.c->table[i];
    r.c->start = trace_start(t);
    while (!r.failed && trace_next(t, &x))
        counts_see(&r, x);
    r.c->end = trace_end(t);
    while (r.c->seconds && !r.c->second[r.c->seconds - 1].events)
        r.c->seconds--;
    for (int i = 0; i < COUNTS_TABLES; i++) {
        if (r.c->table[i].rows)
            qsort(r.c->table[i].row, r.c->table[i].rows, sizeof *r.c->table[i].row, counts_by_count);
        free(r.building[i].slot);
    }
    r.failed |= r.machine.failed || r.sink.path.failed || r.sink.value.failed;
    traced_finish(&r.machine);
    field_sink_finish(&r.sink);
    *out = r.c;
    if (!r.failed)
        return W_SUCCESS;
    counts_destroy(r.c);
    return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for counts");
}

void counts_destroy(struct counts *c)
{
    for (int i = 0; c && i < COUNTS_TABLES; i++) {
        for (size_t k = 0; k < c->table[i].rows; k++) {
            free(c->table[i].row[k].name);
            free(c->table[i].row[k].channel);
        }
        free(c->table[i].row);
    }
    if (c)
        free(c->second);
    free(c);
}
