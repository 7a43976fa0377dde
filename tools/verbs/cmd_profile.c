/* autologger profile save: the running sessions, as the user's own configuration. */
#include "autologger/control/client.h"
#include "autologger/plan/check.h"
#include "registry-sim/base/os.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/textbuf.h"
#include "registry-sim/text/winpath.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/setup/profile.h"
#include "tools/live/profile_declare.h"
#include "tools/setup/system_check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct profile_args {
    struct cmdline common;
    const char    *action, *name;
    bool           force;
};

static error_t profile_parse(int key, char *arg, struct argp_state *state)
{
    struct profile_args *a = state->input;
    switch (key) {
    case 'f': a->force = true; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0 && strcmp(arg, "save"))
            argp_error(state, "\"%s\": what can be done is: save NAME", arg);
        if (state->arg_num == 1 && !profile_name_fits(arg))
            argp_error(state, "\"%s\": a profile's name has letters, digits, '-' and '_', at most %d", arg,
                       PROFILE_NAME - 1);
        if (state->arg_num > 1)
            argp_error(state, "one NAME at a time");
        *(state->arg_num ? &a->name : &a->action) = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->name)
            argp_error(state, "autologger profile save NAME");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

static void left_out(void *ctx, const char *what)
{
    (void)ctx;
    visible_printf(stderr, "autologger profile: left out: %s\n", what);
}

/* Like every profile: for one boot, and it stops by itself. */
static wstatus boot_put(struct regstore *s, struct reason *why)
{
    const char *key = WINPATH_WMI "\\Autologger";
    wstatus     st  = regstore_set_dword(s, key, "Once", 1, why);
    st              = st ? st : regstore_set_string(s, key, "StopAfter", "boot-done + 10 s", why);
    return st ? st : regstore_set_dword(s, key, "MaxWait", 300, why);
}

/* ---- the file ---- */

struct failed {
    unsigned      count;
    struct reason first;
};

static void failed_count(void *ctx, const struct check_row *row)
{
    struct failed *f = ctx;
    if (row->status && !f->count++)
        reason_set(&f->first, row->status, "%s: %s", row->name, row->reason);
}

/* Checks that the text is a profile: it imports, and no row of it fails. */
static wstatus profile_text_check(const char *text, size_t size, const char *file, struct reason *why)
{
    struct regstore   *again  = NULL;
    struct diag_sink   sink   = {.fn = diag_print};
    struct plan_limits limits = system_limits("/var/log/autologger");
    struct failed      failed = {.count = 0};
    wstatus            st     = regstore_open_memory(&again, why);
    st                        = st ? st : ini_import(again, text, size, file, plan_vocabulary(), &sink, why);
    st                        = st ? st : plan_check(again, &limits, failed_count, &failed, why);
    if (!st && failed.count)
        st = reason_set(
            why, failed.first.status,
            "%u of the running sessions and providers cannot be declared for a boot, the first: %s. Do: stop it, and save again",
            failed.count, failed.first.text);
    regstore_close(again);
    return st;
}

static wstatus profile_file_write(const char *path, const char *text, size_t size, bool force, struct reason *why)
{
    struct machine here;
    if (!force && !access(path, F_OK))
        return reason_set(why, W_ALREADY_EXISTS,
                          "%s is there already. Do: choose another name, or replace it with --force", path);
    wstatus st = machine_open(NULL, &here, why);
    return st ? st : machine_write(&here, path, text, size, 0644, why);
}

static wstatus profile_save(struct declaring *v, const struct profile_args *a, char path[PROFILE_PATH],
                            struct reason *why)
{
    char          *ini  = NULL;
    size_t         size = 0;
    struct textbuf text = {0};
    wstatus        st   = boot_put(v->to, why);
    st                  = st ? st : ini_export(v->to, WINPATH_WMI, plan_vocabulary(), &ini, &size, why);
    st                  = st ? st : profile_own_path(a->name, path, why);
    if (!st) {
        textbuf_puts(&text, "; ");
        textbuf_puts(&text, a->name);
        textbuf_printf(&text, ": saved from %u running session%s with %u provider%s.\n", v->sessions,
                       plural(v->sessions), v->providers, plural(v->providers));
        textbuf_put(&text, ini, size);
        st = text.bad ? reason_set(why, W_OUTOFMEMORY, "not enough memory")
                      : profile_text_check(text.data, text.size, path, why);
        st = st ? st : profile_file_write(path, text.data, text.size, a->force, why);
    }
    textbuf_finish(&text);
    free(ini);
    return st;
}

static int profile_run(const struct profile_args *a)
{
    struct control_client  *client = NULL;
    struct ctl_state_answer state;
    struct declaring        v   = {.left_out = left_out};
    struct reason           why = {0};
    char                    path[PROFILE_PATH];
    wstatus                 st = control_open(a->common.runtime_dir, &client, &why);
    if (st)
        return failure_print_about(ABOUT_DAEMON, "autologger profile", st, &why);
    if (!control_state(client, &state, NULL) && regstore_open(state.store, false, &v.from, NULL))
        v.from = NULL;
    st = regstore_open_memory(&v.to, &why);
    st = st ? st : declaring_all(&v, client, &why);
    st = st ? st : profile_save(&v, a, path, &why);
    regstore_close(v.to);
    regstore_close(v.from);
    control_close(client);
    if (st)
        return failure_print_about(ABOUT_RESULT, "autologger profile", st, &why);
    visible_printf(stdout, "saved %u session%s with %u provider%s as profile %s: %s\n", v.sessions, plural(v.sessions),
                   v.providers, plural(v.providers), a->name, path);
    return VERB_FINE;
}

int cmd_profile(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"force", 'f', NULL, 0, "replace a profile of that name", 0},
        OPT_RUNTIME_DIR,
        {0},
    };
    static const struct argp argp = {
        options,
        profile_parse,
        "save NAME",
        CMDLINE_DOC(
            "Save the sessions that run now (kernel flags, stacks, buffers, enabled providers with level, keywords, properties and "
            "filters) as a profile of your own, for one boot. It goes to the first folder of $AUTOLOGGER_PROFILES, else to "
            "$XDG_CONFIG_HOME/autologger/profiles, else to /etc/autologger/profiles (root) or ~/.config/autologger/profiles.",
            "  autologger profile save mine\n  autologger apply mine\n  autologger start --config mine"),
        NULL,
        NULL,
        NULL};
    struct profile_args a = {0};
    int                 code;
    return cmdline_parse(&argp, argc, argv, &a, &code) ? profile_run(&a) : code;
}
