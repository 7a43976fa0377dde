#include "autologger/schema/walk.h"
#include "registry-sim/base/unset.h"

enum { STEPS_MAX = 100000 };

struct walk_walk {
    const struct schema_event *event;
    struct cursor              payload;
    walk_visitor              *visit;
    void                      *ctx;
    unsigned                   steps;
    bool                       enough;
    size_t                     shown; /* payload up to the end of the last value that is not hidden */
    struct walk_place          place;
    /* by slot: the values of fields that others refer to; set before they are read (schema.h, S2) */
    uint64_t *said;
};

static bool walk_run(struct walk_walk *w, unsigned first, unsigned count);

static int64_t length_of(const struct walk_walk *w, const struct schema_field *f)
{
    if (f->flags & FIELD_LENGTH_OF) {
        uint64_t said = w->said[w->event->fields[f->length].slot];
        return said > UINT32_MAX ? UINT32_MAX : (int64_t)said; /* which does not fit anyway */
    }
    return f->flags & FIELD_FIXED_LENGTH ? f->length : VALUE_NO_LENGTH;
}

/* Walks one value, or the members of a struct once. */
static bool walk_one(struct walk_walk *w, const struct schema_field *f)
{
    struct value v;

    if (++w->steps > STEPS_MAX)
        return false;
    if (f->flags & FIELD_STRUCT) {
        w->place.depth++;
        bool ok = walk_run(w, f->first, f->members);
        w->place.depth--;
        return ok;
    }
    if (!value_take(&w->payload, f->kind, w->place.is_64bit, length_of(w, f), &v))
        return false;
    if (f->flags & FIELD_REFERENCED)
        w->said[f->slot] = value_number(&v, f->kind);
    if (!(f->flags & FIELD_HIDDEN))
        w->shown = w->payload.pos;
    if (!w->visit(w->ctx, &w->place, &v))
        w->enough = true;
    return !w->enough;
}

static bool walk_array(struct walk_walk *w, const struct schema_field *f, struct walk_level *level)
{
    uint64_t count = f->flags & FIELD_COUNT_OF ? w->said[w->event->fields[f->count].slot] : f->count;

    if (count > UINT16_MAX)
        return false;
    level->in_array = true;
    for (unsigned i = 0; i < count; i++) {
        level->element = (uint16_t)i;
        if (!walk_one(w, f))
            return false;
    }
    return true;
}

static bool walk_absent(struct walk_walk *w, const struct schema_field *f)
{
    if (f->flags & FIELD_REFERENCED)
        w->said[f->slot] = 0;
    return true;
}

/* Walks a value of a simple kind, as most are. False: it does not fit, or the visitor ended the walk. */
static inline bool walk_simple(struct walk_walk *w, const struct schema_field *f)
{
    const uint8_t *p    = w->payload.data + w->payload.pos, *nul;
    size_t         left = w->payload.size - w->payload.pos, size = f->width, stored = size;

    if (f->text8) {
        nul    = left ? memchr(p, 0, left) : NULL;
        size   = nul ? (size_t)(nul - p) : left;
        stored = size + (nul || !size);
    }
    if (stored > left)
        return false;
    struct value v = {p, (uint32_t)size, p, (uint32_t)stored};
    w->payload.pos += stored;
    if (!(f->flags & FIELD_HIDDEN))
        w->shown = w->payload.pos;
    if (!w->visit(w->ctx, &w->place, &v))
        w->enough = true;
    return !w->enough;
}

static bool walk_run(struct walk_walk *w, unsigned first, unsigned count)
{
    const struct schema_field *f = &w->event->fields[first], *end = f + count;
    struct walk_level         *level = &w->place.levels[w->place.depth];

    if ((w->steps += count) > STEPS_MAX)
        return false;
    for (; f < end; f++) {
        level->field    = f;
        level->in_array = false;
        level->element  = 0;
        bool ok;
        if (f->width || f->text8)
            ok = walk_simple(w, f);
        else if (f->flags & FIELD_OPTIONAL && cur_left(&w->payload) == 0)
            ok = walk_absent(w, f);
        else
            ok = f->flags & (FIELD_COUNT_OF | FIELD_FIXED_COUNT) ? walk_array(w, f, level) : walk_one(w, f);
        if (!ok)
            return false;
    }
    return true;
}

static inline enum decode_result walk_all(const struct schema_event *event, const void *payload, size_t size,
                                          bool is_64bit, walk_visitor *visit, void *ctx, uint32_t *used, uint64_t *said)
{
    struct walk_walk w;

    w.event          = event;
    w.payload        = cur_make(payload ? payload : "", payload ? size : 0);
    w.visit          = visit;
    w.ctx            = ctx;
    w.said           = said;
    w.steps          = 0;
    w.enough         = false;
    w.shown          = event->prefix < w.payload.size ? event->prefix : w.payload.size;
    w.payload.pos    = w.shown;
    w.place.depth    = 0;
    w.place.is_64bit = is_64bit;
    bool ok          = walk_run(&w, 0, event->top_count);
    /* bytes of a value that was not delivered stay undecoded */
    *used = (uint32_t)(ok ? w.payload.pos : w.shown);
    return w.enough || (ok && !event->cut && w.payload.pos == w.payload.size) ? DECODE_OK : DECODE_MISMATCH;
}

/* Bytes before the NUL; `left` when there is none. Eight at a time, and no call: most texts are short. */
static inline size_t walk_text_bytes(const uint8_t *p, size_t left)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t         i    = 0;

    for (uint64_t v, nul; i + sizeof v <= left; i += sizeof v) {
        memcpy(&v, p + i, sizeof v);
        if ((nul = (v - ones) & ~v & ones << 7)) /* its lowest set bit is of the first NUL */
            return i + (size_t)__builtin_ctzll(nul) / 8;
    }
    while (i < left && p[i])
        i++;
    return i;
}

enum decode_result walk_values(const struct schema_event *event, const void *payload, size_t size,
                               struct value out[WALK_VALUES], unsigned *count, uint32_t *used)
{
    const struct schema_field *f = event->fields, *const end = f + event->top_count;
    const size_t   prefix = event->prefix < size ? event->prefix : size;
    const uint8_t *p = (const uint8_t *)payload + prefix, *const stop = (const uint8_t *)payload + size;
    struct value *v = out;

    if (event->fixed_bytes <= size - prefix) { /* constant places: no checks */
        for (const struct schema_field *same = f + event->fixed; f < same; f++, v++)
            *v = (struct value){p + f->at, f->width, p + f->at, f->width};
        p += event->fixed_bytes;
    }
    for (; f < end; f++, v++) {
        const size_t left  = (size_t)(stop - p);
        size_t       shown = f->width, stored = shown;
        if (f->text8) {
            shown  = walk_text_bytes(p, left);
            stored = shown + (shown < left || !shown);
        }
        if (stored > left)
            break;
        *v = (struct value){p, (uint32_t)shown, p, (uint32_t)stored};
        p += stored;
    }
    *count = (unsigned)(v - out);
    *used  = (uint32_t)(size - (size_t)(stop - p));
    return f == end && p == stop ? DECODE_OK : DECODE_MISMATCH;
}

/* walk_all for a flat event, as most are. */
static enum decode_result walk_flat(const struct schema_event *event, const uint8_t *payload, size_t size,
                                    bool is_64bit, walk_visitor *visit, void *ctx, uint32_t *used)
{
    UNSET struct value      values[WALK_VALUES];
    UNSET struct walk_place place;
    unsigned                count;
    enum decode_result      result = walk_values(event, payload, size, values, &count, used);

    place.depth              = 0;
    place.is_64bit           = is_64bit;
    place.levels[0].in_array = false;
    place.levels[0].element  = 0;
    for (unsigned i = 0; i < count; i++) {
        place.levels[0].field = &event->fields[i];
        if (!visit(ctx, &place, &values[i])) {
            *used = (uint32_t)(values[i].data - payload) + values[i].stored_size;
            return DECODE_OK;
        }
    }
    return result;
}

/* Most events have few references, and distant stack memory is not in the cache. */
enum { FEW = 8 };

static __attribute__((noinline)) enum decode_result walk_with_many(const struct schema_event *event,
                                                                   const void *payload, size_t size, bool is_64bit,
                                                                   walk_visitor *visit, void *ctx, uint32_t *used)
{
    uint64_t said[SCHEMA_SLOTS_MAX];
    return walk_all(event, payload, size, is_64bit, visit, ctx, used, said);
}

enum decode_result walk_payload(const struct schema_event *event, const void *payload, size_t size, bool is_64bit,
                                walk_visitor *visit, void *ctx, uint32_t *used)
{
    UNSET uint64_t said[FEW];
    if (payload && walk_is_flat(event))
        return walk_flat(event, payload, size, is_64bit, visit, ctx, used);
    return event->slot_count <= FEW ? walk_all(event, payload, size, is_64bit, visit, ctx, used, said)
                                    : walk_with_many(event, payload, size, is_64bit, visit, ctx, used);
}

/* ---- texts ---- */

/* False: the map has no text for it. */
static bool map_text(const struct schema_map *m, uint64_t number, struct text *out)
{
    const uint64_t whole  = number;
    size_t         before = out->length;

    for (unsigned i = 0; i < m->count; i++) {
        const struct schema_map_row *row = &m->rows[i];
        /* an entry of 0 is the text for no bits */
        if (m->bits && row->value ? (number & row->value) != row->value : whole != row->value)
            continue;
        if (out->length > before)
            text_add(out, "|", 1);
        text_add(out, row->text, strlen(row->text));
        if (!m->bits)
            return true;
        number &= ~(uint64_t)row->value;
    }
    if (m->bits && (number || out->length == before)) {
        if (out->length > before)
            text_add(out, "|", 1);
        text_hexnumber(out, number);
    }
    return m->bits;
}

void walk_text(const struct schema_field *f, const struct value *v, bool is_64bit, struct text *out,
               enum value_json *json)
{
    if (!f->map) {
        value_text(v, f->kind, is_64bit, out, json);
        return;
    }
    const unsigned bits   = 8 * v->size;
    uint64_t       number = value_number(v, f->kind);
    if (bits && bits < 64) /* an entry for -1 has the bits of the type */
        number &= (UINT64_C(1) << bits) - 1;
    if (!map_text(f->map, number, out))
        value_text(v, f->kind, is_64bit, out, json);
    *json = JSON_STRING;
}

void walk_path(const struct walk_place *p, struct text *path)
{
    text_cut(path, 0);
    for (unsigned i = 0; i <= p->depth; i++) {
        if (i)
            text_add(path, ".", 1);
        text_add(path, p->levels[i].field->name, strlen(p->levels[i].field->name));
        if (p->levels[i].in_array) {
            text_add(path, "[", 1);
            text_unsigned(path, p->levels[i].element);
            text_add(path, "]", 1);
        }
    }
}

static bool walk_emit(void *ctx, const struct walk_place *place, const struct value *v)
{
    struct field_sink         *sink = ctx;
    const struct walk_level   *at   = &place->levels[place->depth];
    const struct schema_field *f    = at->field;
    struct field               out  = {.field = f, .value = v};

    if (f->flags & FIELD_HIDDEN)
        return true;
    text_cut(&sink->value, 0);
    walk_text(f, v, place->is_64bit, &sink->value, &out.json);
    out.hex    = !f->map && value_is_hex(f->kind);
    out.text   = text_get(&sink->value);
    out.length = sink->value.length;
    out.path = out.name = f->name;
    if (place->depth || at->in_array) {
        walk_path(place, &sink->path);
        out.path        = text_get(&sink->path);
        const char *dot = strrchr(out.path, '.');
        out.name        = dot ? dot + 1 : out.path;
    }
    sink->emit(sink->self, &out);
    return true;
}

enum decode_result walk_fields(const struct schema_event *event, const void *payload, size_t size, bool is_64bit,
                               struct field_sink *sink, uint32_t *used)
{
    return walk_payload(event, payload, size, is_64bit, walk_emit, sink, used);
}

void field_sink_finish(struct field_sink *sink)
{
    text_finish(&sink->path);
    text_finish(&sink->value);
}
