/* snapshot.c - a sealed snapshot as a store for reading (see snapshot.h, snapshot_format.h).
 * Invariants  R1 everything is checked once, at opening; after that every index and pointer lies inside
 *             R2 a key precedes its subkeys; the subkeys of a key are a list by `next`, its values are adjacent */
#include "registry-sim/store/snapshot.h"

#include "registry-sim/base/cursor.h"
#include "registry-sim/store/backend.h"
#include "registry-sim/store/regpath.h"
#include "registry-sim/store/snapshot_format.h"
#include "registry-sim/win32/sha1.h"
#include "registry-sim/win32/utf16.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NO_KEY = 0 }; /* the first key is not a subkey */

struct key {
    struct regkey_info info;
    uint32_t           first_value, values;
    uint32_t           first_child, next; /* NO_KEY: none */
};
struct snapshot_store {
    struct regstore  base;
    char            *shown;
    uint8_t         *bytes; /* all names and data point into it */
    struct key      *keys;
    struct regvalue *values;
    uint32_t         key_count, value_count; /* from the head; while opening: the room for them */
};

static const struct regstore_ops snapshot_ops; /* at the end */

static struct snapshot_store *snapshot_self(struct regstore *store) { return (struct snapshot_store *)store; }

static wstatus snapshot_no_memory(struct reason *why)
{
    return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a boot snapshot");
}

/* ---- opening ---- */

struct snapshot_opening {
    struct snapshot_store *s;
    struct cursor          c;
    const char            *source;       /* the file of the previous place */
    uint32_t               keys, values; /* so far */
};

static wstatus snapshot_damaged(const struct snapshot_opening *o, const char *what, struct reason *why)
{
    return reason_set(why, W_INVALID_DATA, "boot snapshot %s: %s at byte %zu", o->s->shown, what, o->c.pos);
}

static wstatus take_place(struct snapshot_opening *o, const char **file, uint32_t *line)
{
    uint8_t kind = cur_u8(&o->c);

    if (kind == PLACE_NEW)
        o->source = cur_zstring(&o->c);
    *file = kind == PLACE_NONE ? NULL : o->source;
    *line = cur_u32(&o->c);
    return kind > PLACE_NEW || !cur_ok(&o->c) || (kind == PLACE_SAME && !o->source) ? W_INVALID_DATA : W_SUCCESS;
}

/* N3: W_INVALID_DATA when `name` does not follow `before` (NULL: `name` is the first). */
static wstatus check_order(const char *before, const char *name)
{
    if (!before)
        return W_SUCCESS;
    char   *a = name_fold_dup(before), *b = name_fold_dup(name);
    wstatus st = !a || !b ? W_NOT_ENOUGH_MEMORY : strcmp(a, b) < 0 ? W_SUCCESS : W_INVALID_DATA;
    free(a);
    free(b);
    return st;
}

static wstatus take_value(struct snapshot_opening *o, const char *before)
{
    struct regvalue *v = &o->s->values[o->values];

    if (o->values == o->s->value_count)
        return W_INVALID_DATA;
    v->name    = cur_zstring(&o->c);
    v->type    = cur_u32(&o->c);
    wstatus st = take_place(o, &v->source_file, &v->source_line);
    v->size    = cur_u32(&o->c);
    v->data    = cur_take(&o->c, v->size);
    if (st || !cur_ok(&o->c) || !regpath_name_fits(v->name, REGPATH_MAX_VALUE_NAME))
        return W_INVALID_DATA;
    o->values++;
    return check_order(before, v->name);
}

static bool is_key_name(const char *name)
{
    return *name && !strchr(name, '\\') && regpath_name_fits(name, REGPATH_MAX_NAME);
}

/* Takes one key with its values, not its subkeys; *children gets their number. */
static wstatus take_key(struct snapshot_opening *o, const char *before, uint32_t *children)
{
    struct key *k = &o->s->keys[o->keys];

    if (o->keys == o->s->key_count)
        return W_INVALID_DATA;
    k->info.name       = cur_zstring(&o->c);
    k->info.last_write = cur_u64(&o->c);
    wstatus st         = take_place(o, &k->info.source_file, &k->info.source_line);
    k->values          = cur_u32(&o->c);
    *children          = cur_u32(&o->c);
    k->first_value     = o->values;
    if (st || !cur_ok(&o->c) || (o->keys ? !is_key_name(k->info.name) : *k->info.name != 0))
        return W_INVALID_DATA;
    o->keys++;
    st = check_order(before, k->info.name);
    for (uint32_t i = 0; st == W_SUCCESS && i < k->values; i++)
        st = take_value(o, i ? o->s->values[o->values - 1].name : NULL);
    return st;
}

/* One level on the way down. */
struct level {
    uint32_t key, last_child, left;
};

static wstatus take_tree(struct snapshot_opening *o)
{
    struct level levels[REGPATH_MAX_PARTS + 1] = {{0}};
    unsigned     depth                         = 0;
    wstatus      st                            = take_key(o, NULL, &levels[0].left);

    while (st == W_SUCCESS) {
        struct level *l = &levels[depth];
        if (!l->left) {
            if (!depth)
                break;
            depth--;
            continue;
        }
        if (depth == REGPATH_MAX_PARTS)
            return W_INVALID_DATA;
        struct key *keys = o->s->keys;
        uint32_t    at   = o->keys, children;
        st               = take_key(o, l->last_child ? keys[l->last_child].info.name : NULL, &children);
        if (st)
            break;
        *(l->last_child ? &keys[l->last_child].next : &keys[l->key].first_child) = at;
        l->last_child                                                            = at;
        l->left--;
        levels[++depth] = (struct level){.key = at, .left = children};
    }
    return st;
}

static wstatus check_whole(struct snapshot_opening *o, const uint8_t *bytes, size_t size, struct reason *why)
{
    const void *magic   = cur_take(&o->c, 8);
    uint32_t    version = cur_u32(&o->c), said = cur_u32(&o->c);
    struct sha1 sha1;
    uint8_t     digest[SNAPSHOT_HASH];

    if (!magic || memcmp(magic, SNAPSHOT_MAGIC, 8) != 0)
        return reason_set(why, W_INVALID_DATA, "%s is not a boot snapshot", o->s->shown);
    if (cur_ok(&o->c) && version != SNAPSHOT_VERSION)
        return reason_set(why, W_NOT_SUPPORTED, "boot snapshot %s has version %u, this program knows version %d",
                          o->s->shown, version, SNAPSHOT_VERSION);
    if (!cur_ok(&o->c) || said != size || size < SNAPSHOT_HASH)
        return reason_set(why, W_INVALID_DATA, "boot snapshot %s is cut short or too long: it has %zu bytes, not %u",
                          o->s->shown, size, said);
    sha1_init(&sha1);
    sha1_update(&sha1, bytes, size - sizeof digest);
    sha1_final(&sha1, digest);
    if (memcmp(digest, bytes + size - sizeof digest, sizeof digest) != 0)
        return reason_set(why, W_INVALID_DATA, "boot snapshot %s is damaged: its checksum is wrong", o->s->shown);
    o->c.size -= sizeof digest;
    return W_SUCCESS;
}

static bool snapshot_take_text(struct cursor *c, char *out, size_t capacity)
{
    const char *text = cur_zstring(c);
    if (!text || strlen(text) >= capacity)
        return false;
    strcpy(out, text);
    return true;
}

static wstatus take_head(struct snapshot_opening *o, struct snapshot_head *head, struct reason *why)
{
    o->s->key_count     = cur_u32(&o->c);
    o->s->value_count   = cur_u32(&o->c);
    head->change_number = cur_u64(&o->c);
    head->time          = cur_u64(&o->c);
    cur_copy(&o->c, head->content, sizeof head->content);
    if (!snapshot_take_text(&o->c, head->store_path, sizeof head->store_path) ||
        !snapshot_take_text(&o->c, head->log_dir, sizeof head->log_dir))
        return snapshot_damaged(o, "the head is malformed", why);
    if (o->s->key_count > cur_left(&o->c) / SNAPSHOT_KEY_LEAST ||
        o->s->value_count > cur_left(&o->c) / SNAPSHOT_VALUE_LEAST)
        return snapshot_damaged(o, "more keys or values than there are bytes for", why);
    /* one more than needed: an allocation of 0 bytes cannot be told from a failed one */
    o->s->keys   = calloc((size_t)o->s->key_count + 1, sizeof *o->s->keys);
    o->s->values = calloc((size_t)o->s->value_count + 1, sizeof *o->s->values);
    return o->s->keys && o->s->values ? W_SUCCESS : snapshot_no_memory(why);
}

/* Takes ownership of `bytes` (malloc). */
static wstatus open_owned(uint8_t *bytes, size_t size, const char *shown, struct regstore **out,
                          struct snapshot_head *head, struct reason *why)
{
    struct snapshot_head    unused;
    struct snapshot_store  *s = calloc(1, sizeof *s);
    struct snapshot_opening o = {.s = s, .c = cur_make(bytes, size)};
    wstatus                 st;

    if (!s || !(s->shown = strdup(shown))) {
        free(bytes);
        free(s);
        return snapshot_no_memory(why);
    }
    s->base.ops = &snapshot_ops;
    s->bytes    = bytes;
    head        = head ? head : &unused;
    memset(head, 0, sizeof *head);
    st = check_whole(&o, bytes, size, why);
    if (st == W_SUCCESS)
        st = take_head(&o, head, why);
    if (st == W_SUCCESS) {
        st = take_tree(&o);
        if (st == W_SUCCESS && (cur_left(&o.c) || o.keys != s->key_count || o.values != s->value_count))
            st = W_INVALID_DATA;
        if (st)
            st = st == W_INVALID_DATA ? snapshot_damaged(&o, "a key or value is malformed", why)
                                      : snapshot_no_memory(why);
    }
    if (st)
        regstore_close(&s->base);
    else
        *out = &s->base;
    return st;
}

wstatus regstore_open_snapshot_bytes(const void *bytes, size_t size, const char *shown, struct regstore **out,
                                     struct snapshot_head *head, struct reason *why)
{
    *out = NULL;
    if (size > SNAPSHOT_MAX)
        return reason_set(why, W_INVALID_DATA, "%s has more than %d MB: it is not a boot snapshot", shown,
                          SNAPSHOT_MAX >> 20);
    uint8_t *copy = malloc(size + 1);
    if (!copy)
        return snapshot_no_memory(why);
    if (size)
        memcpy(copy, bytes, size);
    return open_owned(copy, size, shown, out, head, why);
}

/* Up to `size` bytes of the file; the number read, or -errno. */
static ssize_t snapshot_read_all(int fd, uint8_t *out, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, out + done, size - done);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)done;
}

wstatus regstore_open_snapshot(const char *path, struct regstore **out, struct snapshot_head *head, struct reason *why)
{
    struct stat st;
    wstatus     result;
    int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    *out = NULL;
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "boot snapshot %s: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > SNAPSHOT_MAX) {
        close(fd);
        return reason_set(why, W_INVALID_DATA, "%s is not a boot snapshot: no file, or more than %d MB", path,
                          SNAPSHOT_MAX >> 20);
    }
    uint8_t *bytes = malloc((size_t)st.st_size + 1);
    ssize_t  n     = bytes ? snapshot_read_all(fd, bytes, (size_t)st.st_size) : 0;
    close(fd);
    if (bytes && n >= 0)
        return open_owned(bytes, (size_t)n, path, out, head, why);
    result = bytes ? reason_set(why, wstatus_from_errno((int)-n), "boot snapshot %s: %s", path, strerror((int)-n))
                   : snapshot_no_memory(why);
    free(bytes);
    return result;
}

static void snapshot_close(struct regstore *store)
{
    struct snapshot_store *s = snapshot_self(store);
    free(s->values);
    free(s->keys);
    free(s->bytes);
    free(s->shown);
    free(s);
}

/* ---- reading ---- */

static const struct key *child_find(const struct snapshot_store *s, const struct key *parent, const char *name)
{
    for (uint32_t at = parent->first_child; at != NO_KEY; at = s->keys[at].next)
        if (name_compare(s->keys[at].info.name, name) == 0)
            return &s->keys[at];
    return NULL;
}

static wstatus snapshot_key_find(const struct snapshot_store *s, const char *path, const struct key **out)
{
    struct regpath split;
    wstatus        st   = regpath_split(path, &split, NULL);
    const char    *name = split.names;

    *out = s->keys;
    for (unsigned i = 0; st == W_SUCCESS && *out && i < split.count; i++, name = regpath_next(name))
        *out = child_find(s, *out, name);
    regpath_finish(&split);
    return st == W_SUCCESS && !*out ? W_FILE_NOT_FOUND : st;
}

static bool snapshot_key_exists(struct regstore *store, const char *key)
{
    const struct key *found;
    return snapshot_key_find(snapshot_self(store), key, &found) == W_SUCCESS;
}

static wstatus snapshot_key_info(struct regstore *store, const char *key, struct regkey_info *out)
{
    const struct key *found;
    wstatus           st = snapshot_key_find(snapshot_self(store), key, &found);
    *out                 = st == W_SUCCESS ? found->info : (struct regkey_info){.name = ""};
    return st;
}

static wstatus snapshot_get(struct regstore *store, const char *key, const char *name, struct regvalue *out)
{
    struct snapshot_store *s = snapshot_self(store);
    const struct key      *found;
    wstatus                st = snapshot_key_find(s, key, &found);

    *out = (struct regvalue){.name = ""};
    if (st != W_SUCCESS)
        return st;
    for (uint32_t i = 0; i < found->values; i++)
        if (name_compare(s->values[found->first_value + i].name, name) == 0) {
            *out = s->values[found->first_value + i];
            return W_SUCCESS;
        }
    return W_FILE_NOT_FOUND;
}

static wstatus snapshot_enum_keys(struct regstore *store, const char *key, regkey_fn fn, void *ctx)
{
    struct snapshot_store *s = snapshot_self(store);
    const struct key      *found;
    wstatus                st = snapshot_key_find(s, key, &found);

    for (uint32_t at = st == W_SUCCESS ? found->first_child : NO_KEY; st == W_SUCCESS && at != NO_KEY;
         at          = s->keys[at].next)
        st = fn(ctx, &s->keys[at].info);
    return st;
}

static wstatus snapshot_enum_values(struct regstore *store, const char *key, regvalue_fn fn, void *ctx)
{
    struct snapshot_store *s = snapshot_self(store);
    const struct key      *found;
    wstatus                st = snapshot_key_find(s, key, &found);

    for (uint32_t i = 0; st == W_SUCCESS && i < found->values; i++)
        st = fn(ctx, &s->values[found->first_value + i]);
    return st;
}

/* ---- writing: none of it ---- */

static wstatus snapshot_refused(struct regstore *store, struct reason *why)
{
    return reason_set(why, W_WRITE_PROTECT,
                      "boot snapshot %s is read-only: change the store it was made of and seal it "
                      "again",
                      snapshot_self(store)->shown);
}

static wstatus snapshot_begin(struct regstore *store, struct reason *why) { return snapshot_refused(store, why); }
static void    snapshot_rollback(struct regstore *store) { (void)store; }
static wstatus snapshot_create_key(struct regstore *store, const char *key, const char *source_file,
                                   uint32_t source_line, struct reason *why)
{
    (void)key, (void)source_file, (void)source_line;
    return snapshot_refused(store, why);
}
static wstatus snapshot_delete_key(struct regstore *store, const char *key, struct reason *why)
{
    (void)key;
    return snapshot_refused(store, why);
}
static wstatus snapshot_set(struct regstore *store, const char *key, const struct regvalue *value, struct reason *why)
{
    (void)key, (void)value;
    return snapshot_refused(store, why);
}
static wstatus snapshot_delete_value(struct regstore *store, const char *key, const char *name, struct reason *why)
{
    (void)key, (void)name;
    return snapshot_refused(store, why);
}
static wstatus snapshot_rename_value(struct regstore *store, const char *key, const char *from, const char *to,
                                     struct reason *why)
{
    (void)key, (void)from, (void)to;
    return snapshot_refused(store, why);
}

static const struct regstore_ops snapshot_ops = {
    .close        = snapshot_close,
    .begin        = snapshot_begin,
    .commit       = snapshot_begin,
    .rollback     = snapshot_rollback,
    .create_key   = snapshot_create_key,
    .delete_key   = snapshot_delete_key,
    .key_exists   = snapshot_key_exists,
    .key_info     = snapshot_key_info,
    .set          = snapshot_set,
    .get          = snapshot_get,
    .delete_value = snapshot_delete_value,
    .rename_value = snapshot_rename_value,
    .enum_keys    = snapshot_enum_keys,
    .enum_values  = snapshot_enum_values,
};
