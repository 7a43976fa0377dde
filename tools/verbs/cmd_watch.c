/* autologger watch: the events of a real-time session, as they come. */
#include "autologger/consumer/dump.h"
#include "autologger/consumer/live.h"
#include "tools/base/cmdline.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/describe.h"
#include "tools/files/summary_view.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct watch_args {
    struct cmdline      common;
    const char         *session;
    struct dump_options options;
    struct describe     describe;
    struct learner      learner;
};
enum { OPT_MANIFEST = 0x320, OPT_CULTURE };

/* Learns the descriptions that providers write of their events, for later events: there is no file to search. */
static void watch_on_event(void *ctx, const struct etl_event *e)
{
    struct watch_args *a = ctx;
    learner_see(&a->learner, a->describe.set, e);
}

static struct live *watched; /* for the signal handler alone */

static void watch_on_signal(int number)
{
    (void)number;
    live_stop(watched);
}

static error_t watch_parse(int key, char *arg, struct argp_state *state)
{
    struct watch_args *a = state->input;
    char              *end;
    switch (key) {
    case 'i': a->options.iso = true; return 0;
    case 'n':
        a->options.limit = strtoull(arg, &end, 10);
        if (*end || !a->options.limit || *arg == '-')
            argp_error(state, "--count takes a number of at least 1, not \"%s\"", arg);
        return 0;
    case OPT_MANIFEST:
        if (a->describe.file_count == DESCRIBE_FILES_MAX)
            argp_error(state, "at most %d manifests", DESCRIBE_FILES_MAX);
        a->describe.files[a->describe.file_count++] = arg;
        return 0;
    case OPT_CULTURE: a->describe.culture = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->session)
            argp_error(state, "one session at a time");
        a->session = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->session)
            argp_error(state, "the session's NAME is missing. Do: autologger sessions");
        a->options.format = a->common.json ? DUMP_JSON : DUMP_TEXT;
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* Prints until the session ends, enough is printed, a signal interrupts, or printing fails. */
static wstatus watch_watch(const struct watch_args *a, struct live *l, uint64_t *written, bool *damaged,
                           struct reason *why)
{
    struct dump_options options = a->options;
    struct etl_reader  *reader;
    wstatus             st;

    while (!(st = live_next(l, &reader, why)) && reader) {
        struct dump_counts counts;
        if (a->options.limit)
            options.limit = a->options.limit - *written;
        st = dump_events(reader, &options, stdout, &counts, why);
        *written += counts.written;
        *damaged |= damage_print("autologger watch", a->session, reader);
        if (st || (a->options.limit && *written >= a->options.limit))
            return st;
    }
    return st == W_CANCELLED ? W_SUCCESS : st;
}

static void watch_losses_print(const struct live_losses *from, const struct live_losses *to)
{
    if (to->events > from->events || to->buffers > from->buffers || to->files > from->files)
        fprintf(stderr,
                "autologger watch: lost: %" PRIu64 " events by the session, %" PRIu32
                " buffers that came too late for their reader, %" PRIu32 " backup files\n",
                to->events - from->events, to->buffers - from->buffers, to->files - from->files);
}

int cmd_watch(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_RUNTIME_DIR,
        {"json", KEY_JSON, NULL, 0, "a line of JSON an event, as autologger dump writes it", 0},
        {"iso", 'i', NULL, 0, "dates instead of seconds since the start of the session", 0},
        {"count", 'n', "N", 0,
         "end after N events. Of the buffers they are in nothing is acknowledged: the next reader gets these again", 0},
        {"manifest", OPT_MANIFEST, "FILE", 0,
         "describe events by this manifest (.man), or by the one in this program; before those installed (repeat for more)",
         0},
        {"culture", OPT_CULTURE, "CULTURE", 0,
         "messages and names of manifests in this culture (de-DE); default: that of LANG", 0},
        {0},
    };
    static const struct argp argp = {
        options,
        watch_parse,
        "NAME",
        CMDLINE_DOC(
            "The events of a real-time session (LogFileMode REAL_TIME) as they come: first what waited because nobody read it, "
            "then what is new, at least once a second. What was printed counts as read, and is not given to anybody else. Ends when "
            "the session stops, or by Ctrl-C.",
            "  autologger watch web --json --count 100"),
        NULL,
        NULL,
        NULL};
    struct watch_args a       = {0};
    struct live      *l       = NULL;
    struct reason     why     = {0};
    uint64_t          written = 0;
    bool              damaged = false;
    int               code;

    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    if (!describe_open(&a.describe, "autologger watch", &code))
        return code;
    a.options.schemas = a.describe.set;
    a.options.see     = watch_on_event;
    a.options.see_ctx = &a;
    a.learner         = (struct learner){.manifest = a.describe.learn.manifest, .ctx = a.describe.learn.ctx};
    wstatus st        = live_open(a.common.runtime_dir, a.session, &l, &why);
    if (st) {
        describe_close(&a.describe);
        return failure_print_about(ABOUT_DAEMON, "autologger watch", st, &why);
    }
    struct sigaction action = {.sa_handler = watch_on_signal, .sa_flags = SA_RESETHAND}; /* a second one ends at once */
    struct live_losses before = live_losses(l);
    watched                   = l;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    st                       = watch_watch(&a, l, &written, &damaged, &why);
    struct live_losses after = live_losses(l);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    live_close(l, !st && !(a.options.limit && written >= a.options.limit));
    watch_losses_print(&before, &after);
    learner_finish(&a.learner);
    describe_report(&a.describe, "autologger watch");
    describe_close(&a.describe);
    return st ? failure_print("autologger watch", st, &why) : damaged ? VERB_FAILED : VERB_FINE;
}
