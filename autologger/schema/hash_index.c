#include "autologger/schema/hash_index.h"

#include <stdlib.h>

enum { HASH_INDEX_FIRST = 64 };

uint64_t hash_index_hash(const void *data, size_t size, uint64_t start)
{
    const uint8_t *p = data;
    uint64_t       h = start ^ UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001B3);
    return h ^ h >> 29;
}

static bool hash_index_grow(struct hash_index *x, const struct hash_index_of *of, const void *ctx)
{
    struct hash_index more = {.size = x->size ? x->size * 2 : HASH_INDEX_FIRST, .used = x->used};
    if (!(more.slot = calloc(more.size, sizeof *more.slot)))
        return false;
    for (size_t i = 0; i < x->size; i++) {
        if (!x->slot[i])
            continue;
        size_t at = of->hash(ctx, x->slot[i] - 1) & (more.size - 1);
        while (more.slot[at])
            at = (at + 1) & (more.size - 1);
        more.slot[at] = x->slot[i];
    }
    free(x->slot);
    *x = more;
    return true;
}

uint32_t *hash_index_slot(struct hash_index *x, const struct hash_index_of *of, const void *ctx, uint64_t hash,
                          const void *key)
{
    if ((x->used + 1) * 2 > x->size && !hash_index_grow(x, of, ctx))
        return NULL;
    size_t at = hash & (x->size - 1);
    while (x->slot[at] && !of->same(ctx, x->slot[at] - 1, key))
        at = (at + 1) & (x->size - 1);
    x->used += !x->slot[at];
    return &x->slot[at];
}

void hash_index_finish(struct hash_index *x)
{
    free(x->slot);
    *x = (struct hash_index){0};
}
