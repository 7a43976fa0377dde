#include "autologger/symbols/spaces.h"

#include <stdlib.h>

struct space {
    struct space_image *image;
    size_t              count, capacity;
};

static struct space *symbols_space_of(struct spaces *s, uint32_t pid)
{
    struct space *space = idmap_get(&s->process, pid + UINT64_C(1));
    if (space || !(space = calloc(1, sizeof *space)))
        return space;
    if (!idmap_put(&s->process, pid + UINT64_C(1), space)) {
        free(space);
        return NULL;
    }
    return space;
}

/* The image at that place that is still mapped, or NULL. */
static struct space_image *open_at(struct space *space, uint64_t base, size_t file)
{
    for (size_t i = space->count; i-- > 0;)
        if (space->image[i].base == base && space->image[i].file == file && space->image[i].to == INT64_MAX)
            return &space->image[i];
    return NULL;
}

bool spaces_see(struct spaces *s, uint16_t hook, int64_t time, const struct image_fields *image, size_t file)
{
    struct space *space = symbols_space_of(s, image->process_id);
    if (!space)
        return false;
    struct space_image *open = open_at(space, image->base, file);
    if (open) {
        if (hook == HOOK_IMAGE_UNLOAD)
            open->to = time;
        return true; /* a rundown of a known image */
    }
    if (space->count == space->capacity) {
        size_t n     = space->capacity ? space->capacity * 2 : 8;
        void  *grown = realloc(space->image, n * sizeof *space->image);
        if (!grown)
            return false;
        space->image    = grown;
        space->capacity = n;
    }
    space->image[space->count++] =
        (struct space_image){image->base, image->size, hook == HOOK_IMAGE_LOAD ? time : INT64_MIN,
                             hook == HOOK_IMAGE_UNLOAD ? time : INT64_MAX, file};
    return true;
}

static bool spaces_holds(const struct space_image *i, int64_t time, uint64_t address)
{
    return address >= i->base && address - i->base < i->size && time >= i->from && time < i->to;
}

const struct space_image *spaces_find(const struct spaces *s, uint32_t pid, int64_t time, uint64_t address)
{
    struct space *space = idmap_get(&s->process, pid + UINT64_C(1));
    if (!space)
        return NULL;
    for (size_t i = space->count; i-- > 0;)
        if (spaces_holds(&space->image[i], time, address))
            return &space->image[i];
    return NULL;
}

void spaces_finish(struct spaces *s)
{
    for (size_t i = 0; i < s->process.capacity; i++) {
        struct space *space = s->process.slot[i].value;
        if (space)
            free(space->image);
        free(space);
    }
    idmap_finish(&s->process);
}
