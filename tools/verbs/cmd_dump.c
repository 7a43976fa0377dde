/* autologger dump: the events of a trace file in time order. */
#include "autologger/consumer/dump.h"
#include "autologger/symbols/symbols.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/progress.h"
#include "tools/base/read_only.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/describe.h"
#include "tools/files/mapped.h"
#include "tools/files/summary_view.h"
#include "tools/view/symbols_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDERS_MAX = 16, KEY_SYMBOL_PATH = 0x300, KEY_UNIT, KEY_MANIFEST = 0x320, KEY_CULTURE, KEY_MATCH };
struct dump_args {
    struct cmdline      common;
    const char         *file;
    struct dump_options options;
    struct guid         guids[DUMP_PROVIDERS_MAX];
    unsigned            providers, units;
    double              from, to; /* seconds since the file's start, < 0: not given */
    struct describe     describe;
    bool                symbols;
    const char         *folders[FOLDERS_MAX];
    unsigned            folder_count;
};

/* Parses all of `arg` as a number of at least 0. */
static double dump_number_parse(const char *arg, const char *option, struct argp_state *state)
{
    char  *end;
    double value = strtod(arg, &end);
    if (end == arg || *end || !(value >= 0) || !(value < 1e12))
        argp_error(state, "--%s takes a number, not \"%s\"", option, arg);
    return value;
}

static error_t dump_parse(int key, char *arg, struct argp_state *state)
{
    struct dump_args    *a = state->input;
    struct dump_options *o = &a->options;
    switch (key) {
    case 'f':
        for (o->format = 0; o->format < DUMP_FORMATS && strcmp(arg, dump_format_words[o->format]);)
            o->format++;
        if (o->format == DUMP_FORMATS)
            argp_error(state, "--format is text, json, xml or csv, not \"%s\"", arg);
        return 0;
    case KEY_JSON: o->format = DUMP_JSON; return 0;
    case 'i': o->iso = true; return 0;
    case 'p':
        if (a->providers == DUMP_PROVIDERS_MAX)
            argp_error(state, "at most %d providers", DUMP_PROVIDERS_MAX);
        if (guid_parse(arg, &a->guids[a->providers]))
            o->providers[a->providers].guid = &a->guids[a->providers];
        else
            o->providers[a->providers].name = arg;
        a->providers++;
        return 0;
    case 'P':
        o->by_process = true;
        o->process_id = (uint32_t)dump_number_parse(arg, "process", state);
        return 0;
    case KEY_UNIT:
        if (a->units == DUMP_UNITS_MAX)
            argp_error(state, "at most %d units", DUMP_UNITS_MAX);
        o->units[a->units++] = arg;
        return 0;
    case KEY_MATCH: o->match = arg; return 0;
    case 'n':
        o->limit = (uint64_t)dump_number_parse(arg, "limit", state);
        if (!o->limit)
            argp_error(state, "--limit takes a number of at least 1. Do: leave it away for all events");
        return 0;
    case 's': a->symbols = true; return 0;
    case KEY_SYMBOL_PATH:
        if (a->folder_count == FOLDERS_MAX)
            argp_error(state, "at most %d folders with symbols", FOLDERS_MAX);
        a->folders[a->folder_count++] = arg;
        a->symbols                    = true;
        return 0;
    case KEY_MANIFEST:
        if (a->describe.file_count == DESCRIBE_FILES_MAX)
            argp_error(state, "at most %d manifests", DESCRIBE_FILES_MAX);
        a->describe.files[a->describe.file_count++] = arg;
        return 0;
    case KEY_CULTURE: a->describe.culture = arg; return 0;
    case 'a': a->from = dump_number_parse(arg, "from", state); return 0;
    case 'b': a->to = dump_number_parse(arg, "to", state); return 0;
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one FILE at a time. Do: autologger merge -o ALL.etl FILES");
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file)
            argp_error(state, "FILE is missing");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Seconds since the start of the file -> FILETIME. */
static uint64_t time_at(const struct etl_reader *reader, double seconds)
{
    return (uint64_t)etl_reader_header(reader)->raw.start_time + (uint64_t)llround(seconds * 1e7);
}

/* An empty result is a result, too: names the filters that found nothing. */
static void filters_print(const struct dump_args *a, const struct dump_counts *counts)
{
    const struct dump_options *o = &a->options;
    char                       guid[GUID_TEXT_SIZE];

    fflush(stdout);
    for (unsigned i = 0; i < a->providers && !(o->limit && counts->written == o->limit); i++)
        if (!counts->seen[i])
            visible_printf(
                stderr,
                "autologger dump: %s has no event of the provider %s. Do: autologger summary %s names those it has\n",
                a->file, o->providers[i].name ? o->providers[i].name : guid_format(o->providers[i].guid, guid),
                a->file);
    if (a->units && !counts->units_told)
        visible_printf(
            stderr,
            "autologger dump: %s does not tell which unit its processes are in. Do: trace the kernel's processes (PROC_THREAD) in a "
            "boot that also has a provider of units\n",
            a->file);
    if (counts->read && !counts->written)
        visible_printf(stderr, "autologger dump: 0 of %" PRIu64 " events matched%s%s%s%s%s\n", counts->read,
                       a->providers ? " --provider" : "", o->by_process ? " --process" : "", a->units ? " --unit" : "",
                       o->match ? " --match" : "",
                       a->from >= 0 && a->to >= 0 ? " --from --to"
                       : a->from >= 0             ? " --from"
                       : a->to >= 0               ? " --to"
                                                  : "");
}

/* After the events: with JSON as the last line, else on standard error, so that standard output has the events
 * alone. */
static void symbols_show(const struct dump_args *a, struct symbols *symbols)
{
    struct symbols_counts n;

    if (!symbols_counts(symbols, &n))
        return;
    fflush(stdout);
    if (a->options.format == DUMP_JSON)
        symbols_print_json(&n, stdout);
    else
        symbols_print(&n, stderr);
}

static int dump(struct dump_args *a)
{
    struct symbols    *symbols = NULL;
    struct frame_namer namer;
    struct etl_reader *reader = NULL;
    struct dump_counts counts = {0};
    struct reason      why    = {0};
    int                code   = VERB_FINE;
    read_only();
    wstatus st = etl_reader_open(a->file, &reader, &why);
    if (!st && a->symbols)
        st = symbols_open(a->file, &(struct symbols_options){.folders = a->folders, .folder_count = a->folder_count},
                          &symbols, &why);
    if (!st && symbols) {
        namer             = symbols_namer(symbols);
        a->options.frames = &namer;
    }
    if (!st) {
        a->describe.traces      = &a->file;
        a->describe.trace_count = 1;
        if (!describe_open(&a->describe, "autologger dump", &code)) {
            symbols_close(symbols);
            etl_reader_close(reader);
            return code;
        }
        struct progress bar = progress_start("writing");
        if (!isatty(STDOUT_FILENO)) { /* on a terminal the events show the progress */
            a->options.progress     = progress_tell;
            a->options.progress_ctx = &bar;
        }
        mapped_reader("autologger dump", a->file, reader);
        a->options.schemas = a->describe.set;
        a->options.from    = a->from >= 0 ? time_at(reader, a->from) : 0;
        a->options.to      = a->to >= 0 ? time_at(reader, a->to) : 0;
        st                 = dump_events(reader, &a->options, stdout, &counts, &why);
        progress_end(&bar);
    }
    if (!st && symbols)
        symbols_show(a, symbols);
    if (st) {
        code = failure_print_about(reader ? ABOUT_ANY : ABOUT_TRACE, "autologger dump", st, &why);
    } else {
        losses_banner("autologger dump", a->file, reader);
        code = damage_print("autologger dump", a->file, reader) ? VERB_FAILED : VERB_FINE;
    }
    if (!st && (counts.unknown || counts.mismatch)) {
        fflush(stdout);
        fprintf(stderr,
                "autologger dump: %" PRIu64 " of %" PRIu64 " events written without names of fields (%" PRIu64
                " not described, %" PRIu64 " not as described)\n",
                counts.unknown + counts.mismatch, counts.written, counts.unknown, counts.mismatch);
    }
    if (!st)
        filters_print(a, &counts);
    describe_report(&a->describe, "autologger dump");
    describe_close(&a->describe);
    symbols_close(symbols);
    etl_reader_close(reader);
    return code;
}

int cmd_dump(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"format", 'f', "FORMAT", 0,
         "text (the default) or json (a line an event), xml or csv (as tracerpt writes them), wpp (messages as tracefmt writes them)",
         0},
        {"json", KEY_JSON, NULL, 0, "the same as --format json", 0},
        {"iso", 'i', NULL, 0, "dates instead of seconds since the start of the file", 0},
        {"provider", 'p', "PROVIDER", 0, "only events of this provider: a name or a {GUID} (repeat for more)", 0},
        {"process", 'P', "PID", 0,
         "only events of this process: those it wrote, and those with a field that names it or one of its threads "
         "(as far as Thread events told until then)",
         0},
        {"unit", KEY_UNIT, "UNIT", 0,
         "only events of this systemd unit: of its processes, as far as ProcessCgroup events told until then, and "
         "those of the unit itself; a name with * and ?, a service where it has no suffix, or none (repeat for more)",
         0},
        {"match", KEY_MATCH, "PATTERN", 0,
         "only events that this regular expression fits, looked for in \"Provider/Event name=value name=value\", behind which stands channel=NAME where a manifest tells it",
         0},
        {"from", 'a', "SECONDS", 0, "only events from here on, in seconds since the start of the file", 0},
        {"to", 'b', "SECONDS", 0, "only events up to here", 0},
        {"symbols", 's', NULL, 0, "names of the functions in stacks, and how many have one", 0},
        {"symbol-path", KEY_SYMBOL_PATH, "DIR", 0,
         "look in DIR first: for the files, and for .build-id folders (repeat for more)", 0},
        {"manifest", KEY_MANIFEST, "FILE", 0,
         "describe events by this manifest (.man), or by the one in this program; before those installed (repeat for more)",
         0},
        {"culture", KEY_CULTURE, "CULTURE", 0,
         "messages and names of manifests in this culture (de-DE); default: that of LANG", 0},
        {"limit", 'n', "N", 0, "the first N that are left, 1 or more", 0},
        {0},
    };
    static const struct argp argp = {
        options,
        dump_parse,
        "FILE",
        CMDLINE_DOC(
            "The events of a trace file (.etl, of Windows too) in time order, with the names of their fields. A damaged "
            "file is read up to the damage, which is named; the exit code is then 1.",
            "  autologger dump trace.etl --provider Contoso-Demo --format json"),
        NULL,
        NULL,
        NULL};
    struct dump_args a = {.from = -1, .to = -1};
    int              code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    return dump(&a);
}
