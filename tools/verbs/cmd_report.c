/* autologger report: shows what made a boot slow. */
#include "tools/base/verb.h"
#include "tools/files/report_run.h"
#include "tools/files/served_run.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_SYMBOL_PATH = 0x300, KEY_TEXT, KEY_SERVER };
struct report_args {
    struct report_run run; /* first: shared options */
    bool              server;
    enum served_role  role;
};

static error_t report_parse(int key, char *arg, struct argp_state *state)
{
    struct report_args *all = state->input;
    struct report_run  *a   = &all->run;
    char               *end;
    switch (key) {
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one FILE at a time");
        a->file = arg;
        return 0;
    case 'o': a->page = arg; return 0;
    case 'n':
        a->last = (unsigned)strtoul(arg, &end, 10);
        if (*end || !a->last || a->last > REPORT_BOOTS)
            argp_error(state, "--last: a number from 1 to %d", REPORT_BOOTS);
        return 0;
    case KEY_TEXT: a->text = true; return 0;
    case KEY_SERVER:
        all->server = true;
        if (!served_role_find(arg, &all->role))
            argp_error(state, "--server: general, web, database or file, not \"%s\"", arg);
        return 0;
    case KEY_SYMBOL_PATH:
        if (a->folder_count == REPORT_FOLDERS)
            argp_error(state, "at most %d folders with symbols", REPORT_FOLDERS);
        a->folders[a->folder_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file)
            argp_error(state, "FILE is missing");
        if (a->text && a->common.json)
            argp_error(state, "--text or --json, not both");
        if (all->server && (a->page || a->last || a->folder_count))
            argp_error(state, "--server is a report of its own: with --json alone");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int cmd_report(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "PAGE", 0, "write the page there", 0},
        {"text", KEY_TEXT, NULL, 0, "print text (the default, unless a page or JSON is asked for)", 0},
        {"server", KEY_SERVER, "ROLE", 0,
         "instead: a report of a server by its role (general, web, database, file): transactions, resources, what stands out",
         0},
        {"last", 'n', "N", 0, "compare with the median of the last N boots that the store remembers", 0},
        OPT_JSON,
        {"symbol-path", KEY_SYMBOL_PATH, "DIR", 0,
         "look for files and .build-id folders in DIR first (repeat for more)", 0},
        OPT_STORE,
        {0}};
    static const struct argp argp = {
        options,
        report_parse,
        "FILE",
        CMDLINE_DOC(
            "What made a boot slow: the verdict, and what it goes by (phases, critical path, units, processes, disks, stacks); as text, as JSON, and as a "
            "page to look at the boot: one file that needs nothing else.",
            "  autologger report /var/log/autologger/c/boot/boot.etl -o boot.html"),
        NULL,
        NULL,
        NULL};
    struct report_args a = {0};
    int                code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    return a.server ? served_run(a.run.file, a.role, a.run.common.json) : report_run(&a.run);
}
