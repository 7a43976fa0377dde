/* regpath.h - a registry path taken apart: root name spelled out, CurrentControlSet as ControlSet001.
 * Invariants  P1 count >= 1 and the first part is a root key in its full spelling
 *             P2 no part is empty, has more than 255 UTF-16 units, or holds a '\'
 * A path whose first separator is '\' is separated by '\' alone, because names may hold '/'; one that starts with '/'
 * after the root ("HKLM/SYSTEM/...") may use both.
 * Threads: pure, any. Ownership: regpath_split fills the caller's struct, regpath_finish frees what it holds. */
#ifndef REGISTRY_SIM_STORE_REGPATH_H
#define REGISTRY_SIM_STORE_REGPATH_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

enum {
    REGPATH_MAX_PARTS      = 512,
    REGPATH_MAX_NAME       = 255,
    REGPATH_MAX_VALUE_NAME = 16383
}; /* as Windows; in UTF-16 units */

struct regpath {
    char    *names; /* `count` NUL-terminated names, one after the other; malloc */
    unsigned count;
    bool     alias; /* the path named CurrentControlSet */
};

/* W_INVALID_PARAMETER with the reason: `key` is not a path; W_NOT_ENOUGH_MEMORY. `out` may be passed to regpath_finish
 * after a failure too. */
wstatus regpath_split(const char *key, struct regpath *out, struct reason *why);
void    regpath_finish(struct regpath *path);
/* The full spelling of a root key ("HKLM" or "HKEY_LOCAL_MACHINE", any case), or NULL; static. */
const char *regpath_root_get(const char *name);
/* The name after `name` in the list. */
static inline const char *regpath_next(const char *name)
{
    while (*name)
        name++;
    return name + 1;
}
/* True when `name` (UTF-8) has at most `units` UTF-16 units. */
bool regpath_name_fits(const char *name, unsigned units);
#endif
