/* autologger why: the front door. What made the last boot slow; or, where none was traced yet, the offer to trace the next one. */
#include "autologger/boot/result.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/text/winpath.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/why_run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct why_args {
    struct cmdline common;
    const char    *file;
};
enum traced { TRACED_NEVER, TRACED_NEXT /* declared, and not booted yet */, TRACED_NOW /* its files are not merged yet */, TRACED_DONE };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct why_args *a = state->input;
    if (key != ARGP_KEY_ARG)
        return cmdline_option(&a->common, key, arg);
    if (a->file)
        argp_error(state, "one FILE at a time");
    a->file = arg;
    return 0;
}

/* What the store knows of the last boot; `file`: its trace. */
static wstatus last_boot(const struct why_args *a, enum traced *traced, char file[1024], struct reason *why)
{
    struct regstore   *store = NULL;
    struct result_list rows  = {0};
    uint32_t           start = 0;

    *traced = TRACED_NEVER;
    if (!a->common.store_given && access(a->common.store, F_OK) != 0)
        return W_SUCCESS;
    wstatus st = store_access_open(&a->common, false, &store, why);
    if (st)
        return st;
    if ((st = result_load(store, &rows, why)) == W_SUCCESS) {
        *traced = TRACED_NOW;
        for (unsigned i = 0; i < rows.count && *traced != TRACED_DONE; i++)
            if (*rows.rows[i].merged_path) {
                snprintf(file, 1024, "%s", rows.rows[i].merged_path);
                *traced = TRACED_DONE;
            }
    } else if (st == W_FILE_NOT_FOUND) {
        st      = W_SUCCESS;
        *traced = regstore_get_dword(store, WINPATH_WMI "\\GlobalLogger", "Start", &start, NULL) == W_SUCCESS && start ? TRACED_NEXT : TRACED_NEVER;
    }
    result_list_finish(&rows);
    regstore_close(store);
    return st;
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
    char       *words[] = {(char *)(uintptr_t)"trace-boot", (char *)(uintptr_t)"--store", (char *)(uintptr_t)a->common.store, NULL, NULL};
    int         count   = 3;

    if (a->common.json || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        visible_printf(stderr, "autologger why: no boot was traced yet. Do: autologger trace-boot, then reboot, then autologger why\n");
        return VERB_FAILED;
    }
    puts("No boot was traced yet. autologger can trace the next one: it puts itself into the initramfs, and takes itself out again after that boot.");
    if (!yes("Trace the next boot?"))
        return VERB_FAILED;
    if (yes("Reboot now?"))
        words[count++] = (char *)(uintptr_t)"--reboot";
    return cmd_trace_boot(count, words);
}

int cmd_why(int argc, char **argv)
{
    static const struct argp_option options[] = {OPT_STORE, OPT_JSON, {0}};
    static const struct argp        argp      = {
        options, parse, "[FILE]",
        CMDLINE_DOC("Why was the last boot slow, in one screen: the cause, how much faster the boot would be, what to do, what else took time, and how sure "
                    "that is. Where no boot was traced yet it offers to trace the next one. FILE: of this trace.",
                    "  autologger why\n  autologger why --json boot.etl"),
        NULL, NULL, NULL};
    struct why_args a   = {0};
    struct reason   why = {0};
    enum traced     traced;
    char            file[1024];
    int             code;

    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    if (a.file)
        return why_run(a.file, a.common.json);
    const wstatus st = last_boot(&a, &traced, file, &why);
    if (st)
        return failure_print_about(ABOUT_STORE, "autologger why", st, &why);
    switch (traced) {
    case TRACED_DONE: return why_run(file, a.common.json);
    case TRACED_NEXT: visible_printf(stderr, "autologger why: the next boot is traced, and was not booted yet. Do: reboot, then autologger why\n"); return VERB_FAILED;
    case TRACED_NOW: visible_printf(stderr, "autologger why: the last boot has no merged trace yet. Do: autologger status --wait, which says what became of it\n"); return VERB_FAILED;
    case TRACED_NEVER:
    default: return offer(&a);
    }
}
