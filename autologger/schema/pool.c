#include "autologger/schema/pool.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 * 1024 };

struct pool_block {
    struct pool_block *before;
    alignas(max_align_t) char bytes[];
};
struct pool {
    struct pool_block *block;
    size_t             used, size; /* of the block */
    size_t             taken, limit;
    bool               failed;
};

struct pool *pool_new(size_t limit)
{
    struct pool *p = calloc(1, sizeof *p);
    if (p)
        p->limit = limit;
    return p;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    for (struct pool_block *b = p->block, *before; b; b = before) {
        before = b->before;
        free(b);
    }
    free(p);
}

bool pool_failed(const struct pool *p) { return p->failed; }

static bool block_add(struct pool *p, size_t least)
{
    size_t             size = least > BLOCK ? least : BLOCK;
    struct pool_block *b = p->taken + size <= p->limit && p->taken + size > p->taken ? malloc(sizeof *b + size) : NULL;

    if (!b) {
        p->failed = true;
        return false;
    }
    b->before = p->block;
    p->block  = b;
    p->size   = size;
    p->used   = 0;
    p->taken += size;
    return true;
}

void *pool_alloc(struct pool *p, size_t size)
{
    size_t need = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);

    if (p->failed || need < size || (need > p->size - p->used && !block_add(p, need)))
        return NULL;
    void *at = p->block ? p->block->bytes + p->used : NULL;
    p->used += need;
    return at ? memset(at, 0, size) : NULL;
}

const char *pool_text(struct pool *p, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? pool_alloc(p, length + 1) : NULL;
    return copy && length ? memcpy(copy, text, length) : copy;
}

void *pool_list_push(struct pool *p, void **at, unsigned *count, unsigned *room, size_t size)
{
    if (*count == *room) {
        unsigned more = *room ? *room * 2 : 4;
        void    *next = more > *room ? pool_alloc(p, more * size) : NULL;
        if (!next)
            return NULL;
        if (*count)
            memcpy(next, *at, *count * size);
        *at   = next;
        *room = more;
    }
    return (char *)*at + (*count)++ * size;
}
