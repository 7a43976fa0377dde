/* publishers.h - the folder of installed manifests: one file {guid}.alm a provider, in the binary form
 * (manifest_pack.h), readable by all, so that readers of traces need no rights to the store. The store has the list of
 * installed ones (tools/files/publisher_store.h).
 * Threads: one per struct. Ownership: the caller's; texts are borrowed. Not for: names of providers to GUIDs. */
#ifndef AUTOLOGGER_SCHEMA_PUBLISHERS_H
#define AUTOLOGGER_SCHEMA_PUBLISHERS_H
#include "autologger/schema/manifest.h"
#include "autologger/schema/set.h"

#define PUBLISHERS_DEFAULT "/var/lib/autologger/publishers"
enum { PUBLISHERS_PATH = 1024 };

struct publishers {
    const char   *folder;
    const char   *culture; /* as manifest_culture_find takes it */
    unsigned      read;    /* manifests that were read */
    unsigned      failed;  /* that could not be read; the first, in words: */
    struct reason why;
};
/* The folder: $AUTOLOGGER_PUBLISHERS where it is set, else PUBLISHERS_DEFAULT. */
const char *publishers_folder(void);
/* The folder beside a store: "/x/registry.db" -> "/x/publishers"; $AUTOLOGGER_PUBLISHERS wins. Returns `out`. */
const char *publishers_beside(const char *store, char out[PUBLISHERS_PATH]);
/* The user's culture: `given`, else that of LC_ALL, LC_MESSAGES or LANG; NULL where none is set. */
const char *publishers_culture(const char *given);
/* A schema_set_asker; ctx: struct publishers. */
void publishers_ask(void *ctx, struct schema_set *set, const struct guid *guid);
/* Adds all installed manifests that are not in the set yet, for listings. */
void publishers_ask_all(struct publishers *p, struct schema_set *set);
/* One provider's manifest. W_FILE_NOT_FOUND: it is not installed; others by errno; W_INVALID_DATA. */
wstatus publishers_load(const char *folder, const struct guid *guid, struct manifest **out, struct reason *why);
/* Writes one provider of a manifest: whole or not at all. Makes the folder. */
wstatus publishers_save(const char *folder, const struct manifest *m, unsigned provider, struct reason *why);
/* W_SUCCESS also when there is none. */
wstatus publishers_remove(const char *folder, const struct guid *guid, struct reason *why);
/* The path of a provider's file. */
const char *publishers_path(const char *folder, const struct guid *guid, char out[PUBLISHERS_PATH]);
#endif
