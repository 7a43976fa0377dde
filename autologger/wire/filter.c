/* filter.c - makes a block; see filter.h. */
#include "autologger/wire/filter.h"

#include <stdlib.h>
#include <string.h>

static uint32_t filter_padded(size_t size) { return (uint32_t)((size + 7) & ~(size_t)7); }

wstatus filter_add(struct filter_block **block, uint32_t type, const void *data, size_t size, struct reason *why)
{
    uint32_t            there, before = *block ? (*block)->size : (uint32_t)sizeof **block;
    struct filter_block empty = {.size = sizeof empty};

    if (*block && filter_part(*block, type, &there))
        return reason_set(why, W_INVALID_PARAMETER, "a filter of type 0x%x is there twice", type);
    if (size > FILTER_BLOCK_MAX || before + sizeof(struct filter_part) + filter_padded(size) > FILTER_BLOCK_MAX ||
        (*block && (*block)->parts == FILTER_PARTS))
        return reason_set(why, W_INVALID_PARAMETER, "the filters are more than %d, or have more than %d bytes",
                          FILTER_PARTS, FILTER_BLOCK_MAX);
    const struct filter_part part  = {type, (uint32_t)size};
    const size_t             grown = before + sizeof part + filter_padded(size);
    struct filter_block     *b     = realloc(*block, grown);
    if (!b)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a filter");
    if (!*block)
        *b = empty;
    *block      = b;
    uint8_t *at = (uint8_t *)b + before;
    memset(at, 0, grown - before);
    memcpy(at, &part, sizeof part);
    if (size)
        memcpy(at + sizeof part, data, size);
    b->size = (uint32_t)grown;
    b->parts++;
    return W_SUCCESS;
}

const void *filter_part(const struct filter_block *block, uint32_t type, uint32_t *size)
{
    const uint8_t     *at = (const uint8_t *)(block + 1), *end = (const uint8_t *)block + block->size;
    struct filter_part part;
    for (; (size_t)(end - at) >= sizeof part; at += sizeof part + filter_padded(part.size)) {
        memcpy(&part, at, sizeof part);
        if (part.size > (size_t)(end - at) - sizeof part)
            return NULL;
        if (part.type == type) {
            *size = part.size;
            return at + sizeof part;
        }
    }
    return NULL;
}
