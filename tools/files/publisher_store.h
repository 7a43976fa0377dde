/* publisher_store.h - installed providers in the store, where Windows has them: WINEVT\Publishers\{guid} with the name,
 * the files and the channels. Their event descriptions are beside the store, in the folder "publishers"
 * (autologger/schema/publishers.h).
 * Threads: one. Ownership: see each. Not for: reading manifests. */
#ifndef TOOLS_PUBLISHER_STORE_H
#define TOOLS_PUBLISHER_STORE_H
#include "autologger/schema/manifest.h"
#include "autologger/schema/publishers.h"
#include "registry-sim/store/regstore.h"

#define PUBLISHERS_KEY "HKEY_LOCAL_MACHINE\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WINEVT\\Publishers"

struct publisher_files {
    const char *resource, *message, *parameter; /* override the manifest's; NULL: no override */
};
/* Writes the key of a provider; replaces an older one. Within the caller's transaction. */
wstatus publisher_put(struct regstore *store, const struct manifest *m, const struct manifest_provider *p,
                      const struct publisher_files *files, const char *metadata, struct reason *why);
/* W_NOT_FOUND: it is not installed. */
wstatus publisher_remove(struct regstore *store, const struct guid *guid, struct reason *why);
/* By name (case-insensitive) or "{guid}". W_NOT_FOUND: it is not installed; the reason suggests a similar name. `name`
 * may be NULL; *name is malloc. */
wstatus publisher_find(struct regstore *store, const char *which, struct guid *guid, char **name, struct reason *why);
/* All, in the order of GUIDs; a non-zero return ends it. No provider is no failure. */
typedef wstatus (*publisher_fn)(void *ctx, const struct guid *guid, const char *name);
wstatus publisher_each(struct regstore *store, publisher_fn fn, void *ctx);
#endif
