/* idmap.c - hash table with linear probing. See idmap.h. */
#include "autologger/kernel/source/idmap.h"

#include <stdlib.h>
#include <string.h>

static size_t home(const struct idmap *map, uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (map->capacity - 1);
}

static struct idmap_slot *idmap_find(const struct idmap *map, uint64_t key)
{
    size_t i = home(map, key);
    while (map->slot[i].value && map->slot[i].key != key)
        i = (i + 1) & (map->capacity - 1);
    return &map->slot[i];
}

void *idmap_get(const struct idmap *map, uint64_t key) { return map->capacity ? idmap_find(map, key)->value : NULL; }

static bool idmap_grow(struct idmap *map)
{
    struct idmap bigger = {.capacity = map->capacity ? map->capacity * 2 : 64, .count = map->count};
    bigger.slot         = calloc(bigger.capacity, sizeof *bigger.slot);
    if (!bigger.slot)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slot[i].value)
            *idmap_find(&bigger, map->slot[i].key) = map->slot[i];
    free(map->slot);
    *map = bigger;
    return true;
}

bool idmap_put(struct idmap *map, uint64_t key, void *value)
{
    if (map->count * 4 >= map->capacity * 3 && !idmap_grow(map))
        return false;
    struct idmap_slot *s = idmap_find(map, key);
    map->count += !s->value;
    *s = (struct idmap_slot){key, value};
    return true;
}

void *idmap_remove(struct idmap *map, uint64_t key)
{
    if (!map->capacity)
        return NULL;
    struct idmap_slot *s     = idmap_find(map, key);
    void              *value = s->value;
    if (!value)
        return NULL;
    size_t hole = (size_t)(s - map->slot), mask = map->capacity - 1;
    for (size_t i = (hole + 1) & mask; map->slot[i].value; i = (i + 1) & mask) {
        if (((i - home(map, map->slot[i].key)) & mask) < ((i - hole) & mask))
            continue; /* its home is after the hole */
        map->slot[hole] = map->slot[i];
        hole            = i;
    }
    map->slot[hole].value = NULL;
    map->count--;
    return value;
}

void idmap_clear(struct idmap *map)
{
    if (map->slot)
        memset(map->slot, 0, map->capacity * sizeof *map->slot);
    map->count = 0;
}

void idmap_finish(struct idmap *map)
{
    free(map->slot);
    *map = (struct idmap){0};
}
