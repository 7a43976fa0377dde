/* key_names.c - see key_names.h. */
#include "registry-sim/store/key_names.h"

#include <stdlib.h>
#include <string.h>

static wstatus key_names_take(void *ctx, const struct regkey_info *info)
{
    struct key_names *n = ctx;
    if (n->count == n->capacity) {
        unsigned more  = n->capacity ? n->capacity * 2 : 16;
        char   **names = realloc(n->names, more * sizeof *names);
        if (!names)
            return W_OUTOFMEMORY;
        n->names    = names;
        n->capacity = more;
    }
    if (!(n->names[n->count] = strdup(info->name)))
        return W_OUTOFMEMORY;
    n->count++;
    return W_SUCCESS;
}

wstatus key_names_load(struct regstore *store, const char *key, struct key_names *out)
{
    *out       = (struct key_names){0};
    wstatus st = regstore_enum_keys(store, key, key_names_take, out);
    if (st)
        key_names_finish(out);
    return st;
}

void key_names_finish(struct key_names *n)
{
    for (unsigned i = 0; i < n->count; i++)
        free(n->names[i]);
    free(n->names);
    *n = (struct key_names){0};
}
