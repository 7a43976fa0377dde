/* autologger export: the store as .reg or INI text. */
#include "autologger/plan/plan.h"
#include "registry-sim/text/winpath.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <limits.h>
#include <sys/stat.h>

struct export_args {
    struct cmdline common;
    const char    *key, *out;
    bool           ini, utf16;
};

static error_t export_parse(int key, char *arg, struct argp_state *state)
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

/* mode: of fopen. With "x" the file is created, and no link of that name is followed. */
static bool bytes_write(const char *path, const char *mode, const void *text, size_t size)
{
    FILE *to = fopen(path, mode);
    if (!to)
        return false;
    bool fine  = fwrite(text, 1, size, to) == size && !fflush(to);
    int  error = errno;
    fine &= fclose(to) == 0;
    errno = error ? error : errno;
    return fine;
}

/* Writes the whole text or, on failure, keeps the old file: a new file beside the target is renamed over it. A pipe or
 * a device is written to and never removed. */
static int export_text_write(const char *path, const void *text, size_t size)
{
    struct stat st;
    char        beside[PATH_MAX];
    bool        fine;

    if (!path) {
        fine = fwrite(text, 1, size, stdout) == size && !fflush(stdout); /* visible: what import takes again */
    } else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        fine = bytes_write(path, "wb", text, size);
    } else {
        snprintf(beside, sizeof beside, "%.*s.new-%d", PATH_MAX - 32, path, (int)getpid());
        fine = bytes_write(beside, "wbx", text, size) && rename(beside, path) == 0;
        if (!fine && errno != EEXIST) {
            int error = errno;
            unlink(beside);
            errno = error;
        }
    }
    if (fine)
        return VERB_FINE;
    struct reason why;
    reason_set(&why, wstatus_from_errno(errno), "%s: %s", path ? path : "standard output", strerror(errno));
    failure_print_about(path ? ABOUT_RESULT : ABOUT_ANY, "autologger export", why.status, &why);
    return VERB_REFUSED;
}

int cmd_export(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        {"format", 'f', "FORMAT", 0, "reg (UTF-8, the default), reg16 (UTF-16, as regedit writes it) or ini", 0},
        {"key", 'k', "KEY", 0, "export what is below this key (default HKLM\\SYSTEM\\CurrentControlSet\\Control\\WMI)",
         0},
        {"output", 'o', "FILE", 0, "write to FILE, not to standard output", 0},
        {0},
    };
    static const struct argp argp  = {options,
                                      export_parse,
                                      "",
                                      CMDLINE_DOC("Write the store out as text that import reads back, value for value.",
                                                  "  autologger export --store r.db --format ini -o boot.ini"),
                                      NULL,
                                      NULL,
                                      NULL};
    struct export_args       a     = {.key = WINPATH_WMI};
    struct regstore         *store = NULL;
    struct reason            why   = {0};
    void                    *text  = NULL;
    size_t                   size  = 0;
    int                      code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = store_access_open(&a.common, false, &store, &why);
    if (!st && a.ini)
        st = ini_export(store, a.key, plan_vocabulary(), (char **)&text, &size, &why);
    else if (!st)
        st = reg_export(store, a.key, a.utf16, &text, &size, &why);
    code = st ? failure_print_about(store ? ABOUT_ANY : ABOUT_STORE, "autologger export", st, &why)
              : export_text_write(a.out, text, size);
    free(text);
    regstore_close(store);
    return code;
}
