/* Any bytes as a sealed snapshot, as they are and with a right checksum and size (an attacker who writes the file can
 * make both): no crash, no leak, no hang, and whatever opens reads like a store. */
#include "registry-sim/base/cursor.h"
#include "registry-sim/store/snapshot.h"
#include "registry-sim/store/snapshot_format.h"
#include "registry-sim/win32/sha1.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct walk {
    struct regstore *store;
    char             path[4096];
    unsigned         left; /* a deep tree is walked only so far: each step looks its path up from the root */
};

static wstatus value_seen(void *ctx, const struct regvalue *v)
{
    struct walk    *w = ctx;
    struct regvalue found;
    if (!w->left || !--w->left)
        return W_CANCELLED;
    if (regstore_get(w->store, w->path, v->name, &found) != W_SUCCESS || found.data != v->data)
        abort();
    return W_SUCCESS;
}

static wstatus key_seen(void *ctx, const struct regkey_info *info)
{
    struct walk *w = ctx;
    size_t       n = strlen(w->path), more = strlen(info->name);
    if (!w->left || !--w->left || n + more + 2 > sizeof w->path)
        return W_CANCELLED;
    w->path[n] = '\\';
    memcpy(w->path + n + 1, info->name, more + 1);
    wstatus st = regstore_enum_values(w->store, w->path, value_seen, w);
    if (st == W_SUCCESS)
        st = regstore_enum_keys(w->store, w->path, key_seen, w);
    w->path[n] = 0;
    return st;
}

static void try_bytes(const uint8_t *data, size_t size)
{
    struct walk          w = {.left = 2000};
    struct snapshot_head head;
    uint8_t              hash[SNAPSHOT_HASH];
    wstatus              st = regstore_open_snapshot_bytes(data, size, "fuzz", &w.store, &head, NULL);
    if ((st == W_SUCCESS) != (w.store != NULL))
        abort();
    if (st)
        return;
    strcpy(w.path, "HKEY_LOCAL_MACHINE");
    if (regstore_enum_values(w.store, w.path, value_seen, &w) == W_SUCCESS)
        regstore_enum_keys(w.store, w.path, key_seen, &w);
    snapshot_content_hash(w.store, hash, NULL);
    regstore_close(w.store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > SNAPSHOT_MAX)
        return 0;
    try_bytes(data, size);
    if (size < SNAPSHOT_AT_SIZE + 4 + SNAPSHOT_HASH)
        return 0;
    uint8_t *bytes = malloc(size);
    if (!bytes)
        return 0;
    struct sha1   sha1;
    struct writer w = wr_make(bytes, size);
    wr_bytes(&w, data, size);
    w.pos = 0;
    wr_bytes(&w, SNAPSHOT_MAGIC, 8);
    wr_u32(&w, SNAPSHOT_VERSION);
    wr_u32(&w, (uint32_t)size);
    sha1_init(&sha1);
    sha1_update(&sha1, bytes, size - SNAPSHOT_HASH);
    sha1_final(&sha1, bytes + size - SNAPSHOT_HASH);
    try_bytes(bytes, size);
    free(bytes);
    return 0;
}
