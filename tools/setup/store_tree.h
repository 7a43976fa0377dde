/* store_tree.h - stores as trees: copies one, and computes the changes that turn one into another. autologger's own
 * keys (HKLM\SOFTWARE\autologger: history, what was applied) are excluded.
 * Threads: one. Ownership: tree_changes_finish. Not for: what values mean. */
#ifndef TOOLS_STORE_TREE_H
#define TOOLS_STORE_TREE_H
#include "registry-sim/store/regstore.h"
#include "tools/base/json_out.h"

#define STORE_TREE_OWN "HKEY_LOCAL_MACHINE\\SOFTWARE\\autologger"

enum tree_change_kind {
    TREE_ADDED,
    TREE_REMOVED,
    TREE_CHANGED,
    TREE_MOVED /* only the source file or line of the declaration changed */
};
struct tree_change {
    enum tree_change_kind kind;
    bool                  is_key;         /* a removed key includes everything below it, which is not listed */
    char                 *key, *name;     /* name: NULL for a key */
    char                 *before, *after; /* the value as people write it, or NULL */
};
struct tree_changes {
    struct tree_change *items; /* malloc; a key before its content */
    unsigned            count, capacity;
};

/* Copies all of `from` into `to`, with the source files and lines of its declarations. */
wstatus store_tree_copy(struct regstore *from, struct regstore *to, struct reason *why);
/* The changes that turn `before` into `after`. */
wstatus store_tree_compare(struct regstore *before, struct regstore *after, struct tree_changes *out,
                           struct reason *why);
/* Makes the changes in `before`, in its open transaction; values come from `after`. */
wstatus store_tree_follow(struct regstore *before, struct regstore *after, const struct tree_changes *changes,
                          struct reason *why);
void    tree_changes_finish(struct tree_changes *changes);
/* The number of changes shown: without TREE_MOVED and keys that only lead to a declaration. */
unsigned tree_changes_seen(const struct tree_changes *changes);
/* Lines "+ [Autologger/web]", "~   BufferSize = 64 KB -> 128 KB", "-   ...". */
void tree_changes_print(const struct tree_changes *changes, FILE *to);
/* An array "changes" of {change, key, value, before, after}. */
void tree_changes_json(const struct tree_changes *changes, struct json *j);
#endif
