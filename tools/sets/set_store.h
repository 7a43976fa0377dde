/* set_store.h - data collector sets in the store: WMI\CollectorSet\NAME with its values, and its sessions below it, each
 * with the values of an Autologger.
 * Threads: one. Ownership: collector_set_finish frees. Not for: running them (set_run.h). */
#ifndef TOOLS_SETS_SET_STORE_H
#define TOOLS_SETS_SET_STORE_H
#include "autologger/plan/values.h"
#include "registry-sim/store/key_names.h"
#include "registry-sim/store/regstore.h"

#define SETS_KEY WINPATH_WMI "\\CollectorSet"
enum { SET_NAME = 64, SET_SESSIONS = 16 };
enum set_counter { COUNT_PROCESSOR, COUNT_MEMORY, COUNT_DISK, COUNT_NETWORK, COUNT_PROCESS, SET_COUNTERS };
extern const char *const set_counter_names[SET_COUNTERS];

struct collector_set {
    char             name[SET_NAME], key[256];
    struct value_set values;
    struct key_names sessions;
    bool             counters[SET_COUNTERS];
};
/* The names of all sets. */
wstatus collector_sets(struct regstore *store, struct key_names *out, struct reason *why);
/* Letters, digits, '-', '_' and '.': it is part of names of folders and units. */
bool collector_set_name_fits(const char *name);
/* The name as the store has it; false: there is no such set. */
bool collector_set_spelling(struct regstore *store, const char *name, char out[SET_NAME]);
/* Reads and checks a set. W_NOT_FOUND: the store has no such set, and the reason suggests a similar name;
 * W_INVALID_PARAMETER: a value is wrong. */
wstatus collector_set_read(struct regstore *store, const char *name, struct collector_set *out, struct reason *why);
void    collector_set_finish(struct collector_set *s);
/* The text of a value, or "". */
const char *collector_set_text(const struct collector_set *s, enum value_id id);
/* Copies a key with all below it. */
wstatus collector_set_copy(struct regstore *from, const char *key, struct regstore *to, const char *as,
                           struct reason *why);
/* The next word of a list joined by ',', trimmed; false at the end. */
bool set_word_next(const char **list, char *word, size_t size);
#endif
