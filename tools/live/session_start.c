/* session_start.c - see session_start.h. */
#include "tools/live/session_start.h"

#include "autologger/plan/plan.h"
#include "autologger/plan/publishers.h"
#include "registry-sim/store/key_names.h"
#include "registry-sim/store/snapshot.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/winpath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLOBAL_LOGGER "GlobalLogger"
#define AUTOLOGGERS "Autologger\\"

static wstatus session_start_no_memory(struct reason *why)
{
    return reason_set(why, W_OUTOFMEMORY, "not enough memory");
}

static char *session_start_key_of(const char *name, const char *provider)
{
    char *key = NULL;
    if (asprintf(&key, "%s\\%s%s%s%s", WINPATH_WMI, *name ? AUTOLOGGERS : GLOBAL_LOGGER, name, provider ? "\\" : "",
                 provider ? provider : "") < 0)
        return NULL;
    return key;
}

wstatus session_value_set(struct regstore *store, const char *name, const char *provider, const char *value,
                          const char *text, struct reason *why)
{
    const struct ini_vocabulary *words = plan_vocabulary();
    struct regvalue              v     = {.name = value};
    char                        *key   = session_start_key_of(name, provider);
    if (!key)
        return session_start_no_memory(why);
    wstatus st = words->parse(words->ctx, key, value, text, NULL, &v, why);
    if (!v.name)
        v.name = value;
    st = st ? st : regstore_set(store, key, &v, why);
    free((void *)(uintptr_t)v.data);
    free(key);
    return st;
}

wstatus session_mode_add(struct regstore *store, const char *name, uint32_t bits, struct reason *why)
{
    uint32_t mode = 0;
    char    *key  = session_start_key_of(name, NULL);
    wstatus  st   = key ? regstore_get_dword(store, key, "LogFileMode", &mode, why) : session_start_no_memory(why);
    if (!st || st == W_FILE_NOT_FOUND)
        st = regstore_set_dword(store, key, "LogFileMode", mode | bits, why);
    free(key);
    return st;
}

wstatus provider_guid(const char *text, struct guid *out, struct reason *why)
{
    if (*text == '{')
        return guid_parse(text, out) ? W_SUCCESS
                                     : reason_set(why, W_INVALID_PARAMETER, "\"%s\" is not a GUID in braces", text);
    if (!*text)
        return reason_set(why, W_INVALID_PARAMETER, "a provider's name or {GUID} is missing");
    *out = plan_provider_guid(text);
    return W_SUCCESS;
}

wstatus session_provider_add(struct regstore *store, const char *name, const char *text, struct reason *why)
{
    char *copy = strdup(text), *end = copy, guid[GUID_TEXT_SIZE], *part[3] = {copy};
    for (unsigned i = 1; copy && i < 3 && (end = strchr(end, ':')); i++) {
        *end++  = 0;
        part[i] = end;
    }
    struct guid g;
    wstatus     st = copy ? provider_guid(part[0], &g, why) : session_start_no_memory(why);
    if (!st) {
        guid_format(&g, guid);
        st = session_value_set(store, name, guid, "Enabled", "yes", why);
    }
    if (!st && *part[0] != '{')
        st = session_value_set(store, name, guid, "ProviderFriendlyName", part[0], why);
    if (!st && part[1] && *part[1])
        st = session_value_set(store, name, guid, "EnableLevel", part[1], why);
    if (!st && part[2] && *part[2])
        st = session_value_set(store, name, guid, "MatchAnyKeyword", part[2], why);
    free(copy);
    return st;
}

/* ---- of a configuration ---- */

static bool session_start_starts(struct regstore *store, const char *below)
{
    char    *key = NULL;
    uint32_t on  = 0;
    bool     yes = asprintf(&key, "%s\\%s", WINPATH_WMI, below) >= 0 &&
               regstore_get_dword(store, key, "Start", &on, NULL) == W_SUCCESS && on;
    free(key);
    return yes;
}

wstatus session_declared(struct regstore *store, char ***keys, struct reason *why)
{
    struct key_names names = {0};
    unsigned         n     = 0;
    wstatus          st    = key_names_load(store, WINPATH_WMI "\\Autologger", &names);
    if (st && st != W_FILE_NOT_FOUND)
        return reason_set(why, st, "the sessions could not be listed");
    char **all = calloc(names.count + 2, sizeof *all);
    if (all && session_start_starts(store, GLOBAL_LOGGER))
        all[n++] = strdup(GLOBAL_LOGGER);
    for (unsigned i = 0; all && i < names.count; i++) {
        char *below = NULL;
        if (asprintf(&below, "%s%s", AUTOLOGGERS, names.names[i]) >= 0 && session_start_starts(store, below))
            all[n++] = below;
        else
            free(below);
    }
    key_names_finish(&names);
    *keys = all;
    return all ? W_SUCCESS : session_start_no_memory(why);
}

void session_declared_free(char **keys)
{
    for (unsigned i = 0; keys && keys[i]; i++)
        free(keys[i]);
    free(keys);
}

struct session_start_copying {
    struct regstore *to;
    const char      *key;
    struct reason   *why;
};

static wstatus value_copy(void *ctx, const struct regvalue *value)
{
    struct session_start_copying *c = ctx;
    return regstore_set(c->to, c->key, value, c->why);
}

/* Copies the key, its values and all below it, with the places of their declarations. */
static wstatus copy_below(struct regstore *from, struct regstore *to, const char *key, struct reason *why)
{
    struct session_start_copying c    = {to, key, why};
    struct regkey_info           info = {0};
    struct key_names             names;
    regstore_key_info(from, key, &info);
    char   *file = info.source_file ? strdup(info.source_file) : NULL;
    wstatus st   = regstore_create_key(to, key, file, info.source_line, why);
    free(file);
    st = st ? st : regstore_enum_values(from, key, value_copy, &c);
    if (st || (st = key_names_load(from, key, &names)))
        return st;
    for (unsigned i = 0; !st && i < names.count; i++) {
        char *below = NULL;
        st          = asprintf(&below, "%s\\%s", key, names.names[i]) < 0 ? session_start_no_memory(why)
                                                                          : copy_below(from, to, below, why);
        free(below);
    }
    key_names_finish(&names);
    return st;
}

wstatus session_start_declared(struct control_client *c, struct regstore *store, const char *key,
                               struct ctl_update_answer *out, struct reason *why)
{
    const struct snapshot_head head  = {.change_number = 0};
    struct regstore           *one   = NULL;
    uint8_t                   *bytes = NULL;
    size_t                     size  = 0;
    char                      *full  = NULL;
    wstatus                    st    = asprintf(&full, "%s\\%s", WINPATH_WMI, key) < 0 ? session_start_no_memory(why)
                                                                                       : regstore_open_memory(&one, why);
    st                               = st ? st : copy_below(store, one, full, why);
    st                               = st ? st : snapshot_pack(one, &head, &bytes, &size, why);
    st                               = st ? st : control_start(c, bytes, size, out, why);
    free(bytes);
    regstore_close(one);
    free(full);
    return st;
}
