/* declaration_remove.c - see declaration_remove.h. */
#include "tools/setup/declaration_remove.h"
#include "autologger/plan/publishers.h"
#include "registry-sim/base/nearest.h"
#include "registry-sim/store/key_names.h"
#include "registry-sim/text/winpath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GLOBAL_LOGGER WINPATH_WMI "\\GlobalLogger"
#define AUTOLOGGERS WINPATH_WMI "\\Autologger"
enum { KEY_MAX = 1024, LETTERS_OFF = 3 };

/* ---- by name ---- */

/* "web", "web/Contoso-Web" or a full path, as a path; false: too long. */
static bool declaration_remove_key_of(const char *name, char out[KEY_MAX])
{
    const char *slash = strchr(name, '/');
    char        guid[GUID_TEXT_SIZE];
    int         n;
    if (strncasecmp(name, "HKEY_", 5) == 0 || strncasecmp(name, "HKLM\\", 5) == 0)
        n = snprintf(out, KEY_MAX, "%s", name);
    else if (strcasecmp(name, "GlobalLogger") == 0)
        n = snprintf(out, KEY_MAX, "%s", GLOBAL_LOGGER);
    else if (!slash)
        n = snprintf(out, KEY_MAX, "%s\\%s", AUTOLOGGERS, name);
    else if (slash[1] == '{')
        n = snprintf(out, KEY_MAX, "%s\\%.*s\\%s", AUTOLOGGERS, (int)(slash - name), name, slash + 1);
    else {
        const struct guid provider = plan_provider_guid(slash + 1);
        n                          = snprintf(out, KEY_MAX, "%s\\%.*s\\%s", AUTOLOGGERS, (int)(slash - name), name,
                                              guid_format(&provider, guid));
    }
    return n > 0 && n < KEY_MAX;
}

/* Finds a provider whose GUID is not its name's, by the declaration's ProviderFriendlyName. */
static bool named_provider(struct regstore *store, const char *name, char out[KEY_MAX])
{
    const char      *slash = strchr(name, '/');
    struct key_names below;
    char             session[KEY_MAX];
    bool             found = false;
    if (!slash ||
        snprintf(session, sizeof session, "%s\\%.*s", AUTOLOGGERS, (int)(slash - name), name) >= (int)sizeof session ||
        key_names_load(store, session, &below))
        return false;
    for (unsigned i = 0; i < below.count && !found; i++) {
        char *friendly = NULL;
        if (snprintf(out, KEY_MAX, "%s\\%s", session, below.names[i]) < KEY_MAX &&
            !regstore_get_string_dup(store, out, "ProviderFriendlyName", &friendly, NULL))
            found = friendly && strcasecmp(friendly, slash + 1) == 0;
        free(friendly);
    }
    key_names_finish(&below);
    return found;
}

static wstatus none_of_that_name(struct regstore *store, const char *name, struct reason *why)
{
    struct key_names names = {0};
    struct nearest   near  = nearest_make(name, LETTERS_OFF);
    char             all[256];
    nearest_try(&near, "GlobalLogger");
    if (!key_names_load(store, AUTOLOGGERS, &names))
        for (unsigned i = 0; i < names.count; i++)
            nearest_try(&near, names.names[i]);
    const unsigned count = declaration_names(store, all, sizeof all);
    wstatus st = reason_set(why, W_FILE_NOT_FOUND, "nothing is declared as \"%s\"%s%s%s Do: name one of: %s", name,
                            near.found ? "; did you mean \"" : "", near.found ? near.found : "",
                            near.found ? "\"?" : ".", count ? all : "(nothing is declared)");
    key_names_finish(&names);
    return st;
}

wstatus declaration_remove(struct regstore *store, const char *name, struct reason *why)
{
    char key[KEY_MAX];
    if (!declaration_remove_key_of(name, key))
        return reason_set(why, W_FILENAME_EXCED_RANGE, "the name has more than %d bytes", KEY_MAX - 1);
    if (!*name || (!regstore_key_exists(store, key) && !named_provider(store, name, key)))
        return none_of_that_name(store, name, why);
    return regstore_delete_key(store, key, why);
}

/* ---- all ---- */

static void declaration_remove_add(char *out, size_t size, const char *name)
{
    const size_t used = strlen(out);
    snprintf(out + used, size - used, "%s%s", used ? ", " : "", name);
}

unsigned declaration_names(struct regstore *store, char *out, size_t size)
{
    struct key_names names = {0};
    unsigned         count = 0;
    *out                   = 0;
    if (regstore_key_exists(store, GLOBAL_LOGGER)) {
        declaration_remove_add(out, size, "GlobalLogger");
        count++;
    }
    if (!key_names_load(store, AUTOLOGGERS, &names))
        for (unsigned i = 0; i < names.count; i++, count++)
            declaration_remove_add(out, size, names.names[i]);
    key_names_finish(&names);
    return count;
}

wstatus declaration_remove_all(struct regstore *store, struct reason *why)
{
    static const char *const keys[] = {GLOBAL_LOGGER, AUTOLOGGERS};
    wstatus                  st     = W_SUCCESS;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !st; i++)
        if (regstore_key_exists(store, keys[i]))
            st = regstore_delete_key(store, keys[i], why);
    return st;
}

/* ---- what was removed ---- */

struct store_moment {
    struct declaration_remove_entry {
        char *key, *value; /* value NULL: the key itself */
    } * at;
    unsigned count;
    bool     failed;
};

static void entry_add(struct store_moment *m, const char *key, const char *value)
{
    struct declaration_remove_entry *more = m->failed ? NULL : realloc(m->at, (m->count + 1) * sizeof *more);
    if (!more) {
        m->failed = true;
        return;
    }
    m->at          = more;
    more[m->count] = (struct declaration_remove_entry){strdup(key), value ? strdup(value) : NULL};
    m->failed |= !more[m->count].key || (value && !more[m->count].value);
    m->count++;
}

struct walking {
    struct store_moment *m;
    const char          *key;
};

static wstatus value_seen(void *ctx, const struct regvalue *value)
{
    struct walking *w = ctx;
    entry_add(w->m, w->key, value->name);
    return W_SUCCESS;
}

static void declaration_remove_walk(struct store_moment *m, struct regstore *store, const char *key, bool root)
{
    struct walking   w = {m, key};
    struct key_names names;
    if (key_names_load(store, key, &names))
        return;
    if (!root)
        entry_add(m, key, NULL);
    regstore_enum_values(store, key, value_seen, &w);
    for (unsigned i = 0; i < names.count; i++) {
        char *below = NULL;
        if (asprintf(&below, "%s\\%s", key, names.names[i]) < 0) {
            m->failed = true;
            break;
        }
        declaration_remove_walk(m, store, below, false);
        free(below);
    }
    key_names_finish(&names);
}

struct store_moment *store_moment_take(struct regstore *store)
{
    static const char *const roots[] = {"HKEY_LOCAL_MACHINE", "HKEY_CURRENT_USER", "HKEY_USERS", "HKEY_CLASSES_ROOT",
                                        "HKEY_CURRENT_CONFIG"};
    struct store_moment     *m       = calloc(1, sizeof *m);
    for (size_t i = 0; m && i < sizeof roots / sizeof *roots; i++)
        declaration_remove_walk(m, store, roots[i], true);
    if (m && m->failed) {
        store_moment_free(m);
        m = NULL;
    }
    return m;
}

void store_moment_free(struct store_moment *m)
{
    for (unsigned i = 0; m && i < m->count; i++) {
        free(m->at[i].key);
        free(m->at[i].value);
    }
    if (m)
        free(m->at);
    free(m);
}

void store_moment_gone(const struct store_moment *m, struct regstore *store, unsigned *keys, unsigned *values)
{
    *keys = *values = 0;
    for (unsigned i = 0; i < m->count; i++) {
        struct regvalue v;
        if (!m->at[i].value)
            *keys += !regstore_key_exists(store, m->at[i].key);
        else
            *values += regstore_get(store, m->at[i].key, m->at[i].value, &v) != W_SUCCESS;
    }
}
