/* units_wanted.c - does a boot trace systemd's units? See plan.h. */
#include "autologger/plan/plan.h"
#include "registry-sim/store/key_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        struct key_names providers = {0};
        if (!is_set(store, keys[i], "Start") || key_names_load(store, keys[i], &providers))
            continue;
        for (unsigned k = 0; k < providers.count; k++)
            wanted |= is_units(store, keys[i], providers.names[k]);
        key_names_finish(&providers);
    }
    return wanted;
}
