#include "autologger/etl/record.h"

#include "autologger/etl/record_usual.h"
#include "registry-sim/base/cursor.h"

#include <stddef.h>
#include <string.h>

enum { NO_ID = -1, PEBS = 0x8000, INSTANCE_SIZE = 0x48, COMPACT_SIZE = 0x18, MESSAGE_SIZE = 8, PLAIN_SIZE = 4 };
enum {
    MESSAGE_SEQUENCE  = 1,
    MESSAGE_GUID      = 2,
    MESSAGE_COMPONENT = 4,
    MESSAGE_TIME      = 0x18,
    MESSAGE_SYSTEM    = 0x20,
    MESSAGE_POINTER64 = 0x80,
    MARKER_ULONG32    = 0xB0
};

static const struct guid group_guids[] = {
#define G(a, b, c, ...) {a, b, c, {__VA_ARGS__}},
#include "autologger/etl/groups.def"
#undef G
};

struct guid etl_group_guid(uint16_t hook)
{
    unsigned group = hook == HOOK_IMAGE_LOAD ? ETL_GROUP_IMAGE : hook >> 8;
    return group < sizeof group_guids / sizeof *group_guids ? group_guids[group] : (struct guid){0};
}

/* By header type: kind, bytes of the fixed header, offset of the u16 size. Rows without `fixed` are not known in
 * detail: they are skipped by their size. */
static const struct record_shape {
    uint8_t kind, fixed, size_at;
    bool    is_64bit;
} record_shapes[] = {
    [ETL_SYSTEM32]   = {ETL_KIND_SYSTEM, 0x20, 4, false},
    [ETL_SYSTEM64]   = {ETL_KIND_SYSTEM, 0x20, 4, true},
    [ETL_COMPACT32]  = {ETL_KIND_SYSTEM, COMPACT_SIZE, 4, false},
    [ETL_COMPACT64]  = {ETL_KIND_SYSTEM, COMPACT_SIZE, 4, true},
    [ETL_FULL32]     = {ETL_KIND_FULL, 0x30, 0, false},
    [ETL_FULL64]     = {ETL_KIND_FULL, 0x30, 0, true},
    [ETL_INSTANCE32] = {ETL_KIND_INSTANCE, INSTANCE_SIZE, 0, false},
    [ETL_INSTANCE64] = {ETL_KIND_INSTANCE, INSTANCE_SIZE, 0, true},
    [ETL_PERFINFO32] = {ETL_KIND_PERFINFO, 0x10, 4, false},
    [ETL_PERFINFO64] = {ETL_KIND_PERFINFO, 0x10, 4, true},
    [ETL_EVENT32]    = {ETL_KIND_EVENT, 0x50, 0, false},
    [ETL_EVENT64]    = {ETL_KIND_EVENT, 0x50, 0, true},
};
static const struct record_shape other          = {ETL_KIND_OTHER, PLAIN_SIZE, 0, true};
static const struct record_shape record_message = {ETL_KIND_MESSAGE, MESSAGE_SIZE, 0, true};

static uint16_t u16_at(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }

/* The shape of the header at p (4 readable bytes), or NULL when it is no trace header. */
static const struct record_shape *shape_of(const uint8_t *p)
{
    if (p[3] == ETL_MARKER_MESSAGE)
        return &record_message;
    if (p[3] == MARKER_ULONG32)
        return &other;
    if (p[3] != ETL_MARKER || p[2] == 0 || p[2] > ETL_INSTANCE64)
        return NULL;
    return record_shapes[p[2]].fixed ? &record_shapes[p[2]] : &other;
}

/* Bytes of the optional items between a PERFINFO or MESSAGE header and its payload. */
static size_t options_size(const struct record_shape *s, const uint8_t *p)
{
    if (s->kind == ETL_KIND_PERFINFO) {
        uint16_t version = u16_at(p);
        return (version & PEBS ? 8 : 0) + 8 * (size_t)(version >> 8 & 7);
    }
    if (s->kind != ETL_KIND_MESSAGE)
        return 0;
    uint16_t flags = u16_at(p + 6);
    return (flags & MESSAGE_SEQUENCE ? 4 : 0) +
           (flags & MESSAGE_COMPONENT ? 4
            : flags & MESSAGE_GUID    ? 16
                                      : 0) +
           (flags & MESSAGE_TIME ? 8 : 0) + (flags & MESSAGE_SYSTEM ? 8 : 0);
}

int etl_record_size(const uint8_t *p, size_t left)
{
    static const uint8_t filler[4] = {0xFF, 0xFF, 0xFF, 0xFF};

    if (left < sizeof filler || memcmp(p, filler, sizeof filler) == 0)
        return 0;
    const struct record_shape *s = shape_of(p);
    if (!s || left < s->fixed)
        return -1;
    size_t size = u16_at(p + s->size_at);
    if (s->kind == ETL_KIND_EVENT)
        return size > left || size < s->fixed ? -1 : (int)size;
    if (size > left || size < s->fixed + options_size(s, p))
        return -1;
    return (int)size;
}

static void decode_system(struct cursor *c, const struct record_shape *s, struct etl_event *e)
{
    struct etl_system_header h = {0};
    cur_copy(c, &h, s->fixed);
    e->raw_time    = h.time;
    e->process_id  = h.process_id;
    e->thread_id   = h.thread_id;
    e->kernel_time = h.kernel_time;
    e->user_time   = h.user_time;
    e->hook        = (uint16_t)(h.group << 8 | h.type);
    e->opcode      = h.type;
    e->version     = (uint8_t)h.version;
    e->provider    = etl_group_guid(e->hook);
}

static void decode_perfinfo(struct cursor *c, const struct record_shape *s, struct etl_event *e)
{
    struct etl_perfinfo_header h;
    size_t                     options = options_size(s, c->data);
    cur_copy(c, &h, sizeof h);
    cur_take(c, options);
    e->raw_time = h.time;
    e->hook     = (uint16_t)(h.group << 8 | h.type);
    e->opcode   = h.type;
    e->version  = (uint8_t)h.version;
    e->provider = etl_group_guid(e->hook);
}

static void decode_full(struct cursor *c, const struct record_shape *s, struct etl_event *e)
{
    struct etl_full_header h;
    bool                   parts = s->fixed > sizeof h; /* INSTANCE: two ids, the parent's GUID */

    cur_copy(c, &h, sizeof h);
    if (parts) {
        e->instance        = cur_u32(c);
        e->parent_instance = cur_u32(c);
        cur_copy(c, &e->parent_guid, sizeof e->parent_guid);
    }
    e->raw_time    = h.time;
    e->process_id  = h.process_id;
    e->thread_id   = h.thread_id;
    e->kernel_time = h.kernel_time;
    e->user_time   = h.user_time;
    e->provider    = h.guid;
    e->opcode      = h.type;
    e->version     = (uint8_t)h.version;
    e->level       = h.level;
}

static void decode_message(struct cursor *c, struct etl_event *e)
{
    cur_take(c, 4);
    e->id          = cur_u16(c);
    uint16_t flags = cur_u16(c);

    if (flags & MESSAGE_SEQUENCE)
        e->instance = cur_u32(c);
    if (flags & MESSAGE_COMPONENT)
        cur_u32(c);
    else if (flags & MESSAGE_GUID)
        cur_copy(c, &e->provider, sizeof e->provider);
    if (flags & MESSAGE_TIME)
        e->raw_time = (int64_t)cur_u64(c);
    if (flags & MESSAGE_SYSTEM) {
        e->thread_id  = cur_u32(c);
        e->process_id = cur_u32(c);
    }
    e->is_64bit = flags & MESSAGE_POINTER64;
}

/* One extended item at the cursor; its size in the file, 0 when malformed. */
static inline size_t ext_step(const struct cursor *c, struct etl_ext_item *item)
{
    size_t left = cur_left(c);

    if (left < sizeof *item)
        return 0;
    memcpy(item, c->data + c->pos, sizeof *item);
    size_t least = sizeof *item + item->data_size, total = item->total;
    if (least > left)
        return 0;
    if (total == 0 || total % 8 || total < least)
        total = (least + 7u) & ~(size_t)7;
    return total > left && least == left ? left : total <= left ? total : 0;
}

bool etl_record_items(const uint8_t *p, uint32_t size, uint32_t at, struct etl_event *e, uint32_t *end)
{
    struct cursor       c        = {p, size, at, false};
    struct etl_ext_item item     = {.linkage = 1};
    const uint8_t      *metadata = NULL, *traits = NULL;
    uint32_t            metadata_size = 0, traits_size = 0, types = 0;

    while (item.linkage & 1) {
        size_t step = ext_step(&c, &item);
        if (!step)
            return false;
        if (item.type < 32)
            types |= UINT32_C(1) << item.type;
        if (item.type == ETL_EXT_SCHEMA_TL && !metadata) {
            metadata      = c.data + c.pos + sizeof item;
            metadata_size = item.data_size;
        } else if (item.type == ETL_EXT_PROV_TRAITS && !traits) {
            traits      = c.data + c.pos + sizeof item;
            traits_size = item.data_size;
        }
        c.pos += step;
    }
    e->items         = 0;
    e->metadata      = metadata;
    e->metadata_size = metadata_size;
    e->traits        = traits;
    e->traits_size   = traits_size;
    e->ext           = p + at;
    e->ext_lacks     = ~types;
    e->ext_size      = (uint32_t)c.pos - at;
    *end             = (uint32_t)c.pos;
    return true;
}

#define ALIKE(ours, stored) \
    _Static_assert(offsetof(struct etl_event, ours) - offsetof(struct etl_event, thread_id) == \
                           offsetof(struct etl_event_header, stored) - offsetof(struct etl_event_header, thread_id) && \
                       sizeof(((struct etl_event *)0)->ours) == sizeof(((struct etl_event_header *)0)->stored), \
                   #ours)
ALIKE(process_id, process_id);
ALIKE(raw_time, time);
ALIKE(provider, provider);
ALIKE(id, id);
ALIKE(version, version);
ALIKE(channel, channel);
ALIKE(level, level);
ALIKE(opcode, opcode);
ALIKE(task, task);
ALIKE(keyword, keyword);
ALIKE(kernel_time, kernel_time);
ALIKE(user_time, user_time);
ALIKE(activity, activity);

static bool decode_event(const uint8_t *p, uint32_t size, bool is_64bit, struct etl_event *e)
{
    uint32_t end = sizeof(struct etl_event_header);
    bool     ok  = true;

    etl_record_header(p, size, is_64bit, e);
    if (!(e->flags & ETL_EVENT_EXTENDED) || !(ok = etl_record_items(p, size, end, e, &end)))
        items_none(e);
    e->payload      = p + end;
    e->payload_size = size - end;
    return ok;
}

bool etl_record_decode(const uint8_t *p, uint32_t size, int64_t previous, struct etl_event *e)
{
    const struct record_shape *s = shape_of(p);
    struct cursor              c = cur_make(p, size);

    if (s->kind == ETL_KIND_EVENT) {
        e->cpu = e->logger_id = 0;
        e->filetime = e->file_offset = 0;
        e->buffer_sequence           = 0;
        return decode_event(p, size, s->is_64bit, e);
    }
    *e = (struct etl_event){.kind        = (enum etl_kind)s->kind,
                            .is_64bit    = s->is_64bit,
                            .raw_time    = previous,
                            .process_id  = (uint32_t)NO_ID,
                            .thread_id   = (uint32_t)NO_ID,
                            .record      = p,
                            .record_size = size};
    switch (e->kind) {
    case ETL_KIND_SYSTEM: decode_system(&c, s, e); break;
    case ETL_KIND_PERFINFO: decode_perfinfo(&c, s, e); break;
    case ETL_KIND_FULL:
    case ETL_KIND_INSTANCE: decode_full(&c, s, e); break;
    case ETL_KIND_MESSAGE: decode_message(&c, e); break;
    case ETL_KIND_EVENT: break;
    case ETL_KIND_OTHER: cur_take(&c, s->fixed); break;
    }
    e->payload      = p + c.pos;
    e->payload_size = (uint32_t)(size - c.pos);
    return true;
}

/* The offset of the time; 0: it must be searched for, or there is none. */
static unsigned time_offset(const struct record_shape *s)
{
    static const uint8_t offsets[] = {[ETL_KIND_SYSTEM]   = offsetof(struct etl_system_header, time),
                                      [ETL_KIND_PERFINFO] = offsetof(struct etl_perfinfo_header, time),
                                      [ETL_KIND_FULL]     = offsetof(struct etl_full_header, time),
                                      [ETL_KIND_INSTANCE] = offsetof(struct etl_full_header, time),
                                      [ETL_KIND_EVENT]    = offsetof(struct etl_event_header, time),
                                      [ETL_KIND_MESSAGE]  = 0,
                                      [ETL_KIND_OTHER]    = 0};
    return offsets[s->kind];
}

int64_t etl_record_time(const uint8_t *p, uint32_t size, int64_t previous)
{
    const struct record_shape *s  = shape_of(p);
    unsigned                   at = time_offset(s);
    int64_t                    time;
    struct etl_event           e;

    if (at) {
        memcpy(&time, p + at, sizeof time);
        return time;
    }
    etl_record_decode(p, size, previous, &e);
    return e.raw_time;
}

bool etl_ext_next(const struct etl_event *event, struct etl_ext_walk *w)
{
    if (!event->ext)
        return false;
    struct cursor       c = cur_make(event->ext, event->ext_size);
    struct etl_ext_item item;

    cur_take(&c, w->at);
    size_t step = cur_ok(&c) && cur_left(&c) ? ext_step(&c, &item) : 0;
    if (!step)
        return false;
    w->data = c.data + c.pos + sizeof item;
    w->size = item.data_size;
    w->type = item.type;
    w->at += step;
    return true;
}

bool etl_ext_find(const struct etl_event *event, uint16_t type, const uint8_t **data, uint32_t *size)
{
    struct cursor       c = cur_make(event->ext, event->ext ? event->ext_size : 0);
    struct etl_ext_item item;

    if (type < 32 && event->ext_lacks >> type & 1)
        return false;
    while (cur_left(&c)) {
        size_t step = ext_step(&c, &item);
        if (!step)
            return false;
        if (item.type == type) {
            *data = c.data + c.pos + sizeof item;
            *size = item.data_size;
            return true;
        }
        cur_take(&c, step);
    }
    return false;
}
