/* rights_store.h - security descriptors where Windows keeps them: values of WMI\Security, named by GUID, REG_BINARY.
 * Threads: the controlling one. Not for: what they mean (control/rights.h), an early program, which checks none. */
#ifndef AUTOLOGGER_DAEMON_RIGHTS_STORE_H
#define AUTOLOGGER_DAEMON_RIGHTS_STORE_H
#include "autologger/control/rights.h"
#include "registry-sim/store/regstore.h"

/* Loads all of them; values whose name is no GUID, or that are invalid, are reported on stderr and left out.
 * `group_file`: as rights_group_find. A missing store counts as empty. W_NOT_ENOUGH_MEMORY. */
wstatus rights_load(wstatus (*store_open)(const char *path, bool write, struct regstore **out, struct reason *why),
                    const char *store_path, const char *group_file, struct rights **out, struct reason *why);
/* `descriptor` NULL: removes it (also when there was none). Errors: the store's. */
wstatus rights_save(struct regstore *store, const struct guid *object, const uint8_t *descriptor, size_t size,
                    struct reason *why);
#endif
