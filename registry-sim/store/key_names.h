/* key_names.h - a copy of the names of a key's subkeys, so that the caller may use the store while it goes through
 * them. In the order of regstore_enum_keys. Threads: one. Ownership: load/finish; finish accepts a zeroed list. */
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
