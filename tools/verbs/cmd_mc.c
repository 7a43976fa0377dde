/* autologger mc: the message compiler: a C header and the metadata of a program from a manifest. */
#include "autologger/schema/manifest_pack.h"
#include "autologger/schema/mc.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/made_file.h"
#include "tools/files/manifest_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_MAX_ = 1024, MADE_MAX = 300 };
struct mc_args {
    struct cmdline common; /* first */
    const char    *file, *base, *header_folder, *resource_folder, *baseline_folder, *prefix, *strip, *extension;
    bool           callout, verbose, kernel;
    char           without_effect[128]; /* options that were given and have none here */
    char           own_base[256];
    char          *made[MADE_MAX];
    unsigned       made_count;
};

/* Windows' options of several letters after one dash. They become long options before argp reads them as single
 * letters. */
enum { OPT_UM = 0x300, OPT_KM, OPT_CO, OPT_CP, OPT_CS, OPT_CSS, OPT_MOF, OPT_PROJECTIONS };
static const struct {
    const char *word, *option;
} mc_words[] = {
    {"-um", "--um"}, {"-km", "--km"},   {"-co", "--co"},   {"-cp", "--cp"},
    {"-cs", "--cs"}, {"-css", "--css"}, {"-mof", "--mof"}, {"-generateProjections", "--generateProjections"}};

static void windows_words(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof mc_words / sizeof *mc_words; k++)
            if (strcmp(argv[i], mc_words[k].word) == 0)
                argv[i] = (char *)(uintptr_t)mc_words[k].option;
}

static void no_effect(struct mc_args *a, const char *option)
{
    size_t n = strlen(a->without_effect);
    snprintf(a->without_effect + n, sizeof a->without_effect - n, "%s%s", n ? " " : "", option);
}

/* True: a C name, or the beginning of one. */
static bool is_c_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n && !s[n] && !(*s >= '0' && *s <= '9');
}

static error_t parse_windows(int key, char *arg, struct argp_state *state)
{
    struct mc_args *a        = state->input;
    char            word[12] = {'-', (char)key, 0};
    switch (key) {
    case OPT_UM: a->kernel = false; return 0;
    case OPT_KM: a->kernel = true; return 0;
    case OPT_CO: a->callout = true; return 0;
    case 'v': a->verbose = true; return 0;
    case 'p':
        if (!is_c_name(arg))
            argp_error(state, "-p takes the beginning of a C name, not \"%s\"", arg);
        a->prefix = arg;
        return 0;
    case 'P': a->strip = arg; return 0;
    case 's': a->baseline_folder = arg; return 0;
    case 'e': a->extension = arg; return 0;
    case OPT_CP: no_effect(a, "-cp"); return 0;
    case 'U':
    case 'u':
    case 'A':
    case 'a':
    case 'n':
    case 'b':
    case 'c':
    case 'd':
    case 'o':
    case 'w':
    case 'W':
    case 'x':
    case 'm': no_effect(a, word); return 0;
    case OPT_CS:
    case OPT_CSS:
    case OPT_PROJECTIONS:
        argp_error(state, "there are no C# classes to make here. Do: leave -cs, -css and -generateProjections away");
        return 0;
    case OPT_MOF:
        argp_error(state, "no MOF is made: what reads traces here reads manifests. Do: leave -mof away");
        return 0;
    case 't':
        argp_error(
            state,
            "baselines are not compared. Do: diff the .bin that -s DIR keeps, or autologger manifest show of both");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t mc_parse(int key, char *arg, struct argp_state *state)
{
    struct mc_args *a = state->input;
    switch (key) {
    case 'z': a->base = arg; return 0;
    case 'h': a->header_folder = arg; return 0;
    case 'r': a->resource_folder = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one FILE at a time");
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file)
            argp_error(state, "FILE is missing");
        if (a->base && (!*a->base || strchr(a->base, '/')))
            argp_error(state, "--base takes a name without folders, not \"%s\"", a->base);
        return 0;
    default: {
        error_t e = parse_windows(key, arg, state);
        return e == ARGP_ERR_UNKNOWN ? cmdline_option(&a->common, key, arg) : e;
    }
    }
}

/* "dir/web.man" -> "web" */
static void base_find(struct mc_args *a)
{
    const char *slash = strrchr(a->file, '/'), *name = slash ? slash + 1 : a->file;
    if (a->base)
        return;
    snprintf(a->own_base, sizeof a->own_base, "%s", name);
    char *dot = strrchr(a->own_base, '.');
    if (dot && dot != a->own_base)
        *dot = 0;
    a->base = a->own_base;
}

static wstatus mc_file_put(struct mc_args *a, const char *folder, const char *suffix, const struct text *content,
                           struct reason *why)
{
    char path[PATH_MAX_];

    snprintf(path, sizeof path, "%s%s%s%s", folder ? folder : "", folder ? "/" : "", a->base, suffix);
    wstatus st = made_file_put(path, content, why);
    if (!st && a->made_count < MADE_MAX)
        a->made[a->made_count++] = strdup(path);
    return st;
}

static wstatus mc_make(struct mc_args *a, struct manifest_source *s, const struct manifest *m, struct reason *why)
{
    const struct mc_options  how = {a->base, a->prefix, a->strip, a->callout};
    struct manifest_problems problems;
    struct text              t = {0};
    char                     header[40];

    snprintf(header, sizeof header, ".%.30s", a->extension ? a->extension : "h");
    manifest_source_problems(s, &problems);
    wstatus st = mc_header(m, &how, &problems, &t, why);
    s->errors += problems.errors;
    if (!st)
        st = mc_file_put(a, a->header_folder, header, &t, why);
    text_cut(&t, 0);
    if (!st && !(st = mc_metadata(m, a->base, &t, why)))
        st = mc_file_put(a, a->resource_folder, "_metadata.c", &t, why);
    text_cut(&t, 0);
    if (!st) {
        manifest_pack(m, &t);
        st = mc_file_put(a, a->resource_folder, ".bin", &t, why);
        if (!st && a->baseline_folder)
            st = mc_file_put(a, a->baseline_folder, ".bin", &t, why);
    }
    for (unsigned i = 0; i < m->cultures.count && !st; i++) {
        char suffix[80], name[MC_NAME];
        mc_name(m->cultures.at[i].name, name); /* a culture is part of a file's name */
        for (char *c = name; *c; c++)
            *c = *c == '_' ? '-' : *c;
        snprintf(suffix, sizeof suffix, ".%.60s.msg", name);
        text_cut(&t, 0);
        manifest_pack_strings(m, i, &t);
        st = mc_file_put(a, a->resource_folder, suffix, &t, why);
    }
    if (t.failed && !st)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for what is made of %s", a->file);
    text_finish(&t);
    return st;
}

/* With -v, as Windows' mc: prints counts of the manifest's parts. On standard error: standard output names the
 * files. */
static void verbose_print(const struct manifest *m)
{
    for (unsigned i = 0; i < m->providers.count; i++) {
        const struct manifest_provider *p = &m->providers.at[i];
        visible_printf(stderr, "autologger mc: %s: %u event%s, %u template%s, %u keyword%s, %u culture%s\n", p->name,
                       p->events.count, plural(p->events.count), p->templates.count, plural(p->templates.count),
                       p->keywords.count, plural(p->keywords.count), m->cultures.count, plural(m->cultures.count));
    }
}

/* Reports the options without effect, which are never silently ignored. */
static void without_effect_print(const struct mc_args *a)
{
    if (*a->without_effect)
        visible_printf(stderr, "autologger mc: without effect: %s: texts are UTF-8, and there are no message tables\n",
                       a->without_effect);
    if (a->kernel)
        fprintf(stderr,
                "autologger mc: -km: the header is that of -um: kernel modules write no events of manifests here\n");
}

static void made_print(struct mc_args *a)
{
    struct json *j = a->common.json ? json_create(stdout, true) : NULL;
    if (j) {
        json_object(j, NULL);
        json_array(j, "files");
    }
    for (unsigned i = 0; i < a->made_count; i++) {
        if (j)
            json_text(j, NULL, a->made[i]);
        else
            puts(a->made[i] ? a->made[i] : "?");
    }
    if (j) {
        json_array_end(j);
        json_object_end(j);
        json_destroy(j);
    }
}

int cmd_mc(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"base", 'z', "NAME", 0, "name of the files that are made (default: that of FILE)", 0},
        {"header-dir", 'h', "DIR", 0, "where NAME.h goes (default: here)", 0},
        {"resource-dir", 'r', "DIR", 0,
         "where the rest goes: NAME_metadata.c, NAME.bin, NAME.CULTURE.msg (default: here)", 0},
        {NULL, 'e', "EXT", 0, "suffix of the header, instead of h", 0},
        {NULL, 'p', "PREFIX", 0, "the macros that write are PREFIXSYMBOL, not EventWriteSYMBOL", 0},
        {NULL, 'P', "PREFIX", 0, "take PREFIX from the beginning of the symbols of events", 0},
        {NULL, 's', "DIR", 0, "keep the binary form in DIR as well, as a baseline", 0},
        {NULL, 'v', NULL, 0, "say what is made, and of how much", 0},
        {"co", OPT_CO, NULL, 0, "(also -co) give each event to MCGEN_CALLOUT, which the program defines", 0},
        {"um", OPT_UM, NULL, 0, "(also -um) code for programs: the only kind there is", 0},
        {"km", OPT_KM, NULL, 0, "(also -km) taken, and makes the same header as -um", 0},
        {NULL, 'U', NULL, 0,
         "as -a -A -b -c -d -n -o -u, -m N, -w DIR, -W DIR, -x DIR and -cp NAME: taken, without effect here", 0},
        {NULL, 'u', NULL, OPTION_HIDDEN, NULL, 0},
        {NULL, 'A', NULL, OPTION_HIDDEN, NULL, 0},
        {NULL, 'a', NULL, OPTION_HIDDEN, NULL, 0},
        {NULL, 'n', NULL, OPTION_HIDDEN, NULL, 0},
        {NULL, 'b', NULL, OPTION_HIDDEN, NULL, 0},
        {NULL, 'c', NULL, OPTION_HIDDEN, NULL, 0},
        {NULL, 'd', NULL, OPTION_HIDDEN, NULL, 0},
        {NULL, 'o', NULL, OPTION_HIDDEN, NULL, 0},
        {NULL, 'w', "DIR", OPTION_HIDDEN, NULL, 0},
        {NULL, 'W', "DIR", OPTION_HIDDEN, NULL, 0},
        {NULL, 'x', "DIR", OPTION_HIDDEN, NULL, 0},
        {NULL, 'm', "N", OPTION_HIDDEN, NULL, 0},
        {NULL, 't', "DIR", OPTION_HIDDEN, NULL, 0},
        {"cp", OPT_CP, "NAME", OPTION_HIDDEN, NULL, 0},
        {"cs", OPT_CS, "NAME", OPTION_HIDDEN, NULL, 0},
        {"css", OPT_CSS, "NAME", OPTION_HIDDEN, NULL, 0},
        {"mof", OPT_MOF, NULL, OPTION_HIDDEN, NULL, 0},
        {"generateProjections", OPT_PROJECTIONS, NULL, OPTION_HIDDEN, NULL, 0},
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        mc_parse,
        "FILE.man",
        CMDLINE_DOC(
            "Makes of a manifest what a program needs to write its events: a C and C++ header (descriptors, constants, a macro an event), a C "
            "file that puts names and messages into the program, and the same as files: metadata (.bin) and messages by culture (.msg).",
            "  autologger mc web.man\n  cc server.c web_metadata.c $(pkg-config --cflags --libs libautologger)"),
        NULL,
        NULL,
        NULL};
    struct mc_args         a   = {0};
    struct manifest_source s   = {0};
    struct reason          why = {0};
    int                    code;
    windows_words(argc, argv);
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    base_find(&a);
    wstatus st = manifest_source_read(&s, a.file, &why);
    if (!st && s.count != 1)
        st =
            reason_set(&why, W_INVALID_DATA, "%s holds %u manifests. Do: give mc the manifest (.man)", a.file, s.count);
    if (st)
        code = manifest_source_failed(&s, "autologger mc", st, &why);
    else if ((st = mc_make(&a, &s, s.list[0], &why)))
        code = manifest_source_failed(&s, "autologger mc", st, &why);
    else {
        if (a.verbose)
            verbose_print(s.list[0]);
        without_effect_print(&a);
        made_print(&a);
    }
    for (unsigned i = 0; i < a.made_count; i++)
        free(a.made[i]);
    manifest_source_finish(&s);
    return st ? code : VERB_FINE;
}
