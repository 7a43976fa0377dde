/* convert_tracepoint.c - tracepoints as providers: each becomes a self-describing event, field by field as in the
 * kernel's format file. See convert.h, tracepoints.h.
 * Invariants: a source's layout is learned from the raw log before its first record; a field that the record does not
 * hold is written as 0 or an empty text, so an event always fits its description. */
#include "autologger/kernel/convert/describe.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/source/tracepoints.h"

#include <stdlib.h>
#include <string.h>

enum {
    IN_INT8    = 3,
    IN_UINT8   = 4,
    IN_INT16   = 5,
    IN_UINT16  = 6,
    IN_BINARY  = 14,
    OUT_UTF8   = 35,
    HAS_OUT    = 0x80,
    FIELDS_MAX = 64,
    SCHEMA_MAX = 4096,
    TEXT_MAX   = 4096
};

struct learned { /* of one source */
    struct learned *next;
    uint32_t        record_size;
    uint32_t        source;
    struct guid     provider;
    uint8_t         traits[TRACEPOINT_NAME + 8];
    uint8_t         schema[SCHEMA_MAX];
    unsigned        count;
    struct {
        uint16_t offset, size;
        uint8_t  kind;
    } field[FIELDS_MAX];
    uint8_t record[]; /* as it was in the raw log, for a successor */
};
struct part_tracepoint {
    struct learned *first;
    struct learned *by_source[RAW_SOURCES];
};

static uint8_t in_type(uint8_t kind, uint16_t size)
{
    static const uint8_t whole[2][9] = {{[1] = IN_INT8, [2] = IN_INT16, [4] = SHAPE_INT32, [8] = SHAPE_INT64},
                                        {[1] = IN_UINT8, [2] = IN_UINT16, [4] = SHAPE_UINT32, [8] = SHAPE_UINT64}};
    switch (kind) {
    case TP_SIGNED:
    case TP_UNSIGNED: return whole[kind == TP_UNSIGNED][size <= 8 ? size : 0];
    case TP_POINTER: return SHAPE_HEX64;
    case TP_CHARS:
    case TP_TEXT:
    case TP_RELATIVE_TEXT: return SHAPE_TEXT;
    default: return IN_BINARY;
    }
}

/* Learns one line "name offset size kind" of the layout. False: not such a line. */
static bool field_learn(struct learned *l, struct writer *schema, const char *line)
{
    char          name[64], *end;
    size_t        n = strcspn(line, " ");
    unsigned long v[3];
    if (!n || n >= sizeof name || l->count == FIELDS_MAX)
        return false;
    memcpy(name, line, n);
    name[n] = 0;
    line += n;
    for (int i = 0; i < 3; i++) {
        v[i] = strtoul(line, &end, 10);
        if (end == line || v[i] > UINT16_MAX)
            return false;
        line = end;
    }
    uint8_t type = v[2] <= TP_RELATIVE_ARRAY ? in_type((uint8_t)v[2], (uint16_t)v[1]) : 0;
    if (!type)
        return false;
    wr_bytes(schema, name, n + 1);
    wr_u8(schema, type == SHAPE_TEXT ? SHAPE_TEXT | HAS_OUT : type);
    if (type == SHAPE_TEXT)
        wr_u8(schema, OUT_UTF8);
    l->field[l->count].offset = (uint16_t)v[0];
    l->field[l->count].size   = (uint16_t)v[1];
    l->field[l->count++].kind = (uint8_t)v[2];
    return true;
}

static void sized_end(struct writer *w)
{
    uint16_t size = (uint16_t)w->pos;
    memcpy(w->data, &size, sizeof size);
}

bool tracepoint_learn(struct convert *c, const uint8_t *record, size_t size)
{
    struct raw_tracepoint r;
    struct cursor         cur = cur_make(record, size);
    cur_copy(&cur, &r, sizeof r);
    const char *provider = cur_zstring(&cur), *event = cur_zstring(&cur), *layout = cur_zstring(&cur);
    if (!layout || r.source >= RAW_SOURCES || strlen(provider) >= TRACEPOINT_NAME || strlen(event) >= TRACEPOINT_NAME)
        return false;
    if (!c->tracepoint && !(c->tracepoint = calloc(1, sizeof *c->tracepoint)))
        return false;
    struct learned *l = calloc(1, sizeof *l + size);
    if (!l)
        return false;
    *l = (struct learned){
        .next = c->tracepoint->first, .record_size = (uint32_t)size, .source = r.source, .provider = r.provider};
    memcpy(l->record, record, size);
    struct writer t = wr_make(l->traits, sizeof l->traits), s = wr_make(l->schema, sizeof l->schema);
    wr_u16(&t, 0);
    wr_bytes(&t, provider, strlen(provider) + 1);
    sized_end(&t);
    wr_u16(&s, 0);
    wr_u8(&s, 0);
    wr_bytes(&s, event, strlen(event) + 1);
    for (const char *line = layout; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (s.pos + 80 > sizeof l->schema || !field_learn(l, &s, line))
            break;
    sized_end(&s);
    c->tracepoint->first                = l;
    c->tracepoint->by_source[l->source] = l;
    return true;
}

static bool located(const struct sample *s, uint16_t offset, bool relative, uint32_t *from, uint32_t *length)
{
    uint32_t where;
    if (offset + 4u > s->raw_size)
        return false;
    memcpy(&where, s->raw + offset, 4);
    *from   = (where & 0xFFFF) + (relative ? offset + 4u : 0);
    *length = where >> 16;
    return *from + *length <= s->raw_size;
}

static void field_write(struct writer *w, const struct sample *s, uint16_t offset, uint16_t size, uint8_t kind)
{
    static const uint8_t zeros[8];
    uint32_t             from = offset, length = size;
    bool                 inside = (uint32_t)offset + size <= s->raw_size;
    if (kind == TP_TEXT || kind == TP_ARRAY || kind == TP_RELATIVE_TEXT || kind == TP_RELATIVE_ARRAY)
        inside = located(s, offset, kind == TP_RELATIVE_TEXT || kind == TP_RELATIVE_ARRAY, &from, &length);
    if (kind <= TP_POINTER) {
        wr_bytes(w, inside ? s->raw + offset : zeros, size);
    } else if (kind == TP_CHARS || kind == TP_TEXT || kind == TP_RELATIVE_TEXT) {
        if (inside)
            wr_text(w, (const char *)s->raw + from, length < TEXT_MAX ? length : TEXT_MAX);
        else
            wr_u8(w, 0);
    } else {
        length = inside ? length : 0;
        wr_u16(w, (uint16_t)length);
        wr_bytes(w, s->raw + from, length);
    }
}

void convert_tracepoint(struct convert *c, const struct sample *s)
{
    size_t                index = (size_t)(s->source - c->log->header->source);
    const struct learned *l     = c->tracepoint && index < RAW_SOURCES ? c->tracepoint->by_source[index] : NULL;
    struct writer         w     = wr_make(c->scratch, SCRATCH / 2);
    for (unsigned i = 0; l && i < l->count; i++)
        field_write(&w, s, l->field[i].offset, l->field[i].size, l->field[i].kind);
    if (!l || !wr_ok(&w)) { /* its layout did not fit into the memory for raw records, or the event is too long */
        loss_converting(c, s->cpu, s->source, 1);
        c->converted--; /* the caller counts each sample that has a converter */
        return;
    }
    struct described d    = {.traits      = l->traits,
                             .schema      = l->schema,
                             .provider    = l->provider,
                             .chain       = s->chain,
                             .chain_count = (unsigned)s->chain_count};
    uint64_t         time = convert_time(c, s->time);
    emit_described(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, &d, &time, w.data, w.pos);
}

/* ---- the part ---- */

void part_tracepoint_finish(struct convert *c)
{
    for (struct learned *l = c->tracepoint ? c->tracepoint->first : NULL, *next; l; l = next) {
        next = l->next;
        free(l);
    }
    free(c->tracepoint);
    c->tracepoint = NULL;
}

void part_tracepoint_put(const struct convert *c, struct sink *s)
{
    uint32_t count = 0;
    for (const struct learned *l = c->tracepoint ? c->tracepoint->first : NULL; l; l = l->next)
        count++;
    snapshot_put(s, &count, sizeof count);
    for (const struct learned *l = c->tracepoint ? c->tracepoint->first : NULL; l; l = l->next) {
        snapshot_put(s, &l->record_size, sizeof l->record_size);
        snapshot_put(s, l->record, l->record_size);
    }
}

bool part_tracepoint_get(struct convert *c, struct cursor *cur)
{
    for (uint32_t n = cur_u32(cur); n && cur_ok(cur); n--) {
        uint32_t       size   = cur_u32(cur);
        const uint8_t *record = cur_take(cur, size);
        if (!record || !tracepoint_learn(c, record, size))
            return false;
    }
    return cur_ok(cur);
}
