/* regstore.c - forwards the functions of regstore.h to the handle's backend. */
#include "registry-sim/store/regstore.h"

#include "registry-sim/store/backend.h"

void regstore_close(struct regstore *store)
{
    if (store)
        store->ops->close(store);
}

wstatus regstore_begin(struct regstore *store, struct reason *why) { return store->ops->begin(store, why); }
wstatus regstore_commit(struct regstore *store, struct reason *why) { return store->ops->commit(store, why); }
void    regstore_rollback(struct regstore *store) { store->ops->rollback(store); }

wstatus regstore_create_key(struct regstore *store, const char *key, const char *source_file, uint32_t source_line,
                            struct reason *why)
{
    return store->ops->create_key(store, key, source_file, source_line, why);
}

wstatus regstore_delete_key(struct regstore *store, const char *key, struct reason *why)
{
    return store->ops->delete_key(store, key, why);
}

bool regstore_key_exists(struct regstore *store, const char *key) { return store->ops->key_exists(store, key); }

wstatus regstore_key_info(struct regstore *store, const char *key, struct regkey_info *out)
{
    return store->ops->key_info(store, key, out);
}

wstatus regstore_set(struct regstore *store, const char *key, const struct regvalue *value, struct reason *why)
{
    return store->ops->set(store, key, value, why);
}

wstatus regstore_get(struct regstore *store, const char *key, const char *name, struct regvalue *out)
{
    return store->ops->get(store, key, name, out);
}

wstatus regstore_delete_value(struct regstore *store, const char *key, const char *name, struct reason *why)
{
    return store->ops->delete_value(store, key, name, why);
}

wstatus regstore_rename_value(struct regstore *store, const char *key, const char *from, const char *to,
                              struct reason *why)
{
    return store->ops->rename_value(store, key, from, to, why);
}

wstatus regstore_enum_keys(struct regstore *store, const char *key, regkey_fn fn, void *ctx)
{
    return store->ops->enum_keys(store, key, fn, ctx);
}

wstatus regstore_enum_values(struct regstore *store, const char *key, regvalue_fn fn, void *ctx)
{
    return store->ops->enum_values(store, key, fn, ctx);
}
