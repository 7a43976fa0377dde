#include "autologger/consumer/embedding.h"

#include "autologger/consumer/classic_event.h"
#include "autologger/kernel/source/idmap.h"
#include "autologger/schema/classic.h"
#include "autologger/schema/event_info.h"
#include "autologger/schema/manifest_file.h"
#include "autologger/schema/manifest_model.h"
#include "autologger/schema/publishers.h"
#include "autologger/schema/tracelogging.h"

#include <stdlib.h>
#include <string.h>

enum { SEEN_MAX = 65536, IMAGES_MAX = 16384, CLASS_AT = 16, ID_AT = 32, VERSION_AT = 34, OPCODE_AT = 37 };

struct embedding_seen {
    struct guid provider; /* of a classic event its class, of a message of WPP its message GUID */
    uint16_t    id;       /* of a classic event its opcode */
    uint8_t     version;
    bool        classic, message;
    bool        had;
};
struct embedding {
    struct idmap            keys; /* hash -> index + 1 in seen */
    struct embedding_seen  *seen;
    size_t                  count, room;
    struct idmap            images, maps; /* hash -> path; schema_map -> itself */
    struct embedding_seen   last;
    struct publishers       installed;
    struct schema_set      *set;
    struct embedding_counts counts;
    uint8_t                 record[ETL_MAX_EVENT];
};

struct embedding *embedding_create(const char *folder)
{
    struct embedding *e = calloc(1, sizeof *e);

    if (e && !(e->set = schema_set_new())) {
        free(e);
        e = NULL;
    }
    if (e)
        e->installed =
            (struct publishers){.folder = folder ? folder : publishers_folder(), .culture = publishers_culture(NULL)};
    return e;
}

void embedding_destroy(struct embedding *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->images.capacity; i++)
        free(e->images.slot[i].value);
    idmap_finish(&e->images);
    idmap_finish(&e->maps);
    idmap_finish(&e->keys);
    schema_set_free(e->set);
    free(e->seen);
    free(e);
}

const struct embedding_counts *embedding_counts(const struct embedding *e) { return &e->counts; }

static uint64_t embedding_hash(const void *data, size_t size, uint64_t h)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001B3);
    return h ^ h >> 29;
}

static bool embedding_same(const struct embedding_seen *a, const struct embedding_seen *b)
{
    return a->id == b->id && a->version == b->version && a->classic == b->classic &&
           guid_equal(&a->provider, &b->provider);
}

/* Notes an event, once; `had`: the file describes it. */
static bool embedding_note(struct embedding *e, const struct embedding_seen *s)
{
    uint64_t key =
        embedding_hash(&s->provider, sizeof s->provider,
                       UINT64_C(0xCBF29CE484222325) + ((uint64_t)s->classic << 32 | (uint64_t)s->id << 8 | s->version));
    size_t at = (size_t)(uintptr_t)idmap_get(&e->keys, key);

    if (at) {
        if (embedding_same(&e->seen[at - 1], s))
            e->seen[at - 1].had |= s->had;
        return true; /* two with one hash: the second stays undescribed, which costs its names */
    }
    if (e->count == SEEN_MAX) {
        e->counts.left_out++;
        return true;
    }
    if (e->count == e->room) {
        size_t                 room = e->room ? e->room * 2 : 64;
        struct embedding_seen *more = realloc(e->seen, room * sizeof *more);
        if (!more)
            return false;
        e->seen = more;
        e->room = room;
    }
    e->seen[e->count++] = *s;
    return idmap_put(&e->keys, key, (void *)(uintptr_t)e->count);
}

static bool note_image(struct embedding *e, const struct etl_event *event)
{
    struct image_fields image;

    if (e->images.count == IMAGES_MAX || !image_event_read(event, &image) || !image.process_id ||
        image.path[0] != '/' || image.path[1] == '/')
        return true;
    uint64_t key = embedding_hash(image.path, strlen(image.path), UINT64_C(0xCBF29CE484222325));
    if (idmap_get(&e->images, key))
        return true;
    char *path = strdup(image.path);
    if (path && idmap_put(&e->images, key, path))
        return true;
    free(path);
    return false;
}

bool embedding_see(struct embedding *e, const struct etl_event *event)
{
    struct embedding_seen      s = {.provider = event->provider, .id = event->id, .version = event->version};
    struct tracelogging_prefix prefix;
    const uint8_t             *data;
    uint32_t                   size;

    if (event->kind == ETL_KIND_EVENT) {
        if (event->flags & ETL_EVENT_STRING_ONLY || embedding_same(&s, &e->last) ||
            etl_ext_find(event, ETL_EXT_SCHEMA_TL, &data, &size) ||
            (event->channel == TRACELOGGING_CHANNEL &&
             tracelogging_in_payload(event->payload, event->payload_size, &prefix)))
            return true;
        e->last = s;
        return embedding_note(e, &s);
    }
    if (event->kind == ETL_KIND_MESSAGE) {
        s.message = true;
        return guid_is_zero(&s.provider) || embedding_same(&s, &e->last) || embedding_note(e, &s);
    }
    if (event->kind != ETL_KIND_FULL && event->kind != ETL_KIND_INSTANCE)
        return note_image(e, event);
    const uint16_t hook = classic_hook(event);
    if (hook == CLASSIC_NONE) {
        s.classic = true;
        s.id      = event->opcode;
        return embedding_note(e, &s);
    }
    if (hook != (CLASSIC_EVENT_METADATA | EVENT_METADATA_EVENT) || event->payload_size <= OPCODE_AT)
        return true;
    struct guid class_guid;
    memcpy(&class_guid, event->payload + CLASS_AT, sizeof class_guid);
    s.classic  = !guid_is_zero(&class_guid);
    s.provider = class_guid;
    s.id       = event->payload[OPCODE_AT];
    if (!s.classic) {
        memcpy(&s.provider, event->payload, sizeof s.provider);
        memcpy(&s.id, event->payload + ID_AT, sizeof s.id);
    }
    s.version = event->payload[VERSION_AT];
    s.had     = true;
    return embedding_note(e, &s);
}

/* ---- writing ---- */

static wstatus embedding_take(void *ctx, struct manifest *m, struct reason *why)
{
    struct embedding *e = ctx;
    wstatus st = manifest_schemas(m, manifest_culture_find(m, e->installed.culture), SCHEMA_MANIFEST, e->set, why);
    manifest_free(m);
    return st;
}

/* Searches the trace's programs, as far as they are here, for manifests, when an event has no installed one. */
static void search_images(void *ctx, struct schema_set *set)
{
    struct embedding *e = ctx;
    struct reason     ignored;

    (void)set;
    for (size_t i = 0; i < e->images.capacity; i++)
        if (e->images.slot[i].value)
            manifest_file_binary(e->images.slot[i].value, embedding_take, e, &ignored);
}

static wstatus embedding_put(struct embedding *e, uint8_t type, const void *head, size_t head_size,
                             const struct text *block, int64_t time, const struct added_events *to, bool *fits,
                             struct reason *why)
{
    struct etl_full_header h    = {.header_type = ETL_FULL64,
                                   .marker      = ETL_MARKER,
                                   .type        = type,
                                   .time        = time,
                                   .guid        = classic_guid(CLASSIC_EVENT_METADATA)};
    size_t                 size = sizeof h + head_size + block->length;

    *fits = size <= sizeof e->record && size <= UINT16_MAX;
    if (!*fits)
        return W_SUCCESS;
    h.size = (uint16_t)size;
    memcpy(e->record, &h, sizeof h);
    if (head_size)
        memcpy(e->record + sizeof h, head, head_size);
    memcpy(e->record + sizeof h + head_size, block->data, block->length);
    e->counts.bytes += size;
    return to->put(to->ctx, 0, e->record, (uint32_t)size, time, why);
}

static wstatus put_maps(struct embedding *e, const struct schema_event *s, int64_t time, const struct added_events *to,
                        struct text *block, struct reason *why)
{
    wstatus st = W_SUCCESS;

    for (unsigned i = 0; i < s->field_count && !st; i++) {
        const struct schema_map *map = s->fields[i].map;
        bool                     fits;
        if (!map || idmap_get(&e->maps, (uintptr_t)map))
            continue;
        text_cut(block, 0);
        if (!idmap_put(&e->maps, (uintptr_t)map, (void *)(uintptr_t)map) || !map_info_build(map, block))
            return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the descriptions of events");
        st = embedding_put(e, EVENT_METADATA_MAP, &s->provider->guid, sizeof s->provider->guid, block, time, to, &fits,
                           why);
        e->counts.maps += fits;
    }
    return st;
}

static wstatus embedding_put_event(struct embedding *e, const struct embedding_seen *s, int64_t time,
                                   const struct added_events *to, struct text *block, struct reason *why)
{
    struct schema_key          key   = {.provider = s->provider,
                                        .id       = s->id,
                                        .opcode   = (uint8_t)s->id,
                                        .version  = s->version,
                                        .classic  = s->classic,
                                        .message  = s->message,
                                        .hook     = CLASSIC_NONE};
    const struct schema_event *found = schema_set_find(e->set, &key);
    bool                       fits;

    if (!found || found->source != SCHEMA_MANIFEST) {
        e->counts.undescribed++;
        return W_SUCCESS;
    }
    const struct event_info_of of = {.provider = found->provider->guid,
                                     .id       = found->id,
                                     .task     = found->task,
                                     .version  = s->version, /* one class may describe several */
                                     .channel  = found->channel,
                                     .level    = found->level,
                                     .opcode   = found->opcode,
                                     .keyword  = found->keyword};
    text_cut(block, 0);
    if (!event_info_build(found, &of, block))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the descriptions of events");
    wstatus st = embedding_put(e, EVENT_METADATA_EVENT, NULL, 0, block, time, to, &fits, why);
    *(fits ? &e->counts.described : &e->counts.left_out) += 1;
    return st || !fits ? st : put_maps(e, found, time, to, block, why);
}

wstatus embedding_write(struct embedding *e, int64_t time, const struct added_events *to, struct reason *why)
{
    struct text block = {0};
    wstatus     st    = W_SUCCESS;

    schema_set_ask(e->set, publishers_ask, &e->installed);
    schema_set_search(e->set, search_images, e);
    e->counts.seen = e->count;
    for (size_t i = 0; i < e->count && !st; i++) {
        e->counts.had += e->seen[i].had;
        if (!e->seen[i].had)
            st = embedding_put_event(e, &e->seen[i], time, to, &block, why);
    }
    text_finish(&block);
    return st;
}
