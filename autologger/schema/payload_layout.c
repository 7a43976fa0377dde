/* payload_layout.c - see payload_layout.h. */
#include "autologger/schema/payload_layout.h"
#include "autologger/schema/value.h"
#include "registry-sim/base/nearest.h"

#include <string.h>

struct payload_layout_layout {
    const struct schema_event *event;
    struct payload_clause     *clause;
    unsigned                   slots, nesting;
    int                        step_of[SCHEMA_SLOTS_MAX]; /* by field: its step; -1: none */
    struct reason             *why;
};

static wstatus unsupported(const struct payload_layout_layout *l, const struct schema_field *f, const char *what)
{
    return reason_set(l->why, W_NOT_SUPPORTED, "the fields behind '%.40s' of event %u cannot be asked about: %s",
                      f->name, l->event->id, what);
}

/* The slot for the value of an earlier field; -1: none is left. */
static int payload_layout_slot_of(struct payload_layout_layout *l, unsigned field)
{
    const int step = field < SCHEMA_SLOTS_MAX ? l->step_of[field] : -1;
    if (step < 0)
        return -1;
    struct payload_step *s = &l->clause->step[step];
    if (s->slot == PAYLOAD_NO_SLOT && l->slots < PAYLOAD_SLOTS)
        s->slot = (uint8_t)l->slots++;
    return s->slot == PAYLOAD_NO_SLOT ? -1 : s->slot;
}

static wstatus lengths(struct payload_layout_layout *l, const struct schema_field *f, struct payload_step *s)
{
    const unsigned width = value_width((enum value_kind)f->kind);
    if (f->flags & FIELD_COUNT_OF || f->flags & FIELD_LENGTH_OF) {
        const int count  = f->flags & FIELD_COUNT_OF ? payload_layout_slot_of(l, f->count) : 0,
                  length = f->flags & FIELD_LENGTH_OF ? payload_layout_slot_of(l, f->length) : 0;
        if (count < 0 || length < 0)
            return unsupported(l, f, "too many fields before them say counts and lengths");
        s->count  = (uint16_t)count;
        s->length = (uint16_t)length;
        s->how    = (uint8_t)((f->flags & FIELD_COUNT_OF ? PAYLOAD_COUNT_SLOT : 0) |
                           (f->flags & FIELD_LENGTH_OF ? PAYLOAD_LENGTH_SLOT : 0));
    }
    if (f->flags & FIELD_FIXED_COUNT) {
        s->how |= PAYLOAD_FIXED_COUNT;
        s->count = f->count;
    }
    if (f->flags & FIELD_FIXED_LENGTH || (f->in == IN_BINARY && !(f->flags & FIELD_LENGTH_OF) && width)) {
        s->how |= PAYLOAD_FIXED_LENGTH;
        s->length = f->flags & FIELD_FIXED_LENGTH ? f->length : (uint16_t)width;
    }
    return W_SUCCESS;
}

static wstatus payload_layout_run(struct payload_layout_layout *l, unsigned first, unsigned count);

static wstatus payload_layout_field(struct payload_layout_layout *l, unsigned index)
{
    const struct schema_field *f    = &l->event->fields[index];
    struct payload_clause     *c    = l->clause;
    const bool                 many = f->flags & (FIELD_COUNT_OF | FIELD_FIXED_COUNT);
    if (f->flags & FIELD_STRUCT) {
        if (many || l->nesting == SCHEMA_NESTING_MAX)
            return unsupported(l, f, "it is an array of structures");
        l->nesting++;
        wstatus st = payload_layout_run(l, f->first, f->members);
        l->nesting--;
        return st;
    }
    if (c->steps == PAYLOAD_STEPS || index >= SCHEMA_SLOTS_MAX)
        return unsupported(l, f, "they are too many");
    struct payload_step s = {.in = (uint8_t)f->in, .slot = PAYLOAD_NO_SLOT};
    if (f->in > UINT8_MAX || payload_type_of(s.in).end == PAYLOAD_END_UNKNOWN ||
        f->flags & (FIELD_CUSTOM | FIELD_TO_END | FIELD_OPTIONAL))
        return unsupported(l, f, "its type does not say how long it is");
    wstatus st = lengths(l, f, &s);
    if (st)
        return st;
    s.how |= f->in == IN_UINT16 && f->out == OUT_PORT ? PAYLOAD_BIG_ENDIAN : 0;
    l->step_of[index]   = (int)c->steps;
    c->step[c->steps++] = s;
    return W_SUCCESS;
}

static wstatus payload_layout_run(struct payload_layout_layout *l, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        wstatus st = payload_layout_field(l, i);
        if (st)
            return st;
    }
    return W_SUCCESS;
}

/* The top-level field of that name; -1: none, with the nearest name in the reason. */
static int payload_layout_find(const struct payload_layout_layout *l, const char *name)
{
    struct nearest n = nearest_make(name, 3);
    for (unsigned i = 0; i < l->event->top_count; i++) {
        if (strcmp(l->event->fields[i].name, name) == 0)
            return (int)i;
        nearest_try(&n, l->event->fields[i].name);
    }
    reason_set(l->why, W_INVALID_PARAMETER, "event %u has no field '%.40s'%s%.40s%s", l->event->id, name,
               n.found ? ", did you mean '" : "", n.found ? n.found : "", n.found ? "'?" : "");
    return -1;
}

wstatus payload_layout(const struct schema_event *event, struct payload_clause *c, struct reason *why)
{
    struct payload_layout_layout l    = {.event = event, .clause = c, .why = why};
    int                          last = -1, at[PAYLOAD_PREDICATES];

    memset(l.step_of, 0xFF, sizeof l.step_of);
    c->steps   = 0;
    c->id      = event->id;
    c->version = event->version;
    for (unsigned i = 0; i < c->predicates; i++) {
        if ((at[i] = payload_layout_find(&l, c->predicate[i].field)) < 0)
            return W_INVALID_PARAMETER;
        last = at[i] > last ? at[i] : last;
    }
    wstatus st = payload_layout_run(&l, 0, (unsigned)(last + 1));
    /* a structure has no step: payload_add says that it cannot be compared */
    for (unsigned i = 0; i < c->predicates && !st; i++)
        c->predicate[i].step = l.step_of[at[i]] < 0 ? PAYLOAD_BY_NAME : (uint16_t)l.step_of[at[i]];
    return st;
}
