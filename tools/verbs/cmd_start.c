/* autologger start: sessions that run from now on, without a boot. */
#include "registry-sim/text/dialect.h"
#include "autologger/plan/plan.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/publisher_words.h"
#include "tools/live/provider_names.h"
#include "tools/live/session_start.h"
#include "tools/setup/profile.h"
#include "tools/view/session_view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KEY_SET = 0x600, KEY_REAL_TIME, MAX_WISHES = 256 };
struct wish {
    const char *value; /* the name of a declaration's value; NULL: `text` is a provider */
    const char *text;
};
struct start_args {
    struct cmdline          common;
    const char             *name, *config;
    struct regstore        *store; /* gets the options' declaration */
    struct wish             wish[MAX_WISHES];
    unsigned                wishes;
    bool                    real_time, kernel, file;
    struct publisher_option manifests;
    int                     code; /* exit code for an unreadable manifest; 0: none */
};

static error_t start_wish(struct start_args *a, struct argp_state *state, const char *value, const char *text)
{
    if (a->wishes == MAX_WISHES)
        argp_error(state, "more than %d options. Do: write them into a file, see --config", MAX_WISHES);
    a->wish[a->wishes++] = (struct wish){value, text};
    return 0;
}

/* Splits "VALUE=TEXT" in place. */
static error_t wish_pair(struct start_args *a, struct argp_state *state, char *arg)
{
    char *equals = strchr(arg, '=');
    if (!equals || equals == arg)
        argp_error(state, "--set takes VALUE=TEXT, such as BufferSize=256KB, not \"%s\"", arg);
    *equals = 0;
    return start_wish(a, state, arg, equals + 1);
}

/* Turns the options into a declaration; a mistake is an error of the command line. */
static void start_declare(struct start_args *a, struct argp_state *state)
{
    struct reason why = {0};
    struct guid   id  = guid_from_name(a->name);
    char          guid[GUID_TEXT_SIZE];
    if (!*a->name || strpbrk(a->name, "\\/"))
        argp_error(state, "a session's name is not empty and has no \\ and no /: \"%s\"", a->name);
    wstatus st         = session_value_set(a->store, a->name, NULL, "Start", "yes", &why);
    st                 = st ? st : session_value_set(a->store, a->name, NULL, "Guid", guid_format(&id, guid), &why);
    const char *blamed = "NAME";
    for (unsigned i = 0; !st && i < a->wishes; i++) {
        const struct wish *w = &a->wish[i];
        blamed               = w->value ? w->value : w->text;
        st                   = w->value ? session_value_set(a->store, a->name, NULL, w->value, w->text, &why)
                                        : session_provider_add(a->store, a->name, w->text, &why);
    }
    if (!st && (a->real_time || a->kernel))
        st = session_mode_add(a->store, a->name,
                              (a->real_time ? ETL_MODE_REAL_TIME : 0) | (a->kernel ? ETL_MODE_SYSTEM_LOGGER : 0), &why);
    if (st)
        argp_error(state, "%s: %s", blamed, why.text);
}

/* "./x.etl" is a file of the current folder, "x.etl" one of the daemon's log folder, as FileName is. The result is
 * valid until the process ends. */
static const char *file_here(const char *arg, struct argp_state *state)
{
    static char path[PATH_MAX + NAME_MAX + 2];
    char        folder[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(arg, '/');
    if (strncmp(arg, "./", 2) != 0 && strncmp(arg, "../", 3) != 0)
        return arg;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - arg), arg);
    if (!slash[1])
        argp_error(state, "--output takes a file, and \"%s\" is a folder", arg);
    if (!realpath(folder, real))
        argp_error(state, "--output %s: the folder %s: %s", arg, folder, strerror(errno));
    snprintf(path, sizeof path, "%s/%s", strcmp(real, "/") ? real : "", slash + 1);
    return path;
}

/* Like xperf -on FLAGS: the NT Kernel Logger, and a file of its own. */
static void kernel_default(struct start_args *a, struct argp_state *state)
{
    a->name = PLAN_KERNEL_LOGGER;
    if (!a->file && !a->real_time)
        start_wish(a, state, "FileName", "kernel.etl");
}

static error_t start_parse(int key, char *arg, struct argp_state *state)
{
    struct start_args *a = state->input;
    switch (key) {
    case 'c': a->config = arg; return 0;
    case 'f': a->kernel = true; return start_wish(a, state, "EnableKernelFlags", arg);
    case 'k': return start_wish(a, state, "StackWalkingFilter", arg);
    case 'o': a->file = true; return start_wish(a, state, "FileName", file_here(arg, state));
    case 'p': return start_wish(a, state, NULL, arg);
    case KEY_REAL_TIME: a->real_time = true; return 0;
    case KEY_SET: return wish_pair(a, state, arg);
    case KEY_PUBLISHER: publisher_option_add(&a->manifests, arg, state); return 0;
    case ARGP_KEY_ARG:
        if (a->name)
            argp_error(state, "one NAME at a time: \"%s\"", arg);
        a->name = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->name && !a->config && a->kernel)
            kernel_default(a, state);
        if (!a->name && !a->config)
            argp_error(state, "a NAME, --flags FLAGS, or --config FILE, is needed");
        if (a->config && (a->wishes || a->real_time))
            argp_error(state, "--config FILE has the session's values: other options don't go with it");
        if (!publisher_option_open(&a->manifests, "autologger start", &a->code))
            return EINVAL;
        if (!a->config)
            start_declare(a, state);
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

static void start_started(const struct ctl_update_answer *answer, struct json *j)
{
    if (j) {
        json_object(j, NULL);
        session_view_json(&answer->session, NULL, NULL, "session", j);
        json_text(j, "conditions", answer->text);
        json_object_end(j);
    } else {
        visible_printf(stdout, "started \"%s\": %s\n", answer->session.name, session_file_text(&answer->session));
        if (*answer->text)
            printf("%s\n", answer->text); /* visible: lines of conditions, which condition_add escaped */
    }
}

/* True: start the session of this key. NAME on the command line selects by the name in the key. */
static bool start_chosen(const struct start_args *a, const char *key)
{
    const char *slash = strchr(key, '\\');
    return !a->config || !a->name || strcasecmp(slash ? slash + 1 : key, a->name) == 0;
}

/* Starts each session independently of the others, as at a boot; the exit code says whether all started. */
static int start_all(const struct start_args *a, struct regstore *store, struct control_client *client)
{
    struct ctl_update_answer *answer = calloc(1, sizeof *answer);
    struct reason             why    = {0};
    char                    **keys   = NULL;
    int                       code   = VERB_FINE;
    unsigned                  n      = 0;
    wstatus                   st     = answer ? session_declared(store, &keys, &why) : W_OUTOFMEMORY;
    struct json              *j      = a->common.json ? json_create(stdout, true) : NULL;
    if (j)
        json_array(j, NULL);
    for (unsigned i = 0; !st && keys[i]; i++) {
        if (!start_chosen(a, keys[i]))
            continue;
        n++;
        if (session_start_declared(client, store, keys[i], answer, &why)) {
            const struct reason of = why;
            reason_set(&why, of.status, "%s: %s", keys[i], of.text);
            code = failure_print_about(ABOUT_CONFIGURATION, "autologger start", of.status, &why);
            continue;
        }
        start_started(answer, j);
    }
    if (j) {
        json_array_end(j);
        json_destroy(j);
    }
    if (st)
        code = failure_print("autologger start", st, &why);
    else if (!n) {
        visible_printf(stderr, "autologger start: %s declares no session%s%s that starts. Do: autologger check %s\n",
                       a->config, a->name ? " named " : "", a->name ? a->name : "", a->config);
        code = VERB_FAILED;
    }
    session_declared_free(keys);
    free(answer);
    return code;
}

/* Warns of names that no provider has and that resemble a provider's name. */
static void start_names_check(const struct start_args *a, struct control_client *client)
{
    struct names_of_providers names;
    provider_names_load(&names, client);
    for (unsigned i = 0; i < a->wishes; i++) {
        char name[CTL_NAME];
        if (a->wish[i].value)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(a->wish[i].text, ":"), a->wish[i].text);
        provider_names_warn(&names, "autologger start", name);
    }
    provider_names_finish(&names);
}

static int cmd_start_run(struct start_args *a, struct regstore *declared)
{
    struct control_client *client = NULL;
    struct regstore       *config = NULL;
    struct diag_sink       sink   = {.fn = diag_print};
    struct reason          why    = {0};
    int                    code   = VERB_FAILED;
    char                   path[PROFILE_PATH];
    wstatus                st = a->config ? regstore_open_memory(&config, &why) : W_SUCCESS;
    if (!st && a->config)
        st = profile_resolve(a->config, NULL, path, &why);
    if (!st && a->config)
        st = dialect_import_file(config, path, 0, plan_vocabulary(), &sink, &why);
    if (st && sink.errors)
        visible_printf(stderr, "autologger start: %s: %u mistake%s, nothing was started\n", a->config, sink.errors,
                       plural(sink.errors));
    else if (st)
        code = failure_print_about(ABOUT_CONFIGURATION, "autologger start", st, &why);
    else if ((st = control_open(a->common.runtime_dir, &client, &why)))
        code = failure_print_about(ABOUT_DAEMON, "autologger start", st, &why);
    else if ((code = start_all(a, config ? config : declared, client)) == VERB_FINE)
        start_names_check(a, client);
    control_close(client);
    regstore_close(config);
    return code;
}

int cmd_start(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"config", 'c', "FILE|PROFILE", 0,
         "start the sessions that this INI, .reg or profile declares, or of them NAME alone", 0},
        {"provider", 'p', "PROVIDER[:LEVEL[:KEYWORDS]]", 0, "enable a provider, by name or {GUID}; as often as wanted",
         0},
        {"flags", 'f', "FLAGS", 0,
         "kernel events: keywords and groups joined by '+'; without NAME in the NT Kernel Logger, to kernel.etl", 0},
        {"stacks", 'k', "STACKS", 0, "the kernel events that get call stacks", 0},
        {"output", 'o', "FILE", 0,
         "the log file: NAME.etl in the daemon's log folder; ./NAME.etl in the current folder, or an absolute path, made with your rights (default: below the log folder)",
         0},
        {"real-time", KEY_REAL_TIME, NULL, 0, "for consumers (autologger watch), without a file unless one is named",
         0},
        OPT_PUBLISHER,
        {"set", KEY_SET, "VALUE=TEXT", 0,
         "any other value of a declaration, such as BufferSize=256KB or MaximumBuffers=64", 0},
        OPT_RUNTIME_DIR,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        start_parse,
        "[NAME]",
        CMDLINE_DOC(
            "Start a session now, for as long as the daemon runs or until 'autologger stop': in no store, and not at the next boot. Its "
            "values mean what they mean in a configuration. Providers that are registered are enabled at once, others when they come.",
            "  autologger start web --provider Contoso-Web:Informational --set BufferSize=256KB\n"
            "  autologger start cpu --flags PROC_THREAD+LOADER+CSWITCH --stacks CSwitch --output cpu.etl\n"
            "  autologger start --flags PROC_THREAD+LOADER --output ./kernel.etl\n"
            "  autologger start --config sessions.ini web"),
        NULL,
        NULL,
        NULL};
    static struct start_args a;
    struct reason            why = {0};
    int                      code;
    wstatus                  st = regstore_open_memory(&a.store, &why);
    if (st)
        return failure_print("autologger start", st, &why);
    if (cmdline_parse(&argp, argc, argv, &a, &code))
        code = cmd_start_run(&a, a.store);
    else if (a.code)
        code = a.code;
    regstore_close(a.store);
    return code;
}
