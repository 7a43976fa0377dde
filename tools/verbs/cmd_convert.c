/* autologger convert: a trace in another program's format: Perfetto, Chrome, flame graphs, CTF. */
#include "autologger/export/convert.h"
#include "autologger/symbols/symbols.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/progress.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/describe.h"
#include "tools/files/outputs.h"
#include "tools/files/redact_option.h"
#include "tools/files/summary_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDERS_MAX = 16, KEY_TO = 0x300, KEY_WAITING, KEY_NO_SYMBOLS, KEY_SYMBOL_PATH, KEY_MANIFEST, KEY_EVENT };
enum convert_form { TO_PERFETTO, TO_CHROME, TO_FOLDED, TO_CTF, FORMS };
static const char *const convert_words[FORMS] = {"perfetto", "chrome", "folded", "ctf"};

struct convert_args {
    struct cmdline       common;
    const char          *file, *out;
    int                  form; /* -1: not given yet */
    bool                 waiting, no_symbols;
    const char          *event; /* NULL: samples, or waits */
    struct event_spec    spec;
    const char          *folders[FOLDERS_MAX];
    unsigned             folder_count;
    struct describe      describe;
    struct redact_option redact;
    struct output        output;
    struct os           *edge;
};

static error_t convert_parse(int key, char *arg, struct argp_state *state)
{
    struct convert_args *a = state->input;
    switch (key) {
    case KEY_TO:
        for (int i = 0; i < FORMS; i++)
            a->form = strcmp(arg, convert_words[i]) == 0 ? i : a->form;
        if (a->form < 0)
            argp_error(state, "--to is perfetto, chrome, folded or ctf, not \"%s\"", arg);
        return 0;
    case 'o': a->out = arg; return 0;
    case KEY_WAITING: a->waiting = true; return 0;
    case KEY_EVENT:
        if (!event_spec_parse(a->event = arg, &a->spec))
            argp_error(state, "--event is PROVIDER/EVENT, for example DiskIo/WriteInit, not \"%s\"", arg);
        return 0;
    case KEY_NO_SYMBOLS: a->no_symbols = true; return 0;
    case KEY_SYMBOL_PATH:
        if (a->folder_count == FOLDERS_MAX)
            argp_error(state, "at most %d folders with symbols", FOLDERS_MAX);
        a->folders[a->folder_count++] = arg;
        return 0;
    case KEY_MANIFEST:
        if (a->describe.file_count == DESCRIBE_FILES_MAX)
            argp_error(state, "at most %d manifests", DESCRIBE_FILES_MAX);
        a->describe.files[a->describe.file_count++] = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one FILE at a time. Do: autologger merge -o ALL.etl FILES");
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file)
            argp_error(state, "FILE is missing");
        else if (a->form < 0)
            argp_error(state, "the form is missing. Do: --to perfetto, chrome, folded or ctf");
        else if (a->event && (a->waiting || a->form != TO_FOLDED))
            argp_error(state, "--event is for --to folded, without --waiting");
        else if (!a->out)
            argp_error(state, "the result is not named. Do: -o %s", a->form == TO_CTF ? "FOLDER" : "FILE");
        return 0;
    default: {
        error_t e = redact_option_parse(&a->redact, key, arg, state);
        return e == ARGP_ERR_UNKNOWN ? cmdline_option(&a->common, key, arg) : e;
    }
    }
}

static void convert_counts_json(const struct convert_args *a, const struct convert_counts *n)
{
    const struct timeline_counts *t = &n->timeline;
    struct json                  *j = json_create(stdout, true);
    if (!j)
        return;
    json_object(j, NULL);
    json_text(j, "result", a->out);
    json_text(j, "form", convert_words[a->form]);
    json_number(j, "read", n->read);
    redact_option_json(&a->redact, j);
    if (a->form == TO_CTF) {
        json_number(j, "events", n->events);
        json_number(j, "classes", n->classes);
    } else if (a->form == TO_FOLDED) {
        json_number(j, "stacks", n->events);
        json_number(j, "without_stack", n->without_stack);
        json_number(j, "lines", n->distinct);
        json_number(j, "weight", n->weight);
    } else {
        json_number(j, "switches", t->switches);
        json_number(j, "wakes", t->wakes);
        json_number(j, "slices", t->slices);
        json_number(j, "slice_begins", t->begins);
        json_number(j, "instants", t->instants);
        json_number(j, "counters", t->counters);
        json_number(j, "counter_values", t->counter_values);
        json_number(j, "samples", t->samples);
        json_number(j, "samples_with_stack", t->sampled);
        json_number(j, "stacks", t->stacks);
        json_number(j, "names", t->names);
        json_number(j, "lanes", t->lanes);
    }
    json_object_end(j);
    json_destroy(j);
}

static void counts_print(const struct convert_args *a, const struct convert_counts *n)
{
    const struct timeline_counts *t = &n->timeline;

    visible_printf(stdout, "%s: %" PRIu64 " events read\n", a->out, n->read);
    if (a->form == TO_CTF)
        visible_printf(stdout, "%" PRIu64 " events written, of %" PRIu64 " shapes\n", n->events, n->classes);
    else if (a->form == TO_FOLDED)
        visible_printf(stdout,
                       "%" PRIu64 " %s with a stack, %" PRIu64 " without; %" PRIu64 " distinct lines, %" PRIu64
                       " %s in all\n",
                       n->events,
                       a->event     ? "events"
                       : a->waiting ? "waits"
                                    : "samples",
                       n->without_stack, n->distinct, n->weight,
                       a->event     ? "events"
                       : a->waiting ? "microseconds"
                                    : "samples");
    else
        visible_printf(stdout,
                       "%" PRIu64 " switches, %" PRIu64 " wake-ups, %" PRIu64 " slices on %" PRIu64
                       " lanes (of two events each: %" PRIu64 "), %" PRIu64 " marks, %" PRIu64
                       " values of counters, %" PRIu64 " samples (%" PRIu64 " with a stack); %" PRIu64
                       " stacks and %" PRIu64 " events that give names\n",
                       t->switches, t->wakes, t->slices, t->lanes, t->begins, t->instants, t->counter_values,
                       t->samples, t->sampled, t->stacks, t->names);
    if (a->event && !n->events)
        visible_printf(
            stderr,
            "autologger convert: no event %s has a stack. Do: name it in StackWalkingFilter (autologger providers --stacks)\n",
            a->event);
    else if (a->form == TO_FOLDED && !n->events)
        visible_printf(stderr,
                       "autologger convert: no %s has a stack. Do: trace with %s and StackWalkingFilter = %s%s\n",
                       a->waiting ? "context switch" : "sample", a->waiting ? "CSWITCH" : "PROFILE",
                       a->waiting ? "CSwitch" : "Profile",
                       a->waiting ? "" : "; or, where context switches have stacks, look at --waiting");
}

static wstatus convert_convert(const struct convert_args *a, struct trace *t, const struct frame_namer *namer,
                               FILE *out, struct convert_counts *n, struct reason *why)
{
    switch ((enum convert_form)a->form) {
    case TO_PERFETTO: return convert_perfetto(t, namer, out, n, why);
    case TO_CHROME: return convert_chrome(t, namer, out, n, why);
    case TO_FOLDED:
        return convert_folded(t, namer,
                              a->event     ? FOLDED_EVENT
                              : a->waiting ? FOLDED_WAITING
                                           : FOLDED_CPU,
                              a->event ? &a->spec : NULL, out, n, why);
    case TO_CTF: return convert_ctf(a->edge, t, a->out, n, why);
    case FORMS: break;
    }
    return W_INVALID_PARAMETER;
}

/* The result appears whole or not at all. */
static wstatus convert_file(const struct convert_args *a, struct trace *t, const struct frame_namer *namer,
                            struct convert_counts *n, struct reason *why)
{
    struct output_stream out;

    if (a->form == TO_CTF)
        return convert_convert(a, t, namer, NULL, n, why);
    if (strcmp(a->out, "-") == 0)
        return convert_convert(a, t, namer, stdout, n, why);
    wstatus st = output_begin(a->edge, &a->output, &out, why);
    return st ? st : output_end(a->edge, &out, convert_convert(a, t, namer, out.file, n, why), why);
}

static int cmd_convert_run(struct convert_args *a)
{
    struct progress       progress = progress_start("converting");
    struct symbols       *symbols  = NULL;
    struct trace         *t        = NULL;
    struct convert_counts n        = {0};
    struct reason         why      = {0};
    struct frame_namer    namer;
    wstatus               st   = trace_open(&a->file, 1, &t, &why);
    int                   code = VERB_FINE;

    a->describe.traces      = (const char *const *)&a->file;
    a->describe.trace_count = 1;
    if (!st && !describe_open(&a->describe, "autologger convert", &code)) {
        trace_close(t);
        return code;
    }
    if (!st && !redact_option_open(&a->redact, "autologger convert", (const char *const *)&a->file, 1, &code)) {
        describe_close(&a->describe);
        trace_close(t);
        return code;
    }
    if (!st) {
        trace_describe(t, a->describe.set);
        trace_redact(t, a->redact.redactor);
    }

    if (!st && !a->no_symbols && a->form != TO_CTF)
        st = symbols_open(a->file, &(struct symbols_options){.folders = a->folders, .folder_count = a->folder_count},
                          &symbols, &why);
    if (symbols)
        namer = symbols_namer(symbols);
    if (!st) {
        trace_watch(t, progress_tell, &progress);
        st = convert_file(a, t, symbols ? &namer : NULL, &n, &why);
        progress_end(&progress);
    }
    if (t)
        describe_report(&a->describe, "autologger convert");
    if (st) {
        code = failure_print_about(t ? ABOUT_RESULT : ABOUT_TRACE, "autologger convert", st, &why);
    } else {
        if (strcmp(a->out, "-") == 0)
            fflush(stdout);
        else if (a->common.json)
            convert_counts_json(a, &n);
        else
            counts_print(a, &n);
        if (!a->common.json && strcmp(a->out, "-") != 0)
            redact_option_print(&a->redact);
        losses_banner("autologger convert", a->file, trace_reader(t, 0));
        code = damage_print("autologger convert", a->file, trace_reader(t, 0)) ? VERB_FAILED : VERB_FINE;
    }
    symbols_close(symbols);
    trace_close(t);
    describe_close(&a->describe);
    return code;
}

int cmd_convert(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"to", KEY_TO, "FORM", 0,
         "perfetto (ui.perfetto.dev), chrome (JSON), folded (flame graphs), ctf (babeltrace2, Trace Compass)", 0},
        {"output", 'o', "FILE", 0, "the file to make, - for standard output; for ctf a folder that is not there yet",
         0},
        {"waiting", KEY_WAITING, NULL, 0, "folded: where threads waited, in microseconds, instead of samples", 0},
        {"event", KEY_EVENT, "SPEC", 0, "folded: the stacks of these events, PROVIDER/EVENT, instead of samples", 0},
        {"no-symbols", KEY_NO_SYMBOLS, NULL, 0, "addresses instead of names of functions", 0},
        {"symbol-path", KEY_SYMBOL_PATH, "DIR", 0,
         "look in DIR first: for the files, and for .build-id folders (repeat for more)", 0},
        {"manifest", KEY_MANIFEST, "FILE", 0,
         "an instrumentation manifest that describes events (repeat for more); installed ones are found", 0},
        OPT_REDACT,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        convert_parse,
        "FILE",
        CMDLINE_DOC(
            "A trace file in the form of another program. perfetto and chrome: scheduling by processor, slices (transfers, file system calls, "
            "initcalls, units, pairs of start and stop), marks, counters, samples with stacks. folded: a line for each distinct stack. ctf: an "
            "event for an event.",
            "  autologger convert boot.etl --to perfetto -o boot.pftrace"),
        NULL,
        NULL,
        NULL};
    struct convert_args a = {.form = -1};
    int                 code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    redact_option_prepare(&a.redact);
    a.output = (struct output){a.out, a.form == TO_CTF ? NULL : ".converting-"};
    a.edge = outputs_guard("autologger convert", &a.output, a.form == TO_CTF || strcmp(a.out, "-") != 0, false, &code);
    code   = a.edge ? cmd_convert_run(&a) : code;
    redact_option_close(&a.redact);
    return code;
}
