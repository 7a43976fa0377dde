#include "autologger/schema/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { FIRST_BLOCK = 1024, LARGEST_BLOCK = 256 * 1024 };

struct arena_block {
    struct arena_block *before;
    size_t              size, used;
    alignas(max_align_t) unsigned char data[];
};
struct schema_arena {
    struct arena_block *last;
    size_t              bytes;
};

static struct arena_block *block_new(struct schema_arena *a, size_t size)
{
    struct arena_block *b = calloc(1, sizeof *b + size);
    if (!b)
        return NULL;
    *b      = (struct arena_block){.before = a->last, .size = size};
    a->last = b;
    a->bytes += sizeof *b + size;
    return b;
}

struct schema_arena *schema_arena_new(void) { return calloc(1, sizeof(struct schema_arena)); }

void *schema_arena_alloc(struct schema_arena *a, size_t size)
{
    struct arena_block *b = a->last;

    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (!b || size > b->size - b->used) {
        size_t next = b ? b->size * 2 : FIRST_BLOCK;
        next        = next > LARGEST_BLOCK ? LARGEST_BLOCK : next;
        if (!(b = block_new(a, size > next ? size : next)))
            return NULL;
    }
    void *p = b->data + b->used;
    b->used += size;
    return p;
}

size_t schema_arena_bytes(const struct schema_arena *a) { return a->bytes; }

void schema_arena_free(struct schema_arena *a)
{
    for (struct arena_block *b = a ? a->last : NULL, *before; b; b = before) {
        before = b->before;
        free(b);
    }
    free(a);
}
