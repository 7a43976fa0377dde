#include "autologger/schema/schema.h"

#include "autologger/schema/arena.h"
#include "autologger/schema/text.h"
#include "autologger/schema/value.h"

#include <stdlib.h>
#include <string.h>

/* ---- providers ---- */

struct schema_provider *schema_provider_new(const struct guid *guid, const char *name)
{
    struct schema_arena    *arena = schema_arena_new();
    struct schema_provider *p     = arena ? schema_arena_alloc(arena, sizeof *p) : NULL;

    if (!p) {
        schema_arena_free(arena);
        return NULL;
    }
    p->arena  = arena;
    p->guid   = *guid;
    p->origin = "";
    if (!(p->name = schema_text(p, name, strlen(name)))) {
        schema_arena_free(arena);
        return NULL;
    }
    return p;
}

void schema_provider_free(struct schema_provider *p)
{
    if (!p)
        return;
    free(p->events);
    schema_arena_free(p->arena); /* p lies in it */
}

void *schema_alloc(struct schema_provider *p, size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : schema_arena_alloc(p->arena, bytes);
}

static const char *schema_keep(struct schema_provider *p, struct text *t)
{
    char *copy = t->failed ? NULL : schema_alloc(p, t->length + 1, 1);
    if (copy)
        memcpy(copy, text_get(t), t->length + 1);
    text_finish(t);
    return copy;
}

const char *schema_text(struct schema_provider *p, const char *text, size_t length)
{
    struct text t = {0};
    text_utf8(&t, text, length);
    return schema_keep(p, &t);
}

const char *schema_text_utf16(struct schema_provider *p, const void *text, size_t bytes)
{
    struct text t = {0};
    text_utf16(&t, text, bytes);
    return schema_keep(p, &t);
}

struct schema_event *schema_event_new(struct schema_provider *p, unsigned field_count, unsigned top_count)
{
    struct schema_event *e = schema_alloc(p, 1, sizeof *e);

    if (!e || field_count > UINT16_MAX || top_count > field_count ||
        !(e->fields = schema_alloc(p, field_count, sizeof *e->fields)))
        return NULL;
    e->provider    = p;
    e->source      = SCHEMA_MANIFEST;
    e->field_count = (uint16_t)field_count;
    e->top_count   = (uint16_t)top_count;
    for (unsigned i = 0; i < field_count; i++) {
        e->fields[i].name  = "";
        e->fields[i].count = 1;
    }
    return e;
}

/* ---- checks ---- */

/* The state of checking an event. Every field is visited once: a field of two structs, or of none, is an error. */
struct check {
    struct schema_event *e;
    struct reason       *why;
    uint8_t             *seen; /* by field: visited, so it lies before the present one */
    unsigned             visited;
};

static bool is_integer(const struct schema_field *f)
{
    switch (f->in) {
    case IN_INT8:
    case IN_UINT8:
    case IN_INT16:
    case IN_UINT16:
    case IN_INT32:
    case IN_UINT32:
    case IN_INT64:
    case IN_UINT64:
    case IN_HEXINT32:
    case IN_HEXINT64:
    case IN_POINTER:
    case IN_SIZET: return true;
    default: return false;
    }
}

static wstatus schema_wrong(struct check *c, unsigned i, const char *what)
{
    const struct schema_event *e = c->e;
    return reason_set(c->why, W_INVALID_DATA, "event %u version %u: field %u (%s) %s", e->id, e->version, i,
                      e->fields[i].name, what);
}

/* A length or count that field `i` takes from field `by`. */
static wstatus check_reference(struct check *c, unsigned i, unsigned by, const char *what)
{
    struct schema_field *f = c->e->fields;
    if (by >= c->e->field_count || c->seen[by] != 1)
        return schema_wrong(c, i, what);
    if (f[by].flags & (FIELD_STRUCT | FIELD_COUNT_OF | FIELD_FIXED_COUNT | FIELD_TO_END) || !is_integer(&f[by]))
        return schema_wrong(c, i, "has its length or count from a field that is no single integer");
    if (!(f[by].flags & FIELD_REFERENCED)) {
        if (c->e->slot_count == SCHEMA_SLOTS_MAX)
            return schema_wrong(c, i, "is one too many with a length or count from another");
        f[by].slot = c->e->slot_count++;
        f[by].flags |= FIELD_REFERENCED;
        f[by].width = 0;
    }
    return W_SUCCESS;
}

static wstatus check_type(struct check *c, unsigned i)
{
    struct schema_field *f     = &c->e->fields[i];
    enum value_kind      kind  = f->flags & FIELD_CUSTOM ? VALUE_BINARY : value_kind_of(f->in, f->out);
    bool                 sized = f->flags & (FIELD_LENGTH_OF | FIELD_FIXED_LENGTH | FIELD_TO_END);

    if (kind == VALUE_KINDS)
        return schema_wrong(c, i, "has a type that does not exist");
    if (f->in == IN_BINARY && !sized && !(f->flags & FIELD_CUSTOM) && value_width(kind) == 0)
        return schema_wrong(c, i, "is Binary and has no length");
    if (!is_integer(f))
        f->map = NULL; /* only numbers have texts */
    f->kind    = (uint16_t)(f->in == IN_POINTER && f->flags & FIELD_TO_END ? VALUE_ADDRESSES : kind);
    bool alone = !(f->flags & ~(unsigned)(FIELD_TAGS | FIELD_FIXED_LENGTH | FIELD_HIDDEN | FIELD_REFERENCED));
    f->width   = (uint8_t)(alone ? value_width(f->kind) : 0);
    f->text8   = alone && !(f->flags & FIELD_FIXED_LENGTH) && f->kind == VALUE_ANSI;
    return W_SUCCESS;
}

static void note_name(struct schema_field *f)
{
    size_t n = strlen(f->name), plain = 0;

    while (plain < n && f->name[plain] > ' ' && f->name[plain] < 0x7F)
        plain++;
    f->plain_name  = plain == n && n <= UINT16_MAX;
    f->name_length = (uint16_t)(n <= UINT16_MAX ? n : 0);
}

static wstatus check_run(struct check *c, unsigned first, unsigned count, unsigned depth)
{
    struct schema_event *e  = c->e;
    wstatus              st = W_SUCCESS;

    for (unsigned i = first; i < first + count && !st; i++) {
        const struct schema_field *f = &e->fields[i];
        if (c->seen[i])
            return schema_wrong(c, i, "is in two structs");
        if (f->flags & FIELD_LENGTH_OF)
            st = check_reference(c, i, f->length, "has its length from a field that does not stand before it");
        if (!st && f->flags & FIELD_COUNT_OF)
            st = check_reference(c, i, f->count, "has its count from a field that does not stand before it");
        if (st)
            return st;
        c->seen[i] = 1;
        c->visited++;
        note_name(&e->fields[i]);
        if (!(f->flags & FIELD_STRUCT)) {
            st = check_type(c, i);
            continue;
        }
        if (depth == SCHEMA_NESTING_MAX || f->first <= i || f->first < e->top_count || f->members == 0 ||
            f->first + f->members > e->field_count)
            return schema_wrong(c, i, "is a struct without members, of members that are not there, or too deep");
        st = check_run(c, f->first, f->members, depth + 1);
    }
    for (unsigned i = first; depth && i < first + count && !st; i++)
        c->seen[i] = 2; /* not referable from behind the struct */
    return st;
}

static wstatus schema_enter(struct schema_provider *p, struct schema_event *e, struct reason *why)
{
    if ((p->event_count & (p->event_count - 1)) == 0) {
        size_t capacity = p->event_count ? p->event_count * 2ul : 1;
        void  *grown    = realloc(p->events, capacity * sizeof *p->events);
        if (!grown)
            return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for an event's description");
        p->events = grown;
    }
    p->events[p->event_count++] = e;
    return W_SUCCESS;
}

/* Counts the leading fields that have the same place in each event. */
static void finish_fixed(struct schema_event *e)
{
    for (e->fixed = e->fixed_bytes = 0;
         e->fixed < e->top_count && e->fields[e->fixed].width && e->fixed_bytes < INT16_MAX; e->fixed++) {
        e->fields[e->fixed].at = e->fixed_bytes;
        e->fixed_bytes         = (uint16_t)(e->fixed_bytes + e->fields[e->fixed].width);
    }
}

wstatus schema_event_finish(struct schema_provider *p, struct schema_event *e, struct reason *why)
{
    struct check c  = {.e = e, .why = why, .seen = calloc(e->field_count + 1u, 1)};
    wstatus      st = c.seen ? W_SUCCESS : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for an event's description");

    if (!st)
        st = check_run(&c, 0, e->top_count, 0);
    if (!st && c.visited != e->field_count)
        st = reason_set(why, W_INVALID_DATA, "event %u version %u: %u of its %u fields are in no struct", e->id,
                        e->version, e->field_count - c.visited, e->field_count);
    free(c.seen);
    e->flat = !e->cut && e->top_count == e->field_count && e->field_count > 0;
    for (unsigned i = 0; i < e->field_count; i++)
        e->flat &= (e->fields[i].width || e->fields[i].text8) && !(e->fields[i].flags & FIELD_HIDDEN);
    if (e->flat)
        finish_fixed(e);
    return st ? st : schema_enter(p, e, why);
}

/* ---- types ---- */

static const struct {
    uint16_t    number;
    const char *word;
} ins[] =
    {
#define I(name, number, word) {number, word},
#include "autologger/schema/intypes.def"
#undef I
},
  schema_outs[] = {
#define O(name, number, word) {number, word},
#include "autologger/schema/outtypes.def"
#undef O
};
enum { INS = sizeof ins / sizeof *ins, OUTS = sizeof schema_outs / sizeof *schema_outs };

bool schema_in_find(const char *word, uint16_t *in)
{
    for (unsigned i = 0; i < INS; i++)
        if (*ins[i].word && strcmp(ins[i].word, word) == 0) {
            *in = ins[i].number;
            return true;
        }
    return false;
}

bool schema_out_find(const char *word, uint16_t *out)
{
    for (unsigned i = 0; i < OUTS; i++)
        if (*schema_outs[i].word && strcmp(schema_outs[i].word, word) == 0) {
            *out = schema_outs[i].number;
            return true;
        }
    return false;
}

const char *schema_in_word(uint16_t in)
{
    for (unsigned i = 0; i < INS; i++)
        if (ins[i].number == in)
            return ins[i].word;
    return "";
}

const char *schema_out_word(uint16_t out)
{
    for (unsigned i = 0; i < OUTS; i++)
        if (schema_outs[i].number == out)
            return schema_outs[i].word;
    return "";
}
