/* units_wanted.c - does a boot trace systemd's units? See plan.h. */
#include "autologger/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct names {
    char   **items;
    unsigned count;
};

/* Only names: the store may not be asked for more while it enumerates. */
static wstatus name_add(void *ctx, const struct regkey_info *info)
{
    struct names *n     = ctx;
    char        **items = realloc(n->items, (n->count + 1) * sizeof *items);
    if (!items)
        return W_OUTOFMEMORY;
    n->items = items;
    if (!(items[n->count] = strdup(info->name)))
        return W_OUTOFMEMORY;
    n->count++;
    return W_SUCCESS;
}

static bool is_set(struct regstore *store, const char *key, const char *value)
{
    uint32_t      number = 0;
    struct reason ignored;
    return regstore_get_dword(store, key, value, &number, &ignored) == W_SUCCESS && number != 0;
}

static bool is_units(struct regstore *store, const char *session, const char *provider)
{
    static const struct guid manager = UNITS_GUID;
    struct guid              guid;
    struct reason            ignored;
    char                    *key = NULL, *unit = NULL;
    bool                     wanted = false;

    if (asprintf(&key, "%s\\%s", session, provider) < 0)
        return false;
    if (guid_parse_braced(provider, &guid) && is_set(store, key, "Enabled"))
        wanted = memcmp(&guid, &manager, sizeof guid) == 0 ||
                 (regstore_get_string_dup(store, key, "Unit", &unit, &ignored) == W_SUCCESS && unit && *unit);
    free(unit);
    free(key);
    return wanted;
}

bool plan_units_wanted(struct regstore *store, char *const *keys, unsigned count)
{
    bool wanted = false;

    for (unsigned i = 0; i < count && !wanted; i++) {
        struct names providers = {0};
        if (!is_set(store, keys[i], "Start"))
            continue;
        regstore_enum_keys(store, keys[i], name_add, &providers);
        for (unsigned k = 0; k < providers.count; k++) {
            wanted |= is_units(store, keys[i], providers.items[k]);
            free(providers.items[k]);
        }
        free(providers.items);
    }
    return wanted;
}
