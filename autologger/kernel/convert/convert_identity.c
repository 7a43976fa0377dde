/* convert_identity.c - the boot, and the whole build id of each file whose image is in the trace. An Image event has
 * room for only 8 bytes of it; a merge, or a search for symbols, needs all of it, and that of the mapped file, not of
 * the file at its path by then. See wire/names.h. */
#include "autologger/kernel/convert/describe.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/wire/names.h"

#include <stdlib.h>
#include <string.h>

enum { IDENTITY_LEAST = 8 };
struct part_identity {
    struct idmap told; /* first 8 bytes of the build ids that are in the file */
};

void part_identity_finish(struct convert *c)
{
    if (c->identity)
        idmap_finish(&c->identity->told);
    free(c->identity);
    c->identity = NULL;
}

/* A successor must not write an event again: that would move later times. */
void part_identity_put(const struct convert *c, struct sink *s)
{
    const struct idmap *told  = c->identity ? &c->identity->told : NULL;
    uint64_t            count = told ? told->count : 0;
    snapshot_put(s, &count, sizeof count);
    for (size_t i = 0; told && i < told->capacity; i++)
        if (told->slot[i].value)
            snapshot_put(s, &told->slot[i].key, sizeof told->slot[i].key);
}

static bool convert_identity_tell(struct convert *c, uint64_t key)
{
    if (!c->identity)
        c->identity = calloc(1, sizeof *c->identity);
    return c->identity && idmap_put(&c->identity->told, key, c);
}

bool part_identity_get(struct convert *c, struct cursor *cur)
{
    bool good = true;
    for (uint64_t n = cur_u64(cur); n > 0 && good; n--) {
        uint64_t key = cur_u64(cur);
        good         = cur_ok(cur) && convert_identity_tell(c, key);
    }
    return good;
}

void identity_set(struct image *i, const void *id, size_t size)
{
    i->build_id_size = size >= IDENTITY_LEAST && size <= sizeof i->build_id ? (uint8_t)size : 0;
    memcpy(i->build_id, id, i->build_id_size);
}

void identity_event(struct convert *c, const struct actor *by, const struct image *i, uint64_t *time)
{
    static const struct shape shape = {
        NAMES_PROVIDER,
        NAMES_BUILD_ID,
        {{"TimeDateStamp", SHAPE_HEX32}, {"ImageCheckSum", SHAPE_HEX32}, {"BuildId", SHAPE_BINARY}}};
    uint8_t       bytes[64];
    uint64_t      key;
    struct writer w = wr_make(bytes, sizeof bytes);
    memcpy(&key, i->build_id, sizeof key);
    if (!i->build_id_size || (c->identity && idmap_get(&c->identity->told, key)) || !convert_identity_tell(c, key))
        return;
    wr_u32(&w, i->stamp);
    wr_u32(&w, i->checksum);
    wr_u16(&w, i->build_id_size);
    wr_bytes(&w, i->build_id, i->build_id_size);
    describe_at(c, by, &shape, time, &w);
}

void boot_event(struct convert *c, const struct raw_system *s, uint64_t *time)
{
    static const struct shape shape = {NAMES_PROVIDER, NAMES_BOOT, {{"BootId", SHAPE_TEXT}, {"Release", SHAPE_TEXT}}};
    uint8_t                   bytes[128];
    struct writer             w = wr_make(bytes, sizeof bytes);
    wr_text(&w, s->boot_id, sizeof s->boot_id);
    wr_text(&w, s->release, sizeof s->release);
    describe_at(c, &(struct actor){0}, &shape, time, &w);
}
