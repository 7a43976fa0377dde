/* autologger windows: command lines of Windows' programs, translated and run. */
#include "registry-sim/base/nearest.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/cmdline.h"
#include "tools/base/json_out.h"
#include "tools/base/verb.h"
#include "tools/windows/personality.h"

struct windows_args {
    struct cmdline common;
    bool           explain;
};

static error_t windows_parse(int key, char *arg, struct argp_state *state)
{
    struct windows_args *a = state->input;
    switch (key) {
    case 'e': a->explain = true; return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* Where the command line of the other program begins. */
static int windows_begin(int argc, char **argv)
{
    int i = 1;
    while (i < argc && argv[i][0] == '-')
        i++;
    return i;
}

static int windows_list(bool json)
{
    unsigned                  count;
    const struct personality *p = personality_table(&count);
    struct json              *j = json ? json_create(stdout, true) : NULL;
    if (j)
        json_array(j, NULL);
    for (unsigned i = 0; i < count; i++)
        if (j) {
            json_object(j, NULL);
            json_text(j, "name", p[i].name);
            json_text(j, "summary", p[i].summary);
            json_text(j, "example", p[i].example);
            json_object_end(j);
        } else
            visible_printf(stdout, "%-9s %s\n          %s\n", p[i].name, p[i].summary, p[i].example);
    if (j) {
        json_array_end(j);
        json_destroy(j);
    }
    return VERB_FINE;
}

static int windows_unknown(const char *name)
{
    unsigned                  count;
    const struct personality *p    = personality_table(&count);
    struct nearest            near = nearest_make(name, 2);
    for (unsigned i = 0; i < count; i++)
        nearest_try(&near, p[i].name);
    visible_printf(stderr, "autologger windows: \"%s\" is not known.", name);
    if (near.found)
        visible_printf(stderr, " Did you mean \"%s\"?", near.found);
    fputs(" Do: autologger windows\n", stderr);
    return VERB_USAGE;
}

int cmd_windows(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"explain", 'e', NULL, 0, "show the lines of autologger that do the same, and run nothing", 0}, OPT_JSON, {0}};
    static const struct argp argp = {
        options,
        windows_parse,
        "[PROGRAM [WORD...]]",
        CMDLINE_DOC(
            "Run a command line of a program of Windows: logman, xperf, tracerpt, wevtutil, xbootmgr, mc. Without PROGRAM: list "
            "them. 'autologger windows PROGRAM --help' has the options. In lib/autologger/windows/ each has a link of its name.",
            "  autologger windows logman start web -p Contoso-Web -o web.etl -ets\n"
            "  autologger windows --explain xperf -d out.etl"),
        NULL,
        NULL,
        NULL};
    struct windows_args a = {0};
    int                 code;
    const int           name = windows_begin(argc, argv);
    if (!cmdline_parse(&argp, name, argv, &a, &code))
        return code;
    if (name == argc)
        return windows_list(a.common.json);
    const struct personality *p = personality_find(argv[name]);
    return p ? personality_run(p, (unsigned)(argc - name - 1), argv + name + 1, a.explain, a.common.json)
             : windows_unknown(argv[name]);
}
