#include "autologger/schema/event_info.h"

#include "autologger/schema/names.h"
#include "autologger/schema/walk.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

/* The layouts of the SDK (tdh.h), with types of our own; tdh.c asserts that they are equal. */
struct event_info_info {
    struct guid provider, event;
    uint16_t    id;
    uint8_t     version, channel, level, opcode;
    uint16_t    task;
    uint64_t    keyword;
    uint32_t    source, provider_name, level_name, channel_name, keyword_names, task_name, opcode_name, message,
        provider_message, xml, xml_size, event_name, attributes, property_count, top_count, flags;
};
struct property {
    uint32_t flags, name;
    uint16_t in, out; /* a struct: first, members */
    uint32_t map;
    uint16_t count, length;
    uint32_t tags;
};
struct map_head {
    uint32_t name, flag, count, type;
};
_Static_assert(sizeof(struct event_info_info) == 112 && sizeof(struct property) == 24 && sizeof(struct map_head) == 16,
               "SDK layouts");
enum {
    SOURCE_XML          = 0,
    SOURCE_WBEM         = 1,
    SOURCE_WPP          = 2,
    SOURCE_TLG          = 3,
    SDK_FLAGS           = 0xFF,
    MAP_VALUES          = 1,
    MAP_BITS            = 2,
    TEMPLATE_EVENT_DATA = 1
};

/* ---- building ---- */

struct event_info_building {
    struct text *out;
    size_t       start;
};

/* The offset of the next addition. */
static uint32_t event_info_here(const struct event_info_building *b) { return (uint32_t)(b->out->length - b->start); }

static void add_utf16(struct event_info_building *b, const char *s)
{
    static const char nul[2];
    size_t            n = strlen(s), bytes = utf8_to_utf16le(s, n, NULL, 0);
    uint8_t          *units = malloc(bytes ? bytes : 1);

    if (!units) {
        b->out->failed = true;
        return;
    }
    utf8_to_utf16le(s, n, units, bytes);
    text_add(b->out, units, bytes);
    text_add(b->out, nul, sizeof nul);
    free(units);
}

/* Adds a text. Returns its offset; 0: no text. */
static uint32_t event_info_add_name(struct event_info_building *b, const char *s)
{
    uint32_t at = event_info_here(b);
    if (!s)
        return 0;
    add_utf16(b, s);
    return at;
}

static uint32_t event_info_add_keywords(struct event_info_building *b, const struct schema_event *e, uint64_t keyword)
{
    uint32_t    at = event_info_here(b);
    const char *name;

    for (const char *const *k = e->keyword_names; k && *k; k++)
        add_utf16(b, *k);
    for (unsigned bit = 0; bit < 64 && !e->keyword_names; bit++)
        if (keyword >> bit & 1 && (name = predefined_name(PREDEFINED_KEYWORD, UINT64_C(1) << bit)))
            add_utf16(b, name);
    if (event_info_here(b) == at)
        return 0;
    add_utf16(b, ""); /* ends the list */
    return at;
}

static const char *or_predefined(const char *name, enum predefined what, uint64_t value)
{
    return name ? name : predefined_name(what, value);
}

/* Bytes that a field that goes to the end has in this event. */
struct to_end {
    uint32_t size;
};
static bool see_to_end(void *ctx, const struct walk_place *place, const struct value *v)
{
    if (place->depth == 0 && place->levels[0].field->flags & FIELD_TO_END)
        ((struct to_end *)ctx)->size = v->size;
    return true;
}

static struct property property_of(struct event_info_building *b, const struct schema_event *e, unsigned i,
                                   const struct event_info_of *of)
{
    const struct schema_field *f   = &e->fields[i];
    struct property            p   = {.flags  = f->flags & SDK_FLAGS,
                                      .in     = f->in,
                                      .out    = f->out,
                                      .count  = f->count,
                                      .length = f->length,
                                      .tags   = f->tags};
    struct to_end              end = {0};
    uint32_t                   used;

    p.name = event_info_add_name(b, f->name);
    if (f->flags & FIELD_STRUCT) {
        p.in  = f->first;
        p.out = f->members;
        return p;
    }
    if (f->map)
        p.map = event_info_add_name(b, f->map->name);
    if (f->out == OUT_NULL)
        p.out = schema_out_default(f->in);
    if (f->flags & FIELD_TO_END && of && of->payload)
        walk_payload(e, of->payload, of->payload_size, of->is_64bit, see_to_end, &end, &used);
    if (f->flags & FIELD_TO_END && f->in == IN_POINTER) {
        p.flags |= FIELD_FIXED_COUNT;
        p.count = (uint16_t)(end.size / (of && !of->is_64bit ? 4 : 8));
    } else if (f->flags & FIELD_TO_END) {
        p.flags |= FIELD_FIXED_LENGTH;
        p.length = (uint16_t)end.size;
    } else if (p.length == 0 && !(p.flags & FIELD_LENGTH_OF)) {
        p.length = (uint16_t)value_width(f->kind);
    }
    return p;
}

static uint32_t event_info_source_of(const struct schema_event *e)
{
    bool classic = e->source == SCHEMA_CLASSIC || !guid_is_zero(&e->class_guid);
    return e->source == SCHEMA_SELF ? SOURCE_TLG : e->formatted ? SOURCE_WPP : classic ? SOURCE_WBEM : SOURCE_XML;
}

static struct event_info_info numbers_of(const struct schema_event *e, const struct event_info_of *of)
{
    struct event_info_info i = {.provider       = e->provider->guid,
                                .event          = e->class_guid,
                                .source         = event_info_source_of(e),
                                .property_count = e->field_count,
                                .top_count      = e->top_count,
                                .flags          = TEMPLATE_EVENT_DATA | (e->tags & 0x0FFFFFFF) << 4};
    if (of) {
        i.provider = of->provider;
        i.id       = of->id;
        i.version  = of->version;
        i.channel  = of->channel;
        i.level    = of->level;
        i.opcode   = of->opcode;
        i.task     = of->task;
        i.keyword  = of->keyword;
    } else {
        i.id      = e->id;
        i.version = e->version;
        i.channel = e->channel;
        i.level   = e->level;
        i.opcode  = e->opcode;
        i.task    = e->task;
        i.keyword = e->keyword;
    }
    return i;
}

static void event_info_add_names(struct event_info_building *b, const struct schema_event *e, struct event_info_info *i)
{
    i->provider_name    = event_info_add_name(b, *e->provider->name ? e->provider->name : NULL);
    i->level_name       = event_info_add_name(b, or_predefined(e->level_name, PREDEFINED_LEVEL, i->level));
    i->channel_name     = event_info_add_name(b, e->channel_name ? e->channel_name
                                                 : i->channel    ? predefined_name(PREDEFINED_CHANNEL, i->channel)
                                                                 : NULL);
    i->keyword_names    = event_info_add_keywords(b, e, i->keyword);
    i->task_name        = event_info_add_name(b, e->task_name);
    i->opcode_name      = event_info_add_name(b, or_predefined(e->opcode_name, PREDEFINED_OPCODE, i->opcode));
    i->message          = event_info_add_name(b, e->message);
    i->provider_message = event_info_add_name(b, e->provider->message);
    i->event_name       = event_info_add_name(b, e->name);
    i->attributes       = event_info_add_name(b, e->attributes);
}

bool event_info_build(const struct schema_event *e, const struct event_info_of *of, struct text *out)
{
    struct event_info_building b     = {out, out->length};
    struct event_info_info     i     = numbers_of(e, of);
    size_t                     fixed = sizeof i + e->field_count * sizeof(struct property);
    void                      *room  = calloc(1, fixed);

    if (!room)
        return false;
    text_add(out, room, fixed);
    free(room);
    event_info_add_names(&b, e, &i);
    for (unsigned f = 0; f < e->field_count; f++) {
        struct property p = property_of(&b, e, f, of);
        if (!out->failed)
            memcpy(out->data + b.start + sizeof i + f * sizeof p, &p, sizeof p);
    }
    if (!out->failed)
        memcpy(out->data + b.start, &i, sizeof i);
    return !out->failed && out->length - b.start <= UINT32_MAX;
}

bool map_info_build(const struct schema_map *map, struct text *out)
{
    struct event_info_building b     = {out, out->length};
    struct map_head            head  = {.flag = map->bits ? MAP_BITS : MAP_VALUES, .count = map->count};
    size_t                     fixed = sizeof head + map->count * 2ul * sizeof(uint32_t);
    void                      *room  = calloc(1, fixed);

    if (!room)
        return false;
    text_add(out, room, fixed);
    free(room);
    head.name = event_info_add_name(&b, map->name);
    for (unsigned i = 0; i < map->count; i++) {
        uint32_t entry[2] = {event_info_add_name(&b, map->rows[i].text), map->rows[i].value};
        if (!out->failed)
            memcpy(out->data + b.start + sizeof head + i * sizeof entry, entry, sizeof entry);
    }
    if (!out->failed)
        memcpy(out->data + b.start, &head, sizeof head);
    return !out->failed;
}

/* ---- reading ---- */

struct event_info_block {
    const uint8_t *data;
    size_t         size;
};

/* Thousands of fields may use one name: longer names are cut, to bound the memory that a block makes. */
enum { NAME_UNITS = 256, TEXT_UNITS = 32768 };

/* The text at an offset, up to its NUL; NULL: offset 0, "": it lies outside. Trailing blanks, as in entries of message
 * tables, are removed. */
static const char *name_at(struct schema_provider *p, const struct event_info_block *b, uint32_t at, size_t most,
                           bool *failed)
{
    size_t n = 0;

    if (!at)
        return NULL;
    while (n < 2 * most && at < b->size && n + 1 < b->size - at && (b->data[at + n] || b->data[at + n + 1]))
        n += 2;
    const uint8_t *text = at < b->size ? b->data + at : b->data;
    if (at >= b->size)
        n = 0;
    while (n && text[n - 2] == ' ' && !text[n - 1])
        n -= 2;
    const char *name = schema_text_utf16(p, text, n);
    *failed |= !name;
    return name;
}

/* Consecutive names, up to an empty one. */
static const char *const *event_info_list_at(struct schema_provider *p, const struct event_info_block *b, uint32_t at,
                                             bool *failed)
{
    enum { MOST = 64 };
    const char *names[MOST + 1];
    unsigned    n = 0;

    while (n < MOST && at && at + 1ul < b->size && (b->data[at] || b->data[at + 1])) {
        names[n++] = name_at(p, b, at, NAME_UNITS, failed);
        while (at + 1ul < b->size && (b->data[at] || b->data[at + 1]))
            at += 2;
        at += 2;
    }
    if (!n)
        return NULL;
    const char **list = schema_alloc(p, n + 1, sizeof *list);
    if (list)
        memcpy(list, names, n * sizeof *list);
    *failed |= !list;
    return list;
}

static struct schema_map *event_info_map_named(struct schema_provider *p, const char *name)
{
    for (unsigned i = 0; i < p->map_count; i++)
        if (strcmp(p->maps[i].name, name) == 0)
            return &p->maps[i];
    return NULL;
}

/* The map of that name, made empty if it is new. Fields point at maps, so maps never move: room for all is allocated at
 * once. */
static struct schema_map *map_make(struct schema_provider *p, const char *name)
{
    enum { MAPS_MAX = 1024 };
    struct schema_map *m = event_info_map_named(p, name);

    if (m)
        return m;
    if (!p->maps && !(p->maps = schema_alloc(p, MAPS_MAX, sizeof *p->maps)))
        return NULL;
    if (p->map_count == MAPS_MAX)
        return NULL;
    m  = &p->maps[p->map_count++];
    *m = (struct schema_map){.name = name};
    return m;
}

static bool event_info_read_field(struct schema_provider *p, const struct event_info_block *b, size_t at,
                                  struct schema_field *f, bool *failed)
{
    struct property x;

    memcpy(&x, b->data + at, sizeof x);
    const char *name = name_at(p, b, x.name, NAME_UNITS, failed);
    f->name          = name ? name : "";
    f->flags         = (uint16_t)(x.flags & SDK_FLAGS);
    f->count         = x.count;
    f->length        = x.length;
    f->tags          = x.flags & FIELD_TAGS ? x.tags : 0;
    if (!(f->flags & FIELD_COUNT_OF) && x.count > 1) /* older writers set the number alone */
        f->flags |= FIELD_FIXED_COUNT;
    if (f->flags & FIELD_STRUCT) {
        f->first   = x.in;
        f->members = x.out;
        f->length  = 0;
        return true;
    }
    f->in      = x.in;
    f->out     = x.out;
    bool sized = f->in == IN_UNICODESTRING || f->in == IN_ANSISTRING || f->in == IN_BINARY;
    if (!(f->flags & FIELD_LENGTH_OF) && x.length && sized)
        f->flags |= FIELD_FIXED_LENGTH;
    if (x.map) {
        const char *map = name_at(p, b, x.map, NAME_UNITS, failed);
        f->map          = map ? map_make(p, map) : NULL;
    }
    return true;
}

static void read_names(struct schema_provider *p, const struct event_info_block *b, const struct event_info_info *i,
                       struct schema_event *e, bool *failed)
{
    e->level_name    = name_at(p, b, i->level_name, TEXT_UNITS, failed);
    e->channel_name  = name_at(p, b, i->channel_name, TEXT_UNITS, failed);
    e->task_name     = name_at(p, b, i->task_name, TEXT_UNITS, failed);
    e->opcode_name   = name_at(p, b, i->opcode_name, TEXT_UNITS, failed);
    e->message       = name_at(p, b, i->message, TEXT_UNITS, failed);
    e->attributes    = name_at(p, b, i->attributes, TEXT_UNITS, failed);
    e->name          = name_at(p, b, i->event_name, TEXT_UNITS, failed);
    e->keyword_names = event_info_list_at(p, b, i->keyword_names, failed);
    if (!*p->name) {
        const char *name = name_at(p, b, i->provider_name, TEXT_UNITS, failed);
        p->name          = name ? name : "";
    }
    if (!p->message)
        p->message = name_at(p, b, i->provider_message, TEXT_UNITS, failed);
}

wstatus event_info_read(struct schema_provider *p, const void *data, size_t size, struct reason *why)
{
    struct event_info_block b = {data, size};
    struct event_info_info  i;
    bool                    failed = false;

    if (size < sizeof i)
        return reason_set(why, W_INVALID_DATA, "an event's description of %zu bytes", size);
    memcpy(&i, data, sizeof i);
    if (i.property_count > (size - sizeof i) / sizeof(struct property) || i.top_count > i.property_count)
        return reason_set(why, W_INVALID_DATA, "event %u version %u: %u fields in a description of %zu bytes", i.id,
                          i.version, i.property_count, size);
    struct schema_event *e = schema_event_new(p, i.property_count, i.top_count);
    if (!e)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for an event's description");
    e->source     = SCHEMA_EMBEDDED;
    e->id         = i.id;
    e->version    = i.version;
    e->channel    = i.channel;
    e->level      = i.level;
    e->opcode     = i.opcode;
    e->task       = i.task;
    e->keyword    = i.keyword;
    e->class_guid = i.event;
    e->formatted  = i.source == SOURCE_WPP;
    e->tags       = i.flags >> 4;
    read_names(p, &b, &i, e, &failed);
    for (unsigned f = 0; f < i.property_count; f++)
        event_info_read_field(p, &b, sizeof i + f * sizeof(struct property), &e->fields[f], &failed);
    return failed ? reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for an event's description")
                  : schema_event_finish(p, e, why);
}

wstatus map_info_read(struct schema_provider *p, const void *data, size_t size, struct reason *why)
{
    struct event_info_block b = {data, size};
    struct map_head         head;
    bool                    failed = false;

    if (size < sizeof head)
        return reason_set(why, W_INVALID_DATA, "a map of %zu bytes", size);
    memcpy(&head, data, sizeof head);
    if (head.count > (size - sizeof head) / (2 * sizeof(uint32_t)) || head.type != 0)
        return reason_set(why, W_INVALID_DATA, "a map of %u entries in %zu bytes", head.count, size);
    const char            *name = name_at(p, &b, head.name, NAME_UNITS, &failed);
    struct schema_map     *m    = name ? map_make(p, name) : NULL;
    struct schema_map_row *rows = m ? schema_alloc(p, head.count, sizeof *rows) : NULL;
    if (!rows)
        return reason_set(why, name ? W_NOT_ENOUGH_MEMORY : W_INVALID_DATA,
                          "a map without a name, or no memory for it");
    for (unsigned i = 0; i < head.count; i++) {
        uint32_t entry[2];
        memcpy(entry, b.data + sizeof head + i * sizeof entry, sizeof entry);
        const char *text = name_at(p, &b, entry[0], NAME_UNITS, &failed);
        rows[i]          = (struct schema_map_row){entry[1], text ? text : ""};
    }
    if (failed)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a map");
    m->bits  = head.flag & MAP_BITS;
    m->rows  = rows;
    m->count = head.count;
    return W_SUCCESS;
}

bool event_metadata_provider(const void *payload, size_t size, struct guid *out)
{
    if (size < sizeof *out)
        return false;
    memcpy(out, payload, sizeof *out);
    return true;
}
