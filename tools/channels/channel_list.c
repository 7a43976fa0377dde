/* channel_list.c - see channel_list.h. */
#include "tools/channels/channel_list.h"
#include "registry-sim/base/nearest.h"
#include "registry-sim/win32/utf16.h"
#include "tools/files/publisher_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { CHANNEL_KEY_MAX = 640 };
struct channel_loading {
    struct regstore     *store;
    const char          *folder;
    struct channel_list *list;
    struct reason       *why;
};

const char *channel_type_name(enum manifest_channel_type type)
{
    static const char *const names[] = {[CHANNEL_NO_TYPE]     = "",
                                        [CHANNEL_ADMIN]       = "Admin",
                                        [CHANNEL_OPERATIONAL] = "Operational",
                                        [CHANNEL_ANALYTIC]    = "Analytic",
                                        [CHANNEL_DEBUG]       = "Debug"};
    return names[type];
}

/* False: the name is too long for a key. */
static bool channel_key(const char *name, char out[CHANNEL_KEY_MAX])
{
    return snprintf(out, CHANNEL_KEY_MAX, CHANNELS_KEY "\\%s", name) < CHANNEL_KEY_MAX && !strchr(name, '\\');
}

static bool channel_is_on(struct regstore *store, const char *name, bool by_default)
{
    char     key[CHANNEL_KEY_MAX];
    uint32_t on;
    if (!store || !channel_key(name, key) || regstore_get_dword(store, key, "Enabled", &on, NULL) != W_SUCCESS)
        return by_default;
    return on != 0;
}

static wstatus channel_add(struct channel_loading *l, const struct manifest_provider *p,
                           const struct manifest_channel *c)
{
    struct channel_list *list  = l->list;
    struct channel_row  *grown = realloc(list->row, (list->count + 1) * sizeof *grown);
    if (!grown)
        return W_NOT_ENOUGH_MEMORY;
    list->row              = grown;
    struct channel_row *r  = &grown[list->count];
    const bool          is = c->type == CHANNEL_ADMIN || c->type == CHANNEL_OPERATIONAL;
    *r                     = (struct channel_row){.name          = strdup(c->item.name),
                                                  .provider      = strdup(p->name),
                                                  .guid          = p->guid,
                                                  .type          = c->type,
                                                  .keyword       = c->keyword,
                                                  .on_by_default = is && !(c->enabled && strcasecmp(c->enabled, "false") == 0)};
    if (!r->name || !r->provider) {
        free(r->name);
        free(r->provider);
        return W_NOT_ENOUGH_MEMORY;
    }
    r->on = channel_is_on(l->store, r->name, r->on_by_default);
    list->count++;
    return W_SUCCESS;
}

static wstatus channel_provider(void *ctx, const struct guid *guid, const char *name)
{
    struct channel_loading *l   = ctx;
    struct manifest        *m   = NULL;
    struct reason           why = {0};
    wstatus                 st  = publishers_load(l->folder, guid, &m, &why);
    if (st) {
        if (!l->list->unread++)
            reason_set(&l->list->why, st, "%s: %s", name, why.text);
        return W_SUCCESS;
    }
    for (unsigned i = 0; !st && i < m->providers.count; i++)
        for (unsigned c = 0; !st && c < m->providers.at[i].channels.count; c++)
            if (guid_equal(&m->providers.at[i].guid, guid) && m->providers.at[i].channels.at[c].item.name)
                st = channel_add(l, &m->providers.at[i], &m->providers.at[i].channels.at[c]);
    manifest_free(m);
    return st;
}

static int channel_order(const void *a, const void *b)
{
    const struct channel_row *x = a, *y = b;
    const int                 d = strcasecmp(x->name, y->name);
    return d ? d : strcmp(x->provider, y->provider);
}

wstatus channel_list_load(struct regstore *store, const char *folder, struct channel_list *out, struct reason *why)
{
    struct channel_loading l = {store, folder, out, why};
    *out                     = (struct channel_list){0};
    wstatus st               = store ? publisher_each(store, channel_provider, &l) : W_SUCCESS;
    if (st) {
        channel_list_finish(out);
        return reason_set(why, st, "the channels of installed manifests could not be listed");
    }
    if (out->count)
        qsort(out->row, out->count, sizeof *out->row, channel_order);
    return W_SUCCESS;
}

void channel_list_finish(struct channel_list *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        free(list->row[i].name);
        free(list->row[i].provider);
    }
    free(list->row);
    *list = (struct channel_list){0};
}

const struct channel_row *channel_list_find(const struct channel_list *list, const char *name)
{
    for (unsigned i = 0; i < list->count; i++)
        if (name_compare(list->row[i].name, name) == 0)
            return &list->row[i];
    return NULL;
}

const char *channel_list_suggest(const struct channel_list *list, const char *name)
{
    struct nearest near = nearest_make(name, 4);
    for (unsigned i = 0; i < list->count; i++)
        nearest_try(&near, list->row[i].name);
    return near.found;
}

/* The service watches the folder of manifests: this file changes there with each channel. */
static void channel_tell(const char *folder)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/channels.changed", folder);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
}

wstatus channel_set(struct regstore *store, const char *folder, const char *name, bool on, struct reason *why)
{
    char key[CHANNEL_KEY_MAX];
    if (!channel_key(name, key))
        return reason_set(why, W_INVALID_NAME, "\"%s\" is no name of a channel", name);
    const wstatus st = regstore_set_dword(store, key, "Enabled", on, why);
    if (!st)
        channel_tell(folder);
    return st;
}
