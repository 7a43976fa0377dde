/* publisher_store.h - installed providers in the store, where Windows has them: WINEVT\Publishers\{guid} with the name,
 * the files and the channels. What describes their events is beside the store, in the folder "publishers"
 * (autologger/schema/publishers.h).
 * Threads: one. Ownership: see each. Not for: reading manifests. */
#ifndef TOOLS_PUBLISHER_STORE_H
#define TOOLS_PUBLISHER_STORE_H
#include "autologger/schema/manifest.h"
#include "autologger/schema/publishers.h"
#include "registry-sim/store/regstore.h"

#define PUBLISHERS_KEY "HKEY_LOCAL_MACHINE\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WINEVT\\Publishers"

struct publisher_files {
    const char *resource, *message, *parameter; /* instead of what the manifest names; NULL: that */
};
/* Writes the key of a provider, in place of what it had. Within the caller's transaction. */
wstatus publisher_put(struct regstore *store, const struct manifest *m, const struct manifest_provider *p,
                      const struct publisher_files *files, const char *metadata, struct reason *why);
/* W_NOT_FOUND: it is not installed. */
wstatus publisher_remove(struct regstore *store, const struct guid *guid, struct reason *why);
/* By name (without case) or "{guid}". W_NOT_FOUND: it is not installed; the reason names what is near. The name is
 * malloc, or NULL is passed. */
wstatus publisher_find(struct regstore *store, const char *which, struct guid *guid, char **name, struct reason *why);
/* All, in the order of GUIDs; a non-zero return ends it. None is no failure. */
typedef wstatus (*publisher_fn)(void *ctx, const struct guid *guid, const char *name);
wstatus publisher_each(struct regstore *store, publisher_fn fn, void *ctx);
#endif
