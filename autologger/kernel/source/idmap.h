/* idmap.h - a hash table from 64-bit keys to pointers; open addressing, no allocation per entry.
 * Threads: one. Ownership: the values are the caller's. Not for: ordered walks. */
#ifndef AUTOLOGGER_KERNEL_IDMAP_H
#define AUTOLOGGER_KERNEL_IDMAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap {
    struct idmap_slot {
        uint64_t key;
        void    *value;
    } * slot;               /* value NULL = empty */
    size_t capacity, count; /* a power of two; at most 3/4 full */
};
void *idmap_get(const struct idmap *map, uint64_t key); /* NULL: none */
/* False when memory is short. `value` must not be NULL; an older value of the key is replaced. */
bool  idmap_put(struct idmap *map, uint64_t key, void *value);
void *idmap_remove(struct idmap *map, uint64_t key); /* the removed value, or NULL */
void  idmap_clear(struct idmap *map);
void  idmap_finish(struct idmap *map);
#endif
