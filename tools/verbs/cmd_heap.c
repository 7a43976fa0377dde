/* autologger heap: runs a program and shows what it did not free, and on which locks it waited; or reads such a file
 * again. */
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/heap/heap_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_ROWS = 0x300,
    KEY_PEAK,
    KEY_ONLY,
    KEY_SYMBOL_PATH,
    KEY_NO_REPORT,
    FOLDERS_MAX = 16,
    ROWS_SHOWN  = 10,
    ROWS_MAX    = 1000000
};

struct heap_args {
    struct cmdline   common;
    struct heap_run  run;
    struct heap_view view;
    const char      *read; /* an existing file */
    const char      *folders[FOLDERS_MAX];
    unsigned         folder_count;
    bool             no_report;
};

static error_t heap_parse(int key, char *arg, struct argp_state *state)
{
    struct heap_args *a = state->input;
    char             *end;
    switch (key) {
    case 'o': a->run.file = arg; return 0;
    case 'r': a->read = arg; return 0;
    case KEY_PEAK: a->view.peak = true; return 0;
    case KEY_NO_REPORT: a->no_report = true; return 0;
    case KEY_ROWS: {
        const unsigned long n = strtoul(arg, &end, 10);
        if (end == arg || *end || *arg == '-' || n > ROWS_MAX)
            argp_error(state, "--rows takes a number of at most %d, not \"%s\"", ROWS_MAX, arg);
        a->view.rows = (unsigned)n;
        return 0;
    }
    case KEY_ONLY:
        if (strcmp(arg, "allocations") && strcmp(arg, "locks"))
            argp_error(state, "--only is allocations or locks, not \"%s\"", arg);
        a->run.allocations = *arg == 'a';
        a->run.locks       = *arg == 'l';
        return 0;
    case KEY_SYMBOL_PATH:
        if (a->folder_count == FOLDERS_MAX)
            argp_error(state, "at most %d folders with symbols", FOLDERS_MAX);
        a->folders[a->folder_count++] = arg;
        return 0;
    case ARGP_KEY_ARGS: a->run.argv = state->argv + state->next; return 0;
    case ARGP_KEY_END:
        if (!a->read == !a->run.argv)
            argp_error(state, a->read ? "--read takes no PROGRAM"
                                      : "PROGRAM is missing. Do: autologger heap PROGRAM ARGUMENTS");
        if (a->read && (a->run.file || a->no_report))
            argp_error(state, "--output and --no-report belong to a PROGRAM, not to --read");
        if (a->read && (!a->run.allocations || !a->run.locks))
            argp_error(state, "--only belongs to a PROGRAM, not to --read");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

static int report(struct heap_args *a)
{
    struct reason   why;
    struct symbols *symbols = NULL;
    struct heap    *h       = NULL;
    a->view.file            = a->read ? a->read : a->run.file;
    wstatus st              = symbols_open(
                     a->view.file, &(struct symbols_options){.folders = a->folders, .folder_count = a->folder_count, .lines = true},
                     &symbols, &why);
    st = st ? st : heap_create(a->view.file, symbols, a->view.peak, &h, &why);
    if (!st && a->common.json)
        heap_print_json(h, &a->view, stdout);
    else if (!st)
        heap_print(h, &a->view, stdout);
    const bool lost = h && h->totals.events_lost;
    heap_destroy(h);
    symbols_close(symbols);
    return st ? failure_print("heap", st, &why) : lost ? VERB_FAILED : VERB_FINE;
}

/* PROGRAM.heap.etl in this folder. */
static char *file_default(const char *program)
{
    char       *out  = NULL;
    const char *base = strrchr(program, '/');
    return asprintf(&out, "%s.heap.etl", base ? base + 1 : program) < 0 ? NULL : out;
}

static int worse(int code, bool failed) { return code == VERB_FINE && failed ? VERB_FAILED : code; }

static int run_and_report(struct heap_args *a)
{
    struct reason why;
    const wstatus st = heap_run(&a->run, &why);
    if (st && a->run.attempted)
        visible_printf(stderr, "autologger heap: %" PRIu64 " of %" PRIu64 " events are in %s\n", a->run.written,
                       a->run.attempted, a->run.file);
    if (st)
        return failure_print("heap", st, &why);
    if (!a->run.attached) {
        visible_printf(
            stderr,
            "autologger heap: %s was not traced: it is statically linked, or runs with other rights than its caller's. Do: link "
            "it dynamically, or run it as its own user\n",
            a->run.argv[0]);
        return VERB_FAILED;
    }
    if (a->run.given_up)
        visible_printf(
            stderr, "autologger heap: the tracing ended before the program: its buffers were not written for 10 s\n");
    if (a->run.own_allocator)
        visible_printf(stderr,
                       "autologger heap: %s has an allocator of its own: its allocations are not seen, only locks\n",
                       a->run.argv[0]);
    a->view.run = &a->run;
    return a->no_report ? (a->run.lost || a->run.own_allocator ? VERB_FAILED : VERB_FINE)
                        : worse(report(a), a->run.own_allocator);
}

int cmd_heap(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "write this file (default ./PROGRAM.heap.etl)", 0},
        {"read", 'r', "FILE", 0, "report an existing file; run nothing", 0},
        {"only", KEY_ONLY, "WHAT", 0, "trace only allocations, or only locks", 0},
        {"peak", KEY_PEAK, NULL, 0, "show the blocks at the moment of most bytes, instead of those that were not freed",
         0},
        {"rows", KEY_ROWS, "N", 0, "show N places (default 10)", 0},
        {"symbol-path", KEY_SYMBOL_PATH, "DIR", 0, "look in DIR first for debug information (repeat for more)", 0},
        {"no-report", KEY_NO_REPORT, NULL, 0, "write the file only", 0},
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        heap_parse,
        "PROGRAM [ARGUMENT...]",
        CMDLINE_DOC(
            "Runs PROGRAM with a library in front of malloc and of the locks of threads, writes each call with its stack to "
            "a file, and shows which memory was not freed and where threads waited for locks. Needs no daemon and no rights.",
            "  autologger heap ./server --once"),
        NULL,
        NULL,
        NULL};
    struct heap_args a    = {.run = {.allocations = true, .locks = true}, .view = {.rows = ROWS_SHOWN}};
    char            *file = NULL;
    int              code;
    if (!cmdline_parse_in_order(&argp, argc, argv, &a, &code))
        return code;
    if (a.read)
        return report(&a);
    if (!a.run.file && !(a.run.file = file = file_default(a.run.argv[0])))
        return VERB_REFUSED;
    code = run_and_report(&a);
    free(file);
    return code;
}
