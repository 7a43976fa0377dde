/* key_names.h - the names of the keys below a key, taken out of the store so that the store may be asked again
 * meanwhile. In the order of regstore_enum_keys. Threads: one. Ownership: load/finish; finish is fine with a zeroed
 * list. */
#ifndef REGISTRY_SIM_STORE_KEY_NAMES_H
#define REGISTRY_SIM_STORE_KEY_NAMES_H
#include "registry-sim/store/regstore.h"

struct key_names {
    char   **names; /* malloc */
    unsigned count, capacity;
};
/* W_FILE_NOT_FOUND when there is no such key. */
wstatus key_names_load(struct regstore *store, const char *key, struct key_names *out);
void    key_names_finish(struct key_names *n);
#endif
