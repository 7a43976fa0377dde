/* snapshot_pack.c - packs the boot's part of a store into bytes (see snapshot_format.h), a file, or a content hash. */
#include "registry-sim/base/cursor.h"
#include "registry-sim/store/change_number.h"
#include "registry-sim/store/regpath.h"
#include "registry-sim/store/snapshot.h"
#include "registry-sim/store/snapshot_format.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/sha1.h"
#include "registry-sim/win32/utf16.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Growing bytes, up to SNAPSHOT_MAX. */
struct bytes {
    uint8_t *data;
    size_t   size, capacity;
    wstatus  failed; /* 0, W_NOT_ENOUGH_MEMORY, W_INVALID_PARAMETER: too many */
};

/* The role of a key in a boot, which writes into some keys. */
enum snapshot_pack_role { ROLE_WMI, ROLE_BOOT, ROLE_SESSION, ROLE_PROVIDER, ROLE_OTHER };

struct packer {
    struct regstore        *from;
    struct bytes            out;
    struct bytes            path;    /* of the key at hand; its NUL follows `size` */
    char                   *source;  /* the last file that was named */
    bool                    content; /* for the content hash: no times, nothing that a boot writes itself */
    enum snapshot_pack_role role;    /* of the key at hand */
    uint32_t                keys, values;
    uint32_t                below; /* subkeys or values of the key at hand so far */
};

/* ---- bytes ---- */

static void snapshot_pack_put(struct bytes *b, const void *data, size_t size)
{
    if (b->failed)
        return;
    if (size > SNAPSHOT_MAX - b->size) {
        b->failed = W_INVALID_PARAMETER;
        return;
    }
    if (b->size + size > b->capacity) {
        size_t   room = b->capacity ? b->capacity : 1024;
        uint8_t *more;
        while (room < b->size + size)
            room *= 2;
        if (!(more = realloc(b->data, room))) {
            b->failed = W_NOT_ENOUGH_MEMORY;
            return;
        }
        b->data     = more;
        b->capacity = room;
    }
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void snapshot_pack_put_u32(struct bytes *b, uint32_t v)
{
    uint8_t       raw[4];
    struct writer w = wr_make(raw, sizeof raw);
    wr_u32(&w, v);
    snapshot_pack_put(b, raw, sizeof raw);
}
static void put_u64(struct bytes *b, uint64_t v)
{
    uint8_t       raw[8];
    struct writer w = wr_make(raw, sizeof raw);
    wr_u64(&w, v);
    snapshot_pack_put(b, raw, sizeof raw);
}
static void snapshot_pack_put_text(struct bytes *b, const char *text) { snapshot_pack_put(b, text, strlen(text) + 1); }

/* Fills in a number that was not known before. */
static void patch_u32(struct bytes *b, size_t at, uint32_t v)
{
    if (b->failed)
        return;
    struct writer w = wr_make(b->data + at, 4);
    wr_u32(&w, v);
}

static void put_place(struct packer *p, const char *file, uint32_t line)
{
    bool    same = file && p->source && strcmp(file, p->source) == 0;
    uint8_t kind = !file ? PLACE_NONE : same ? PLACE_SAME : PLACE_NEW;

    snapshot_pack_put(&p->out, &kind, 1);
    if (kind == PLACE_NEW) {
        snapshot_pack_put_text(&p->out, file);
        free(p->source);
        if (!(p->source = strdup(file)))
            p->out.failed = W_NOT_ENOUGH_MEMORY;
    }
    snapshot_pack_put_u32(&p->out, line);
}

/* Makes the path longer; on failure p->path.failed says why. */
static void path_add(struct packer *p, const char *separator, const char *name)
{
    snapshot_pack_put(&p->path, separator, strlen(separator));
    snapshot_pack_put_text(&p->path, name);
    if (!p->path.failed)
        p->path.size--; /* the NUL */
}

/* ---- keys and values ---- */

static enum snapshot_pack_role snapshot_pack_role_of(enum snapshot_pack_role parent, const char *name)
{
    switch (parent) {
    case ROLE_WMI:
        return name_compare(name, "GlobalLogger") == 0 ? ROLE_SESSION
               : name_compare(name, "Autologger") == 0 ? ROLE_BOOT
                                                       : ROLE_OTHER;
    case ROLE_BOOT: return ROLE_SESSION;
    case ROLE_SESSION: return ROLE_PROVIDER;
    default: return ROLE_OTHER;
    }
}

/* True: a boot writes this value into its own configuration. */
static bool written_by_boot(enum snapshot_pack_role role, const char *name)
{
    bool status = role == ROLE_BOOT || role == ROLE_SESSION || role == ROLE_PROVIDER;
    return (status && name_compare(name, "Status") == 0) ||
           (role == ROLE_SESSION && name_compare(name, "FileCounter") == 0);
}

static wstatus pack_value(void *ctx, const struct regvalue *v)
{
    struct packer *p = ctx;

    if (p->content && written_by_boot(p->role, v->name))
        return W_SUCCESS;
    p->below++;
    p->values++;
    snapshot_pack_put_text(&p->out, v->name);
    snapshot_pack_put_u32(&p->out, v->type);
    put_place(p, v->source_file, v->source_line);
    snapshot_pack_put_u32(&p->out, v->size);
    snapshot_pack_put(&p->out, v->data, v->size);
    return p->out.failed;
}

static wstatus pack_key(void *ctx, const struct regkey_info *info);

static void put_key_head(struct packer *p, const struct regkey_info *info)
{
    p->keys++;
    snapshot_pack_put_text(&p->out, info->name);
    put_u64(&p->out, p->content ? 0 : info->last_write);
    put_place(p, info->source_file, info->source_line);
}

/* Packs the key of p->path with all below. */
static wstatus pack_tree(struct packer *p, const struct regkey_info *info)
{
    uint32_t outer = p->below;

    put_key_head(p, info);
    size_t at = p->out.size;
    snapshot_pack_put_u32(&p->out, 0);
    snapshot_pack_put_u32(&p->out, 0);
    if (p->out.failed)
        return p->out.failed;
    p->below   = 0;
    wstatus st = regstore_enum_values(p->from, (const char *)p->path.data, pack_value, p);
    patch_u32(&p->out, at, p->below);
    p->below = 0;
    if (st == W_SUCCESS)
        st = regstore_enum_keys(p->from, (const char *)p->path.data, pack_key, p);
    patch_u32(&p->out, at + 4, p->below);
    p->below = outer;
    return st;
}

static wstatus pack_key(void *ctx, const struct regkey_info *info)
{
    struct packer          *p    = ctx;
    size_t                  size = p->path.size;
    enum snapshot_pack_role role = p->role;

    p->below++;
    p->role = snapshot_pack_role_of(role, info->name);
    path_add(p, "\\", info->name);
    if (p->path.failed)
        return p->path.failed;
    wstatus st         = pack_tree(p, info);
    p->role            = role;
    p->path.size       = size;
    p->path.data[size] = 0;
    return st;
}

/* Packs the change number under its key in a store, so that change_number_get reads it from a snapshot too. SOFTWARE
 * comes before SYSTEM (N3). */
static void pack_change_number(struct packer *p, uint64_t number)
{
    uint8_t       raw[8];
    struct writer w = wr_make(raw, sizeof raw);
    wr_u64(&w, number);
    put_key_head(p, &(struct regkey_info){.name = "SOFTWARE"});
    snapshot_pack_put_u32(&p->out, 0);
    snapshot_pack_put_u32(&p->out, 1);
    put_key_head(p, &(struct regkey_info){.name = "autologger"});
    snapshot_pack_put_u32(&p->out, 1);
    snapshot_pack_put_u32(&p->out, 0);
    pack_value(p, &(struct regvalue){.name = "ChangeNumber", .type = REG_TYPE_QWORD, .data = raw, .size = sizeof raw});
}

/* Packs the path to WMI: each key on the way by itself, then WMI whole. A missing key ends the path. */
static wstatus pack_way(struct packer *p, uint64_t change_number)
{
    struct regpath     path;
    struct regkey_info info = {.name = ""};
    wstatus            st   = regpath_split(SNAPSHOT_WMI, &path, NULL);
    const char        *name = path.names;

    for (unsigned i = 0; st == W_SUCCESS; i++, name = regpath_next(name)) {
        if (i == path.count) {
            p->role = ROLE_WMI;
            st      = pack_tree(p, &info);
            break;
        }
        put_key_head(p, &info);
        snapshot_pack_put_u32(&p->out, 0);
        path_add(p, i ? "\\" : "", name);
        if (p->out.failed || p->path.failed) {
            st = p->out.failed ? p->out.failed : p->path.failed;
            break;
        }
        st            = regstore_key_info(p->from, (const char *)p->path.data, &info);
        bool missing  = st == W_FILE_NOT_FOUND;
        bool numbered = i == 1 && change_number; /* below HKEY_LOCAL_MACHINE */
        snapshot_pack_put_u32(&p->out, (missing ? 0 : 1) + (numbered ? 1 : 0));
        if (numbered)
            pack_change_number(p, change_number);
        if (missing) {
            st = W_SUCCESS;
            break;
        }
    }
    regpath_finish(&path);
    return st ? st : p->out.failed;
}

static void packer_finish(struct packer *p)
{
    free(p->path.data);
    free(p->out.data);
    free(p->source);
}

static wstatus why_not(wstatus st, struct reason *why)
{
    if (st == W_INVALID_PARAMETER)
        return reason_set(why, st, "what is declared for boots has more than %d MB: remove sessions or providers",
                          SNAPSHOT_MAX >> 20);
    if (st == W_NOT_ENOUGH_MEMORY)
        return reason_set(why, st, "no memory for a snapshot of the store");
    return reason_set(why, st, "the store could not be read for a snapshot: %s", wstatus_text(st));
}

wstatus snapshot_content_hash(struct regstore *store, uint8_t out[SNAPSHOT_HASH], struct reason *why)
{
    struct packer      p = {.from = store, .content = true, .role = ROLE_WMI};
    struct regkey_info info;
    struct sha1        sha1;
    wstatus            st = regstore_key_info(store, SNAPSHOT_WMI, &info);

    path_add(&p, "", SNAPSHOT_WMI);
    st = st == W_SUCCESS && p.path.failed ? p.path.failed : st;
    if (st == W_SUCCESS)
        st = pack_tree(&p, &(struct regkey_info){.name = ""});
    if (st == W_FILE_NOT_FOUND)
        st = W_SUCCESS; /* nothing is declared */
    st = st ? st : p.out.failed;
    if (st == W_SUCCESS) {
        sha1_init(&sha1);
        sha1_update(&sha1, p.out.data, p.out.size);
        sha1_final(&sha1, out);
    }
    packer_finish(&p);
    return st == W_SUCCESS ? st : why_not(st, why);
}

wstatus snapshot_is_current(const struct snapshot_head *head, struct regstore *store, bool *current, struct reason *why)
{
    uint8_t now[SNAPSHOT_HASH];
    wstatus st = snapshot_content_hash(store, now, why);

    *current = st == W_SUCCESS && memcmp(now, head->content, sizeof now) == 0;
    return st;
}

static void put_head(struct packer *p, const struct snapshot_head *head)
{
    snapshot_pack_put(&p->out, SNAPSHOT_MAGIC, 8);
    snapshot_pack_put_u32(&p->out, SNAPSHOT_VERSION);
    for (int i = 0; i < 3; i++)
        snapshot_pack_put_u32(&p->out, 0); /* size, keys, values */
    put_u64(&p->out, head->change_number);
    put_u64(&p->out, head->time);
    snapshot_pack_put(&p->out, head->content, sizeof head->content);
    snapshot_pack_put_text(&p->out, head->store_path);
    snapshot_pack_put_text(&p->out, head->log_dir);
}

wstatus snapshot_pack(struct regstore *from, const struct snapshot_head *head, uint8_t **bytes, size_t *size,
                      struct reason *why)
{
    struct packer        p    = {.from = from, .role = ROLE_OTHER};
    struct snapshot_head full = *head;
    struct sha1          sha1;
    uint8_t              digest[SNAPSHOT_HASH];

    *bytes     = NULL;
    *size      = 0;
    wstatus st = snapshot_content_hash(from, full.content, why);
    if (st == W_SUCCESS)
        st = change_number_get(from, &full.change_number, why);
    if (st != W_SUCCESS)
        return st;
    put_head(&p, &full);
    st = pack_way(&p, full.change_number);
    patch_u32(&p.out, SNAPSHOT_AT_SIZE, (uint32_t)p.out.size + SNAPSHOT_HASH);
    patch_u32(&p.out, SNAPSHOT_AT_SIZE + 4, p.keys);
    patch_u32(&p.out, SNAPSHOT_AT_SIZE + 8, p.values);
    sha1_init(&sha1);
    sha1_update(&sha1, p.out.data, p.out.size);
    sha1_final(&sha1, digest);
    snapshot_pack_put(&p.out, digest, sizeof digest);
    st = st ? st : p.out.failed;
    if (st == W_SUCCESS) {
        *bytes     = p.out.data;
        *size      = p.out.size;
        p.out.data = NULL;
    }
    packer_finish(&p);
    return st == W_SUCCESS ? st : why_not(st, why);
}

/* ---- the file ---- */

/* The folder's entry has to be on the disk as well, or a power cut brings the old name back. */
static int snapshot_pack_folder_sync(struct os *os, const char *path)
{
    char        folder[4096];
    const char *slash = strrchr(path, '/');
    size_t      n     = slash ? (size_t)(slash - path) : 0;

    if (n >= sizeof folder)
        return -ENAMETOOLONG;
    memcpy(folder, path, n);
    folder[n] = 0;
    int fd    = os->open(os, !slash ? "." : n ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    int r     = fd < 0 ? fd : os->fsync(os, fd);
    if (fd >= 0)
        os->close(os, fd);
    return r;
}

static int snapshot_pack_file_put(struct os *os, const char *path, const uint8_t *bytes, size_t size)
{
    char beside[4096];

    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside)
        return -ENAMETOOLONG;
    int fd = os->open(os, beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return fd;
    int r = os_pwrite_all(os, fd, bytes, size, 0);
    if (r == 0)
        r = os->fsync(os, fd);
    int closed = os->close(os, fd);
    r          = r ? r : closed;
    if (r == 0)
        r = os->rename(os, beside, path);
    if (r < 0)
        os->unlink(os, beside);
    return r < 0 ? r : snapshot_pack_folder_sync(os, path);
}

wstatus snapshot_seal(struct os *os, struct regstore *from, const struct snapshot_head *head, const char *path,
                      struct reason *why)
{
    struct snapshot_head now = *head;
    uint8_t             *bytes;
    size_t               size;

    now.time   = filetime_from_unix_ns(os->realtime_ns(os));
    wstatus st = snapshot_pack(from, &now, &bytes, &size, why);
    if (st != W_SUCCESS)
        return st;
    int r = snapshot_pack_file_put(os, path, bytes, size);
    free(bytes);
    return r < 0 ? reason_set(why, wstatus_from_errno(-r), "boot snapshot %s: %s", path, strerror(-r)) : W_SUCCESS;
}
