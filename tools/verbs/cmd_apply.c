/* autologger apply: declares a configuration for the next boots, as a whole or not at all. */
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/setup/apply.h"
#include "tools/setup/profile.h"

struct apply_args {
    struct cmdline       common;
    struct apply_options options;
    const char          *root;
};

static error_t apply_parse(int key, char *arg, struct argp_state *state)
{
    struct apply_args *a = state->input;
    switch (key) {
    case 'n': a->options.dry_run = true; return 0;
    case 't': a->options.tune = true; return 0;
    case 'f': a->options.force = true; return 0;
    case 'T': a->options.accept_tpm = true; return 0;
    case 'I': a->options.no_initramfs = true; return 0;
    case 'R': a->root = arg; return 0;
    case 'l': a->options.log_dir = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->options.word)
            argp_error(state, "one FILE or PROFILE at a time");
        a->options.word = arg;
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* The FILE or PROFILE of the last apply. */
static wstatus applied_last(const char *store_path, char out[PROFILE_PATH], struct reason *why)
{
    struct regstore *store = NULL;
    struct declared  last  = {0};
    wstatus          st    = regstore_open(store_path, false, &store, why);
    st                     = st ? st : declared_load(store, &last, why);
    if (!st && (!last.file || !*last.file))
        st = reason_set(why, W_FILE_NOT_FOUND, "nothing was applied yet. Do: autologger apply FILE");
    if (!st)
        snprintf(out, PROFILE_PATH, "%s", last.profile && *last.profile ? last.profile : last.file);
    declared_finish(&last);
    regstore_close(store);
    return st;
}

int cmd_apply(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        {"dry-run", 'n', NULL, 0, "say what would change, and change nothing", 0},
        {"tune", 't', NULL, 0,
         "with the MinimumBuffers and MaximumBuffers that the last boot suggests; without FILE: what was applied last",
         0},
        {"force", 'f', NULL, 0, "go on although a check or a session failed; never where a check found a danger", 0},
        {"accept-tpm", 'T', NULL, 0, "go on although the root is unlocked by a TPM: have the recovery key at hand", 0},
        {"no-initramfs", 'I', NULL, 0, "leave the initramfs as it is", 0},
        {"root", 'R', "DIR", 0, "set up the machine whose root is DIR (an image)", 0},
        {"log-dir", 'l', "DIR", 0, "the log folder of that machine (default /var/log/autologger)", 0},
        OPT_JSON,
        {0},
    };
    static const struct argp argp = {
        options,
        apply_parse,
        "[FILE]\n[PROFILE]",
        CMDLINE_DOC(
            "Declare a configuration for the next boots: the store, the sealed snapshot that early boot reads, the initramfs and "
            "the daemon's unit; all of it, or with any failure nothing. What an earlier apply declared is replaced. Says what "
            "changes, what this machine lacks, and the Status to expect. Without FILE: what the store declares, as it is, once more "
            "(the snapshot is made anew, and the guard starts afresh).",
            "  autologger apply --dry-run boot\n  autologger apply boot"),
        NULL,
        NULL,
        NULL};
    struct apply_args   a = {.options = {.verb = "autologger apply", .log_dir = "/var/log/autologger"}};
    struct apply_result result;
    struct reason       why = {0};
    char                file[PROFILE_PATH], store[MACHINE_PATH], applied[PROFILE_PATH];
    int                 code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = store_access_machine(&a.common, a.root, &a.options.machine, store, &why);
    if (st)
        return failure_print("autologger apply", st, &why);
    a.options.json  = a.common.json;
    a.options.store = a.common.store;
    if (!a.options.word && a.options.tune && (st = applied_last(a.options.store, applied, &why)))
        return failure_print_about(ABOUT_STORE, "autologger apply", st, &why);
    if (!a.options.word && a.options.tune)
        a.options.word = applied;
    if (a.options.word && (st = profile_resolve(a.options.word, a.root, file, &why)))
        return failure_print_about(ABOUT_CONFIGURATION, "autologger apply", st, &why);
    a.options.file = a.options.word ? file : NULL;
    return apply_run(&a.options, &result);
}
