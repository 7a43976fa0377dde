/* autologger analyse: answers from trace files: pairs of events, counts, activities, the state at a time, images,
 * losses. */
#include "autologger/consumer/losses.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/progress.h"
#include "tools/base/read_only.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/describe.h"
#include "tools/files/summary_view.h"
#include "tools/setup/empty_view.h"
#include "tools/view/analyse_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

enum {
    KEY_BEGIN = 0x300,
    KEY_END,
    KEY_BY,
    KEY_FIELD,
    KEY_WORST,
    KEY_AT,
    KEY_ROWS,
    KEY_ACTIVITY,
    KEY_MANIFEST,
    ROWS  = 20,
    WORST = 10
};
enum topic { TOPIC_DELTA, TOPIC_STATS, TOPIC_ACTIVITY, TOPIC_STATE, TOPIC_IMAGES, TOPIC_LOSSES, TOPIC_EMPTY, TOPICS };
static const char *const topics[TOPICS] = {"delta", "stats", "activity", "state", "images", "losses", "empty"};

struct analyse_args {
    struct cmdline       common;
    int                  topic; /* -1: not given yet */
    const char          *files[TRACE_FILES_MAX];
    unsigned             count, rows;
    bool                 has_begin, has_end, has_by, has_at, has_activity;
    struct delta_options delta;
    char                *field;
    double               at;
    struct guid          activity;
    struct describe      describe;
};

static void parse_by(struct analyse_args *a, const char *arg, struct argp_state *state)
{
    static const char *const words[] = {"thread", "process", "activity", "field", "any"};
    for (int i = 0; i <= DELTA_ANY; i++)
        if (i != DELTA_FIELD && strcmp(arg, words[i]) == 0) {
            a->delta.by = (enum delta_by)i;
            a->has_by   = true;
        }
    if (!a->has_by)
        argp_error(state,
                   "--by is thread, process, activity or any, not \"%s\". Do: --field NAME for the value of a field",
                   arg);
}

static void parse_field(struct analyse_args *a, char *arg)
{
    char *comma          = strchr(arg, ',');
    a->delta.by          = DELTA_FIELD;
    a->has_by            = true;
    a->delta.begin_field = a->delta.end_field = arg;
    if (comma) {
        *comma             = 0;
        a->delta.end_field = comma + 1;
    }
}

static unsigned analyse_parse_number(const char *arg, const char *option, unsigned most, struct argp_state *state)
{
    char         *end;
    unsigned long n = strtoul(arg, &end, 10);
    if (end == arg || *end || n > most)
        argp_error(state, "--%s takes a number of at most %u, not \"%s\"", option, most, arg);
    return (unsigned)n;
}

static void parse_at(struct analyse_args *a, const char *arg, struct argp_state *state)
{
    char *end;
    a->at     = strtod(arg, &end);
    a->has_at = end != arg && !*end && isfinite(a->at) && a->at >= 0 && a->at < 1e9;
    if (!a->has_at)
        argp_error(state, "--at takes seconds since the start of the file, not \"%s\"", arg);
}

static void analyse_argument(struct analyse_args *a, const char *arg, struct argp_state *state)
{
    if (a->topic >= 0) {
        if (a->count == TRACE_FILES_MAX)
            argp_error(state, "at most %d files", TRACE_FILES_MAX);
        a->files[a->count++] = arg;
        return;
    }
    for (int i = 0; i < TOPICS; i++)
        if (strcmp(arg, topics[i]) == 0)
            a->topic = i;
    if (a->topic < 0)
        argp_error(state, "\"%s\" is none of delta, stats, activity, state, images, losses, empty", arg);
}

static void check_complete(const struct analyse_args *a, struct argp_state *state)
{
    if (a->topic < 0)
        argp_error(state, "what to analyse is missing. Do: autologger analyse stats FILE");
    else if (a->topic != TOPIC_EMPTY && !a->count)
        argp_error(state, "FILE is missing");
    else if (a->topic == TOPIC_EMPTY && a->count > 1)
        argp_error(state, "one SESSION at a time");
    else if (a->topic == TOPIC_DELTA && (!a->has_begin || !a->has_end))
        argp_error(state, "the pair is missing. Do: --begin PROVIDER/EVENT --end PROVIDER/EVENT");
    else if (a->topic == TOPIC_STATE && !a->has_at)
        argp_error(state, "the time is missing. Do: --at SECONDS");
    else if (a->topic == TOPIC_STATE && a->count > 1)
        argp_error(state, "the state is that of one machine: one FILE. Do: autologger merge -o ALL.etl FILES");
}

static error_t analyse_parse(int key, char *arg, struct argp_state *state)
{
    struct analyse_args *a = state->input;
    switch (key) {
    case KEY_BEGIN:
    case KEY_END:
        if (!event_spec_parse(arg, key == KEY_BEGIN ? &a->delta.begin : &a->delta.end))
            argp_error(state, "\"%s\" is no PROVIDER/EVENT:OPCODE", arg);
        *(key == KEY_BEGIN ? &a->has_begin : &a->has_end) = true;
        return 0;
    case KEY_BY: parse_by(a, arg, state); return 0;
    case KEY_FIELD:
        free(a->field);
        if (!(a->field = strdup(arg)))
            argp_failure(state, VERB_REFUSED, 0, "no memory");
        else
            parse_field(a, a->field);
        return 0;
    case KEY_WORST: a->delta.worst = analyse_parse_number(arg, "worst", DELTA_WORST, state); return 0;
    case KEY_ROWS: a->rows = analyse_parse_number(arg, "rows", 1000000000, state); return 0;
    case KEY_AT: parse_at(a, arg, state); return 0;
    case KEY_ACTIVITY:
        if (!(a->has_activity = guid_parse(arg, &a->activity)))
            argp_error(state, "--activity takes a {GUID}, not \"%s\"", arg);
        return 0;
    case KEY_MANIFEST:
        if (a->describe.file_count == DESCRIBE_FILES_MAX)
            argp_error(state, "at most %d manifests", DESCRIBE_FILES_MAX);
        a->describe.files[a->describe.file_count++] = arg;
        return 0;
    case ARGP_KEY_ARG: analyse_argument(a, arg, state); return 0;
    case ARGP_KEY_END: check_complete(a, state); return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* --- topics --- */

static wstatus run_delta(struct trace *t, const struct analyse_args *a, const struct analyse_view *v,
                         struct reason *why, bool *found)
{
    struct delta *d;
    wstatus       st = delta_create(t, &a->delta, &d, why);
    if (st)
        return st;
    delta_view(d, v);
    *found = d->begins && d->ends;
    if (!*found) {
        fflush(stdout);
        visible_printf(
            stderr,
            "autologger analyse: no event is the %s of a pair. Do: autologger analyse stats FILE names the events\n",
            d->begins ? "end"
            : d->ends ? "begin"
                      : "begin or end");
    }
    delta_destroy(d);
    return st;
}

static wstatus run_counts(struct trace *t, const struct analyse_view *v, struct reason *why)
{
    struct counts *c;
    wstatus        st = counts_create(t, &c, why);
    if (st)
        return st;
    counts_view(c, v);
    counts_destroy(c);
    return st;
}

static wstatus run_activities(struct trace *t, const struct analyse_args *a, const struct analyse_view *v,
                              struct reason *why, bool *found)
{
    struct activities *x;
    wstatus            st = activities_create(t, &x, why);
    if (st)
        return st;
    *found = !a->has_activity || activities_find(x, &a->activity) != ACTIVITY_NONE;
    if (*found) {
        activities_view(x, a->has_activity ? &a->activity : NULL, v);
    } else {
        char guid[GUID_TEXT_SIZE];
        visible_printf(stderr,
                       "autologger analyse: no event is of the activity %s. Do: leave --activity away to see all\n",
                       guid_format(&a->activity, guid));
    }
    activities_destroy(x);
    return st;
}

static wstatus run_state(struct trace *t, const struct analyse_args *a, const struct analyse_view *v,
                         struct reason *why)
{
    struct moment m;
    wstatus       st = moment_create(t, v->start + (uint64_t)llround(a->at * 1e7), &m, why);
    if (st)
        return st;
    moment_view(&m, v);
    moment_finish(&m);
    return st;
}

static wstatus run_images(struct trace *t, const struct analyse_view *v, struct reason *why)
{
    struct images *i;
    wstatus        st = images_create(t, &i, why);
    if (st)
        return st;
    images_view(i, v);
    images_destroy(i);
    return st;
}

static wstatus run_losses(struct trace *t, const struct analyse_view *v, struct reason *why)
{
    const struct trace_event *x;
    struct losses             l       = {0};
    uint64_t                  counted = 0;
    bool                      fits    = true;

    while (fits && trace_next(t, &x))
        fits = losses_add(&l, &x->e, &x->names);
    for (unsigned i = 0; i < trace_files(t); i++)
        counted += trace_header(t, i)->raw.events_lost;
    if (fits && v->json) {
        yajl_gen             gen = yajl_gen_alloc(NULL);
        const unsigned char *text;
        size_t               size;
        if (gen && yajl_gen_map_open(gen) == yajl_gen_status_ok) {
            losses_print_json(&l, counted, gen);
            yajl_gen_map_close(gen);
            yajl_gen_get_buf(gen, &text, &size);
            visible_json(stdout, (const char *)text, size);
            putchar('\n');
        }
        if (gen)
            yajl_gen_free(gen);
    } else if (fits) {
        visible_printf(stdout, "%" PRIu64 " event%s lost, in %" PRIu64 " read\n", counted,
                       counted == 1 ? " was" : "s were", trace_events(t));
        losses_print(&l, counted, v->start, stdout);
    }
    losses_finish(&l);
    return fits ? W_SUCCESS : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for losses");
}

static wstatus analyse_run(struct trace *t, const struct analyse_args *a, const struct analyse_view *v,
                           struct reason *why, bool *found)
{
    *found = true;
    switch ((enum topic)a->topic) {
    case TOPIC_DELTA: return run_delta(t, a, v, why, found);
    case TOPIC_STATS: return run_counts(t, v, why);
    case TOPIC_ACTIVITY: return run_activities(t, a, v, why, found);
    case TOPIC_STATE: return run_state(t, a, v, why);
    case TOPIC_IMAGES: return run_images(t, v, why);
    case TOPIC_LOSSES: return run_losses(t, v, why);
    case TOPIC_EMPTY:
    case TOPICS: break;
    }
    return W_SUCCESS;
}

static int analyse(struct analyse_args *a)
{
    read_only();
    struct progress progress = progress_start("reading");
    struct trace   *t        = NULL;
    struct reason   why      = {0};
    bool            found = true, damaged = false;
    wstatus         st = trace_open(a->files, a->count, &t, &why);
    int             code;

    a->describe.traces      = a->files;
    a->describe.trace_count = a->count;
    if (!st && !describe_open(&a->describe, "autologger analyse", &code)) {
        trace_close(t);
        return code;
    }
    if (!st) {
        trace_describe(t, a->describe.set);
        struct analyse_view v = {a->common.json, a->rows, trace_start(t), a->files, a->count};
        trace_watch(t, progress_tell, &progress);
        st = analyse_run(t, a, &v, &why, &found);
        progress_end(&progress);
    }
    if (t)
        describe_report(&a->describe, "autologger analyse");
    describe_close(&a->describe);
    if (st) {
        code = failure_print_about(t ? ABOUT_ANY : ABOUT_TRACE, "autologger analyse", st, &why);
        trace_close(t);
        return code;
    }
    for (unsigned i = 0; i < a->count; i++) {
        if (a->topic != TOPIC_LOSSES)
            losses_banner("autologger analyse", a->files[i], trace_reader(t, i));
        damaged |= damage_print("autologger analyse", a->files[i], trace_reader(t, i));
    }
    trace_close(t);
    return found && !damaged ? VERB_FINE : VERB_FAILED;
}

int cmd_analyse(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"begin", KEY_BEGIN, "PROVIDER/EVENT", 0,
         "delta: the events that begin a pair; names with * and ?, or ids; :OPCODE may follow", 0},
        {"end", KEY_END, "PROVIDER/EVENT", 0, "delta: the events that end it", 0},
        {"by", KEY_BY, "WHAT", 0,
         "delta: begin and end are of the same thread (the default), process, activity, or any; a thread or process is the one that wrote the event, so Process/Start is its parent's: there --field ProcessId",
         0},
        {"field", KEY_FIELD, "NAME", 0,
         "delta: begin and end have the same value in this field of what they tell; NAME,NAME where it has another name at the end",
         0},
        {"worst", KEY_WORST, "N", 0, "delta: show the N longest pairs (default 10)", 0},
        {"at", KEY_AT, "SECONDS", 0, "state: the time, in seconds since the start of the file", 0},
        {"activity", KEY_ACTIVITY, "{GUID}", 0, "activity: this one and what came out of it", 0},
        {"rows", KEY_ROWS, "N", 0, "rows of a table at most (default 20 as text, all as JSON; 0: all)", 0},
        {"manifest", KEY_MANIFEST, "FILE", 0,
         "an instrumentation manifest that describes events (repeat for more); installed ones are found", 0},
        {"store", KEY_STORE, "FILE", 0, "empty: the store (default " CMDLINE_DEFAULT_STORE ")", 0},
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        analyse_parse,
        "delta|stats|activity|state|images|losses|empty FILE...",
        CMDLINE_DOC(
            "Answers out of trace files. delta: pairs of events, the time and the processor time between them. stats: counts by provider, "
            "event, process, processor, level and second. activity: the tree of activities over processes and files. state: what ran, "
            "lived and was open at a time. images: every file that programs ran, and what identifies it. losses: when events were lost. "
            "empty [SESSION]: why a session of the last boot has no events (no FILE; it reads the store).",
            "  autologger analyse delta boot.etl --begin Contoso-Web/Request:start --end Contoso-Web/Request:stop"),
        NULL,
        NULL,
        NULL};
    struct analyse_args a = {.topic = -1, .rows = UINT32_MAX, .delta.worst = WORST};
    int                 code;
    if (cmdline_parse(&argp, argc, argv, &a, &code)) {
        if (a.rows == UINT32_MAX)
            a.rows = a.common.json ? 0 : ROWS;
        code = a.topic == TOPIC_EMPTY ? empty_view(&a.common, a.count ? a.files[0] : NULL) : analyse(&a);
    }
    free(a.field);
    return code;
}
