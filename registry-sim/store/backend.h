/* backend.h - the interface of a store's implementation behind regstore.h: a table of functions with the contracts of
 * that header. A backend's own struct begins with a struct regstore, so that a handle points to either.
 * Invariants  B1 every entry of a table is set; an unsupported function returns a Status with its reason
 * Threads, ownership: as in regstore.h. Not for: users of a store. */
#ifndef REGISTRY_SIM_STORE_BACKEND_H
#define REGISTRY_SIM_STORE_BACKEND_H
#include "registry-sim/store/regstore.h"

struct regstore_ops {
    void (*close)(struct regstore *store); /* frees the handle; never called with NULL */
    wstatus (*begin)(struct regstore *store, struct reason *why);
    wstatus (*commit)(struct regstore *store, struct reason *why);
    void (*rollback)(struct regstore *store);
    wstatus (*create_key)(struct regstore *store, const char *key, const char *source_file, uint32_t source_line,
                          struct reason *why);
    wstatus (*delete_key)(struct regstore *store, const char *key, struct reason *why);
    bool (*key_exists)(struct regstore *store, const char *key);
    wstatus (*key_info)(struct regstore *store, const char *key, struct regkey_info *out);
    wstatus (*set)(struct regstore *store, const char *key, const struct regvalue *value, struct reason *why);
    wstatus (*get)(struct regstore *store, const char *key, const char *name, struct regvalue *out);
    wstatus (*delete_value)(struct regstore *store, const char *key, const char *name, struct reason *why);
    wstatus (*rename_value)(struct regstore *store, const char *key, const char *from, const char *to,
                            struct reason *why);
    wstatus (*enum_keys)(struct regstore *store, const char *key, regkey_fn fn, void *ctx);
    wstatus (*enum_values)(struct regstore *store, const char *key, regvalue_fn fn, void *ctx);
};
struct regstore {
    const struct regstore_ops *ops;
};
#endif
