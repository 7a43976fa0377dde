/* convert_filename.c - the names of files: each key (filekey.h) used in an event gets one FileIo name event, before the
 * first event that uses it, and once more at the stop (readers of a wrapped file need it). See convert.h. An inode
 * number is reused when its file is gone: a new name gets a new event. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/cursor.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1 << 18 };
struct file_name {
    bool told;
    char text[];
};
struct part_filename {
    struct idmap name; /* by key */
};

void part_filename_finish(struct convert *c)
{
    if (!c->filename)
        return;
    for (size_t i = 0; i < c->filename->name.capacity; i++)
        free(c->filename->name.slot[i].value);
    idmap_finish(&c->filename->name);
    free(c->filename);
    c->filename = NULL;
}

static void name_event(struct convert *c, unsigned cpu, uint64_t key, const char *path, uint16_t hook, uint64_t *time)
{
    struct writer w = wr_make(c->scratch, SCRATCH / 2);
    wr_u64(&w, key);
    wr_path(&w, path);
    emit(c, &(struct event){cpu, hook, ETL_PERFINFO64, 2, 0, 0}, time, c->scratch, w.pos);
}

void file_name_keep(struct convert *c, uint64_t key, const char *path)
{
    if (!c->filename && !(c->filename = calloc(1, sizeof *c->filename)))
        return;
    struct idmap     *names = &c->filename->name;
    struct file_name *old   = idmap_get(names, key);
    if (!key || (old && strcmp(old->text, path) == 0) || (!old && names->count >= NAMES_MAX))
        return;
    size_t n              = strlen(path) + 1;
    struct file_name *new = malloc(sizeof *new + n);
    if (!new)
        return;
    new->told = false;
    memcpy(new->text, path, n);
    if (!idmap_put(names, key, new)) {
        free(new);
        return;
    }
    free(old);
}

void file_name_tell(struct convert *c, unsigned cpu, uint64_t key, uint64_t *time)
{
    struct file_name *n = c->filename && key ? idmap_get(&c->filename->name, key) : NULL;
    if (!n || n->told)
        return;
    n->told = true;
    name_event(c, cpu, key, n->text, HOOK_FILE_NAME_CREATE, time);
}

const char *file_name_text(const struct convert *c, uint64_t key)
{
    const struct file_name *n = c->filename && key ? idmap_get(&c->filename->name, key) : NULL;
    return n ? n->text : NULL;
}

void file_name_forget(struct convert *c, unsigned cpu, uint64_t key, uint64_t *time)
{
    struct file_name *n = c->filename && key ? idmap_remove(&c->filename->name, key) : NULL;
    if (n && n->told)
        name_event(c, cpu, key, n->text, HOOK_FILE_NAME_DELETE, time);
    free(n);
}

void file_names_stop(struct convert *c, uint64_t *time)
{
    for (size_t i = 0; c->filename && i < c->filename->name.capacity; i++) {
        const struct idmap_slot *s = &c->filename->name.slot[i];
        if (s->value && ((const struct file_name *)s->value)->told)
            name_event(c, 0, s->key, ((const struct file_name *)s->value)->text, HOOK_FILE_NAME_RUNDOWN, time);
    }
}

void part_filename_put(const struct convert *c, struct sink *s)
{
    const struct idmap *names = c->filename ? &c->filename->name : NULL;
    uint64_t            count = names ? names->count : 0;
    snapshot_put(s, &count, sizeof count);
    for (size_t i = 0; names && i < names->capacity; i++) {
        const struct file_name *n    = names->slot[i].value;
        uint8_t                 told = n && n->told;
        if (!n)
            continue;
        snapshot_put(s, &names->slot[i].key, sizeof names->slot[i].key);
        snapshot_put(s, &told, sizeof told);
        snapshot_put(s, n->text, strlen(n->text) + 1);
    }
}

bool part_filename_get(struct convert *c, struct cursor *cur)
{
    uint64_t count = cur_u64(cur);
    if (count > NAMES_MAX)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t    key  = cur_u64(cur);
        uint8_t     told = cur_u8(cur);
        const char *text = cur_zstring(cur);
        if (!text)
            return false;
        file_name_keep(c, key, text);
        struct file_name *n = c->filename ? idmap_get(&c->filename->name, key) : NULL;
        if (!n)
            return false;
        n->told = told;
    }
    return true;
}
