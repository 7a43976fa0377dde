/* autologger channels: the channels of installed manifests, and their events in systemd's journal. */
#include "autologger/schema/publishers.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/text_table.h"
#include "tools/base/verb.h"
#include "tools/channels/channel_list.h"
#include "tools/channels/channel_query.h"
#include "tools/channels/channel_service.h"
#include "tools/channels/journal_record.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHANNELS_SOCKET = 0x700, CHANNELS_DIRECTORY };
#define CHANNELS_UNIT "autologger-channels.service"
struct channels_args {
    struct cmdline common;
    const char    *action, *channel, *socket, *directory;
    unsigned       count;
    bool           all, reverse;
};

static bool channels_is(const struct channels_args *a, const char *action) { return strcmp(a->action, action) == 0; }

static void channels_check(const struct channels_args *a, struct argp_state *state)
{
    static const char *const actions[] = {"list", "enable", "disable", "query", "run"};
    bool                     known     = false;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        known = known || channels_is(a, actions[i]);
    if (!known)
        argp_error(state, "\"%s\": what can be done is list, enable, disable, query and run", a->action);
    if (channels_is(a, "query") && !a->channel)
        argp_error(state, "query needs a CHANNEL. Do: autologger channels list");
    if (channels_is(a, "run") && a->channel)
        argp_error(state, "run takes no CHANNEL: it writes all that are on");
}

static error_t channels_parse(int key, char *arg, struct argp_state *state)
{
    struct channels_args *a = state->input;
    char                 *end;
    switch (key) {
    case 'a': a->all = true; return 0;
    case 'r': a->reverse = true; return 0;
    case 'n': {
        const unsigned long n = strtoul(arg, &end, 10);
        if (*end || !n || n > 1000000 || *arg == '-')
            argp_error(state, "--count takes a number from 1 to 1000000, not \"%s\"", arg);
        a->count = (unsigned)n;
        return 0;
    }
    case CHANNELS_SOCKET: a->socket = arg; return 0;
    case CHANNELS_DIRECTORY: a->directory = arg; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "one CHANNEL at a time: \"%s\"", arg);
        *(state->arg_num ? &a->channel : &a->action) = arg;
        return 0;
    case ARGP_KEY_END: channels_check(a, state); return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* ---- list ---- */

static bool channels_shown(const struct channels_args *a, const struct channel_row *r)
{
    const bool hidden = r->type == CHANNEL_ANALYTIC || r->type == CHANNEL_DEBUG;
    return a->channel ? strcasecmp(a->channel, r->name) == 0 : a->all || a->common.json || !hidden || r->on;
}

static void channels_json(const struct channels_args *a, const struct channel_list *list)
{
    struct json *j = json_create(stdout, true);
    char         text[GUID_TEXT_SIZE];
    json_array(j, NULL);
    for (unsigned i = 0; i < list->count; i++) {
        const struct channel_row *r = &list->row[i];
        if (!channels_shown(a, r))
            continue;
        json_object(j, NULL);
        json_text(j, "name", r->name);
        json_text(j, "type", channel_type_name(r->type));
        json_flag(j, "enabled", r->on);
        json_flag(j, "enabled_by_default", r->on_by_default);
        json_text(j, "provider", r->provider);
        json_text(j, "guid", guid_format(&r->guid, text));
        json_object_end(j);
    }
    json_array_end(j);
    json_destroy(j);
}

static void channels_text(const struct channels_args *a, const struct channel_list *list)
{
    static const char *const titles[] = {"CHANNEL", "TYPE", "ENABLED", "PROVIDER", NULL};
    struct text_table        t;
    unsigned                 hidden = 0;
    text_table_init(&t, titles);
    for (unsigned i = 0; i < list->count; i++) {
        const struct channel_row *r = &list->row[i];
        hidden += !channels_shown(a, r);
        if (channels_shown(a, r))
            text_table_row(&t, r->name, channel_type_name(r->type), r->on ? "yes" : "no", r->provider);
    }
    text_table_print(&t, stdout);
    text_table_finish(&t);
    if (hidden && !a->channel)
        visible_printf(stdout, "\n%u analytic and debug channel%s not shown. Do: autologger channels list --all\n",
                       hidden, hidden == 1 ? " is" : "s are");
    if (!list->count)
        printf("\nNo installed manifest has a channel. Do: autologger manifest install FILE\n");
}

static int channels_unknown(const struct channel_list *list, const char *name)
{
    const char *near = channel_list_suggest(list, name);
    visible_printf(stderr, "autologger channels: no installed manifest has a channel \"%s\".", name);
    if (near)
        visible_printf(stderr, " Did you mean \"%s\"?", near);
    fputs(" Do: autologger channels list --all\n", stderr);
    return VERB_FAILED;
}

/* ---- enable, disable ---- */

/* Switches the service itself on or off. */
static int channels_service(bool on)
{
    struct machine machine;
    struct reason  why = {0};
    wstatus        st  = machine_open(NULL, &machine, &why);
    st                 = st ? st
                            : machine_run(&machine,
                                          (const char *const[]){"systemctl", on ? "enable" : "disable", "--now", CHANNELS_UNIT, NULL},
                                          NULL, 0, false, &why);
    if (st)
        return failure_print("autologger channels", st, &why);
    if (on)
        puts("events of channels that are on go to the journal, now and after each boot");
    else
        puts("events of channels no longer go to the journal");
    return VERB_FINE;
}

static int channels_switch(const struct channels_args *a, struct regstore *store, const char *folder,
                           const struct channel_list *list)
{
    const bool                on  = channels_is(a, "enable");
    struct reason             why = {0};
    const struct channel_row *r   = channel_list_find(list, a->channel);
    if (!r)
        return channels_unknown(list, a->channel);
    wstatus st = channel_set(store, folder, r->name, on, &why);
    if (st)
        return failure_print_about(ABOUT_STORE, "autologger channels", st, &why);
    if (a->common.json) {
        struct json *j = json_create(stdout, true);
        json_object(j, NULL);
        json_text(j, "name", r->name);
        json_flag(j, "enabled", on);
        json_object_end(j);
        json_destroy(j);
    } else
        visible_printf(stdout, "%s is %s\n", r->name, on ? "on" : "off");
    return VERB_FINE;
}

/* The spelling is that of the manifest. A channel that is not installed here may be in the journal nevertheless. */
static int channels_query(const struct channels_args *a, const struct channel_list *list)
{
    const struct channel_row *r    = channel_list_find(list, a->channel);
    const char               *near = r || a->directory ? NULL : channel_list_suggest(list, a->channel);
    if (near)
        return channels_unknown(list, a->channel);
    return channel_query_run(
        &(struct channel_query){r ? r->name : a->channel, a->directory, a->count, a->reverse, a->common.json});
}

static int channels_act(const struct channels_args *a)
{
    const bool          writes = channels_is(a, "enable") || channels_is(a, "disable");
    struct regstore    *store  = NULL;
    struct channel_list list   = {0};
    struct reason       why    = {0};
    char                folder[PUBLISHERS_PATH];
    int                 code = VERB_FINE;
    publishers_beside(a->common.store, folder);
    wstatus st = store_access_open(&a->common, writes, &store, &why);
    if (channels_is(a, "query") || (st == W_FILE_NOT_FOUND && !writes && !a->common.store_given))
        st = W_SUCCESS; /* the journal may be read without the store; nothing was installed yet */
    st = st ? st : channel_list_load(store, folder, &list, &why);
    if (st)
        code = failure_print_about(ABOUT_STORE, "autologger channels", st, &why);
    else if (channels_is(a, "query"))
        code = channels_query(a, &list);
    else if (writes)
        code = channels_switch(a, store, folder, &list);
    else if (a->channel && !channel_list_find(&list, a->channel))
        code = channels_unknown(&list, a->channel);
    else if (a->common.json)
        channels_json(a, &list);
    else
        channels_text(a, &list);
    if (!code && list.unread) {
        visible_printf(stderr, "autologger channels: %u manifest%s could not be read: %s\n", list.unread,
                       plural(list.unread), list.why.text);
        code = writes ? VERB_FINE : VERB_FAILED;
    }
    channel_list_finish(&list);
    regstore_close(store);
    return code;
}

int cmd_channels(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"all", 'a', NULL, 0, "list: analytic and debug channels, too", 0},
        {"count", 'n', "N", 0, "query: the newest N events (default 20)", 0},
        {"reverse", 'r', NULL, 0, "query: the newest first", 0},
        {"directory", CHANNELS_DIRECTORY, "DIR", 0, "query: the journal files of this folder", 0},
        {"socket", CHANNELS_SOCKET, "PATH", 0, "run: the journal's socket (default " JOURNAL_SOCKET ")", 0},
        OPT_STORE,
        OPT_RUNTIME_DIR,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        channels_parse,
        "list [CHANNEL]\nenable [CHANNEL]\ndisable [CHANNEL]\nquery CHANNEL\nrun",
        CMDLINE_DOC(
            "The channels of installed manifests. Admin and operational channels are on, analytic and debug ones are off until enabled. "
            "'enable' without CHANNEL switches the service on, which writes the events of channels that are on to systemd's journal; "
            "'run' is that service.",
            "  autologger channels list --all\n"
            "  autologger channels enable\n"
            "  autologger channels enable Contoso-Web/Debug\n"
            "  autologger channels query Contoso-Web/Operational --count 5"),
        NULL,
        NULL,
        NULL};
    struct channels_args a = {.action = "list", .count = 20, .socket = JOURNAL_SOCKET};
    int                  code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    a.common.store = cmdline_store();
    if (channels_is(&a, "run"))
        return channel_service_run(&(struct channel_service_options){a.common.store, a.common.runtime_dir, a.socket});
    if (!a.channel && !channels_is(&a, "list"))
        return channels_service(channels_is(&a, "enable"));
    return channels_act(&a);
}
