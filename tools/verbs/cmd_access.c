/* autologger access: who may do what with a session or a provider. */
#include "autologger/control/client.h"
#include "autologger/daemon/rights_store.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/cmdline.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/text_table.h"
#include "tools/base/verb.h"
#include "tools/live/access_words.h"
#include "tools/live/session_start.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 32, KEY_ALLOW = 0x600, KEY_DENY, KEY_ONLY, KEY_RESET };

struct access_arguments {
    struct cmdline        common;
    const char           *object;
    struct security_entry entry[ENTRIES];
    unsigned              count;
    bool                  only, reset;
};

static error_t access_parse(int key, char *arg, struct argp_state *state)
{
    struct access_arguments *a   = state->input;
    struct reason            why = {0};
    switch (key) {
    case KEY_ALLOW:
    case KEY_DENY:
        if (a->count == ENTRIES)
            argp_error(state, "at most %d of --allow and --deny at a time", ENTRIES);
        if (access_entry_parse(arg, &a->entry[a->count], &why))
            argp_error(state, "%s", why.text);
        a->entry[a->count++].deny = key == KEY_DENY;
        return 0;
    case KEY_ONLY: a->only = true; return 0;
    case KEY_RESET: a->reset = true; return 0;
    case ARGP_KEY_ARG:
        if (a->object)
            argp_error(state, "one session or provider at a time: \"%s\"", arg);
        a->object = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->object && (a->count || a->reset))
            argp_error(state, "SESSION or PROVIDER is needed. Do: autologger sessions");
        if (a->reset && a->count)
            argp_error(state, "--reset takes everything back; it excludes --allow and --deny");
        if (a->only && !a->count)
            argp_error(state, "--only needs --allow or --deny");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* Where rights change: in the daemon, which applies and keeps them; or, with --store, in a store that no daemon has
 * open. */
struct access_place {
    struct control_client *client; /* NULL: the store */
    struct regstore       *store;
    struct rights         *rights;
};

static wstatus access_place_open(const struct access_arguments *a, struct access_place *p, struct reason *why)
{
    if (!a->common.store_given)
        return control_open(a->common.runtime_dir, &p->client, why);
    wstatus st = store_access_open(&a->common, a->count || a->reset, &p->store, why);
    regstore_close(p->store); /* it exists and can be opened */
    p->store = NULL;
    st       = st ? st : rights_load(regstore_open, a->common.store, "/etc/group", &p->rights, why);
    return st || (!a->count && !a->reset) ? st : store_access_open(&a->common, true, &p->store, why);
}

static void access_place_close(struct access_place *p)
{
    control_close(p->client);
    regstore_close(p->store);
    rights_destroy(p->rights);
}

static wstatus access_object_find(struct access_place *p, const char *name, struct guid *out, struct reason *why)
{
    struct ctl_session_info info;
    struct reason           none;
    if (access_object_parse(name, out) || guid_parse(name, out))
        return W_SUCCESS;
    if (p->client && control_query(p->client, name, &info, &none) == W_SUCCESS) {
        *out = info.guid;
        return W_SUCCESS;
    }
    return provider_guid(name, out, why); /* the hash of the name, which a session declared in INI has, too */
}

static wstatus access_change(struct access_place *p, const struct guid *object, const struct security_entry *e,
                             bool replace, struct reason *why)
{
    if (p->client) {
        struct ctl_access_request r = {.object   = *object,
                                       .what     = replace ? CTL_ACCESS_SET : CTL_ACCESS_ADD,
                                       .rights   = e->rights,
                                       .deny     = e->deny,
                                       .sid_size = e->who.size};
        memcpy(r.sid, e->who.bytes, e->who.size);
        return control_access_change(p->client, &r, why);
    }
    uint8_t *bytes = NULL;
    size_t   size;
    wstatus  st = rights_changed_dup(p->rights, object, e, replace, &bytes, &size, why);
    st          = st ? st : rights_put(p->rights, object, bytes, size, why);
    st          = st ? st : rights_save(p->store, object, bytes, size, why);
    free(bytes);
    return st;
}

static wstatus reset(struct access_place *p, const struct guid *object, struct reason *why)
{
    struct ctl_access_request r  = {.object = *object, .what = CTL_ACCESS_REMOVE};
    wstatus                   st = p->client                        ? control_access_change(p->client, &r, why)
                                   : rights_drop(p->rights, object) ? rights_save(p->store, object, NULL, 0, why)
                                                                    : W_FILE_NOT_FOUND;
    return st == W_FILE_NOT_FOUND
               ? reason_set(why, st, "it has no rights of its own: those of default count. Do: nothing")
               : st;
}

static wstatus access_descriptor(struct access_place *p, const struct guid *object, bool *own, uint8_t **bytes,
                                 size_t *size, struct reason *why)
{
    return p->client ? control_access_query(p->client, object, own, bytes, size, why)
                     : rights_get_dup(p->rights, object, own, bytes, size);
}

static void json_row(struct json *j, const struct security_entry *e)
{
    char who[ACCESS_WHO], words[ACCESS_RIGHTS], sid[SID_TEXT];
    json_object(j, NULL);
    json_text(j, "who", access_who(&e->who, who));
    json_text(j, "sid", sid_format(&e->who, sid));
    json_flag(j, "allow", !e->deny);
    json_text(j, "rights", access_rights(e->rights, words));
    json_number(j, "mask", e->rights);
    json_object_end(j);
}

/* Shows the rows of one object. `name`: the user's name for it, or NULL. */
static wstatus access_show(struct access_place *p, const struct guid *object, const char *name, struct json *j,
                           struct reason *why)
{
    static const char *const titles[] = {"who", "may", NULL};
    char                     guid[GUID_TEXT_SIZE], who[ACCESS_WHO], words[ACCESS_RIGHTS], may[ACCESS_RIGHTS + 8];
    struct security_entry    e;
    struct text_table        t;
    uint8_t                 *bytes = NULL;
    size_t                   size  = 0;
    bool                     own   = false;
    wstatus                  st    = access_descriptor(p, object, &own, &bytes, &size, why);
    if (st)
        return st;
    guid_format(object, guid);
    name = name ? name : access_object_name(object);
    if (j) {
        json_object(j, NULL);
        json_text(j, "name", name);
        json_text(j, "guid", guid);
        json_flag(j, "own", own);
        json_array(j, "entries");
        for (unsigned i = 0; security_entry_get(bytes, size, i, &e); i++)
            json_row(j, &e);
        json_array_end(j);
        json_object_end(j);
    } else {
        struct guid typed; /* a GUID that was typed is no name */
        const bool  named = name && !guid_parse(name, &typed);
        visible_printf(stdout, "%s%s%s: %s\n", named ? name : "", named ? " " : "", guid,
                       own ? "rights of its own" : "the default");
        text_table_init(&t, titles);
        for (unsigned i = 0; security_entry_get(bytes, size, i, &e); i++) {
            snprintf(may, sizeof may, "%s%s", e.deny ? "not " : "", access_rights(e.rights, words));
            text_table_row(&t, access_who(&e.who, who), may);
        }
        text_table_print(&t, stdout);
        text_table_finish(&t);
    }
    free(bytes);
    return W_SUCCESS;
}

static wstatus show_all(struct access_place *p, struct json *j, struct reason *why)
{
    struct guid *list = NULL, one;
    unsigned     n    = 0;
    wstatus      st   = p->client ? control_access_list(p->client, &list, &n, why) : W_SUCCESS;
    if (j)
        json_array(j, NULL);
    for (unsigned i = 0; !st && i < n; i++)
        st = access_show(p, &list[i], NULL, j, why);
    for (unsigned i = 0; !st && !p->client && rights_at(p->rights, i, &one); i++, n++)
        st = access_show(p, &one, NULL, j, why);
    if (j)
        json_array_end(j);
    else if (!st && !n)
        printf("nothing has rights of its own: autologger access default\n");
    free(list);
    return st;
}

static wstatus access_run(const struct access_arguments *a, struct access_place *p, struct json *j, struct reason *why)
{
    struct guid object;
    if (!a->object)
        return show_all(p, j, why);
    wstatus st = access_object_find(p, a->object, &object, why);
    if (!st && a->reset)
        st = reset(p, &object, why);
    for (unsigned i = 0; !st && i < a->count; i++)
        st = access_change(p, &object, &a->entry[i], a->only && i == 0, why);
    return st ? st : access_show(p, &object, a->object, j, why);
}

int cmd_access(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"allow", KEY_ALLOW, "WHO=RIGHTS", 0,
         "give these rights: alice=log, group:devs=register,log, everyone=query, 1000=all; repeat", 0},
        {"deny", KEY_DENY, "WHO=RIGHTS", 0, "refuse them, also where another line gives them; repeat", 0},
        {"only", KEY_ONLY, NULL, 0, "what --allow and --deny say is all there is, but for root", 0},
        {"reset", KEY_RESET, NULL, 0, "no rights of its own any more: the default counts", 0},
        {"store", KEY_STORE, "FILE", 0, "look at and change this store instead of asking the daemon", 0},
        OPT_RUNTIME_DIR,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        access_parse,
        "[SESSION|PROVIDER]",
        CMDLINE_DOC(
            "Who may do what with a session or a provider: query it, start it in real time (realtime) or with a file (ondisk), control and "
            "enable it (enable), write to it when it is SECURE (log), read it live (consume), register the provider (register). A name, a "
            "{GUID}, kernel for the kernel's events, or default for all that have no rights of their own. Root may do everything.",
            "  autologger access web --allow alice=log --allow group:devs=query,consume"),
        NULL,
        NULL,
        NULL};
    struct access_arguments a   = {.count = 0};
    struct access_place     p   = {0};
    struct reason           why = {0};
    int                     code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = access_place_open(&a, &p, &why);
    if (st) {
        access_place_close(&p);
        return failure_print_about(a.common.store_given ? ABOUT_STORE : ABOUT_DAEMON, "autologger access", st, &why);
    }
    struct json *j = a.common.json ? json_create(stdout, true) : NULL;
    st             = access_run(&a, &p, j, &why);
    json_destroy(j);
    access_place_close(&p);
    return st ? failure_print("autologger access", st, &why) : VERB_FINE;
}
