/* autologger relog: a trace file from others: only some of their events, in time order, with their time stamps;
 * uncompressed, or compressed; redacted. */
#include "autologger/analysis/event_spec.h"
#include "autologger/consumer/merge.h"
#include "autologger/consumer/process_filter.h"
#include "autologger/etl/xpress.h"
#include "autologger/schema/classic.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/merge_options.h"
#include "tools/files/outputs.h"
#include "tools/files/redact_option.h"
#include "tools/files/summary_view.h"
#include "autologger/wire/merged.h"
#include "autologger/wire/names.h"
#include "registry-sim/base/visible_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPECS_MAX = 32, KEY_EVENT = 0x300, KEY_EXCLUDE, KEY_NAMES, KEY_COMPRESS, HEADER_GROUP = 0 };
struct relog_args {
    struct cmdline       common;
    struct redact_option redact;
    const char          *out, *files[MERGE_FILES_MAX];
    unsigned             count;
    struct event_spec    keep[SPECS_MAX], exclude[SPECS_MAX];
    unsigned             keeps, excludes;
    bool                 names, by_process, compress;
    uint32_t             process;
    double               from, to; /* < 0: not given */
    /* while it runs */
    uint64_t              first, last; /* FILETIME */
    struct schema_set    *schemas;
    struct actors         actors;
    struct process_filter filter;
};

static double relog_seconds(const char *arg, const char *option, struct argp_state *state)
{
    char  *end;
    double value = strtod(arg, &end);
    if (end == arg || *end || !(value >= 0) || !(value < 1e12))
        argp_error(state, "--%s takes a number, not \"%s\"", option, arg);
    return value;
}

static void add_spec(struct event_spec *list, unsigned *count, const char *arg, struct argp_state *state)
{
    if (*count == SPECS_MAX)
        argp_error(state, "at most %d kinds of events", SPECS_MAX);
    else if (!event_spec_parse(arg, &list[(*count)++]))
        argp_error(state, "\"%s\" is no PROVIDER/EVENT:OPCODE", arg);
}

static error_t relog_parse(int key, char *arg, struct argp_state *state)
{
    struct relog_args *a = state->input;
    switch (key) {
    case 'o': a->out = arg; return 0;
    case 'p':
    case KEY_EVENT: add_spec(a->keep, &a->keeps, arg, state); return 0;
    case KEY_EXCLUDE: add_spec(a->exclude, &a->excludes, arg, state); return 0;
    case KEY_NAMES: a->names = true; return 0;
    case KEY_COMPRESS: a->compress = true; return 0;
    case 'P':
        a->by_process = true;
        a->process    = (uint32_t)relog_seconds(arg, "process", state);
        return 0;
    case 'a': a->from = relog_seconds(arg, "from", state); return 0;
    case 'b': a->to = relog_seconds(arg, "to", state); return 0;
    case ARGP_KEY_ARG:
        if (a->count == MERGE_FILES_MAX)
            argp_error(state, "at most %d files", MERGE_FILES_MAX);
        a->files[a->count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->count)
            argp_error(state, "FILE is missing");
        else if (!a->out)
            argp_error(state, "the result is not named. Do: -o FILE");
        return 0;
    default: {
        error_t e = redact_option_parse(&a->redact, key, arg, state);
        return e == ARGP_ERR_UNKNOWN ? cmdline_option(&a->common, key, arg) : e;
    }
    }
}

static bool relog_process_wanted(void *ctx, uint32_t process) { return process == ((struct relog_args *)ctx)->process; }

/* Events that are needed to read others: processes, threads, images and their identity, names of files, descriptions of
 * events. */
static bool relog_is_name(const struct decoded *names)
{
    uint16_t group = names->hook >> 8;
    return (names->hook != CLASSIC_NONE &&
            (group == ETL_GROUP_IMAGE || group == ETL_GROUP_PROCESS || group == HEADER_GROUP ||
             group >= CLASSIC_IMAGE_ID >> 8 || (group == ETL_GROUP_THREAD && (names->hook & 0xFF) < 5) ||
             (names->hook >= HOOK_FILE_NAME && names->hook < HOOK_FILE_MAP))) ||
           (names->provider &&
            (strcmp(names->provider, NAMES_PROVIDER) == 0 || strcmp(names->provider, MERGED_PROVIDER) == 0));
}

static bool any_matches(const struct event_spec *list, unsigned count, const struct etl_event *e,
                        const struct decoded *names)
{
    for (unsigned i = 0; i < count; i++)
        if (event_spec_matches(&list[i], e, names))
            return true;
    return false;
}

static bool relog_keep(void *ctx, const struct etl_event *e)
{
    struct relog_args *a = ctx;
    struct decoded     names;

    decoded_names(a->schemas, e, &names);
    actors_see(&a->actors, e);
    bool mine = !a->by_process || process_filter_passes(&a->filter, e, &names);
    if (a->names && relog_is_name(&names))
        return true;
    return mine && (!a->first || e->filetime >= a->first) && (!a->last || e->filetime <= a->last) &&
           (!a->keeps || any_matches(a->keep, a->keeps, e, &names)) && !any_matches(a->exclude, a->excludes, e, &names);
}

/* --- */

static void relog_print(const struct relog_args *a, const struct merge_counts *n)
{
    if (a->common.json) {
        struct json *j = json_create(stdout, true);
        if (!j)
            return;
        json_object(j, NULL);
        json_text(j, "trace", a->out);
        json_number(j, "files", a->count);
        json_number(j, "events_in", n->in);
        json_number(j, "headers_dropped", n->headers_dropped);
        json_number(j, "left_out", n->left_out);
        json_number(j, "events_out", n->out);
        json_number(j, "events_lost", n->events_lost);
        json_number(j, "buffers_lost", n->buffers_lost);
        json_number(j, "inversions", n->inversions);
        json_number(j, "damage", n->damage);
        redact_option_json(&a->redact, j);
        json_object_end(j);
        json_destroy(j);
        return;
    }
    visible_printf(stdout, "%" PRIu64 " of %" PRIu64 " events (%" PRIu64 " left out)\ntrace: %s\n", n->out, n->in,
                   n->left_out, a->out);
    redact_option_print(&a->redact);
}

/* Times count from the file that starts first. */
static wstatus set_times(struct relog_args *a, struct reason *why)
{
    uint64_t start = 0;

    for (unsigned i = 0; i < a->count; i++) {
        struct etl_reader *r;
        wstatus            st = etl_reader_open(a->files[i], &r, why);
        if (st)
            return st;
        uint64_t own = (uint64_t)etl_reader_header(r)->raw.start_time;
        start        = !start || own < start ? own : start;
        etl_reader_close(r);
    }
    a->first = a->from >= 0 ? start + (uint64_t)llround(a->from * 1e7) : 0;
    a->last  = a->to >= 0 ? start + (uint64_t)llround(a->to * 1e7) : 0;
    return W_SUCCESS;
}

static int relog(struct relog_args *a, struct os *edge)
{
    struct merge_counts n        = {0};
    struct reason       why      = {0};
    struct describe     describe = {.traces = a->files, .trace_count = a->count};
    bool                filtered = a->keeps || a->excludes || a->by_process || a->from >= 0 || a->to >= 0;
    int                 code     = VERB_FINE;
    wstatus             st       = set_times(a, &why);

    if (st)
        return failure_print_about(ABOUT_TRACE, "autologger relog", st, &why);
    if (!describe_open(&describe, "autologger relog", &code))
        return code;
    if (!redact_option_open(&a->redact, "autologger relog", a->files, a->count, &code)) {
        describe_close(&describe);
        return code;
    }
    a->schemas = describe.set;
    a->filter  = (struct process_filter){.wanted = relog_process_wanted, .ctx = a, .actors = &a->actors};
    struct merge_options options = {.plain    = true,
                                    .keep     = filtered ? relog_keep : NULL,
                                    .ctx      = a,
                                    .redactor = a->redact.redactor,
                                    .compress = a->compress ? xpress_compress : NULL};
    struct merge_help    help;
    merge_help_open(&help, &a->common, &options);
    st = merge_files_with(edge, a->files, a->count, a->out, &options, &n, &why);
    merge_help_close(&help);
    if (!st && (a->actors.failed || a->filter.failed))
        st = reason_set(&why, W_NOT_ENOUGH_MEMORY, "no memory to filter with");
    if (st) {
        code = failure_print_about(n.opened ? ABOUT_RESULT : ABOUT_TRACE, "autologger relog", st, &why);
    } else {
        relog_print(a, &n);
        /* the result may lack the events that tell where the losses are */
        lacks_print("autologger relog", a->out, n.events_lost, n.buffers_lost, a->count == 1 ? a->files[0] : a->out);
        fflush(stdout);
        if (n.damage || n.inversions)
            visible_printf(stderr, "autologger relog: %s%s\n", n.damage ? n.first_damage : n.first_inversion,
                           n.damage ? ": what lies there is not in the result" : "");
        code = n.damage || n.inversions ? VERB_FAILED : VERB_FINE;
    }
    process_filter_finish(&a->filter);
    actors_finish(&a->actors);
    describe_close(&describe);
    return code;
}

int cmd_relog(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "the file to make; it appears whole or not at all", 0},
        {"provider", 'p', "PROVIDER", 0,
         "only events of this provider: a name with * and ?, or a {GUID} (repeat for more)", 0},
        {"event", KEY_EVENT, "PROVIDER/EVENT", 0, "only these events; :OPCODE may follow (repeat for more)", 0},
        {"exclude", KEY_EXCLUDE, "PROVIDER/EVENT", 0, "not these (repeat for more)", 0},
        {"process", 'P', "PID", 0, "only events of this process, as dump --process has them", 0},
        {"from", 'a', "SECONDS", 0,
         "only events from here on, in seconds since the start of the file that starts first", 0},
        {"to", 'b', "SECONDS", 0, "only events up to here", 0},
        {"with-names", KEY_NAMES, NULL, 0,
         "also all events that give names to others: processes, threads, images, files, descriptions", 0},
        {"compress", KEY_COMPRESS, NULL, 0,
         "compress the result (XPRESS); without it the result is uncompressed, whatever the files are", 0},
        OPT_REDACT,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        relog_parse,
        "FILE...",
        CMDLINE_DOC(
            "A trace file (.etl) out of others of one clock: only some of their events, each byte for byte with its time stamp, in time order, "
            "uncompressed unless asked for otherwise. The counts of lost events stay.",
            "  autologger relog boot.etl --provider Contoso-Web --from 2 --to 5 -o part.etl"),
        NULL,
        NULL,
        NULL};
    struct relog_args a = {.from = -1, .to = -1};
    int               code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    redact_option_prepare(&a.redact);
    struct os *edge = outputs_guard("autologger relog", &(struct output){a.out, ".merging-"}, 1, false, &code);
    code            = edge ? relog(&a, edge) : code;
    redact_option_close(&a.redact);
    return code;
}
