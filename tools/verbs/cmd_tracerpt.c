/* autologger tracerpt: Windows' tracerpt, with its spelling of options: dumps, a summary, and reports of resources. */
#include "autologger/consumer/dump.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/progress.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/describe.h"
#include "tools/files/outputs.h"
#include "tools/files/summary_view.h"
#include "tools/view/tracerpt_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { KEY_OUTPUT = 0x300, KEY_OF, KEY_SUMMARY, KEY_REPORT, KEY_LR, KEY_ROWS, KEY_TMF, ARGUMENTS = 64, ROWS = 100 };
enum tracerpt_kind { OUTPUT_DUMP, OUTPUT_SUMMARY, OUTPUT_REPORT, OUTPUTS };
static const char *const output_names[OUTPUTS] = {"DumpFile", "Summary", "Report"};

struct tracerpt_args {
    struct cmdline     common;
    const char        *file, *name[OUTPUTS], *format; /* format: a TMF file, or another that describes events */
    bool               wanted[OUTPUTS], yes, html;
    bool               csv;
    unsigned           rows;
    struct schema_set *schemas; /* the descriptions of the events */
    struct os         *edge;
};

/* Turns Windows' spelling, "-o FILE" where FILE may be left out, into argp's, "--output=FILE". Options without meaning
 * here are refused. */
static const struct {
    const char *windows, *ours;
    enum { VALUE_NONE, VALUE_MAY, VALUE_MUST } value;
} spelling[]                                = {{"-o", "--output", VALUE_MAY},      {"-summary", "--summary", VALUE_MAY},
                                               {"-report", "--report", VALUE_MAY}, {"-of", "--of", VALUE_MUST},
                                               {"-f", "--f", VALUE_MUST},          {"-lr", "--lr", VALUE_NONE},
                                               {"-y", "--y", VALUE_NONE},          {"-tmf", "--tmf", VALUE_MUST}};
static const char *const tracerpt_refused[] = {"-rt", "-config", "-en",  "-export", "-int", "-rts",
                                               "-tp", "-i",      "-pdb", "-df",     "-rl",  "-gmt"};

static bool translate(int argc, char **argv, char **out, char **room, int *count)
{
    *count = 0;
    for (int i = 0; i < argc; i++) {
        size_t s = 0;
        for (size_t k = 0; k < sizeof tracerpt_refused / sizeof *tracerpt_refused; k++)
            if (strcasecmp(argv[i], tracerpt_refused[k]) == 0) {
                visible_printf(stderr, "%s: %s is not there. Do: autologger tracerpt --help names the options\n",
                               argv[0], argv[i]);
                return false;
            }
        while (s < sizeof spelling / sizeof *spelling && strcasecmp(argv[i], spelling[s].windows) != 0)
            s++;
        if (s == sizeof spelling / sizeof *spelling) {
            out[(*count)++] = argv[i];
            continue;
        }
        bool value = spelling[s].value != VALUE_NONE && i + 1 < argc && *argv[i + 1] != '-';
        if (asprintf(&room[i], value ? "%s=%s" : "%s", spelling[s].ours, value ? argv[i + 1] : "") < 0) {
            room[i] = NULL;
            return false;
        }
        out[(*count)++] = room[i];
        i += value;
    }
    out[*count] = NULL;
    return true;
}

static void parse_of(struct tracerpt_args *a, const char *arg, struct argp_state *state)
{
    a->csv = strcasecmp(arg, "CSV") == 0;
    if (strcasecmp(arg, "EVTX") == 0)
        argp_error(state, "-of EVTX: event logs of Windows are not written. Do: -of XML or -of CSV");
    else if (!a->csv && strcasecmp(arg, "XML") != 0)
        argp_error(state, "-of is CSV or XML, not \"%s\"", arg);
}

static void want(struct tracerpt_args *a, enum tracerpt_kind which, const char *name)
{
    a->wanted[which] = true;
    a->name[which]   = name;
}

static error_t tracerpt_parse(int key, char *arg, struct argp_state *state)
{
    struct tracerpt_args *a = state->input;
    switch (key) {
    case KEY_OUTPUT: want(a, OUTPUT_DUMP, arg); return 0;
    case KEY_SUMMARY: want(a, OUTPUT_SUMMARY, arg); return 0;
    case KEY_REPORT: want(a, OUTPUT_REPORT, arg); return 0;
    case KEY_OF: parse_of(a, arg, state); return 0;
    case KEY_TMF: a->format = arg; return 0;
    case KEY_LR: return 0; /* less restrictive: every event is written in any case */
    case 'y': a->yes = true; return 0;
    case 'f':
        a->html = strcasecmp(arg, "HTML") == 0;
        if (!a->html && strcasecmp(arg, "XML") != 0)
            argp_error(state, "-f is XML or HTML, not \"%s\"", arg);
        return 0;
    case KEY_ROWS: {
        char *end;
        a->rows = (unsigned)strtoul(arg, &end, 10);
        if (end == arg || *end)
            argp_error(state, "--rows takes a number, not \"%s\"", arg);
        return 0;
    }
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one FILE at a time. Do: autologger merge -o ALL.etl FILES");
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file)
            argp_error(state, "FILE is missing");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* The outputs that are wanted, with their default names. */
static void complete(struct tracerpt_args *a)
{
    const char *const names[OUTPUTS] = {a->csv ? "dumpfile.csv" : "dumpfile.xml", "summary.txt",
                                        a->html ? "workload.html" : "workload.xml"};

    if (!a->wanted[OUTPUT_DUMP] && !a->wanted[OUTPUT_SUMMARY] && !a->wanted[OUTPUT_REPORT])
        a->wanted[OUTPUT_DUMP] = a->wanted[OUTPUT_SUMMARY] = true;
    for (int i = 0; i < OUTPUTS; i++)
        if (!a->name[i])
            a->name[i] = names[i];
}

/* --- outputs --- */

static wstatus write_dump(const struct tracerpt_args *a, FILE *out, uint64_t *events, struct reason *why)
{
    struct etl_reader  *reader  = NULL;
    struct dump_options options = {.format = a->csv ? DUMP_CSV : DUMP_XML, .schemas = a->schemas};
    struct dump_counts  counts  = {0};
    wstatus             st      = etl_reader_open(a->file, &reader, why);

    st      = st ? st : dump_events(reader, &options, out, &counts, why);
    *events = counts.written;
    etl_reader_close(reader);
    return st;
}

static wstatus write_tables(const struct tracerpt_args *a, enum tracerpt_kind which, FILE *out, uint64_t *events,
                            struct reason *why)
{
    struct progress   progress = progress_start("reading");
    struct trace     *t        = NULL;
    struct resources *r;
    wstatus           st = trace_open(&a->file, 1, &t, why);

    if (st)
        return st;
    trace_describe(t, a->schemas);
    trace_watch(t, progress_tell, &progress);
    if (which == OUTPUT_SUMMARY) {
        st = tracerpt_summary(t, out, events, why);
    } else if (!(st = resources_create(t, &r, why))) {
        (a->html ? tracerpt_report_html : tracerpt_report_xml)(r, t, a->rows, out);
        *events = r->events;
        resources_destroy(r);
    }
    progress_end(&progress);
    trace_close(t);
    return st;
}

/* Windows asks before it replaces a file; without a terminal to ask at, -y is needed. */
static bool may_write(const struct tracerpt_args *a, const char *name)
{
    char answer[16] = "";

    if (a->yes || access(name, F_OK) != 0)
        return true;
    if (isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1) {
        visible_printf(stderr, "%s exists. Replace it? (y/n) ", name);
        if (fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y'))
            return true;
    }
    visible_printf(stderr, "autologger tracerpt: %s exists, and is not replaced. Do: -y\n", name);
    return false;
}

static struct output output_of(const struct tracerpt_args *a, enum tracerpt_kind which)
{
    return (struct output){a->name[which], ".writing-"};
}

/* Gives up the rights, except those to make the wanted outputs. */
static bool guard(struct tracerpt_args *a, int *code)
{
    struct output outputs[OUTPUTS];
    unsigned      count = 0;

    for (int i = 0; i < OUTPUTS; i++)
        if (a->wanted[i])
            outputs[count++] = output_of(a, (enum tracerpt_kind)i);
    a->edge = outputs_guard("autologger tracerpt", outputs, count, false, code);
    return a->edge != NULL;
}

/* The file appears whole or not at all, and its temporary file does not stay. */
static wstatus write_output(const struct tracerpt_args *a, enum tracerpt_kind which, uint64_t *events,
                            struct reason *why)
{
    const struct output  output = output_of(a, which);
    struct output_stream out;
    wstatus              st = output_begin(a->edge, &output, &out, why);

    if (st)
        return st;
    st = which == OUTPUT_DUMP ? write_dump(a, out.file, events, why) : write_tables(a, which, out.file, events, why);
    return output_end(a->edge, &out, st, why);
}

static void tracerpt_show(const struct tracerpt_args *a, const uint64_t events[OUTPUTS])
{
    struct json *j = a->common.json ? json_create(stdout, true) : NULL;

    if (j) {
        json_object(j, NULL);
        json_text(j, "file", a->file);
        json_array(j, "outputs");
    } else {
        visible_printf(stdout, "\nInput\n----------------\nFile(s):\n     %s\n\nOutput\n----------------\n", a->file);
    }
    for (int i = 0; i < OUTPUTS; i++) {
        if (!a->wanted[i])
            continue;
        if (j) {
            json_object(j, NULL);
            json_text(j, "kind", output_names[i]);
            json_text(j, "name", a->name[i]);
            json_number(j, "events", events[i]);
            json_object_end(j);
        } else {
            visible_printf(stdout, "%s:%*s%s\n", output_names[i], (int)(19 - strlen(output_names[i])), "", a->name[i]);
        }
    }
    if (j) {
        json_array_end(j);
        json_object_end(j);
        json_destroy(j);
    } else {
        printf("\nThe command completed successfully.\n");
    }
}

static int tracerpt_run(struct tracerpt_args *a)
{
    struct etl_reader *reader          = NULL;
    struct reason      why             = {0};
    uint64_t           events[OUTPUTS] = {0};
    wstatus            st;
    int                code;

    complete(a);
    if (!guard(a, &code))
        return code;
    st = etl_reader_open(a->file, &reader, &why);
    etl_reader_close(reader);
    if (st)
        return failure_print_about(ABOUT_TRACE, "autologger tracerpt", st, &why);
    for (int i = 0; i < OUTPUTS; i++)
        if (a->wanted[i] && !may_write(a, a->name[i]))
            return VERB_FAILED;
    struct describe describe = {.files       = {a->format},
                                .file_count  = a->format != NULL,
                                .traces      = (const char *const *)&a->file,
                                .trace_count = 1};
    if (!describe_open(&describe, "autologger tracerpt", &code))
        return code;
    a->schemas = describe.set;
    for (int i = 0; i < OUTPUTS && !st; i++)
        st = a->wanted[i] ? write_output(a, (enum tracerpt_kind)i, &events[i], &why) : W_SUCCESS;
    describe_report(&describe, "autologger tracerpt");
    describe_close(&describe);
    if (st)
        return failure_print_about(ABOUT_RESULT, "autologger tracerpt", st, &why);
    tracerpt_show(a, events);
    if (etl_reader_open(a->file, &reader, NULL))
        return VERB_FAILED;
    struct etl_event e;
    while (etl_next(reader, &e)) /* damage is known when all is read */
        ;
    losses_banner("autologger tracerpt", a->file, reader);
    bool damaged = damage_print("autologger tracerpt", a->file, reader);
    etl_reader_close(reader);
    return damaged ? VERB_FAILED : VERB_FINE;
}

int cmd_tracerpt(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", KEY_OUTPUT, "FILE", OPTION_ARG_OPTIONAL,
         "-o [FILE]: the dump (default dumpfile.xml, or dumpfile.csv)", 0},
        {"of", KEY_OF, "CSV|XML", 0, "-of CSV|XML: the dump's form", 0},
        {"summary", KEY_SUMMARY, "FILE", OPTION_ARG_OPTIONAL,
         "-summary [FILE]: counts by kind of event (default summary.txt)", 0},
        {"report", KEY_REPORT, "FILE", OPTION_ARG_OPTIONAL,
         "-report [FILE]: processor, hot files, disks, connections (default workload.xml, or workload.html)", 0},
        {"f", 'f', "XML|HTML", 0, "-f XML|HTML: the report's form", 0},
        {"rows", KEY_ROWS, "N", 0, "rows of each of the report's tables (default 100; 0: all)", 0},
        {"lr", KEY_LR, NULL, 0, "-lr: also events that are not as described (they are written in any case)", 0},
        {"tmf", KEY_TMF, "FILE", 0, "-tmf FILE: the texts of WPP's messages, or a program that holds them", 0},
        {"y", 'y', NULL, 0, "-y: replace files that are there", 0},
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        tracerpt_parse,
        "FILE",
        CMDLINE_DOC(
            "Windows' tracerpt: options may be spelled as there, -o FILE, -summary FILE, -report FILE, -of CSV, -lr, -y. Without -o, -summary "
            "and -report it writes dumpfile.xml and summary.txt; with any of them, only what is asked for. Nothing else is written.",
            "  autologger tracerpt boot.etl -o boot.csv -of CSV -report boot.html -f HTML"),
        NULL,
        NULL,
        NULL};
    struct tracerpt_args a = {.rows = ROWS};
    char                *out[ARGUMENTS + 1], *room[ARGUMENTS] = {0};
    int                  count, code                          = VERB_USAGE;

    if (argc > ARGUMENTS)
        visible_printf(stderr, "%s: at most %d arguments\n", argv[0], ARGUMENTS);
    else if (translate(argc, argv, out, room, &count) && cmdline_parse(&argp, count, out, &a, &code))
        code = tracerpt_run(&a);
    for (int i = 0; i < ARGUMENTS; i++)
        free(room[i]);
    return code;
}
