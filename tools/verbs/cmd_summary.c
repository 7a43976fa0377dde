/* autologger summary: what a trace file holds, in figures. */
#include "autologger/consumer/summary.h"
#include "tools/base/read_only.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/summary_headers.h"
#include "tools/files/summary_view.h"

enum { FOLDERS_MAX = 16, KEY_SYMBOL_PATH = 0x300 };
struct summary_args {
    struct cmdline common;
    const char    *file;
    bool           symbols, headers;
    const char    *folders[FOLDERS_MAX];
    unsigned       folder_count;
};

static error_t summary_parse(int key, char *arg, struct argp_state *state)
{
    struct summary_args *a = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one FILE at a time");
        a->file = arg;
        return 0;
    case 's': a->symbols = true; return 0;
    case 'H': a->headers = true; return 0;
    case KEY_SYMBOL_PATH:
        if (a->folder_count == FOLDERS_MAX)
            argp_error(state, "at most %d folders with symbols", FOLDERS_MAX);
        a->folders[a->folder_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file)
            argp_error(state, "FILE is missing");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int cmd_summary(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_JSON,
        {"headers", 'H', NULL, 0,
         "only what the headers of the buffers say: quick for a file of any size, no events are read", 0},
        {"symbols", 's', NULL, 0, "name all frames of stacks, and say how many have a name", 0},
        {"symbol-path", KEY_SYMBOL_PATH, "DIR", 0,
         "look for files and .build-id folders in DIR first (repeat for more)", 0},
        {0}};
    static const struct argp argp = {
        options,
        summary_parse,
        "FILE",
        CMDLINE_DOC(
            "What a trace file (.etl, of Windows too) holds: time, losses, events by provider, stacks and what they are worth, damage.",
            "  autologger summary autologger-rehearsal/c/traces/first-boot.etl"),
        NULL,
        NULL,
        NULL};
    struct summary_args a = {0};
    int                 code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    read_only();
    if (a.headers)
        return summary_headers("autologger summary", a.file, a.common.json);
    return summary_view_file("autologger summary", a.file,
                             &(struct summary_view){a.common.json, a.symbols, a.folders, a.folder_count});
}
