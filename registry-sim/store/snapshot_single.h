/* snapshot_single.h - the sealed snapshot of a store that declares one key and nothing else, made without a store: for
 * programs that have no SQLite and ask the daemon to start a session. Threads: any. Not for: whole stores
 * (snapshot_pack). */
#ifndef REGISTRY_SIM_STORE_SNAPSHOT_SINGLE_H
#define REGISTRY_SIM_STORE_SNAPSHOT_SINGLE_H
#include "registry-sim/store/regstore.h"

/* `below`: the key's path below WMI, its parts separated by '\', such as "Autologger\web". `values` are put in order;
 * no two have one name. *bytes is malloc. W_NOT_ENOUGH_MEMORY; W_INVALID_PARAMETER more than SNAPSHOT_MAX bytes. */
wstatus snapshot_single(const char *below, struct regvalue *values, unsigned count, uint8_t **bytes, size_t *size,
                        struct reason *why);
#endif
