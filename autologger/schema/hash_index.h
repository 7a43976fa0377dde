/* hash_index.h - finds things of a growing list by a key: an open table of their numbers.
 * Threads: one. Ownership: init by zeros, hash_index_finish. Not for: removal. */
#ifndef AUTOLOGGER_SCHEMA_HASH_INDEX_H
#define AUTOLOGGER_SCHEMA_HASH_INDEX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_index {
    uint32_t *slot; /* number + 1; 0: free */
    size_t    size, used;
};
/* The hash of the thing with that number, and whether it has the key. */
struct hash_index_of {
    uint64_t (*hash)(const void *ctx, uint32_t number);
    bool (*same)(const void *ctx, uint32_t number, const void *key);
};

uint64_t hash_index_hash(const void *data, size_t size, uint64_t start);
/* The slot of the key: number + 1, or 0, which the caller sets at once. NULL: no memory. */
uint32_t *hash_index_slot(struct hash_index *x, const struct hash_index_of *of, const void *ctx, uint64_t hash,
                          const void *key);
void      hash_index_finish(struct hash_index *x);
#endif
