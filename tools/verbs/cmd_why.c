/* autologger why: the first command to run. What made the last boot slow; or, where none was traced yet, the offer to
 * trace the next one. */
#include "registry-sim/base/visible_print.h"
#include "registry-sim/store/key_names.h"
#include "registry-sim/text/winpath.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/report_store.h"
#include "tools/files/why_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct why_args {
    struct cmdline common;
    const char    *file, *without;
};
enum { OPTION_WITHOUT = 1000 };
static error_t why_parse(int key, char *arg, struct argp_state *state)
{
    struct why_args *a = state->input;
    if (key == OPTION_WITHOUT) {
        a->without = arg;
        return 0;
    }
    if (key != ARGP_KEY_ARG)
        return cmdline_option(&a->common, key, arg);
    if (a->file)
        argp_error(state, "one FILE at a time");
    a->file = arg;
    return 0;
}

static bool why_starts(struct regstore *store, const char *key)
{
    uint32_t start = 0;
    return regstore_get_dword(store, key, "Start", &start, NULL) == W_SUCCESS && start;
}

/* Does the store declare a session for a boot? */
static bool why_declared(struct regstore *store)
{
    struct key_names names = {0};
    bool             found = why_starts(store, WINPATH_WMI "\\GlobalLogger");
    if (!key_names_load(store, WINPATH_WMI "\\Autologger", &names))
        for (unsigned i = 0; i < names.count && !found; i++) {
            char *key = NULL;
            if (asprintf(&key, WINPATH_WMI "\\Autologger\\%s", names.names[i]) >= 0)
                found = why_starts(store, key);
            free(key);
        }
    key_names_finish(&names);
    return found;
}

static bool yes(const char *question)
{
    char line[16] = "";
    visible_printf(stdout, "%s [y/N] ", question);
    fflush(stdout);
    return fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static int offer(const struct why_args *a)
{
    char *words[] = {(char *)(uintptr_t) "trace-boot", (char *)(uintptr_t) "--store",
                     (char *)(uintptr_t)a->common.store, NULL, NULL};
    int   count   = 3;

    if (a->common.json || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        visible_printf(
            stderr,
            "autologger why: no boot was traced yet. Do: autologger trace-boot, then reboot, then autologger why\n");
        return VERB_FAILED;
    }
    puts(
        "No boot was traced yet. autologger can trace the next one: it puts itself into the initramfs, and takes itself out again after that boot.");
    if (!yes("Trace the next boot?"))
        return VERB_FAILED;
    if (yes("Reboot now?"))
        words[count++] = (char *)(uintptr_t) "--reboot";
    return cmd_trace_boot(count, words);
}

int cmd_why(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        OPT_JSON,
        {"without", OPTION_WITHOUT, "UNIT", 0, "How long the boot would have taken without this unit, with a range", 0},
        {0}};
    static const struct argp argp = {
        options,
        why_parse,
        "[FILE]",
        CMDLINE_DOC(
            "Why was the last boot slow, in one screen: the cause, how much faster the boot would be, what to do, what else took time, and how sure "
            "that is. Where no boot was traced yet it offers to trace the next one. FILE: of this trace.",
            "  autologger why\n  autologger why --without NetworkManager-wait-online\n  autologger why --json boot.etl"),
        NULL,
        NULL,
        NULL};
    struct why_args     a     = {0};
    struct report_store store = {0};
    struct reason       why   = {0};
    const char         *file  = NULL;
    int                 code;

    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    if (a.file)
        return why_run(a.file, a.without, false, a.common.json);
    const wstatus st = report_store_open(&store, &a.common, NULL, &why);
    if (st)
        code = failure_print_about(ABOUT_STORE, "autologger why", st, &why);
    else if (report_store_files(&store, NULL, 1, &file))
        code = why_run(file, a.without, true, a.common.json);
    else if (store.store && why_declared(store.store)) {
        visible_printf(
            stderr,
            "autologger why: a boot is declared to be traced, and there is no trace of one yet. Do: reboot, if this machine was not rebooted since; "
            "else autologger status, which says what became of it\n");
        code = VERB_FAILED;
    } else
        code = offer(&a);
    report_store_finish(&store);
    return code;
}
