/* autologger export: the store as .reg or INI text. */
#include "autologger/plan/plan.h"
#include "registry-sim/text/winpath.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct export_args {
    struct cmdline common;
    const char    *key, *out;
    bool           ini, utf16;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct export_args *a = state->input;
    switch (key) {
    case 'f':
        a->ini   = !strcmp(arg, "ini");
        a->utf16 = !strcmp(arg, "reg16");
        if (!a->ini && !a->utf16 && strcmp(arg, "reg"))
            argp_error(state, "--format is reg, reg16 or ini, not \"%s\"", arg);
        return 0;
    case 'k': a->key = arg; return 0;
    case 'o': a->out = arg; return 0;
    case ARGP_KEY_ARG: argp_error(state, "\"%s\": export takes no FILE. Do: name the result with -o", arg); return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* The whole text or, when anything fails, no file. */
static int text_write(const char *path, const void *text, size_t size)
{
    FILE *to = path ? fopen(path, "wb") : stdout;
    if (!to || fwrite(text, 1, size, to) != size || fflush(to)) {
        fprintf(stderr, "autologger export: %s: %s\n", path ? path : "standard output", strerror(errno));
        if (to && path) {
            fclose(to);
            remove(path);
        }
        return VERB_REFUSED;
    }
    if (path)
        fclose(to);
    return VERB_FINE;
}

int cmd_export(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        {"format", 'f', "FORMAT", 0, "reg (UTF-8, the default), reg16 (UTF-16, as regedit writes it) or ini", 0},
        {"key", 'k', "KEY", 0, "export what is below this key (default HKLM\\SYSTEM\\CurrentControlSet\\Control\\WMI)", 0},
        {"output", 'o', "FILE", 0, "write to FILE, not to standard output", 0},
        {0},
    };
    static const struct argp argp = {
        options, parse, "",
        CMDLINE_DOC("Write the store out as text that import reads back, value for value.",
                    "  autologger export --store r.db --format ini -o boot.ini"),
        NULL, NULL, NULL};
    struct export_args a     = {.key = WINPATH_WMI};
    struct regstore   *store = NULL;
    struct reason      why   = {0};
    void              *text  = NULL;
    size_t             size  = 0;
    int                code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = store_access_open(&a.common, false, &store, &why);
    if (!st && a.ini)
        st = ini_export(store, a.key, plan_vocabulary(), (char **)&text, &size, &why);
    else if (!st)
        st = reg_export(store, a.key, a.utf16, &text, &size, &why);
    code = st ? failure_print("autologger export", st, &why) : text_write(a.out, text, size);
    free(text);
    regstore_close(store);
    return code;
}
