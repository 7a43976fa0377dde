#include "tools/files/publisher_store.h"

#include "registry-sim/base/nearest.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 256, PUBLISHERS_MAX = 4096 };

static const char *publisher_store_key_of(const struct guid *guid, char out[KEY_MAX])
{
    char text[GUID_TEXT_SIZE];
    snprintf(out, KEY_MAX, PUBLISHERS_KEY "\\%s", guid_format(guid, text));
    return out;
}

static wstatus publisher_store_put_text(struct regstore *store, const char *key, const char *name, const char *text,
                                        struct reason *why)
{
    return text ? regstore_set_string(store, key, name, text, why) : W_SUCCESS;
}

static wstatus put_channels(struct regstore *store, const char *key, const struct manifest_provider *p,
                            struct reason *why)
{
    char    all[KEY_MAX + 32], one[KEY_MAX + 64];
    wstatus st;

    snprintf(all, sizeof all, "%s\\ChannelReferences", key);
    st = regstore_create_key(store, all, NULL, 0, why);
    if (!st)
        st = regstore_set_dword(store, all, "Count", p->channels.count, why);
    for (unsigned i = 0; i < p->channels.count && !st; i++) {
        const struct manifest_channel *c = &p->channels.at[i];
        snprintf(one, sizeof one, "%s\\%u", all, i);
        st = regstore_set_string(store, one, "", c->item.name ? c->item.name : "", why);
        if (!st)
            st = regstore_set_dword(store, one, "Flags", c->imported, why);
        if (!st)
            st = regstore_set_dword(store, one, "Id", (uint32_t)c->item.value, why);
    }
    return st;
}

wstatus publisher_put(struct regstore *store, const struct manifest *m, const struct manifest_provider *p,
                      const struct publisher_files *files, const char *metadata, struct reason *why)
{
    char    key[KEY_MAX];
    wstatus st = W_SUCCESS;

    (void)m;
    publisher_store_key_of(&p->guid, key);
    if (regstore_key_exists(store, key))
        st = regstore_delete_key(store, key, why);
    if (!st)
        st = regstore_set_string(store, key, "", p->name, why);
    if (!st)
        st = publisher_store_put_text(store, key, "ResourceFileName",
                                      files->resource ? files->resource : p->resource_file, why);
    if (!st)
        st = publisher_store_put_text(store, key, "MessageFileName", files->message ? files->message : p->message_file,
                                      why);
    if (!st)
        st = publisher_store_put_text(store, key, "ParameterFileName",
                                      files->parameter ? files->parameter : p->parameter_file, why);
    if (!st)
        st = publisher_store_put_text(store, key, "MetadataFileName", metadata, why);
    return st ? st : put_channels(store, key, p, why);
}

wstatus publisher_remove(struct regstore *store, const struct guid *guid, struct reason *why)
{
    char key[KEY_MAX];

    if (!regstore_key_exists(store, publisher_store_key_of(guid, key)))
        return reason_set(why, W_NOT_FOUND, "the provider %s is not installed. Do: autologger manifest list",
                          strrchr(key, '\\') + 1);
    return regstore_delete_key(store, key, why);
}

struct guids {
    struct guid at[PUBLISHERS_MAX];
    unsigned    count;
};

static wstatus publisher_store_collect(void *ctx, const struct regkey_info *info)
{
    struct guids *g = ctx;
    if (g->count < PUBLISHERS_MAX && guid_parse_braced(info->name, &g->at[g->count]))
        g->count++;
    return W_SUCCESS;
}

wstatus publisher_each(struct regstore *store, publisher_fn fn, void *ctx)
{
    struct guids *g  = calloc(1, sizeof *g);
    wstatus       st = g ? regstore_enum_keys(store, PUBLISHERS_KEY, publisher_store_collect, g) : W_NOT_ENOUGH_MEMORY;

    if (st == W_FILE_NOT_FOUND)
        st = W_SUCCESS;
    for (unsigned i = 0; g && i < g->count && !st; i++) {
        char key[KEY_MAX], *name = NULL;
        if (regstore_get_string_dup(store, publisher_store_key_of(&g->at[i], key), "", &name, NULL) == W_SUCCESS)
            st = fn(ctx, &g->at[i], name);
        free(name);
    }
    free(g);
    return st;
}

struct publisher_store_search {
    const char *which;
    struct guid guid, *out;
    bool        by_guid, found;
    char       *name, near[256];
};

static wstatus publisher_store_compare(void *ctx, const struct guid *guid, const char *name)
{
    struct publisher_store_search *s = ctx;

    if (s->by_guid ? guid_equal(guid, &s->guid) : name_compare(name, s->which) == 0) {
        *s->out  = *guid;
        s->found = true;
        s->name  = strdup(name);
        return s->name ? W_CANCELLED : W_NOT_ENOUGH_MEMORY;
    }
    struct nearest n = nearest_make(s->which, 4);
    if (!s->by_guid && !*s->near)
        nearest_try(&n, name);
    if (n.found)
        snprintf(s->near, sizeof s->near, ", did you mean %.200s?", name);
    return W_SUCCESS;
}

wstatus publisher_find(struct regstore *store, const char *which, struct guid *guid, char **name, struct reason *why)
{
    struct publisher_store_search s = {.which = which, .out = guid};

    s.by_guid  = guid_parse(which, &s.guid);
    wstatus st = publisher_each(store, publisher_store_compare, &s);
    if (s.found && s.name) {
        if (name)
            *name = s.name;
        else
            free(s.name);
        return W_SUCCESS;
    }
    if (st)
        return reason_set(why, st, "the store's list of providers cannot be read");
    return reason_set(why, W_NOT_FOUND, "the provider %s is not installed%s Do: autologger manifest list", which,
                      *s.near ? s.near : ".");
}
