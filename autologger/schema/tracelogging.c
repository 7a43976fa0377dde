#include "autologger/schema/tracelogging.h"

#include "autologger/schema/text.h"
#include "registry-sim/base/cursor.h"

#include <stdlib.h>

enum {
    TL_TYPE      = 0x1F,
    TL_KIND      = 0x60,
    TL_CONST     = 0x20,
    TL_VARIABLE  = 0x40,
    TL_CUSTOM    = 0x60,
    TL_MORE      = 0x80,
    TRAIT_GROUP  = 1,
    TRAIT_DECODE = 2,
    FIELDS_MAX   = 16384
};

/* TraceLogging's out-types with one meaning; out_of() has those that depend on the size. */
static const uint8_t tracelogging_outs[] = {
    [2] = OUT_STRING,       [3] = OUT_BOOLEAN,        [5] = OUT_PID,
    [6] = OUT_TID,          [7] = OUT_PORT,           [8] = OUT_IPV4,
    [9] = OUT_IPV6,         [10] = OUT_SOCKETADDRESS, [11] = OUT_XML,
    [12] = OUT_JSON,        [13] = OUT_WIN32ERROR,    [14] = OUT_NTSTATUS,
    [15] = OUT_HRESULT,     [16] = OUT_DATETIME,      [33] = OUT_DATETIME_CULTURE_INSENSITIVE,
    [35] = OUT_UTF8,        [36] = OUT_PKCS7,         [37] = OUT_CODE_POINTER,
    [38] = OUT_DATETIME_UTC};
enum { TL_NOPRINT = 1, TL_HEX = 4, TL_SIGNED = 17, TL_UNSIGNED = 18 };

/* A field in the form and order of the metadata: the members of a struct follow it. */
struct raw {
    const char *name;
    uint8_t     in, out, kind;
    uint16_t    count;
    uint32_t    tags;
    uint32_t    end; /* the index behind its last member */
};
struct parse {
    struct cursor c;
    struct raw   *raw;
    uint32_t      count;
    unsigned      referring; /* fields with a count or length in another field */
};

/* ---- names ---- */

/* The data of an item that begins with its own size; false: there is none, or it is cut. */
static bool sized_item(const void *data, size_t size, struct cursor *c)
{
    if (!data)
        return false;
    *c             = cur_make(data, size);
    uint16_t total = cur_u16(c);
    if (!cur_ok(c) || total < 3 || total > size)
        return false;
    c->size = total;
    return true;
}

/* 1 to 4 bytes of 7 bits, most significant first; more of them are skipped. */
static uint32_t read_tags(struct cursor *c)
{
    uint32_t tags = 0;
    uint8_t  byte;
    int      shift = 21;

    do {
        byte = cur_u8(c);
        if (shift >= 0)
            tags |= (uint32_t)(byte & 0x7F) << shift;
        shift -= 7;
    } while (byte & TL_MORE);
    return tags;
}

static bool metadata_start(const void *metadata, size_t size, struct cursor *c, uint32_t *tags, const char **name)
{
    if (!sized_item(metadata, size, c))
        return false;
    *tags = read_tags(c);
    *name = cur_zstring(c);
    return cur_ok(c);
}

static void read_traits(struct cursor *c, struct tracelogging_names *out)
{
    out->provider = cur_zstring(c);
    while (cur_left(c) >= 3) {
        uint16_t size = cur_u16(c);
        uint8_t  type = cur_u8(c);
        if (size < 3 || size - 3u > cur_left(c))
            break;
        const void *data = cur_take(c, size - 3u);
        if (size != 3 + sizeof out->group)
            continue;
        if (type == TRAIT_GROUP) {
            out->has_group = true;
            memcpy(&out->group, data, sizeof out->group);
        } else if (type == TRAIT_DECODE) {
            out->has_decode = true;
            memcpy(&out->decode, data, sizeof out->decode);
        }
    }
}

void tracelogging_names_of(const void *traits, size_t traits_size, const void *metadata, size_t metadata_size,
                           struct tracelogging_names *out)
{
    struct cursor c;
    uint32_t      tags;

    *out = (struct tracelogging_names){0};
    if (sized_item(traits, traits_size, &c))
        read_traits(&c, out);
    if (!metadata_start(metadata, metadata_size, &c, &tags, &out->event))
        out->event = NULL;
}

/* ---- in the payload ---- */

/* Not empty, valid UTF-8, without control characters. */
static bool tracelogging_is_name(const char *name)
{
    const uint8_t *p     = (const uint8_t *)name;
    uint8_t        bytes = 0;
    struct text    copy  = {0};

    for (; *p >= ' ' && *p != 0x7F; p++)
        bytes |= *p;
    if (*p || p == (const uint8_t *)name)
        return false;
    if (bytes < 0x80)
        return true;
    text_utf8(&copy, name, strlen(name)); /* invalid UTF-8 changes */
    bool same = !copy.failed && strcmp(text_get(&copy), name) == 0;
    text_finish(&copy);
    return same;
}

/* The traits behind the name fill the block to its end. */
static bool traits_fill(struct cursor *c)
{
    while (cur_left(c)) {
        uint16_t size = cur_u16(c);
        if (!cur_ok(c) || size < 3 || !cur_take(c, size - 2u))
            return false;
    }
    return true;
}

bool tracelogging_in_payload(const void *payload, size_t size, struct tracelogging_prefix *out)
{
    struct cursor traits, metadata;
    uint32_t      tags;
    const char   *name;

    if (!payload || !sized_item(payload, size, &traits) || !(name = cur_zstring(&traits)) ||
        !tracelogging_is_name(name) || !traits_fill(&traits))
        return false;
    if (!metadata_start((const uint8_t *)payload + traits.size, size - traits.size, &metadata, &tags, &name) ||
        !tracelogging_is_name(name))
        return false;
    *out = (struct tracelogging_prefix){(uint16_t)traits.size, (uint16_t)metadata.size};
    return true;
}

void tracelogging_names(const struct etl_event *event, struct tracelogging_names *out)
{
    const uint8_t             *traits, *metadata;
    uint32_t                   traits_size = 0, metadata_size = 0;
    struct tracelogging_prefix prefix;

    if (!etl_ext_find(event, ETL_EXT_PROV_TRAITS, &traits, &traits_size))
        traits = NULL;
    if (!etl_ext_find(event, ETL_EXT_SCHEMA_TL, &metadata, &metadata_size))
        metadata = NULL;
    if (!metadata && event->kind == ETL_KIND_EVENT && event->channel == TRACELOGGING_CHANNEL &&
        tracelogging_in_payload(event->payload, event->payload_size, &prefix)) {
        traits        = event->payload;
        traits_size   = prefix.traits;
        metadata      = event->payload + prefix.traits;
        metadata_size = prefix.metadata;
    }
    tracelogging_names_of(traits, traits_size, metadata, metadata_size, out);
}

/* ---- reading ---- */

static bool tracelogging_is_array(const struct raw *r) { return r->kind == TL_CONST || r->kind == TL_VARIABLE; }
/* Binary is bytes behind their length; in an array each element has its own. */
static bool tracelogging_has_length(const struct raw *r)
{
    return r->in == IN_BINARY && !tracelogging_is_array(r) && r->kind != TL_CUSTOM;
}
/* It has a field before it with its count or length. */
static bool has_hidden(const struct raw *r) { return r->kind == TL_VARIABLE || tracelogging_has_length(r); }

static bool tracelogging_read_field(struct parse *p, struct raw *f)
{
    struct cursor *c = &p->c;

    *f           = (struct raw){.name = cur_zstring(c)};
    uint8_t meta = cur_u8(c), out = 0;
    f->in   = meta & TL_TYPE;
    f->kind = meta & TL_KIND;
    if (meta & TL_MORE)
        out = cur_u8(c);
    if (out & TL_MORE)
        f->tags = read_tags(c);
    f->out = out & 0x7F;
    if (f->kind == TL_CONST)
        f->count = cur_u16(c);
    if (f->kind == TL_CUSTOM)
        cur_take(c, cur_u16(c));
    bool known = f->in == IN_STRUCT ? f->out > 0 && f->kind != TL_CUSTOM
                                    : schema_out_default(f->in) != OUT_NULL || f->kind == TL_CUSTOM;
    return cur_ok(c) && known;
}

/* One field with all its members. */
static bool read_tree(struct parse *p, unsigned depth)
{
    uint32_t at = p->count;

    if (depth > SCHEMA_NESTING_MAX || at == FIELDS_MAX || !tracelogging_read_field(p, &p->raw[at]))
        return false;
    p->count++;
    if ((p->referring += has_hidden(&p->raw[at])) > SCHEMA_SLOTS_MAX)
        return false;
    for (unsigned i = 0; p->raw[at].in == IN_STRUCT && i < p->raw[at].out; i++)
        if (!read_tree(p, depth + 1))
            return false;
    p->raw[at].end = p->count;
    return true;
}

/* ---- making the schema ---- */

struct make {
    struct schema_provider *provider;
    struct schema_event    *event;
    const struct raw       *raw;
    unsigned                next; /* the first field that is free */
};

static unsigned run_length(const struct raw *raw, uint32_t from, uint32_t to)
{
    unsigned n = 0;
    for (; from < to; from = raw[from].end)
        n += 1u + has_hidden(&raw[from]);
    return n;
}

static uint16_t out_of(const struct raw *r)
{
    static const uint8_t sizes[] = {
        [IN_INT8] = 1,   [IN_UINT8] = 1, [IN_INT16] = 2,  [IN_UINT16] = 2,   [IN_INT32] = 3,
        [IN_UINT32] = 3, [IN_INT64] = 4, [IN_UINT64] = 4, [IN_HEXINT32] = 3, [IN_HEXINT64] = 4};
    unsigned size = r->in < sizeof sizes ? sizes[r->in] : 0; /* 1..4: 8..64 bits */

    if (r->out == TL_NOPRINT)
        return OUT_NOPRINT;
    if (size && r->out == TL_HEX)
        return (uint16_t)(OUT_HEXINT8 + size - 1);
    if (size && (r->out == TL_SIGNED || r->out == TL_UNSIGNED))
        return (uint16_t)(OUT_BYTE + 2 * (size - 1) + (r->out == TL_UNSIGNED));
    return r->out < sizeof tracelogging_outs ? tracelogging_outs[r->out] : OUT_NULL;
}

static bool make_hidden(struct make *m, const struct raw *r, struct schema_field *f)
{
    const char *suffix = r->kind == TL_VARIABLE ? ".Count" : ".Length";
    size_t      n      = strlen(r->name) + 8;
    char       *name   = schema_alloc(m->provider, n, 1);

    if (!name)
        return false;
    strcat(strcpy(name, r->name), suffix);
    f->name  = schema_text(m->provider, name, strlen(name));
    f->in    = IN_UINT16;
    f->out   = OUT_UNSIGNEDSHORT;
    f->flags = FIELD_HIDDEN;
    return f->name;
}

static bool tracelogging_make_field(struct make *m, const struct raw *r, unsigned at)
{
    struct schema_field *f = &m->event->fields[at];

    f->name = schema_text(m->provider, r->name, strlen(r->name));
    f->in   = r->in == IN_BINARY && tracelogging_is_array(r) ? IN_COUNTEDBINARY : r->in;
    f->out  = r->in == IN_STRUCT ? OUT_NULL : out_of(r);
    f->tags = r->tags;
    if (r->tags)
        f->flags |= FIELD_TAGS;
    if (r->kind == TL_CUSTOM)
        f->flags |= FIELD_CUSTOM;
    if (r->kind == TL_CONST) {
        f->flags |= FIELD_FIXED_COUNT;
        f->count = r->count;
    } else if (r->kind == TL_VARIABLE) {
        f->flags |= FIELD_COUNT_OF;
        f->count = (uint16_t)(at - 1);
    } else if (tracelogging_has_length(r)) {
        f->flags |= FIELD_LENGTH_OF;
        f->length = (uint16_t)(at - 1);
    }
    return f->name;
}

/* Makes the fields raw[from..to), with their members, from field `at` on. */
static bool make_run(struct make *m, uint32_t from, uint32_t to, unsigned at)
{
    for (uint32_t i = from; i < to; i = m->raw[i].end) {
        const struct raw *r = &m->raw[i];
        if (has_hidden(r) && !make_hidden(m, r, &m->event->fields[at++]))
            return false;
        if (!tracelogging_make_field(m, r, at))
            return false;
        struct schema_field *f = &m->event->fields[at++];
        if (r->in != IN_STRUCT)
            continue;
        f->in = IN_NULL;
        f->flags |= FIELD_STRUCT;
        f->first   = (uint16_t)m->next;
        f->members = (uint16_t)run_length(m->raw, i + 1, r->end);
        m->next += f->members;
        if (!make_run(m, i + 1, r->end, f->first))
            return false;
    }
    return true;
}

static unsigned all_fields(const struct raw *raw, uint32_t count)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += 1u + has_hidden(&raw[i]);
    return n;
}

/* Reads all whole fields; *cut: more bytes follow, but no field. */
static bool tracelogging_read_all(struct parse *p, size_t size, bool *cut)
{
    size_t most = size / 2 + 1; /* a field has two bytes at least */

    if (!(p->raw = malloc((most < FIELDS_MAX ? most : FIELDS_MAX) * sizeof *p->raw)))
        return false;
    *cut = false;
    while (cur_left(&p->c) && !*cut) {
        uint32_t before = p->count;
        if (!read_tree(p, 0)) {
            p->count = before;
            *cut     = true;
        }
    }
    return true;
}

static struct schema_event *tracelogging_make_event(struct schema_provider *provider, const struct parse *p)
{
    unsigned    top = run_length(p->raw, 0, p->count);
    struct make m   = {provider, schema_event_new(provider, all_fields(p->raw, p->count), top), p->raw, top};
    return m.event && make_run(&m, 0, p->count, 0) ? m.event : NULL;
}

struct schema_provider *tracelogging_schema(const struct guid *guid, const void *traits, size_t traits_size,
                                            const void *metadata, size_t metadata_size)
{
    struct tracelogging_names names;
    struct parse              p = {.count = 0};
    struct reason             why;
    const char               *name;
    uint32_t                  tags;
    bool                      cut;

    if (!metadata_start(metadata, metadata_size, &p.c, &tags, &name) || !tracelogging_read_all(&p, metadata_size, &cut))
        return NULL;
    tracelogging_names_of(traits, traits_size, NULL, 0, &names);
    struct schema_provider *provider = schema_provider_new(guid, names.provider ? names.provider : "");
    struct schema_event    *event    = provider ? tracelogging_make_event(provider, &p) : NULL;
    free(p.raw);
    if (event) {
        event->source = SCHEMA_SELF;
        event->tags   = tags;
        event->cut    = cut;
        event->name   = schema_text(provider, name, strlen(name));
        if (names.has_decode)
            provider->decode_guid = names.decode;
    }
    if (!event || !event->name || schema_event_finish(provider, event, &why)) {
        schema_provider_free(provider);
        return NULL;
    }
    return provider;
}
