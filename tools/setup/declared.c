/* declared.c - see declared.h. */
#include "autologger/plan/values.h"
#include "registry-sim/store/key_names.h"
#include "tools/setup/declared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static wstatus declared_no_memory(struct reason *why) { return reason_set(why, W_OUTOFMEMORY, "not enough memory"); }

static char *declared_below(const char *key, const char *name)
{
    char *out = NULL;
    return asprintf(&out, "%s\\%s", key, name) < 0 ? NULL : out;
}

void declared_finish(struct declared *d)
{
    for (unsigned i = 0; i < d->count; i++) {
        for (unsigned n = 0; n < d->keys[i].count; n++)
            free(d->keys[i].names[n]);
        free(d->keys[i].names);
        free(d->keys[i].key);
    }
    free(d->keys);
    free(d->file);
    free(d->profile);
    *d = (struct declared){0};
}

static wstatus declared_name_add(struct declared_key *k, const char *name)
{
    char **names = realloc(k->names, (k->count + 1) * sizeof *names);
    if (!names)
        return W_OUTOFMEMORY;
    k->names = names;
    if (!(names[k->count] = strdup(name)))
        return W_OUTOFMEMORY;
    k->count++;
    return W_SUCCESS;
}
static wstatus declared_take_name(void *ctx, const struct regvalue *v) { return declared_name_add(ctx, v->name); }

static struct declared_key *declared_key_add(struct declared *d, const char *key)
{
    struct declared_key *keys = realloc(d->keys, (d->count + 1) * sizeof *keys);
    if (!keys)
        return NULL;
    d->keys                = keys;
    struct declared_key *k = &keys[d->count];
    *k                     = (struct declared_key){.key = strdup(key)};
    k->own                 = (value_scope_of(key) &
              (IN_GLOBAL_LOGGER | IN_AUTOLOGGER | IN_PROVIDER | IN_WPP | IN_FILTERS | IN_FILTER_PART)) != 0;
    if (k->key)
        d->count++;
    return k->key ? k : NULL;
}

/* ---- of a configuration ---- */

static wstatus declared_collect(struct regstore *s, const char *key, struct declared *d, struct reason *why)
{
    struct key_names names;
    wstatus          st = key_names_load(s, key, &names);
    if (st)
        return st == W_FILE_NOT_FOUND ? W_SUCCESS : reason_set(why, st, "the keys of %s cannot be read", key);
    for (unsigned i = 0; !st && i < names.count; i++) {
        char                *child = declared_below(key, names.names[i]);
        struct declared_key *k     = child ? declared_key_add(d, child) : NULL;
        st                         = k ? regstore_enum_values(s, child, declared_take_name, k) : W_OUTOFMEMORY;
        st                         = st ? reason_set(why, st, "the values of %s cannot be read", child ? child : key)
                                        : declared_collect(s, child, d, why);
        free(child);
    }
    key_names_finish(&names);
    return st;
}

wstatus declared_of(struct regstore *configuration, struct declared *out, struct reason *why)
{
    static const char *const roots[] = {"HKEY_LOCAL_MACHINE", "HKEY_CURRENT_USER", "HKEY_USERS", "HKEY_CLASSES_ROOT",
                                        "HKEY_CURRENT_CONFIG"};
    wstatus                  st      = W_SUCCESS;
    *out                             = (struct declared){0};
    for (size_t i = 0; !st && i < sizeof roots / sizeof *roots; i++)
        st = declared_collect(configuration, roots[i], out, why);
    if (st)
        declared_finish(out);
    return st;
}

/* ---- in the store ---- */

static wstatus key_load(struct regstore *s, const char *at, struct declared *d, struct reason *why)
{
    char   *key = NULL, *names = declared_below(at, "Names");
    wstatus st = names ? regstore_get_string_dup(s, at, "", &key, why) : declared_no_memory(why);
    if (!st) {
        struct declared_key *k = declared_key_add(d, key);
        st                     = k ? regstore_enum_values(s, names, declared_take_name, k) : W_OUTOFMEMORY;
        st                     = st == W_FILE_NOT_FOUND ? W_SUCCESS : st ? declared_no_memory(why) : st;
    }
    free(key);
    free(names);
    return st;
}

wstatus declared_load(struct regstore *store, struct declared *out, struct reason *why)
{
    struct key_names names;
    *out       = (struct declared){0};
    wstatus st = key_names_load(store, DECLARED_KEY "\\Declared", &names);
    if (st)
        return st == W_FILE_NOT_FOUND ? W_SUCCESS : reason_set(why, st, "what was applied before cannot be read");
    for (unsigned i = 0; !st && i < names.count; i++) {
        char *at = declared_below(DECLARED_KEY "\\Declared", names.names[i]);
        st       = at ? key_load(store, at, out, why) : declared_no_memory(why);
        free(at);
    }
    key_names_finish(&names);
    regstore_get_string_dup(store, DECLARED_KEY, "File", &out->file, NULL);
    regstore_get_string_dup(store, DECLARED_KEY, "Profile", &out->profile, NULL);
    regstore_get_qword(store, DECLARED_KEY, "Time", &out->time, NULL);
    if (st)
        declared_finish(out);
    return st;
}

wstatus declared_forget(struct regstore *store, struct reason *why)
{
    return regstore_key_exists(store, DECLARED_KEY) ? regstore_delete_key(store, DECLARED_KEY, why) : W_SUCCESS;
}

wstatus declared_save(struct regstore *store, const struct declared *d, struct reason *why)
{
    wstatus st = declared_forget(store, why);
    st         = st ? st : regstore_set_string(store, DECLARED_KEY, "File", d->file ? d->file : "", why);
    st         = st ? st : regstore_set_string(store, DECLARED_KEY, "Profile", d->profile ? d->profile : "", why);
    st         = st ? st : regstore_set_qword(store, DECLARED_KEY, "Time", d->time, why);
    for (unsigned i = 0; !st && i < d->count; i++) {
        char at[128], names[140];
        snprintf(at, sizeof at, DECLARED_KEY "\\Declared\\%05u", i);
        snprintf(names, sizeof names, "%s\\Names", at);
        st = regstore_set_string(store, at, "", d->keys[i].key, why);
        for (unsigned n = 0; !st && n < d->keys[i].count; n++)
            st = regstore_set_dword(store, names, d->keys[i].names[n], 1, why);
    }
    return st;
}

/* ---- removing ---- */

static bool declares(const struct declared *d, const char *key)
{
    for (unsigned i = 0; d && i < d->count; i++)
        if (!strcasecmp(d->keys[i].key, key))
            return true;
    return false;
}

static wstatus stop_at_first_key(void *ctx, const struct regkey_info *info)
{
    (void)ctx, (void)info;
    return W_MORE_DATA;
}
static wstatus stop_at_first_value(void *ctx, const struct regvalue *value)
{
    (void)ctx, (void)value;
    return W_MORE_DATA;
}
static bool is_empty(struct regstore *s, const char *key)
{
    return regstore_enum_keys(s, key, stop_at_first_key, NULL) == W_SUCCESS &&
           regstore_enum_values(s, key, stop_at_first_value, NULL) == W_SUCCESS;
}

static wstatus values_remove(struct regstore *s, const struct declared_key *k, struct reason *why)
{
    wstatus st = W_SUCCESS;
    for (unsigned n = 0; n < k->count && !st; n++) {
        st = regstore_delete_value(s, k->key, k->names[n], why);
        st = st == W_FILE_NOT_FOUND ? W_SUCCESS : st;
    }
    return st;
}

wstatus declared_remove(struct regstore *store, const struct declared *d, const struct declared *next,
                        struct reason *why)
{
    wstatus st = W_SUCCESS;
    for (unsigned i = d->count; i-- > 0 && !st;) { /* the deepest first */
        const struct declared_key *k = &d->keys[i];
        if (!regstore_key_exists(store, k->key))
            continue;
        if (k->own && !declares(next, k->key)) {
            st = regstore_delete_key(store, k->key, why);
            continue;
        }
        st = values_remove(store, k, why);
        if (!st && !declares(next, k->key) && is_empty(store, k->key))
            st = regstore_delete_key(store, k->key, why);
    }
    return st;
}
