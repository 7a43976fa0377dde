#include "autologger/daemon/rights_store.h"
#include "registry-sim/base/visible_print.h"

#include <stdio.h>
#include <string.h>

#define SECURITY_KEY "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\Security"

static wstatus rights_store_take(void *ctx, const struct regvalue *v)
{
    struct rights *r   = ctx;
    struct reason  why = {0};
    struct guid    object;
    if (!*v->name)
        return W_SUCCESS;
    if (!guid_parse(v->name, &object) || v->type != REG_TYPE_BINARY)
        visible_line(stderr, "autologgerd: WMI\\Security: \"%s\" is not a GUID with a REG_BINARY: left out", v->name);
    else if (rights_put(r, &object, v->data, v->size, &why))
        visible_line(stderr, "autologgerd: WMI\\Security: %s: left out", why.text);
    return W_SUCCESS;
}

wstatus rights_load(wstatus (*store_open)(const char *path, bool write, struct regstore **out, struct reason *why),
                    const char *store_path, const char *group_file, struct rights **out, struct reason *why)
{
    struct regstore *store = NULL;
    struct reason    none;
    wstatus          st = rights_create(rights_group_find(group_file, "autologger"), out, why);
    if (st)
        return st;
    if (store_open(store_path, false, &store, &none) == W_SUCCESS)
        regstore_enum_values(store, SECURITY_KEY, rights_store_take, *out);
    regstore_close(store);
    return W_SUCCESS;
}

struct rights_store_search {
    struct guid object;
    char        name[64];
};

static wstatus rights_store_look(void *ctx, const struct regvalue *v)
{
    struct rights_store_search *s = ctx;
    struct guid                 g;
    if (guid_parse(v->name, &g) && guid_equal(&g, &s->object))
        snprintf(s->name, sizeof s->name, "%s", v->name);
    return W_SUCCESS;
}

wstatus rights_save(struct regstore *store, const struct guid *object, const uint8_t *descriptor, size_t size,
                    struct reason *why)
{
    struct rights_store_search s = {.object = *object};
    char                       text[GUID_TEXT_SIZE], *name = s.name;
    guid_format(object, text);
    /* an import may have the name in braces: it stays */
    regstore_enum_values(store, SECURITY_KEY, rights_store_look, &s);
    if (!*name)
        snprintf(s.name, sizeof s.name, "%.*s", (int)strcspn(text + 1, "}"), text + 1);
    const struct regvalue v = {.name = name, .type = REG_TYPE_BINARY, .data = descriptor, .size = (uint32_t)size};
    wstatus               st =
        descriptor ? regstore_set(store, SECURITY_KEY, &v, why) : regstore_delete_value(store, SECURITY_KEY, name, why);
    return st == W_FILE_NOT_FOUND && !descriptor ? W_SUCCESS : st;
}
