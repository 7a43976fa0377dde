#include "registry-sim/store/snapshot_single.h"

#include "registry-sim/base/cursor.h"
#include "registry-sim/store/snapshot.h"
#include "registry-sim/store/snapshot_format.h"
#include "registry-sim/win32/sha1.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

static int snapshot_single_by_name(const void *a, const void *b)
{
    return name_compare(((const struct regvalue *)a)->name, ((const struct regvalue *)b)->name);
}

static void snapshot_single_put_key(struct writer *w, const char *name, size_t length, uint32_t values,
                                    uint32_t subkeys)
{
    wr_bytes(w, name, length);
    wr_u8(w, 0);
    wr_u64(w, 0); /* never written */
    wr_u8(w, PLACE_NONE);
    wr_u32(w, 0);
    wr_u32(w, values);
    wr_u32(w, subkeys);
}

static void snapshot_single_put_value(struct writer *w, const struct regvalue *v)
{
    wr_bytes(w, v->name, strlen(v->name) + 1);
    wr_u32(w, v->type);
    wr_u8(w, PLACE_NONE);
    wr_u32(w, 0);
    wr_u32(w, v->size);
    wr_bytes(w, v->data, v->size);
}

/* Packs the keys of the path, each the only subkey of the previous one. Returns their number. */
static uint32_t snapshot_single_put_path(struct writer *w, const char *path, uint32_t values)
{
    uint32_t keys = 1;
    snapshot_single_put_key(w, "", 0, 0, 1);
    for (;; keys++) {
        size_t n    = strcspn(path, "\\");
        bool   last = path[n] == 0;
        snapshot_single_put_key(w, path, n, last ? values : 0, !last);
        if (last)
            return keys + 1;
        path += n + 1;
    }
}

wstatus snapshot_single(const char *below, struct regvalue *values, unsigned count, uint8_t **bytes, size_t *size,
                        struct reason *why)
{
    size_t room = 256 + 16 * SNAPSHOT_KEY_LEAST + sizeof SNAPSHOT_WMI + strlen(below) * (1 + SNAPSHOT_KEY_LEAST);
    for (unsigned i = 0; i < count; i++)
        room += SNAPSHOT_VALUE_LEAST + strlen(values[i].name) + 1 + values[i].size;
    if (room > SNAPSHOT_MAX)
        return reason_set(why, W_INVALID_PARAMETER, "the values have %zu bytes, more than a snapshot holds", room);
    uint8_t *out  = malloc(room);
    char    *path = malloc(sizeof SNAPSHOT_WMI + strlen(below) + 1);
    if (!out || !path) {
        free(out);
        free(path);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "not enough memory");
    }
    strcpy(path, SNAPSHOT_WMI "\\");
    strcat(path, below);
    qsort(values, count, sizeof *values, snapshot_single_by_name);
    struct writer w = wr_make(out, room);
    wr_bytes(&w, SNAPSHOT_MAGIC, 8);
    wr_u32(&w, SNAPSHOT_VERSION);
    for (unsigned i = 0; i < 3 + 4 + 5; i++) /* size, keys, values; change number and time; content */
        wr_u32(&w, 0);
    wr_u8(&w, 0); /* no store, */
    wr_u8(&w, 0); /* no log folder */
    uint32_t keys = snapshot_single_put_path(&w, path, count);
    for (unsigned i = 0; i < count; i++)
        snapshot_single_put_value(&w, &values[i]);
    size_t        used = w.pos;
    struct writer head = wr_make(out + SNAPSHOT_AT_SIZE, 12);
    wr_u32(&head, (uint32_t)(used + SNAPSHOT_HASH));
    wr_u32(&head, keys);
    wr_u32(&head, count);
    struct sha1 s;
    sha1_init(&s);
    sha1_update(&s, out, used);
    sha1_final(&s, out + used);
    free(path);
    *bytes = out;
    *size  = used + SNAPSHOT_HASH;
    return W_SUCCESS;
}
