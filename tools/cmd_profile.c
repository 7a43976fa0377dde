/* autologger profile save: the sessions that run now, as a configuration of one's own. */
#include "autologger/control/client.h"
#include "autologger/kernel/flags.h"
#include "autologger/plan/check.h"
#include "autologger/plan/values.h"
#include "registry-sim/base/os.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/textbuf.h"
#include "registry-sim/text/winpath.h"
#include "registry-sim/win32/utf16.h"
#include "tools/profile.h"
#include "tools/store_access.h"
#include "tools/system_check.h"
#include "tools/verb.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct profile_args {
    struct cmdline common;
    const char    *action, *name;
    bool           force;
};
struct saving {
    struct regstore *memory; /* the declarations */
    struct regstore *store;  /* the daemon's, for names of providers; NULL when it can't be read */
    unsigned         sessions, providers;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct profile_args *a = state->input;
    switch (key) {
    case 'f': a->force = true; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0 && strcmp(arg, "save"))
            argp_error(state, "\"%s\": what can be done is: save NAME", arg);
        if (state->arg_num == 1 && !profile_name_fits(arg))
            argp_error(state, "\"%s\": a profile's name has letters, digits, '-' and '_', at most %d", arg, PROFILE_NAME - 1);
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

/* ---- a session's declaration ---- */

static wstatus put_binary(struct regstore *s, const char *key, const char *name, const uint8_t *data, uint32_t size, struct reason *why)
{
    struct regvalue v = {.name = name, .type = REG_TYPE_BINARY, .data = data, .size = size};
    return regstore_set(s, key, &v, why);
}

static wstatus put_kernel(struct regstore *s, const struct ctl_declaration *d, struct reason *why)
{
    uint8_t  mask[32], hooks[sizeof d->hooks * 2];
    uint32_t used = 0;
    for (unsigned i = 0; i < 8; i++)
        for (unsigned b = 0; b < 4; b++) {
            mask[4 * i + b] = (uint8_t)(d->group_mask[i] >> 8 * b);
            used            = d->group_mask[i] ? 4 * i + 4 : used;
        }
    for (unsigned i = 0; i < d->hook_count; i++) {
        const uint8_t one[4] = {(uint8_t)d->hooks[i], (uint8_t)(d->hooks[i] >> 8), 0, 0};
        memcpy(hooks + 4 * i, one, sizeof one);
    }
    wstatus st = used ? put_binary(s, d->key, "EnableKernelFlags", mask, used, why) : W_SUCCESS;
    return st || !d->hook_count ? st : put_binary(s, d->key, "StackWalkingFilter", hooks, 4 * d->hook_count, why);
}

static wstatus put_session(struct regstore *s, const struct ctl_declaration *d, struct reason *why)
{
    const struct {
        const char *name;
        uint32_t    value;
        bool        always;
    } numbers[] = {
        {"Start", 1, true},
        {"BufferSize", d->buffer_kb, true},
        {"MinimumBuffers", d->minimum_buffers, true},
        {"MaximumBuffers", d->maximum_buffers, true},
        {"MaxFileSize", d->max_file_size, true},
        {"LogFileMode", d->log_file_mode, false},
        {"DeviceEvents", d->devices, false},
        {"FlushTimer", d->flush_timer, false},
        {"ClockType", d->clock_type, false},
    };
    char    guid[GUID_TEXT_SIZE];
    wstatus st = W_SUCCESS;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !st; i++)
        if (numbers[i].always || numbers[i].value)
            st = regstore_set_dword(s, d->key, numbers[i].name, numbers[i].value, why);
    if (!st && d->file_name[0])
        st = regstore_set_string(s, d->key, "FileName", d->file_name, why);
    if (!st && value_scope_of(d->key) == IN_AUTOLOGGER)
        st = regstore_set_string(s, d->key, "Guid", guid_format(&d->guid, guid), why);
    return st ? st : put_kernel(s, d, why);
}

static wstatus put_provider(struct saving *v, const struct ctl_declaration *d, const struct ctl_enabled_row *row, struct reason *why)
{
    char  key[CTL_PATH + GUID_TEXT_SIZE], guid[GUID_TEXT_SIZE];
    char *friendly = NULL;
    snprintf(key, sizeof key, "%s\\%s", d->key, guid_format(&row->guid, guid));
    if (v->store)
        regstore_get_string_dup(v->store, row->key, "ProviderFriendlyName", &friendly, NULL);
    const char *name = friendly && friendly[0] ? friendly : row->name;
    wstatus     st   = regstore_set_dword(v->memory, key, "Enabled", 1, why);
    st               = st ? st : regstore_set_dword(v->memory, key, "EnableLevel", row->level, why);
    if (!st && name[0])
        st = regstore_set_string(v->memory, key, "ProviderFriendlyName", name, why);
    if (!st && row->any)
        st = regstore_set_qword(v->memory, key, "MatchAnyKeyword", row->any, why);
    if (!st && row->all)
        st = regstore_set_qword(v->memory, key, "MatchAllKeyword", row->all, why);
    free(friendly);
    v->providers += !st;
    return st;
}

static wstatus sessions_take(struct saving *v, struct control_client *c, struct reason *why)
{
    struct ctl_session_info *list  = NULL;
    unsigned                 count = 0;
    wstatus                  st    = control_query_all(c, &list, &count, why);
    for (unsigned i = 0; i < count && !st; i++) {
        struct ctl_declaration  d;
        struct ctl_enabled_row *rows  = NULL;
        unsigned                many  = 0;
        st                            = control_declaration(c, list[i].name, &d, &rows, &many, why);
        st                            = st ? st : put_session(v->memory, &d, why);
        for (unsigned k = 0; k < many && !st; k++)
            st = put_provider(v, &d, &rows[k], why);
        v->sessions += !st;
        free(rows);
    }
    free(list);
    if (!st && !v->sessions)
        st = reason_set(why, W_WMI_INSTANCE_NOT_FOUND, "no session is running. Do: start one, see autologger sessions");
    return st;
}

/* As every profile: for one boot, and it stops by itself. */
static wstatus boot_put(struct regstore *s, struct reason *why)
{
    const char *key = WINPATH_WMI "\\Autologger";
    wstatus     st  = regstore_set_dword(s, key, "Once", 1, why);
    st              = st ? st : regstore_set_string(s, key, "StopAfter", "boot-done + 10 s", why);
    return st ? st : regstore_set_dword(s, key, "MaxWait", 300, why);
}

/* ---- the file ---- */

static void count_failed(void *ctx, const struct check_row *row)
{
    *(unsigned *)ctx += row->status != W_SUCCESS;
}

/* What was written must be a profile: it imports, and no row of it fails. */
static wstatus text_check(const char *text, size_t size, const char *file, struct reason *why)
{
    struct regstore   *again  = NULL;
    struct diag_sink   sink   = {.fn = diag_print};
    struct plan_limits limits = system_limits("/var/log/autologger");
    unsigned           failed = 0;
    wstatus            st     = regstore_open_memory(&again, why);
    st                        = st ? st : ini_import(again, text, size, file, plan_vocabulary(), &sink, why);
    st                        = st ? st : plan_check(again, &limits, count_failed, &failed, why);
    if (!st && failed)
        st = reason_set(why, W_INVALID_DATA, "%u of the running sessions and providers could not be declared again", failed);
    regstore_close(again);
    return st;
}

static wstatus file_write(const char *path, const char *text, size_t size, bool force, struct reason *why)
{
    struct machine here;
    if (!force && !access(path, F_OK))
        return reason_set(why, W_ALREADY_EXISTS, "%s is there already. Do: choose another name, or replace it with --force", path);
    wstatus st = machine_open(NULL, &here, why);
    return st ? st : machine_write(&here, path, text, size, 0644, why);
}

static wstatus save(struct saving *v, const struct profile_args *a, char path[PROFILE_PATH], struct reason *why)
{
    char          *ini  = NULL;
    size_t         size = 0;
    struct textbuf text = {0};
    wstatus        st   = boot_put(v->memory, why);
    st                  = st ? st : ini_export(v->memory, WINPATH_WMI, plan_vocabulary(), &ini, &size, why);
    st                  = st ? st : profile_own_path(a->name, path, why);
    if (!st) {
        textbuf_puts(&text, "; ");
        textbuf_puts(&text, a->name);
        textbuf_printf(&text, ": saved from %u running session%s with %u provider%s.\n", v->sessions, plural(v->sessions), v->providers,
                       plural(v->providers));
        textbuf_put(&text, ini, size);
        st = text.bad ? reason_set(why, W_OUTOFMEMORY, "not enough memory") : text_check(text.data, text.size, path, why);
        st = st ? st : file_write(path, text.data, text.size, a->force, why);
    }
    textbuf_finish(&text);
    free(ini);
    return st;
}

static int run(const struct profile_args *a)
{
    struct control_client  *client = NULL;
    struct ctl_state_answer state;
    struct saving           v   = {0};
    struct reason           why = {0};
    char                    path[PROFILE_PATH];
    wstatus                 st = control_open(a->common.runtime_dir, &client, &why);
    if (st)
        return failure_print_about(ABOUT_DAEMON, "autologger profile", st, &why);
    if (!control_state(client, &state, NULL) && regstore_open(state.store, false, &v.store, NULL))
        v.store = NULL;
    st = regstore_open_memory(&v.memory, &why);
    st = st ? st : sessions_take(&v, client, &why);
    st = st ? st : save(&v, a, path, &why);
    regstore_close(v.memory);
    regstore_close(v.store);
    control_close(client);
    if (st)
        return failure_print_about(ABOUT_RESULT, "autologger profile", st, &why);
    printf("saved %u session%s with %u provider%s as profile %s: %s\n", v.sessions, plural(v.sessions), v.providers, plural(v.providers), a->name, path);
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
        options, parse, "save NAME",
        CMDLINE_DOC("Save the sessions that run now (kernel flags, stacks, buffers, enabled providers with level and keywords) as a "
                    "profile of your own, for one boot. It goes to the first folder of $AUTOLOGGER_PROFILES, else to /etc/autologger/profiles "
                    "(root) or ~/.config/autologger/profiles.",
                    "  autologger profile save mine\n  autologger apply mine"),
        NULL, NULL, NULL};
    struct profile_args a = {0};
    int                 code;
    return cmdline_parse(&argp, argc, argv, &a, &code) ? run(&a) : code;
}
