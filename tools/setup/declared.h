/* declared.h - what `apply` declared, remembered in the store so that the next apply replaces it and `clean` removes
 * it: HKLM\SOFTWARE\autologger\Applied with File, Profile, Time, and below Declared a numbered key for each key of the
 * declaration (its path as the default value, the names of its values below Names).
 * Threads: one. Ownership: declared_finish. Not for: what the declarations mean. */
#ifndef TOOLS_DECLARED_H
#define TOOLS_DECLARED_H
#include "registry-sim/store/regstore.h"

#define DECLARED_KEY "HKEY_LOCAL_MACHINE\\SOFTWARE\\autologger\\Applied"

struct declared_key {
    char    *key;   /* malloc */
    char   **names; /* of values; malloc */
    unsigned count;
    bool     own; /* a session or provider: removed with the declaration; other keys only when empty */
};
struct declared {
    struct declared_key *keys; /* malloc; a key before those below it */
    unsigned             count;
    char                *file, *profile; /* malloc or NULL; profile: the name that was given */
    uint64_t             time;           /* FILETIME */
};

/* The content of a store that holds one configuration alone. */
wstatus declared_of(struct regstore *configuration, struct declared *out, struct reason *why);
/* The record of the last apply; an empty list when there was none. */
wstatus declared_load(struct regstore *store, struct declared *out, struct reason *why);
/* Replaces what the store remembers; in the caller's transaction. */
wstatus declared_save(struct regstore *store, const struct declared *d, struct reason *why);
/* Deletes the record. No error when there is none. */
wstatus declared_forget(struct regstore *store, struct reason *why);
/* Removes the declarations from `store`. A key that `next` (may be NULL) declares, too, stays, with the values that
 * boots wrote there. */
wstatus declared_remove(struct regstore *store, const struct declared *d, const struct declared *next,
                        struct reason *why);
void    declared_finish(struct declared *d);
#endif
