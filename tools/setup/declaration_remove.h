/* declaration_remove.h - a store's declarations by user-visible names, and the count of keys and values that an import
 * removes.
 * Threads: one. Ownership: see each. Not for: what apply declared (tools/setup/declared.h). */
#ifndef TOOLS_DECLARATION_REMOVE_H
#define TOOLS_DECLARATION_REMOVE_H
#include "registry-sim/store/regstore.h"

/* Removes a declaration with all below it: "GlobalLogger", an Autologger session "web", a provider of one
 * "web/Contoso-Web" or "web/{GUID}", or a key by its full path. W_FILE_NOT_FOUND: there is none; the reason suggests a
 * similar name. */
wstatus declaration_remove(struct regstore *store, const char *name, struct reason *why);
/* The declared sessions, "GlobalLogger" first, as "a, b"; truncated to `size`. Returns their number. */
unsigned declaration_names(struct regstore *store, char *out, size_t size);
/* Removes all sessions and the settings of [Boot]. */
wstatus declaration_remove_all(struct regstore *store, struct reason *why);

/* The keys and values of a store at one moment. */
struct store_moment;
/* NULL: no memory. The caller frees it. */
struct store_moment *store_moment_take(struct regstore *store);
void                 store_moment_free(struct store_moment *m);
/* Counts those that the store no longer has. */
void store_moment_gone(const struct store_moment *m, struct regstore *store, unsigned *keys, unsigned *values);
#endif
