/* overview.c - `autologger` without a verb: does a daemon run, what does the store declare, how did the last boot end,
 * and what to do next. */
#include "autologger/boot/result.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/store/key_names.h"
#include "registry-sim/text/winpath.h"
#include "registry-sim/win32/filetime.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/view/result_view.h"
#include "tools/view/session_view.h"

#include <stdlib.h>
#include <unistd.h>

struct overview {
    struct cmdline     c;
    bool               daemon, store;
    unsigned           running;            /* sessions */
    unsigned           declared, starting; /* in the store */
    bool               booted;
    struct result_list last;
    char               daemon_why[512], store_why[512];
};

static error_t overview_parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG)
        argp_error(state, "\"%s\": the verb comes first", arg);
    return cmdline_option(&((struct overview *)state->input)->c, key, arg);
}

static void daemon_ask(struct overview *o)
{
    struct control_client  *client = NULL;
    struct ctl_state_answer state;
    struct reason           why = {0};
    if (!control_open(o->c.runtime_dir, &client, &why) && !control_state(client, &state, &why)) {
        o->daemon  = true;
        o->running = state.sessions;
    }
    snprintf(o->daemon_why, sizeof o->daemon_why, "%s", why.text);
    control_close(client);
}

static void session_count(struct overview *o, struct regstore *store, const char *key)
{
    uint32_t start = 0;
    if (!regstore_key_exists(store, key))
        return;
    o->declared++;
    if (regstore_get_dword(store, key, "Start", &start, NULL) == W_SUCCESS && start)
        o->starting++;
}

static void store_ask(struct overview *o)
{
    struct regstore *store = NULL;
    struct key_names names = {0};
    struct reason    why   = {0};
    if (access(o->c.store, F_OK) != 0) {
        snprintf(o->store_why, sizeof o->store_why, "there is none yet");
        return;
    }
    if (regstore_open(o->c.store, false, &store, &why)) {
        snprintf(o->store_why, sizeof o->store_why, "%s", why.text);
        return;
    }
    o->store = true;
    session_count(o, store, WINPATH_WMI "\\GlobalLogger");
    if (!key_names_load(store, WINPATH_WMI "\\Autologger", &names))
        for (unsigned i = 0; i < names.count; i++) {
            char *key = NULL;
            if (asprintf(&key, WINPATH_WMI "\\Autologger\\%s", names.names[i]) >= 0)
                session_count(o, store, key);
            free(key);
        }
    key_names_finish(&names);
    o->booted = result_load(store, &o->last, &why) == W_SUCCESS;
    regstore_close(store);
}

/* The one thing to do next. */
static void next_step(const struct overview *o, char *out, size_t size)
{
    if (!o->declared)
        snprintf(out, size, "autologger trace-boot (the next boot), or autologger rehearse boot (now)");
    else if (!o->booted)
        snprintf(out, size, "autologger rehearse --store %s", o->c.store);
    else if (result_view_undone(&o->last))
        snprintf(out, size, "autologger status --store %s", o->c.store);
    else if (result_view_merged(&o->last)[0])
        snprintf(out, size, "autologger summary %s", result_view_merged(&o->last));
    else
        snprintf(out, size, "autologger status --store %s", o->c.store);
}

static void overview_text_print(const struct overview *o, const char *next)
{
    if (o->daemon)
        visible_printf(stdout, "daemon:     running, %u session%s\n", o->running, plural(o->running));
    else
        visible_printf(stdout, "daemon:     not running (%s)\n", o->daemon_why);
    if (o->store)
        visible_printf(stdout, "store:      %s: %u session%s declared, %u to start at boot\n", o->c.store, o->declared,
                       plural(o->declared), o->starting);
    else
        visible_printf(stdout, "store:      %s: %s\n", o->c.store, o->store_why);
    if (o->booted) {
        char     when[FILETIME_TEXT_SIZE];
        unsigned failed = result_view_failed(&o->last), part = result_view_in_part(&o->last);
        unsigned off = result_view_undone(&o->last) - failed - part;
        visible_printf(stdout, "last %s: %s: %u of %u row%s failed", o->last.rehearsal ? "run" : "boot",
                       filetime_format(o->last.time, when), failed, o->last.count, plural(o->last.count));
        if (part)
            printf(", %u done in part", part);
        if (off)
            printf(", %u kept off", off);
        putchar('\n');
    } else {
        puts("last boot:  none yet");
    }
    visible_printf(stdout, "\nnext: %s\n      autologger --help\n", next);
}

static void overview_json_print(const struct overview *o, const char *next)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return;
    json_object(j, NULL);
    json_flag(j, "daemon", o->daemon);
    json_number(j, "running", o->running);
    json_text(j, "store", o->c.store);
    json_number(j, "declared", o->declared);
    json_number(j, "starting", o->starting);
    json_flag(j, "booted", o->booted);
    json_number(j, "failed", o->booted ? result_view_failed(&o->last) : 0);
    json_text(j, "next", next);
    json_object_end(j);
    json_destroy(j);
}

int overview_print(int argc, char **argv)
{
    static const struct argp_option options[] = {OPT_STORE, OPT_RUNTIME_DIR, OPT_JSON, {0}};
    static const struct argp        argp      = {
                    options, overview_parse,
                    "",      CMDLINE_DOC("The state of this machine and the next step.", "  autologger --store r.db"),
                    NULL,    NULL,
                    NULL};
    struct overview o = {0};
    char            next[1200];
    int             code;
    if (!cmdline_parse(&argp, argc, argv, &o, &code))
        return code;
    daemon_ask(&o);
    store_ask(&o);
    next_step(&o, next, sizeof next);
    if (o.c.json)
        overview_json_print(&o, next);
    else
        overview_text_print(&o, next);
    result_list_finish(&o.last);
    return VERB_FINE;
}
