/* autologger clean: removes what apply made. */
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/setup/put_back.h"

struct clean_args {
    struct cmdline       common;
    struct clean_options options;
    const char          *root;
};

static error_t clean_parse(int key, char *arg, struct argp_state *state)
{
    struct clean_args *a = state->input;
    switch (key) {
    case 'a': a->options.all = true; return 0;
    case 'o': a->options.once = true; return 0;
    case 'd': a->options.declared = true; return 0;
    case 'I': a->options.no_initramfs = true; return 0;
    case 'R': a->root = arg; return 0;
    case ARGP_KEY_END:
        if (a->options.once && (a->options.all || a->options.declared || a->options.no_initramfs))
            argp_error(
                state,
                "--once leaves declarations and logs alone, and puts the initramfs back: not with --all, --declared or --no-initramfs");
        return 0;
    case ARGP_KEY_ARG: argp_error(state, "\"%s\": clean takes no arguments", arg); return EINVAL;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int cmd_clean(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        {"all", 'a', NULL, 0, "also the history of boots and the log files it names", 0},
        {"once", 'o', NULL, 0,
         "what was in place for one boot, when that boot was traced: early program, unit, boot entry; declarations stay "
         "(autologger-once.service does it)",
         0},
        {"declared", 'd', NULL, 0, "also what import declared: every session and the settings of [Boot]", 0},
        {"no-initramfs", 'I', NULL, 0, "leave the initramfs as it is", 0},
        {"root", 'R', "DIR", 0, "of the machine whose root is DIR (an image)", 0},
        OPT_JSON,
        {0},
    };
    static const struct argp argp = {
        options,
        clean_parse,
        "",
        CMDLINE_DOC(
            "Take away what apply made: the declarations, the sealed snapshot, the boot entry, the guard file, premerge files "
            "that are left, and the early program in the initramfs. Logs, history and what import declared stay, and it says so. "
            "Twice is fine.",
            "  autologger clean\n  autologger clean --declared --all"),
        NULL,
        NULL,
        NULL};
    struct clean_args a   = {0};
    struct reason     why = {0};
    char              store[MACHINE_PATH];
    int               code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = store_access_machine(&a.common, a.root, &a.options.machine, store, &why);
    if (st)
        return failure_print("autologger clean", st, &why);
    a.options.json  = a.common.json;
    a.options.store = a.common.store;
    return a.options.once ? put_back_run(&a.options) : clean_run(&a.options);
}
