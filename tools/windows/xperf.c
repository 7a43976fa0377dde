/* xperf.c - xperf: starts, changes and stops sessions, merges and dumps their files. One command line may start or stop
 * several sessions. */
#include "autologger/kernel/tables/flags.h"
#include "tools/windows/file_name.h"
#include "tools/windows/personality.h"
#include "tools/windows/session_asked.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { XPERF_SESSIONS = 8, XPERF_FILES = 64 };
struct xperf_session {
    struct session_asked asked;
    const char          *on; /* the words of -on, joined by '+' */
    bool                 update;
};
struct xperf {
    struct xperf_session *session; /* [XPERF_SESSIONS] */
    unsigned              sessions;
    const char           *stop[XPERF_SESSIONS], *file[XPERF_FILES];
    unsigned              stops, files; /* files: of -i, or of -merge */
    const char           *merged, *output, *action, *file_asked, *flush;
    bool                  symbols, merge;
};
typedef const struct windows_option option;

/* ---- sessions ---- */

static struct xperf_session *xperf_session_new(struct xperf *x, const char *name, struct translation *t)
{
    if (x->sessions == XPERF_SESSIONS) {
        translation_fault(t, "more than %d sessions", XPERF_SESSIONS);
        return &x->session[0];
    }
    struct xperf_session *s = &x->session[x->sessions++];
    s->asked.name           = name;
    if (x->sessions == 1 && x->file_asked) { /* -f came first */
        s->asked.file = file_of_session(x->file_asked, t);
        x->file_asked = NULL;
    }
    return s;
}

/* The session that an option describes; without -start it is the NT Kernel Logger. */
static struct xperf_session *xperf_session_now(struct xperf *x, struct translation *t)
{
    return x->sessions ? &x->session[x->sessions - 1] : xperf_session_new(x, NULL, t);
}

static void xperf_start(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o;
    xperf_session_new(into, count ? value[0] : NULL, t);
}

static void xperf_update(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o;
    xperf_session_new(into, count ? value[0] : NULL, t)->update = true;
}

static void xperf_on(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    asked_join(&xperf_session_now(into, t)->on, value[0], t);
}

static void xperf_file(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    struct xperf *x = into;
    if (x->sessions)
        x->session[x->sessions - 1].asked.file =
            x->session[x->sessions - 1].update ? file_below_logs(value[0], t) : file_of_session(value[0], t);
    else
        x->file_asked = value[0]; /* of a session to come, or of -flush */
}

static void xperf_stacks(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    asked_join(&xperf_session_now(into, t)->asked.stacks,
               *value[0] == '@' ? translation_text(t, "@%s", file_of_verb(value[0] + 1, t)) : value[0], t);
}

static void xperf_value(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    const char *equal = strchr(o->as, '=');
    (void)count;
    if (!*value[0] || value[0][strspn(value[0], "0123456789")])
        translation_fault(t, "-%s takes a number, not \"%s\"", o->word, value[0]);
    asked_set(&xperf_session_now(into, t)->asked, translation_text(t, "%.*s", (int)(equal - o->as), o->as),
              translation_text(t, "%s%s", value[0], equal + 3), t); /* after "=%s" */
}

static void xperf_clock(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    static const char *const clocks[][2] = {
        {"PerfCounter", "QPC"}, {"SystemTime", "SystemTime"}, {"Cycle", "CPUCycle"}};
    (void)o, (void)count;
    for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; i++)
        if (strcasecmp(clocks[i][0], value[0]) == 0) {
            asked_set(&xperf_session_now(into, t)->asked, "ClockType", clocks[i][1], t);
            return;
        }
    translation_fault(t, "-ClockType is PerfCounter, SystemTime or Cycle, not %s", value[0]);
}

static void xperf_mode(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    static const char *const modes[] = {"SEQUENTIAL", "CIRCULAR", "APPEND", "NEWFILE"};
    (void)o, (void)count;
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcasecmp(modes[i], value[0]) == 0) {
            asked_mode(&xperf_session_now(into, t)->asked, modes[i], t);
            return;
        }
    translation_fault(t, "-FileMode is Sequential, Circular, Append or Newfile, not %s", value[0]);
}

static void xperf_bit(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)value, (void)count;
    asked_mode(&xperf_session_now(into, t)->asked, o->as, t);
}

static void xperf_real_time(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)value, (void)count;
    xperf_session_now(into, t)->asked.real_time = true;
}

/* "PROVIDER[:KEYWORDS[:LEVEL[:'stack|sid|tsid']]]" */
static void xperf_provider(struct session_asked *s, char *text, struct translation *t)
{
    static const char *const properties[][2] = {{"stack", "STACK_TRACE"}, {"sid", "SID"}, {"tsid", "TS_ID"}};
    const char              *part[4]         = {text};
    for (unsigned i = 1; i < 4 && text; i++)
        if ((text = strchr(text, ':'))) {
            *text++ = 0;
            part[i] = text;
        }
    struct provider_asked *p = asked_provider(s, part[0], t);
    p->keywords              = part[1] && *part[1] ? part[1] : NULL;
    p->level                 = part[2] && *part[2] ? part[2] : NULL;
    for (char *word = part[3] ? strtok(translation_text(t, "%s", part[3]), "'|, ") : NULL; word;
         word       = strtok(NULL, "'|, ")) {
        unsigned i = 0;
        while (i < 3 && strcasecmp(properties[i][0], word) != 0)
            i++;
        if (i == 3)
            translation_fault(t, "%s: \"%s\" is not stack, sid or tsid", part[0], word);
        else
            asked_join(&p->property, properties[i][1], t);
    }
}

/* Kernel words for the NT Kernel Logger, and for another session if all of them are kernel words; else providers. */
static void xperf_events(struct xperf_session *s, struct translation *t)
{
    uint32_t      mask[GROUP_MASK_WORDS];
    struct reason why    = {0};
    const bool    kernel = !s->asked.name || asked_is_kernel_provider(s->asked.name);
    if (!s->on[strspn(s->on, "+ ")]) {
        translation_fault(t, "-on names nothing");
        return;
    }
    if (group_mask_parse(s->on, mask, &why) == W_SUCCESS) {
        s->asked.flags = s->on;
        return;
    }
    char *rest, *copy = translation_text(t, "%s", s->on);
    for (char *one = strtok_r(copy, "+", &rest); one; one = strtok_r(NULL, "+", &rest)) {
        struct reason none = {0};
        if (kernel || group_mask_parse(one, mask, &none) == W_SUCCESS) { /* kernel words, and one that is misspelt */
            translation_fault(t, "-on %s: %s", s->on, why.text);
            return;
        }
        xperf_provider(&s->asked, one, t);
    }
}

/* ---- other commands: each adds its line at once ---- */

static void xperf_line(struct translation *t, const char *verb, const char *first, const char *second)
{
    line_begin(t, "autologger");
    line_word(t, "%s", verb);
    if (first)
        line_word(t, "%s", first);
    if (second)
        line_word(t, "%s", second);
}

static void xperf_stop(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    struct xperf *x = into;
    (void)o;
    if (x->stops == XPERF_SESSIONS)
        translation_fault(t, "more than %d sessions", XPERF_SESSIONS);
    else
        x->stop[x->stops++] = count ? value[0] : ASKED_KERNEL_LOGGER;
}

static void xperf_merged(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    ((struct xperf *)into)->merged = file_of_verb(value[0], t);
}

static void xperf_files_add(struct xperf *x, char *const *value, unsigned count, struct translation *t)
{
    for (unsigned i = 0; i < count && x->files < XPERF_FILES; i++)
        x->file[x->files++] = file_of_verb(value[i], t);
}

static void xperf_merge(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o;
    struct xperf *x = into;
    if (x->files)
        translation_fault(t, "one -merge or -i at a time");
    x->merge = true;
    xperf_files_add(x, value, count - 1, t);
    x->output = file_of_verb(value[count - 1], t);
}

static void xperf_input(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o;
    if (((struct xperf *)into)->files)
        translation_fault(t, "one -i at a time. Do: xperf -merge FILE... ALL.etl");
    xperf_files_add(into, value, count, t);
}

static void xperf_output(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    ((struct xperf *)into)->output = file_of_verb(value[0], t);
}

static void xperf_action(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count, (void)t;
    ((struct xperf *)into)->action = value[0];
}

static void xperf_symbols(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)value, (void)count, (void)t;
    ((struct xperf *)into)->symbols = true;
}

static void xperf_flush(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)t;
    ((struct xperf *)into)->flush = count ? value[0] : ASKED_KERNEL_LOGGER;
}

static void xperf_capture(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)into, (void)o, (void)count;
    char *rest, *copy = translation_text(t, "%s", value[1]);
    for (char *one = strtok_r(copy, "+", &rest); one; one = strtok_r(NULL, "+", &rest)) {
        xperf_line(t, "enable", value[0], one);
        line_word(t, "--capture-state");
    }
}

static void xperf_loggers(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)into, (void)o;
    xperf_line(t, count ? "query" : "sessions", NULL, count ? value[0] : NULL);
}

static void xperf_providers(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)into, (void)o;
    xperf_line(t, "providers", NULL, NULL);
    for (const char *c = count ? value[0] : "IRK"; *c; c++)
        if (*c == 'I' || *c == 'i')
            line_word(t, "--installed");
        else if (*c == 'R' || *c == 'r')
            line_word(t, "--registered");
        else if (*c == 'K' || *c == 'k') {
            const bool flags = c[1] == 'F' || c[1] == 'f', groups = c[1] == 'G' || c[1] == 'g';
            line_word(t, flags ? "--kernel=flags" : groups ? "--kernel=groups" : "--kernel");
            c += flags || groups;
        } else
            translation_fault(t, "-providers takes I, R, K, KF and KG, not %s", value[0]);
}

static void xperf_mark(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)into, (void)o, (void)count;
    xperf_line(t, "mark", NULL, value[0]);
}

static void xperf_help(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    static const struct {
        const char *topic, *verb, *option;
    } topics[] = {{"stackwalk", "providers", "--stacks"},
                  {"providers", "providers", "--kernel"},
                  {"start", "start", "--help"},
                  {"merge", "merge", "--help"}};
    (void)into, (void)o;
    for (unsigned i = 0; i < sizeof topics / sizeof *topics; i++)
        if (count && strcasecmp(value[0], topics[i].topic) == 0) {
            xperf_line(t, topics[i].verb, topics[i].option, NULL);
            return;
        }
    xperf_line(t, "windows", "xperf", "--help");
}

static const struct windows_option xperf_options[] = {
#define O(word, least, most, take, as, verbs, values, help) {word, least, most, take, as, verbs, values, help},
#include "tools/windows/xperf.def"
#undef O
    {0}};

static void xperf_word(void *into, char *word, struct translation *t)
{
    (void)into;
    translation_fault(t, "\"%s\" is no option. Do: see autologger windows xperf --help", word);
}

const struct windows_syntax xperf_syntax = {xperf_options, xperf_word, false, NULL};

/* ---- lines ---- */

static void xperf_session_line(struct xperf_session *s, struct translation *t)
{
    const bool kernel = !s->asked.name || asked_is_kernel_provider(s->asked.name);
    if (s->on)
        xperf_events(s, t);
    if (s->update) {
        asked_update(&s->asked, t);
        return;
    }
    if (!s->on)
        translation_fault(t, "-on is missing: the events of session %s",
                          s->asked.name ? s->asked.name : ASKED_KERNEL_LOGGER);
    const bool in_memory = s->asked.mode && strstr(s->asked.mode, "BUFFERING");
    if (s->asked.file && in_memory)
        translation_fault(t,
                          "-Buffering keeps events in memory, without a file. Do: leave -f out, and later xperf -flush "
                          "SESSION -f FILE");
    if (!s->asked.file && !s->asked.real_time && !in_memory)
        s->asked.file = kernel ? "C:\\kernel.etl" : "C:\\user.etl";
    asked_start(&s->asked, t);
}

static void xperf_stop_lines(const struct xperf *x, struct translation *t)
{
    for (unsigned i = 0; i < x->stops && !x->merged; i++)
        xperf_line(t, "stop", NULL, x->stop[i]);
    if (!x->merged)
        return;
    xperf_line(t, "stop", "--merge", x->stops ? NULL : ASKED_KERNEL_LOGGER);
    for (unsigned i = 0; i < x->stops; i++)
        line_word(t, "%s", x->stop[i]);
    line_option(t, "--output", x->merged);
}

static void xperf_file_lines(const struct xperf *x, struct translation *t)
{
    static const struct {
        const char *action, *verb, *option;
    } actions[] = {{"dumper", "dump", NULL}, {"tracestats", "summary", NULL}, {"boot", "report", NULL}};
    unsigned i  = 0;
    if (x->merge) {
        xperf_line(t, "merge", NULL, NULL);
    } else {
        while (i < sizeof actions / sizeof *actions && x->action && strcasecmp(actions[i].action, x->action) != 0)
            i++;
        if (i == sizeof actions / sizeof *actions) {
            translation_fault(t, "-a %s is not there. Do: -a dumper, or see autologger windows xperf --help",
                              x->action);
            return;
        }
        xperf_line(t, actions[i].verb, actions[i].option, NULL);
        if (x->symbols && strcmp(actions[i].verb, "dump") != 0)
            translation_fault(t, "-symbols is for -a dumper");
        if (x->symbols)
            line_word(t, "--symbols");
    }
    for (i = 0; i < x->files; i++)
        line_word(t, "%s", x->file[i]);
    if (x->merge)
        line_option(t, "--output", x->output);
    else if (x->output)
        line_redirect(t, x->output);
}

void xperf_translate(unsigned count, char *const *word, struct windows_passed *passed, struct translation *t)
{
    struct xperf x = {.session = calloc(XPERF_SESSIONS, sizeof *x.session)};
    if (!x.session)
        translation_no_memory(t);
    else
        windows_options_read(&xperf_syntax, count, word, &x, passed, t);
    for (unsigned i = 0; i < x.sessions && !t->fault; i++)
        xperf_session_line(&x.session[i], t);
    if (!t->fault && x.flush) {
        xperf_line(t, x.file_asked ? "snapshot" : "flush", NULL, x.flush);
        line_option(t, "--output", x.file_asked ? file_below_logs(x.file_asked, t) : NULL);
        x.file_asked = NULL;
    }
    if (x.file_asked)
        translation_fault(t, "-f %s belongs to no session", x.file_asked);
    if (!t->fault && (x.stops || x.merged))
        xperf_stop_lines(&x, t);
    if (!t->fault && x.files)
        xperf_file_lines(&x, t);
    if (!t->fault && !t->lines)
        translation_fault(t, "nothing was asked for. Do: see autologger windows xperf --help");
    free(x.session);
}
