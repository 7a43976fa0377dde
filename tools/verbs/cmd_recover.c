/* autologger recover: log files and Status from what the early program saved when no daemon came. */
#include "autologger/daemon/end/recover.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/view/result_view.h"

#include <stdio.h>

struct recover_args {
    struct cmdline common;
    const char    *file, *log_dir;
    bool           unsealed;
    bool           failed; /* a row of the boot failed */
};

enum { OPTION_LOG_DIR = 2000, OPTION_UNSEALED };

static error_t recover_parse(int key, char *arg, struct argp_state *state)
{
    struct recover_args *a = state->input;
    switch (key) {
    case OPTION_LOG_DIR: a->log_dir = arg; return 0;
    case OPTION_UNSEALED: a->unsealed = true; return 0;
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one file at a time: \"%s\" is too much", arg);
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file)
            argp_error(state, "the file is missing, as in /var/log/autologger/boot-....alraw");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

static void recover_show(void *ctx, const struct result_list *rows)
{
    struct recover_args *a = ctx;
    a->failed              = result_view_failed(rows);
    if (!a->common.json) {
        result_view_print(rows, &(struct result_view){0}, stdout);
        return;
    }
    struct json *j = json_create(stdout, true);
    if (!j)
        return;
    json_object(j, NULL);
    result_view_json(rows, NULL, j);
    json_object_end(j);
    json_destroy(j);
}

int cmd_recover(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        OPT_JSON,
        {"log-dir", OPTION_LOG_DIR, "DIR", 0, "where the log files go (default: where that boot would have put them)",
         0},
        {"unsealed", OPTION_UNSEALED, NULL, 0,
         "also a file without the seal of this machine: it says which files are written", 0},
        {0}};
    static const struct argp argp = {
        options,
        recover_parse,
        "FILE",
        CMDLINE_DOC(
            "Writes the log files and the Status of a boot for which no daemon came: the early program then saves what it holds "
            "in memory to one .alraw file, or a person does with autologger-early save. The file is sealed with the key of the machine, "
            "where the early program could read it: not in an emergency shell before the root is there. Name a file without "
            "that seal with --unsealed, if you know who wrote it.",
            "  autologger recover /var/log/autologger/boot-6c1f.alraw"),
        NULL,
        NULL,
        NULL};
    struct recover_args a   = {0};
    struct reason       why = {0};
    int                 code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    const struct recover_options o  = {.path       = a.file,
                                       .key_store  = a.common.store,
                                       .unsealed   = a.unsealed,
                                       .log_dir    = a.log_dir,
                                       .store      = a.common.store_given ? a.common.store : NULL,
                                       .store_open = regstore_open,
                                       .done       = recover_show,
                                       .ctx        = &a};
    wstatus                      st = recover_run(&o, &why);
    if (st)
        return failure_print("autologger recover", st, &why);
    return a.failed ? VERB_FAILED : VERB_FINE;
}
