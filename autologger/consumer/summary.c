#include "autologger/consumer/summary.h"

#include "autologger/schema/classic.h"
#include "autologger/consumer/decoded.h"
#include "registry-sim/base/unset.h"

#include <stdlib.h>
#include <string.h>

struct summary_times {
    int64_t *list;
    size_t   count, capacity;
};
struct summary_collector {
    struct summary      *s;
    size_t               capacity; /* of s->rows */
    size_t              *table;    /* open addressing: index of a row + 1 */
    size_t               slots;
    struct summary_times triggers, stacks;
    size_t               most;      /* times in each list */
    uint64_t             unordered; /* inversions at the last sort of the triggers */
    struct schema_set   *schemas;
    struct field_sink    sink; /* decodes only to check */
};

static bool summary_add_time(struct summary_times *t, int64_t time)
{
    if (t->count == t->capacity) {
        size_t   capacity = t->capacity ? t->capacity * 2 : 1024;
        int64_t *grown    = realloc(t->list, capacity * sizeof *grown);
        if (!grown)
            return false;
        t->list     = grown;
        t->capacity = capacity;
    }
    t->list[t->count++] = time;
    return true;
}

static size_t summary_hash(const struct guid *g, const char *event)
{
    const uint8_t *p = (const uint8_t *)g;
    uint64_t       h = UINT64_C(1469598103934665603); /* FNV-1a */
    for (size_t i = 0; i < sizeof *g; i++)
        h = (h ^ p[i]) * UINT64_C(1099511628211);
    for (; *event; event++)
        h = (h ^ (uint8_t)*event) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 29);
}

static bool grow_table(struct summary_collector *c)
{
    size_t  slots = c->slots ? c->slots * 2 : 256;
    size_t *table = calloc(slots, sizeof *table);

    if (!table)
        return false;
    for (size_t i = 0; i < c->s->row_count; i++) {
        size_t at = summary_hash(&c->s->rows[i].provider, c->s->rows[i].event) & (slots - 1);
        while (table[at])
            at = (at + 1) & (slots - 1);
        table[at] = i + 1;
    }
    free(c->table);
    c->table = table;
    c->slots = slots;
    return true;
}

static struct summary_row *new_row(struct summary_collector *c, const struct guid *provider,
                                   const struct decoded *names)
{
    struct summary *s = c->s;

    if (s->row_count == c->capacity) {
        size_t capacity = c->capacity ? c->capacity * 2 : 64;
        void  *grown    = realloc(s->rows, capacity * sizeof *s->rows);
        if (!grown)
            return NULL;
        s->rows     = grown;
        c->capacity = capacity;
    }
    struct text         clean = {0};
    struct summary_row *row   = &s->rows[s->row_count];
    *row                      = (struct summary_row){.provider = *provider};
    if (names->provider) {
        text_utf8(&clean, names->provider, strlen(names->provider));
        row->provider_name = strdup(text_get(&clean));
        text_finish(&clean);
    }
    row->event = strdup(names->event);
    if (!row->event || (names->provider && !row->provider_name)) {
        free(row->event);
        free(row->provider_name);
        return NULL;
    }
    s->row_count++;
    return row;
}

static bool summary_count_event(struct summary_collector *c, const struct etl_event *e, const struct decoded *names)
{
    if ((c->s->row_count + 1) * 2 > c->slots && !grow_table(c))
        return false;
    size_t at = summary_hash(&e->provider, names->event) & (c->slots - 1);
    for (; c->table[at]; at = (at + 1) & (c->slots - 1)) {
        struct summary_row *row = &c->s->rows[c->table[at] - 1];
        if (guid_equal(&row->provider, &e->provider) && strcmp(row->event, names->event) == 0) {
            row->count++;
            return true;
        }
    }
    struct summary_row *row = new_row(c, &e->provider, names);
    if (!row)
        return false;
    c->table[at] = c->s->row_count;
    row->count   = 1;
    return true;
}

static void summary_ignore(void *self, const struct field *f)
{
    (void)self;
    (void)f;
}

static int summary_by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Matches all stacks so far; those whose trigger may still come stay, if more events come (`comes`). */
static void match_stacks(struct summary_collector *c, bool comes)
{
    size_t  stay   = 0;
    int64_t newest = c->triggers.count ? c->triggers.list[c->triggers.count - 1] : INT64_MIN;

    if (c->s->inversions != c->unordered && c->triggers.count) { /* else it is sorted already */
        qsort(c->triggers.list, c->triggers.count, sizeof *c->triggers.list, summary_by_value);
        newest       = c->triggers.list[c->triggers.count - 1];
        c->unordered = c->s->inversions;
    }
    for (size_t i = 0; i < c->stacks.count; i++) {
        const int64_t time = c->stacks.list[i];
        if (c->triggers.count && bsearch(&time, c->triggers.list, c->triggers.count, sizeof time, summary_by_value))
            c->s->stacks_matched++;
        else if (comes && time >= newest)
            c->stacks.list[stay++] = time;
    }
    c->stacks.count = stay;
}

/* Room for one more of either: drops the older half of the triggers, and stacks that can no longer be matched. */
static void summary_make_room(struct summary_collector *c)
{
    if (c->triggers.count < c->most && c->stacks.count < c->most)
        return;
    match_stacks(c, true);
    if (c->triggers.count >= c->most) {
        c->triggers.count -= c->most / 2;
        memmove(c->triggers.list, c->triggers.list + c->most / 2, c->triggers.count * sizeof *c->triggers.list);
    }
    if (c->stacks.count >= c->most)
        c->stacks.count = 0; /* all of them wait for later triggers: no such file was ever written */
}

/* Stacks refer to their trigger by its raw time; everything else can be a trigger. */
static bool summary_count_stack(struct summary_collector *c, const struct etl_event *e, const struct decoded *names)
{
    enum { FRAMES_MAX = 1024, FIXED = 16 };
    UNSET uint64_t frames[FRAMES_MAX];
    unsigned       n = decoded_stack(e, frames, FRAMES_MAX);

    c->s->stacks_extended += n > 0;
    c->s->frames += n;
    summary_make_room(c);
    bool stack =
        names->hook == HOOK_STACK_WALK || names->hook == HOOK_STACK_KEY_KERNEL || names->hook == HOOK_STACK_KEY_USER;
    if (!stack)
        return summary_add_time(&c->triggers, e->raw_time);
    if (e->payload_size < FIXED)
        return true;
    int64_t trigger;
    memcpy(&trigger, e->payload, sizeof trigger);
    c->s->stacks++;
    if (names->hook == HOOK_STACK_WALK)
        c->s->frames += (e->payload_size - FIXED) / (e->is_64bit ? 8 : 4);
    return summary_add_time(&c->stacks, trigger);
}

static int by_row(const void *a, const void *b)
{
    const struct summary_row *x = a, *y = b;
    int d = strcmp(x->provider_name ? x->provider_name : "~", y->provider_name ? y->provider_name : "~");
    if (d == 0)
        d = memcmp(&x->provider, &y->provider, sizeof x->provider);
    if (d == 0 && x->count != y->count)
        d = x->count > y->count ? -1 : 1;
    return d ? d : strcmp(x->event, y->event);
}

static bool summary_collect(struct summary_collector *c, struct etl_reader *r, const struct summary_more *more)
{
    enum { TELL_EVERY = 1 << 14 };
    const uint64_t   size = etl_reader_header(r)->file_size ? etl_reader_header(r)->file_size : 1;
    struct etl_event e;
    struct decoded   names;
    int64_t          last = INT64_MIN;
    uint32_t         used;

    while (etl_next(r, &e)) {
        if (more && more->progress && c->s->events % TELL_EVERY == 0)
            more->progress(more->progress_ctx, (unsigned)(e.file_offset * 1000 / size));
        decoded_names(c->schemas, &e, &names);
        if (more && more->see)
            more->see(more->ctx, &e, &names);
        if (!summary_count_event(c, &e, &names) || !summary_count_stack(c, &e, &names) ||
            !losses_add(&c->s->losses, &e, &names))
            return false;
        c->s->undecoded += decoded_fields(&e, &names, &c->sink, &used) != DECODE_OK;
        c->s->inversions += e.raw_time < last;
        /* units that systemd started before the session have the time of their start */
        last = etl_event_is_header(&e) ? INT64_MIN : e.raw_time;
        if (c->s->events++ == 0 || e.filetime < c->s->first_time)
            c->s->first_time = e.filetime;
        c->s->last_time = e.filetime;
    }
    match_stacks(c, false);
    c->s->header = etl_reader_header(r);
    c->s->damage = etl_reader_damage(r, &c->s->damage_count);
    if (c->s->row_count)
        qsort(c->s->rows, c->s->row_count, sizeof *c->s->rows, by_row);
    return true;
}

wstatus summary_create(struct etl_reader *r, struct summary **out, struct reason *why)
{
    return summary_create_with(r, NULL, out, why);
}

wstatus summary_create_with(struct etl_reader *r, const struct summary_more *more, struct summary **out,
                            struct reason *why)
{
    struct summary_collector c  = {.s         = calloc(1, sizeof *c.s),
                                   .most      = more && more->times ? more->times : SUMMARY_TIMES,
                                   .schemas   = more && more->schemas ? more->schemas : schema_set_new(),
                                   .sink.emit = summary_ignore};
    wstatus                  st = W_SUCCESS;

    if (!c.s || !c.schemas || !summary_collect(&c, r, more)) {
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a summary");
        summary_destroy(c.s);
    } else {
        *out = c.s;
    }
    free(c.table);
    free(c.triggers.list);
    free(c.stacks.list);
    field_sink_finish(&c.sink);
    if (!more || c.schemas != more->schemas)
        schema_set_free(c.schemas);
    return st;
}

void summary_destroy(struct summary *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->row_count; i++) {
        free(s->rows[i].provider_name);
        free(s->rows[i].event);
    }
    losses_finish(&s->losses);
    free(s->rows);
    free(s);
}

uint64_t summary_count(const struct summary *s, const char *name)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->row_count; i++) {
        const struct summary_row *row = &s->rows[i];
        size_t                    n   = row->provider_name ? strlen(row->provider_name) : 0;
        if (!row->provider_name || strncmp(name, row->provider_name, n) != 0)
            continue;
        if (name[n] == 0 || (name[n] == '/' && strcmp(name + n + 1, row->event) == 0))
            sum += row->count;
    }
    return sum;
}
