/* store_tree.c - see store_tree.h. */
#include "autologger/plan/values.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/store/key_names.h"
#include "registry-sim/text/dialect.h"
#include "tools/setup/store_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const store_tree_roots[] = {"HKEY_LOCAL_MACHINE", "HKEY_CURRENT_USER", "HKEY_USERS",
                                               "HKEY_CLASSES_ROOT", "HKEY_CURRENT_CONFIG"};
enum { ROOTS = sizeof store_tree_roots / sizeof *store_tree_roots, HEX_SHOWN = 16 };

/* A copy of a value, which stays valid while the store is asked again. */
struct store_tree_kept {
    struct regvalue value; /* points to these: */
    char           *name, *place;
    uint8_t        *data;
};
struct kept_list {
    struct store_tree_kept *items;
    unsigned                count;
};

static wstatus store_tree_no_memory(struct reason *why) { return reason_set(why, W_OUTOFMEMORY, "not enough memory"); }

static void kept_finish(struct kept_list *l)
{
    for (unsigned i = 0; i < l->count; i++) {
        free(l->items[i].name);
        free(l->items[i].place);
        free(l->items[i].data);
    }
    free(l->items);
    *l = (struct kept_list){0};
}

static wstatus keep_value(void *ctx, const struct regvalue *v)
{
    struct kept_list       *l    = ctx;
    struct store_tree_kept *more = realloc(l->items, (l->count + 1) * sizeof *more);
    if (!more)
        return W_OUTOFMEMORY;
    struct store_tree_kept *k = &more[l->count++];
    l->items                  = more;
    *k = (struct store_tree_kept){*v, strdup(v->name), v->source_file ? strdup(v->source_file) : NULL,
                                  malloc(v->size + 1u)};
    if (!k->data || !k->name || (v->source_file && !k->place))
        return W_OUTOFMEMORY;
    if (v->size)
        memcpy(k->data, v->data, v->size);
    k->value.name        = k->name;
    k->value.data        = k->data;
    k->value.source_file = k->place;
    return W_SUCCESS;
}

static wstatus kept_load(struct regstore *s, const char *key, struct kept_list *out, struct reason *why)
{
    *out       = (struct kept_list){0};
    wstatus st = regstore_enum_values(s, key, keep_value, out);
    if (st == W_FILE_NOT_FOUND)
        return W_SUCCESS;
    if (st) {
        kept_finish(out);
        return reason_set(why, st, "the values of %s cannot be read", key);
    }
    return W_SUCCESS;
}

static char *store_tree_below(const char *key, const char *name)
{
    char *out = NULL;
    return asprintf(&out, "%s\\%s", key, name) < 0 ? NULL : out;
}

static wstatus names_load(struct regstore *s, const char *key, struct key_names *out, struct reason *why)
{
    wstatus st = key_names_load(s, key, out);
    return !st || st == W_FILE_NOT_FOUND ? W_SUCCESS : reason_set(why, st, "the keys of %s cannot be read", key);
}

/* Calls fn for every key below `key`, parents first. */
typedef wstatus (*key_fn)(void *ctx, const char *key, struct reason *why);
static wstatus store_tree_walk(struct regstore *s, const char *key, key_fn fn, void *ctx, struct reason *why)
{
    struct key_names names;
    wstatus          st = names_load(s, key, &names, why);
    for (unsigned i = 0; !st && i < names.count; i++) {
        char *child = store_tree_below(key, names.names[i]);
        if (!child)
            st = store_tree_no_memory(why);
        else if (strcasecmp(child, STORE_TREE_OWN)) {
            st = fn(ctx, child, why);
            st = st ? st : store_tree_walk(s, child, fn, ctx, why);
        }
        free(child);
    }
    key_names_finish(&names);
    return st;
}

/* ---- copying ---- */

struct pair {
    struct regstore     *from, *to;
    struct tree_changes *changes;
};

/* The key itself with its place. */
static wstatus key_copy(struct regstore *from, struct regstore *to, const char *key, struct reason *why)
{
    struct regkey_info info;
    char              *place = NULL;
    wstatus            st    = regstore_key_info(from, key, &info);
    if (st)
        return reason_set(why, st, "the key %s cannot be read", key);
    if (info.source_file && !(place = strdup(info.source_file)))
        return store_tree_no_memory(why);
    st = regstore_create_key(to, key, place, info.source_line, why);
    free(place);
    return st;
}

static wstatus copy_one(void *ctx, const char *key, struct reason *why)
{
    struct pair     *p = ctx;
    struct kept_list values;
    wstatus          st = key_copy(p->from, p->to, key, why);
    st                  = st ? st : kept_load(p->from, key, &values, why);
    if (st)
        return st;
    for (unsigned i = 0; i < values.count && !st; i++)
        st = regstore_set(p->to, key, &values.items[i].value, why);
    kept_finish(&values);
    return st;
}

wstatus store_tree_copy(struct regstore *from, struct regstore *to, struct reason *why)
{
    struct pair p  = {.from = from, .to = to};
    wstatus     st = regstore_begin(to, why);
    for (size_t i = 0; !st && i < ROOTS; i++)
        st = store_tree_walk(from, store_tree_roots[i], copy_one, &p, why);
    if (st)
        regstore_rollback(to);
    return st ? st : regstore_commit(to, why);
}

/* ---- comparing ---- */

static char *value_text(const char *key, const struct regvalue *v)
{
    const struct ini_vocabulary *words = plan_vocabulary();
    char                        *text  = words->print(words->ctx, key, v);
    if (text)
        return text;
    if ((v->type == REG_TYPE_SZ || v->type == REG_TYPE_EXPAND_SZ) && !regvalue_get_string_dup(v, &text, NULL))
        return text;
    size_t n = 0, size = 3 * HEX_SHOWN + 16;
    if (!(text = malloc(size)))
        return NULL;
    n = (size_t)snprintf(text, size, "hex:");
    for (uint32_t i = 0; i < v->size && i < HEX_SHOWN; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%02x", i ? "," : "", v->data[i]);
    if (v->size > HEX_SHOWN)
        snprintf(text + n, size - n, ",...");
    return text;
}

static wstatus change_add(struct tree_changes *c, enum tree_change_kind kind, const char *key,
                          const struct regvalue *before, const struct regvalue *after, struct reason *why)
{
    if (c->count == c->capacity) {
        unsigned            more  = c->capacity ? c->capacity * 2 : 32;
        struct tree_change *items = realloc(c->items, more * sizeof *items);
        if (!items)
            return store_tree_no_memory(why);
        c->items    = items;
        c->capacity = more;
    }
    const struct regvalue *value = after ? after : before;
    struct tree_change    *item  = &c->items[c->count++];
    *item                        = (struct tree_change){.kind   = kind,
                                                        .is_key = !value,
                                                        .key    = strdup(key),
                                                        .name   = value ? strdup(value->name) : NULL,
                                                        .before = before ? value_text(key, before) : NULL,
                                                        .after  = after ? value_text(key, after) : NULL};
    bool all = item->key && (!value || item->name) && (!before || item->before) && (!after || item->after);
    return all ? W_SUCCESS : store_tree_no_memory(why);
}

static bool same_data(const struct regvalue *a, const struct regvalue *b)
{
    return a->type == b->type && a->size == b->size && (!a->size || !memcmp(a->data, b->data, a->size));
}
static bool same_place(const struct regvalue *a, const struct regvalue *b)
{
    return a->source_line == b->source_line &&
           !strcmp(a->source_file ? a->source_file : "", b->source_file ? b->source_file : "");
}

static const struct regvalue *store_tree_find(const struct kept_list *l, const char *name)
{
    for (unsigned i = 0; i < l->count; i++)
        if (!strcasecmp(l->items[i].value.name, name))
            return &l->items[i].value;
    return NULL;
}

static wstatus values_compare(const struct pair *p, const char *key, bool new_key, struct reason *why)
{
    struct kept_list old = {0}, new = {0};
    wstatus          st = new_key ? W_SUCCESS : kept_load(p->from, key, &old, why);
    st                  = st ? st : kept_load(p->to, key, &new, why);
    for (unsigned i = 0; i < old.count && !st; i++)
        if (!store_tree_find(&new, old.items[i].value.name))
            st = change_add(p->changes, TREE_REMOVED, key, &old.items[i].value, NULL, why);
    for (unsigned i = 0; i < new.count && !st; i++) {
        const struct regvalue *now = &new.items[i].value, *was = store_tree_find(&old, now->name);
        if (!was)
            st = change_add(p->changes, TREE_ADDED, key, NULL, now, why);
        else if (!same_data(was, now) || !same_place(was, now))
            st = change_add(p->changes, same_data(was, now) ? TREE_MOVED : TREE_CHANGED, key, was, now, why);
    }
    kept_finish(&old);
    kept_finish(&new);
    return st;
}

static wstatus added_one(void *ctx, const char *key, struct reason *why)
{
    struct pair *p = ctx;
    bool new       = !regstore_key_exists(p->from, key);
    wstatus st     = new ? change_add(p->changes, TREE_ADDED, key, NULL, NULL, why) : W_SUCCESS;
    return st ? st : values_compare(p, key, new, why);
}

/* Adds the removed keys, of each subtree the topmost only. */
static wstatus removed_below(const struct pair *p, const char *key, struct reason *why)
{
    struct key_names names;
    wstatus          st = names_load(p->from, key, &names, why);
    for (unsigned i = 0; !st && i < names.count; i++) {
        char *child = store_tree_below(key, names.names[i]);
        if (!child)
            st = store_tree_no_memory(why);
        else if (strcasecmp(child, STORE_TREE_OWN))
            st = regstore_key_exists(p->to, child) ? removed_below(p, child, why)
                                                   : change_add(p->changes, TREE_REMOVED, child, NULL, NULL, why);
        free(child);
    }
    key_names_finish(&names);
    return st;
}

wstatus store_tree_compare(struct regstore *before, struct regstore *after, struct tree_changes *out,
                           struct reason *why)
{
    struct pair p  = {.from = before, .to = after, .changes = out};
    wstatus     st = W_SUCCESS;
    *out           = (struct tree_changes){0};
    for (size_t i = 0; !st && i < ROOTS; i++)
        st = removed_below(&p, store_tree_roots[i], why);
    for (size_t i = 0; !st && i < ROOTS; i++)
        st = store_tree_walk(after, store_tree_roots[i], added_one, &p, why);
    if (st)
        tree_changes_finish(out);
    return st;
}

/* ---- carrying out ---- */

static wstatus follow_one(struct regstore *before, struct regstore *after, const struct tree_change *c,
                          struct reason *why)
{
    struct regvalue  value;
    struct kept_list one = {0};
    if (c->is_key)
        return c->kind == TREE_REMOVED ? regstore_delete_key(before, c->key, why)
                                       : key_copy(after, before, c->key, why);
    if (c->kind == TREE_REMOVED)
        return regstore_delete_value(before, c->key, c->name, why);
    wstatus st = regstore_get(after, c->key, c->name, &value);
    value.name = c->name;
    st         = st ? reason_set(why, st, "%s of %s cannot be read", c->name, c->key) : keep_value(&one, &value);
    st         = st ? st : regstore_set(before, c->key, &one.items[0].value, why);
    kept_finish(&one);
    return st;
}

wstatus store_tree_follow(struct regstore *before, struct regstore *after, const struct tree_changes *changes,
                          struct reason *why)
{
    wstatus st = W_SUCCESS;
    for (unsigned i = 0; i < changes->count && !st; i++)
        st = follow_one(before, after, &changes->items[i], why);
    return st;
}

void tree_changes_finish(struct tree_changes *changes)
{
    for (unsigned i = 0; i < changes->count; i++) {
        struct tree_change *c = &changes->items[i];
        free(c->key), free(c->name), free(c->before), free(c->after);
    }
    free(changes->items);
    *changes = (struct tree_changes){0};
}

/* ---- showing ---- */

/* Keys that only lead to a declaration are not shown. */
static bool is_shown(const struct tree_change *c)
{
    const unsigned declared = IN_GLOBAL_LOGGER | IN_WPP | IN_AUTOLOGGER | IN_PROVIDER | IN_FILTERS | IN_FILTER_PART;
    return c->kind != TREE_MOVED && (!c->is_key || (value_scope_of(c->key) & declared));
}

/* "...\Control\WMI\Autologger\web" -> "Autologger/web", the key of [Boot] -> "Boot" */
static void short_key(const char *key, char *out, size_t size)
{
    const char *wmi = strcasestr(key, "\\Control\\WMI");
    if (value_scope_of(key) == IN_BOOT) {
        snprintf(out, size, "Boot");
        return;
    }
    if (wmi)
        wmi += strlen("\\Control\\WMI");
    snprintf(out, size, "%s", !wmi ? key : *wmi ? wmi + 1 : "WMI");
    for (char *p = out; wmi && *p; p++)
        if (*p == '\\')
            *p = '/';
}

unsigned tree_changes_seen(const struct tree_changes *changes)
{
    unsigned n = 0;
    for (unsigned i = 0; i < changes->count; i++)
        n += is_shown(&changes->items[i]);
    return n;
}

void tree_changes_print(const struct tree_changes *changes, FILE *to)
{
    static const char marks[] = {[TREE_ADDED] = '+', [TREE_REMOVED] = '-', [TREE_CHANGED] = '~'};
    const char       *key     = "";
    char              shown[1024];
    for (unsigned i = 0; i < changes->count; i++) {
        const struct tree_change *c = &changes->items[i];
        if (!is_shown(c))
            continue;
        if (c->is_key || strcmp(key, c->key)) {
            short_key(c->key, shown, sizeof shown);
            visible_printf(to, "%c [%s]\n", c->is_key ? marks[c->kind] : ' ', shown);
            key = c->key;
        }
        if (c->is_key)
            continue;
        const char *name = c->name[0] ? c->name : "(default)";
        if (c->kind == TREE_CHANGED)
            visible_printf(to, "~     %s = %s -> %s\n", name, c->before, c->after);
        else
            visible_printf(to, "%c     %s = %s\n", marks[c->kind], name, c->after ? c->after : c->before);
    }
}

void tree_changes_json(const struct tree_changes *changes, struct json *j)
{
    static const char *const words[] = {"added", "removed", "changed"};
    json_array(j, "changes");
    for (unsigned i = 0; i < changes->count; i++) {
        const struct tree_change *c = &changes->items[i];
        if (!is_shown(c))
            continue;
        json_object(j, NULL);
        json_text(j, "change", words[c->kind]);
        json_text(j, "key", c->key);
        json_text(j, "value", c->name);
        json_text(j, "before", c->before);
        json_text(j, "after", c->after);
        json_object_end(j);
    }
    json_array_end(j);
}
