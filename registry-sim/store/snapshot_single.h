/* snapshot_single.h - makes the sealed snapshot of a store with a single key, without a store: for programs without
 * SQLite that ask the daemon to start a session. Threads: any. Not for: whole stores (snapshot_pack). */
#ifndef REGISTRY_SIM_STORE_SNAPSHOT_SINGLE_H
#define REGISTRY_SIM_STORE_SNAPSHOT_SINGLE_H
#include "registry-sim/store/regstore.h"

/* `below`: the key's path below WMI, its parts separated by '\', such as "Autologger\web". `values` are sorted in
 * place; their names are unique. *bytes is malloc. W_NOT_ENOUGH_MEMORY; W_INVALID_PARAMETER more than SNAPSHOT_MAX
 * bytes. */
wstatus snapshot_single(const char *below, struct regvalue *values, unsigned count, uint8_t **bytes, size_t *size,
                        struct reason *why);
#endif
