/* provider_names.c - see provider_names.h. */
#include "tools/live/provider_names.h"
#include "autologger/plan/publishers.h"
#include "registry-sim/base/nearest.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/cmdline.h"
#include "tools/files/publisher_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LETTERS_OFF = 3 };

static void provider_name_add(struct names_of_providers *n, const struct guid *guid, const char *name,
                              enum provider_how how)
{
    struct provider_name *more = *name ? realloc(n->at, (n->count + 1) * sizeof *more) : NULL;
    if (!more)
        return;
    n->at          = more;
    more[n->count] = (struct provider_name){*guid, strdup(name), how};
    n->count += more[n->count].name != NULL;
}

static wstatus installed_add(void *ctx, const struct guid *guid, const char *name)
{
    provider_name_add(ctx, guid, name ? name : "", PROVIDER_INSTALLED);
    return W_SUCCESS;
}

void provider_names_load(struct names_of_providers *n, struct control_client *client)
{
    struct regstore         *store;
    struct ctl_provider_row *rows  = NULL;
    unsigned                 count = 0;
    struct guid              guid;
    const char              *name;

    *n = (struct names_of_providers){NULL, 0};
    for (unsigned i = 0; (name = plan_own_provider(i, &guid)); i++)
        provider_name_add(n, &guid, name, PROVIDER_BUILT_IN);
    if (!regstore_open(cmdline_store(), false, &store, NULL)) {
        publisher_each(store, installed_add, n);
        regstore_close(store);
    }
    if (client && !control_providers(client, &rows, &count, NULL))
        for (unsigned i = 0; i < count; i++)
            provider_name_add(n, &rows[i].guid, rows[i].name, PROVIDER_REGISTERED);
    free(rows);
}

void provider_names_finish(struct names_of_providers *n)
{
    for (unsigned i = 0; i < n->count; i++)
        free(n->at[i].name);
    free(n->at);
    *n = (struct names_of_providers){NULL, 0};
}

const char *provider_names_find(const struct names_of_providers *n, const struct guid *guid)
{
    for (unsigned i = 0; i < n->count; i++)
        if (guid_equal(&n->at[i].guid, guid))
            return n->at[i].name;
    return NULL;
}

bool provider_names_warn(const struct names_of_providers *n, const char *verb, const char *text)
{
    struct nearest near = nearest_make(text, LETTERS_OFF);
    for (unsigned i = 0; i < n->count; i++) {
        if (strcasecmp(n->at[i].name, text) == 0)
            return false;
        nearest_try(&near, n->at[i].name);
    }
    if (!near.found || *text == '{')
        return false;
    fflush(stdout);
    visible_printf(
        stderr,
        "%s: no provider named \"%s\" is built in, installed or registered; did you mean \"%s\"? The session waits for a program that "
        "registers \"%s\"\n",
        verb, text, near.found, text);
    return true;
}
