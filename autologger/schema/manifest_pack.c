/* Each struct is described once for both directions: a `pack` either writes the members or reads into them. */
#include "autologger/schema/manifest_pack.h"

#include "autologger/schema/schema.h"
#include "registry-sim/base/crc32.h"
#include "registry-sim/base/cursor.h"

#include <stdlib.h>
#include <string.h>

struct pack {
    struct text  *out; /* writing */
    struct cursor in;  /* reading, where out is NULL */
    struct pool  *pool;
};

/* ---- numbers, texts, lists ---- */

static void manifest_pack_number(struct pack *p, uint64_t *v)
{
    if (p->out) {
        uint64_t left = *v;
        do {
            uint8_t byte = (uint8_t)(left & 0x7F);
            left >>= 7;
            byte |= left ? 0x80 : 0;
            text_add(p->out, &byte, 1);
        } while (left);
        return;
    }
    *v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = cur_u8(&p->in);
        *v |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return;
    }
    p->in.bad = true;
}

#define NUMBER(p, lvalue) \
    do { \
        uint64_t number_ = (uint64_t)(lvalue); \
        manifest_pack_number((p), &number_); \
        (lvalue) = (__typeof__(lvalue))number_; \
        if ((uint64_t)(lvalue) != number_) \
            (p)->in.bad = true; /* it does not fit */ \
    } while (0)
/* An index + 1; 0: MANIFEST_NONE. */
static void index_(struct pack *p, int *v)
{
    uint64_t n = (uint64_t)((int64_t)*v + 1);
    manifest_pack_number(p, &n);
    if (n > INT32_MAX)
        p->in.bad = true;
    *v = p->in.bad ? MANIFEST_NONE : (int)n - 1;
}

static void manifest_pack_text(struct pack *p, const char **s)
{
    uint64_t n = p->out && *s ? strlen(*s) + 1 : 0;

    manifest_pack_number(p, &n);
    if (p->out) {
        if (n)
            text_add(p->out, *s, n - 1);
        return;
    }
    const char *at = n && !p->in.bad ? cur_take(&p->in, n - 1 < SIZE_MAX ? (size_t)(n - 1) : SIZE_MAX) : NULL;
    *s             = at ? pool_text(p->pool, at, (size_t)(n - 1)) : NULL;
    if (*s && memchr(at, 0, (size_t)(n - 1)))
        p->in.bad = true; /* readers end texts at a NUL */
}

static void guid(struct pack *p, struct guid *g)
{
    if (p->out)
        text_add(p->out, g, sizeof *g);
    else
        cur_copy(&p->in, g, sizeof *g);
}

/* A list: its length, then its elements by `each`. An element has at least a byte, so a list that is read can't be
 * longer than the bytes left. */
#define LIST(p, list, each) \
    do { \
        uint64_t count_ = (list).count; \
        manifest_pack_number((p), &count_); \
        if (!(p)->out && count_ > cur_left(&(p)->in)) \
            (p)->in.bad = true; \
        for (uint64_t i_ = 0; i_ < count_ && !(p)->in.bad; i_++) { \
            if (!(p)->out && !pool_push((p)->pool, &(list))) \
                (p)->in.bad = true; \
            else \
                each((p), &(list).at[i_]); \
        } \
    } while (0)

/* ---- the structs ---- */

static void manifest_pack_message(struct pack *p, struct manifest_text *t)
{
    NUMBER(p, t->kind);
    manifest_pack_text(p, &t->text);
    if (!p->out && (t->kind > MANIFEST_TEXT_MC || (t->kind && !t->text)))
        p->in.bad = true;
}

static void manifest_pack_item(struct pack *p, struct manifest_item *i)
{
    manifest_pack_text(p, &i->name);
    manifest_pack_text(p, &i->symbol);
    NUMBER(p, i->value);
    manifest_pack_message(p, &i->message);
}

static void manifest_pack_setting(struct pack *p, struct manifest_setting *s)
{
    manifest_pack_text(p, &s->name);
    manifest_pack_text(p, &s->value);
}

static void channel(struct pack *p, struct manifest_channel *c)
{
    manifest_pack_item(p, &c->item);
    manifest_pack_text(p, &c->chid);
    NUMBER(p, c->type);
    NUMBER(p, c->imported);
    NUMBER(p, c->keyword);
    manifest_pack_text(p, &c->isolation);
    manifest_pack_text(p, &c->access);
    manifest_pack_text(p, &c->enabled);
    LIST(p, c->settings, manifest_pack_setting);
}

static void task(struct pack *p, struct manifest_task *t)
{
    manifest_pack_item(p, &t->item);
    NUMBER(p, t->has_guid);
    guid(p, &t->guid);
}

static void opcode(struct pack *p, struct manifest_opcode *o)
{
    manifest_pack_item(p, &o->item);
    index_(p, &o->task);
}

static void manifest_pack_map(struct pack *p, struct manifest_map *m)
{
    manifest_pack_item(p, &m->item);
    NUMBER(p, m->bits);
    LIST(p, m->entries, manifest_pack_item);
}

static void manifest_pack_field(struct pack *p, struct manifest_field *f)
{
    manifest_pack_text(p, &f->name);
    NUMBER(p, f->in);
    NUMBER(p, f->out);
    NUMBER(p, f->flags);
    NUMBER(p, f->first);
    NUMBER(p, f->members);
    NUMBER(p, f->count);
    NUMBER(p, f->length);
    index_(p, &f->map);
    NUMBER(p, f->tags);
}

enum { TAGS_MASK = 0x0FFFFFFF, TEMPLATE_CUT = 1 << 30 }; /* tags have 28 bits */

static void manifest_pack_template(struct pack *p, struct manifest_template *t)
{
    uint32_t tags = t->tags | (t->cut ? TEMPLATE_CUT : 0);

    manifest_pack_text(p, &t->tid);
    manifest_pack_text(p, &t->name);
    NUMBER(p, tags);
    t->tags = tags & TAGS_MASK;
    t->cut  = tags & TEMPLATE_CUT;
    NUMBER(p, t->top_count);
    manifest_pack_text(p, &t->user_data);
    LIST(p, t->fields, manifest_pack_field);
}

static void manifest_pack_event(struct pack *p, struct manifest_event *e)
{
    manifest_pack_item(p, &e->item);
    NUMBER(p, e->version);
    NUMBER(p, e->channel);
    NUMBER(p, e->level);
    NUMBER(p, e->opcode);
    NUMBER(p, e->task);
    NUMBER(p, e->keyword);
    index_(p, &e->template_index);
    index_(p, &e->channel_index);
    index_(p, &e->task_index);
    index_(p, &e->opcode_index);
    NUMBER(p, e->tags);
    NUMBER(p, e->not_logged);
    manifest_pack_text(p, &e->attributes);
}

static void manifest_pack_provider(struct pack *p, struct manifest_provider *v)
{
    manifest_pack_text(p, &v->name);
    manifest_pack_text(p, &v->symbol);
    manifest_pack_text(p, &v->resource_file);
    manifest_pack_text(p, &v->message_file);
    manifest_pack_text(p, &v->parameter_file);
    guid(p, &v->guid);
    guid(p, &v->control_guid);
    guid(p, &v->group_guid);
    manifest_pack_message(p, &v->message);
    LIST(p, v->channels, channel);
    LIST(p, v->levels, manifest_pack_item);
    LIST(p, v->tasks, task);
    LIST(p, v->opcodes, opcode);
    LIST(p, v->keywords, manifest_pack_item);
    LIST(p, v->maps, manifest_pack_map);
    LIST(p, v->templates, manifest_pack_template);
    LIST(p, v->events, manifest_pack_event);
}

static void manifest_pack_string(struct pack *p, struct manifest_string *s)
{
    manifest_pack_text(p, &s->id);
    manifest_pack_text(p, &s->value);
    if (!p->out && (!s->id || !s->value))
        p->in.bad = true;
}

static void manifest_pack_metadata(struct pack *p, struct manifest *m)
{
    LIST(p, m->messages, manifest_pack_item);
    LIST(p, m->providers, manifest_pack_provider);
}

static void culture(struct pack *p, struct manifest_culture *c)
{
    manifest_pack_text(p, &c->name);
    LIST(p, c->strings, manifest_pack_string);
    if (!p->out && !c->name)
        p->in.bad = true;
}

/* ---- writing ---- */

struct header {
    uint32_t magic;
    uint16_t kind, version;
    uint32_t size, crc;
};
_Static_assert(sizeof(struct header) == PACK_HEADER, "as manifest_pack.h has it");

static size_t blob_begin(struct text *out)
{
    static const struct header zeros;
    size_t                     at = out->length;
    text_add(out, &zeros, sizeof zeros);
    return at;
}

static void blob_end(struct text *out, size_t at, uint16_t kind)
{
    if (out->failed)
        return;
    struct header h = {PACK_MAGIC, kind, PACK_VERSION, (uint32_t)(out->length - at), 0};
    h.crc           = crc32_of(out->data + at + sizeof h, h.size - sizeof h);
    memcpy(out->data + at, &h, sizeof h);
    text_add(out, "\0\0\0\0\0\0\0", -(out->length - at) & 7);
}

static const uint16_t pack_kinds[] =
    {[MANIFEST_EVENTS] = PACK_METADATA, [MANIFEST_CLASSES] = PACK_CLASSES, [MANIFEST_MESSAGES] = PACK_MESSAGES};

/* False: a blob of this kind holds no providers. */
static bool pack_kind_find(uint16_t blob, enum manifest_kind *kind)
{
    for (unsigned i = 0; i < sizeof pack_kinds / sizeof *pack_kinds; i++)
        if (pack_kinds[i] == blob) {
            *kind = (enum manifest_kind)i;
            return true;
        }
    return false;
}

void manifest_pack(const struct manifest *m, struct text *out)
{
    struct manifest copy = *m; /* packing changes nothing */
    struct pack     p    = {.out = out};
    size_t          at   = blob_begin(out);
    manifest_pack_metadata(&p, &copy);
    blob_end(out, at, pack_kinds[m->kind]);
}

void manifest_pack_strings(const struct manifest *m, unsigned index, struct text *out)
{
    struct pack p  = {.out = out};
    size_t      at = blob_begin(out);
    culture(&p, &m->cultures.at[index]);
    blob_end(out, at, PACK_STRINGS);
}

bool manifest_pack_all(const struct manifest *m, struct text *out)
{
    manifest_pack(m, out);
    for (unsigned i = 0; i < m->cultures.count; i++)
        manifest_pack_strings(m, i, out);
    return !out->failed;
}

/* ---- reading ---- */

static bool manifest_pack_within(int index, unsigned count)
{
    return index == MANIFEST_NONE || (index >= 0 && (unsigned)index < count);
}

/* M2, as far as indexes go; making schemas checks the fields again. */
static bool template_sound(const struct manifest_provider *p, const struct manifest_template *t)
{
    if (!t->tid || t->top_count > t->fields.count || t->fields.count > UINT16_MAX)
        return false;
    for (unsigned i = 0; i < t->fields.count; i++) {
        const struct manifest_field *f = &t->fields.at[i];
        if (!f->name || !manifest_pack_within(f->map, p->maps.count))
            return false;
        if (f->flags & FIELD_STRUCT &&
            (f->first <= i || f->first < t->top_count || f->first + f->members > t->fields.count))
            return false;
        if ((f->flags & FIELD_LENGTH_OF && f->length >= t->fields.count) ||
            (f->flags & FIELD_COUNT_OF && f->count >= t->fields.count))
            return false;
    }
    return true;
}

static bool provider_sound(const struct manifest_provider *p)
{
    bool sound = p->name && p->channels.count <= 256 && p->levels.count <= 256 && p->keywords.count <= 64;

    for (unsigned i = 0; i < p->opcodes.count && sound; i++)
        sound = manifest_pack_within(p->opcodes.at[i].task, p->tasks.count);
    for (unsigned i = 0; i < p->templates.count && sound; i++)
        sound = template_sound(p, &p->templates.at[i]);
    for (unsigned i = 0; i < p->events.count && sound; i++) {
        const struct manifest_event *e = &p->events.at[i];
        sound                          = manifest_pack_within(e->template_index, p->templates.count) &&
                manifest_pack_within(e->channel_index, p->channels.count) &&
                manifest_pack_within(e->task_index, p->tasks.count) &&
                manifest_pack_within(e->opcode_index, p->opcodes.count) && e->item.value <= UINT16_MAX;
    }
    return sound;
}

static int manifest_pack_string_order(const void *a, const void *b)
{
    return strcmp(((const struct manifest_string *)a)->id, ((const struct manifest_string *)b)->id);
}

static int manifest_pack_message_order(const void *a, const void *b)
{
    return strcmp(((const struct manifest_item *)a)->name, ((const struct manifest_item *)b)->name);
}

/* The next blob, behind zeros. False: the end, or, with *why set, a blob that is not sound. */
static bool blob_next(const uint8_t *data, size_t size, size_t *at, struct header *h, struct reason *why)
{
    while (*at < size && !data[*at])
        ++*at;
    if (*at == size)
        return false;
    if (size - *at < sizeof *h) {
        reason_set(why, W_INVALID_DATA, "at offset %zu: %zu bytes are no blob of a manifest", *at, size - *at);
        return false;
    }
    memcpy(h, data + *at, sizeof *h);
    if (h->magic != PACK_MAGIC)
        reason_set(why, W_INVALID_DATA, "at offset %zu: no blob of a manifest begins here", *at);
    else if (h->size < sizeof *h || h->size > size - *at || h->size > MANIFEST_FILE_MAX)
        reason_set(why, W_INVALID_DATA, "at offset %zu: a blob of %u bytes, and %zu are left", *at, h->size,
                   size - *at);
    else if (h->version != PACK_VERSION)
        reason_set(why, W_INVALID_DATA, "at offset %zu: version %u, this program knows %d", *at, h->version,
                   PACK_VERSION);
    else if (crc32_of(data + *at + sizeof *h, h->size - sizeof *h) != h->crc)
        reason_set(why, W_INVALID_DATA, "at offset %zu: the checksum is wrong", *at);
    else
        return true;
    return false;
}

static bool content_read(struct manifest *m, const uint8_t *content, const struct header *h)
{
    struct pack p = {.in = cur_make(content, h->size - sizeof *h), .pool = m->pool};

    if (pack_kind_find(h->kind, &m->kind)) {
        manifest_pack_metadata(&p, m);
        for (unsigned i = 0; i < m->providers.count && cur_ok(&p.in); i++)
            p.in.bad = !provider_sound(&m->providers.at[i]);
        for (unsigned i = 0; i < m->messages.count; i++)
            p.in.bad |= !m->messages.at[i].name;
        if (cur_ok(&p.in) && m->messages.count)
            qsort(m->messages.at, m->messages.count, sizeof *m->messages.at, manifest_pack_message_order);
    } else if (h->kind == PACK_STRINGS) {
        struct manifest_culture *c = pool_push(m->pool, &m->cultures);
        if (c)
            culture(&p, c);
        if (c && cur_ok(&p.in) && c->strings.count)
            qsort(c->strings.at, c->strings.count, sizeof *c->strings.at, manifest_pack_string_order);
    }
    return cur_ok(&p.in) && !pool_failed(m->pool);
}

bool manifest_is_packed(const void *data, size_t size)
{
    uint32_t magic;
    if (size < PACK_HEADER)
        return false;
    memcpy(&magic, data, sizeof magic);
    return magic == PACK_MAGIC;
}

wstatus manifest_unpack(const void *data, size_t size, const char *origin, size_t *used, struct manifest **out,
                        struct reason *why)
{
    struct manifest *m  = calloc(1, sizeof *m);
    size_t           at = 0, blobs = 0;
    struct header    h;
    struct reason    wrong = {0};

    *out = NULL;
    if (!m || !(m->pool = pool_new(MANIFEST_MEMORY_MAX)) || !(m->origin = pool_text(m->pool, origin, strlen(origin)))) {
        manifest_free(m);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the manifest of %s", origin);
    }
    while (blob_next(data, size, &at, &h, &wrong)) {
        enum manifest_kind kind;
        const bool         metadata = pack_kind_find(h.kind, &kind);
        if (metadata && blobs)
            break; /* the next manifest's */
        if (!metadata && !blobs) {
            reason_set(&wrong, W_INVALID_DATA, "at offset %zu: it begins with a blob of kind %u, not with metadata", at,
                       h.kind);
            break;
        }
        if (!content_read(m, (const uint8_t *)data + at + sizeof h, &h)) {
            reason_set(&wrong, W_INVALID_DATA, "at offset %zu: the content of a blob of kind %u is not sound", at,
                       h.kind);
            break;
        }
        at += h.size;
        blobs++;
    }
    if (!blobs && !wrong.status)
        reason_set(&wrong, W_INVALID_DATA, "it holds no manifest");
    *used = at;
    if (wrong.status) {
        manifest_free(m);
        return reason_set(why, wrong.status, "%s: %s", origin, wrong.text);
    }
    *out = m;
    return W_SUCCESS;
}
