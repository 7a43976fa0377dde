/* logman.c - logman: sessions by "-ets", providers, other computers by ssh, begin and end by timers of systemd.
 * Collectors that are saved without "-ets" are data collector sets: autologger set. */
#include "tools/windows/file_name.h"
#include "tools/windows/appointment.h"
#include "tools/windows/personality.h"
#include "tools/windows/session_asked.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINE_MOST = 1024, LINES_MOST = 10000 }; /* of a file of providers */
enum logman_verb { LOGMAN_NONE = 0, LOGMAN_START = 's', LOGMAN_STOP = 'x', LOGMAN_QUERY = 'q', LOGMAN_UPDATE = 'u' };
enum { LOGMAN_OPTIONS = 64 };
struct logman {
    enum logman_verb     verb;
    bool                 type, ets, flush, manual, create, counter, daily, delete;
    struct session_asked session;
    const char          *file; /* as given */
    const char          *counters, *interval;
    const char          *pid, *begin, *end, *lasts;
    bool                 circular, newfile, limited;
    const char          *second; /* the word after NAME: a provider of "query providers" */
    /* all that were given */
    const struct windows_option *given[LOGMAN_OPTIONS];
    unsigned                     givens;
};
typedef const struct windows_option option;

/* ---- options ---- */

static void logman_ets(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)value, (void)count, (void)t;
    ((struct logman *)into)->ets = true;
}

/* A value of a declaration: o->as is "BufferSize=%sKB". */
static void logman_value(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    struct logman *l     = into;
    const char    *equal = strchr(o->as, '='), *unit = equal + 3; /* after "=%s" */
    (void)count;
    if (!*value[0] || value[0][strspn(value[0], "0123456789")])
        translation_fault(t, "-%s takes a number, not \"%s\"", o->word, value[0]);
    asked_set(&l->session, translation_text(t, "%.*s", (int)(equal - o->as), o->as),
              translation_text(t, "%s%s", value[0], unit), t);
    l->limited = l->limited || strcasecmp(o->word, "max") == 0;
}

static void logman_unlimited(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)value, (void)count;
    asked_set(&((struct logman *)into)->session, "MaxFileSize", "0", t);
}

static void logman_buffers(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    struct logman *l = into;
    (void)count;
    for (unsigned i = 0; i < 2; i++)
        if (!*value[i] || value[i][strspn(value[i], "0123456789")])
            translation_fault(t, "-%s takes two numbers, not \"%s\"", o->word, value[i]);
    asked_set(&l->session, "MinimumBuffers", value[0], t);
    asked_set(&l->session, "MaximumBuffers", value[1], t);
}

static void logman_file(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    const char *slash             = strrchr(value[0], '\\') ? strrchr(value[0], '\\') : strrchr(value[0], '/');
    const bool  bare              = !strchr(slash ? slash : value[0], '.'); /* logman adds the suffix */
    ((struct logman *)into)->file = bare ? translation_text(t, "%s.etl", value[0]) : value[0];
}

static void logman_format(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    if (strcasecmp(value[0], "bincirc") == 0)
        ((struct logman *)into)->circular = true;
    else if (strcasecmp(value[0], "bin") != 0)
        translation_fault(t, "-f %s: a trace is bin or bincirc", value[0]);
}

static void logman_clock(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    static const char *const clocks[][2] = {{"perf", "QPC"}, {"system", "SystemTime"}, {"cycle", "CPUCycle"}};
    (void)o, (void)count;
    for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; i++)
        if (strcasecmp(clocks[i][0], value[0]) == 0) {
            asked_set(&((struct logman *)into)->session, "ClockType", clocks[i][1], t);
            return;
        }
    translation_fault(t, "-ct %s: a clock is perf, system or cycle", value[0]);
}

static void logman_flush_timer(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    unsigned seconds;
    (void)count;
    if (!appointment_length(value[0], &seconds))
        translation_fault(t, "-%s takes [[hh:]mm:]ss, not \"%s\"", o->word, value[0]);
    else
        asked_set(&((struct logman *)into)->session, "FlushTimer", translation_text(t, "%u", seconds), t);
}

/* logman's own words, then those of autologger, which are the bits' names on Windows. */
static void logman_mode_word(struct logman *l, const char *word, struct translation *t)
{
    static const char *const modes[][2] = {
        {"globalsequence", "USE_GLOBAL_SEQUENCE"}, {"localsequence", "USE_LOCAL_SEQUENCE"},
        {"pagedmemory", "USE_PAGED_MEMORY"},       {"realtime", "REAL_TIME"},
        {"usemsflushtimer", "USE_MS_FLUSH_TIMER"}, {"private", "PRIVATE_LOGGER"}};
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcasecmp(modes[i][0], word) == 0)
            word = modes[i][1];
    asked_mode(&l->session, word, t);
}

static void logman_mode(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o;
    for (unsigned i = 0; i < count; i++)
        for (char *word = strtok(translation_text(t, "%s", value[i]), ",+|"); word; word = strtok(NULL, ",+|"))
            logman_mode_word(into, word, t);
}

/* A bit of LogFileMode, o->as; with "--" before it it is left out, which is the default. */
static void logman_bit(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)value, (void)count;
    struct logman *l = into;
    if (strcmp(o->as, "REAL_TIME") == 0)
        l->session.real_time = true;
    else if (strcmp(o->as, "NO_REAL_TIME") == 0)
        l->session.real_time_off = l->verb == LOGMAN_UPDATE;
    else if (*o->as)
        asked_mode(&l->session, o->as, t);
}

static void logman_new_file(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)value;
    if (count)
        translation_fault(t, "-cnf with a time is not there: a file ends at its size. Do: -cnf -max MB");
    ((struct logman *)into)->newfile = true;
}

static void logman_text(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    struct logman *l    = into;
    const char    *text = value[0]; /* a date may be several words */
    for (unsigned i = 1; i < count; i++)
        text = translation_text(t, "%s %s", text, value[i]);
    if (strcasecmp(o->word, "b") == 0)
        l->begin = text;
    else if (strcasecmp(o->word, "e") == 0)
        l->end = text;
    else if (strcasecmp(o->word, "rf") == 0)
        l->lasts = value[0];
    else if (strcasecmp(o->word, "pid") == 0)
        l->pid = value[0];
    else
        l->session.name = value[0]; /* -n, -ln */
}

static void logman_host(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)into, (void)o, (void)count;
    const char *host = value[0] + strspn(value[0], "\\");
    if (!*host || *host == '-' || host[strcspn(host, " \t\r\n;&|<>$`'\"\\()")])
        translation_fault(t, "-s takes the name of a computer, not \"%s\"", value[0]);
    t->host = translation_text(t, "%s", host);
}

static void logman_flush(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)value, (void)count, (void)t;
    ((struct logman *)into)->flush = true;
}

static void logman_manual(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)value, (void)count, (void)t;
    ((struct logman *)into)->manual = true;
}

static void logman_note(void *into, option *o)
{
    struct logman *l = into;
    if (l->givens < LOGMAN_OPTIONS)
        l->given[l->givens++] = o;
}

static void logman_daily(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)value, (void)count, (void)t;
    ((struct logman *)into)->daily = true;
}

static void logman_interval(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    unsigned seconds;
    (void)count;
    if (!appointment_length(value[0], &seconds) || !seconds)
        translation_fault(t, "-%s takes [[hh:]mm:]ss, not \"%s\"", o->word, value[0]);
    else
        ((struct logman *)into)->interval = translation_text(t, "%u", seconds);
}

/* "\\HOST\Object(instance)\counter" -> the counters of autologger for that object. */
static void logman_counters(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    static const char *const objects[][2] = {{"Processor", "Processor"}, {"Processor Information", "Processor"},
                                             {"Memory", "Memory"},       {"PhysicalDisk", "Disk"},
                                             {"LogicalDisk", "Disk"},    {"Network Interface", "Network"},
                                             {"Process", "Process"}};
    struct logman           *l            = into;
    for (unsigned i = 0; i < count && !t->fault; i++) {
        const char *object = value[i] + strspn(value[i], "\\");
        if (strncmp(value[i], "\\\\", 2) == 0 && strchr(object, '\\'))
            object = strchr(object, '\\') + 1;
        const size_t n = strcspn(object, "(\\");
        unsigned     k = 0;
        while (k < sizeof objects / sizeof *objects &&
               (strncasecmp(objects[k][0], object, n) != 0 || strlen(objects[k][0]) != n))
            k++;
        if (k == sizeof objects / sizeof *objects)
            translation_fault(
                t,
                "-%s %s: such counters are not there. Do: Processor, Memory, PhysicalDisk, Network Interface, "
                "Process",
                o->word, value[i]);
        else if (!l->counters || !strstr(l->counters, objects[k][1]))
            l->counters = l->counters ? translation_text(t, "%s, %s", l->counters, objects[k][1]) : objects[k][1];
    }
}

/* "win:Error" -> "Error"; "(a,b)" -> "a+b" */
static const char *logman_words(const char *text, struct translation *t)
{
    const char *list = NULL;
    if (strncasecmp(text, "win:", 4) == 0)
        text += 4;
    if (*text != '(')
        return text;
    for (char *word = strtok(translation_text(t, "%s", text), "(), "); word; word = strtok(NULL, "(), "))
        asked_join(&list, word, t);
    return list ? list : "0";
}

static void logman_enable(struct logman *l, const char *name, const char *flags, const char *level,
                          struct translation *t)
{
    if (asked_is_kernel_provider(name)) {
        if (flags)
            asked_join(&l->session.flags, asked_kernel_words(flags, t), t);
        else
            translation_fault(t, "-p \"%s\" needs flags, such as (process,thread,img)", name);
        return;
    }
    struct provider_asked *p = asked_provider(&l->session, name, t);
    p->keywords              = flags ? logman_words(flags, t) : NULL;
    p->level                 = level ? logman_words(level, t) : NULL;
}

static void logman_provider(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    struct logman *l = into;
    if (*o->word != '-')
        logman_enable(l, value[0], count > 1 ? value[1] : NULL, count > 2 ? value[2] : NULL, t);
    else if (asked_is_kernel_provider(value[0]))
        l->session.flags = "none";
    else
        asked_provider(&l->session, value[0], t)->off = true;
}

/* One provider a line: NAME or {GUID}, flags, level; a name with blanks stands in quotes. */
static void logman_provider_line(struct logman *l, char *line, struct translation *t)
{
    const char *word[3] = {NULL};
    unsigned    n       = 0;
    for (char *p = line; n < 3 && p[strspn(p, " \t\r\n")]; n++) {
        p += strspn(p, " \t\r\n");
        const bool   quoted = *p == '"';
        const size_t length = strcspn(p + quoted, quoted ? "\"\r\n" : " \t\r\n");
        word[n]             = translation_text(t, "%.*s", (int)length, p + quoted);
        p += quoted + length;
        p += quoted && *p == '"';
    }
    if (n && *word[0] != ';' && *word[0] != '#')
        logman_enable(l, word[0], word[1], word[2], t);
}

static void logman_provider_file(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    const char *path = file_of_verb(value[0], t);
    FILE       *from = t->fault ? NULL : fopen(path, "re");
    char        line[LINE_MOST];
    unsigned    lines = 0, had = ((struct logman *)into)->session.providers;
    while (from && !t->fault && fgets(line, sizeof line, from))
        if (++lines > LINES_MOST || !strchr(line, '\n') == !feof(from))
            translation_fault(t, "-pf %s: line %u: a file has at most %d lines of %d characters", path, lines,
                              LINES_MOST, LINE_MOST - 2);
        else
            logman_provider_line(into, line + (lines == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0), t);
    if (!from || ferror(from))
        translation_failure(t, "-pf %s: %s", path, strerror(errno));
    else if (((struct logman *)into)->session.providers == had && !((struct logman *)into)->session.flags)
        translation_failure(t, "-pf %s: it names no provider", path);
    if (from)
        fclose(from);
}

static const struct windows_option logman_options[] = {
#define O(word, least, most, take, as, verbs, values, help) {word, least, most, take, as, verbs, values, help},
#include "tools/windows/logman.def"
#undef O
    {0}};

static bool logman_other_type(const char *word)
{
    static const char *const types[] = {"alert", "cfg", "api"};
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(types[i], word) == 0)
            return true;
    return false;
}

static void logman_word(void *into, char *word, struct translation *t)
{
    static const struct {
        const char      *word;
        enum logman_verb verb;
    } verbs[]        = {{"create", LOGMAN_START}, {"start", LOGMAN_START}, {"stop", LOGMAN_STOP},
                        {"delete", LOGMAN_STOP},  {"query", LOGMAN_QUERY}, {"update", LOGMAN_UPDATE}};
    struct logman *l = into;
    for (unsigned i = 0; i < sizeof verbs / sizeof *verbs && !l->verb; i++)
        if (strcasecmp(word, verbs[i].word) == 0) {
            l->verb   = verbs[i].verb;
            l->create = strcasecmp(word, "create") == 0;
            l->delete = strcasecmp(word, "delete") == 0;
            return;
        }
    if (!l->verb)
        translation_fault(t, "\"%s\" is no verb. Do: create, start, stop, query or update", word);
    else if (!l->type && !l->session.name && (strcasecmp(word, "trace") == 0 || strcasecmp(word, "counter") == 0)) {
        l->type    = true;
        l->counter = strcasecmp(word, "counter") == 0;
    } else if (!l->type && !l->session.name && logman_other_type(word))
        translation_fault(t, "collectors of type %s are not there. Do: logman create trace NAME", word);
    else if (l->manual && (strcasecmp(word, "start") == 0 || strcasecmp(word, "stop") == 0))
        return; /* -m start stop */
    else if (!l->session.name)
        l->session.name = word;
    else if (!l->second && l->verb == LOGMAN_QUERY && strcasecmp(l->session.name, "providers") == 0)
        l->second = word;
    else
        translation_fault(t, "\"%s\" is one word too many", word);
}

const struct windows_syntax logman_syntax = {logman_options, logman_word, false, logman_note};

/* ---- lines ---- */

static void logman_query(const struct logman *l, struct translation *t)
{
    const bool providers = l->session.name && strcasecmp(l->session.name, "providers") == 0;
    line_begin(t, "autologger");
    if (!providers && !l->ets) {
        line_word(t, "set");
        line_word(t, "%s", l->session.name ? "export" : "list");
        if (l->session.name)
            line_word(t, "%s", l->session.name);
        return;
    }
    if (providers && l->pid)
        translation_fault(t, "-pid is not there. Do: autologger providers --registered, which names the processes");
    if (providers && l->second && asked_is_kernel_provider(l->second)) {
        line_word(t, "providers");
        line_word(t, "--kernel");
    } else if (providers && l->second) {
        line_word(t, "manifest");
        line_word(t, "show");
        line_word(t, "%s", l->second);
    } else if (providers) {
        line_word(t, "providers");
        line_word(t, "--installed");
    } else if (l->session.name) {
        line_word(t, "query");
        line_word(t, "%s", l->session.name);
    } else
        line_word(t, "sessions");
}

static void logman_simple(const char *verb, const struct logman *l, struct translation *t)
{
    line_begin(t, "autologger");
    line_word(t, "%s", verb);
    line_word(t, "%s", l->session.name);
}

/* A name of a unit: other characters than those of names become '_'. */
static const char *logman_unit(const char *what, const char *name, struct translation *t)
{
    char *unit = translation_text(t, "autologger-%s-%s", what, name);
    for (char *p = unit; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("-_.", *p))
            *p = '_';
    return unit;
}

/* Hands the line to a timer of systemd, which can be seen and stopped by its name. */
static void logman_timed(struct logman *l, unsigned line, const char *what, const char *when, const char *value,
                         struct translation *t)
{
    const char *unit   = logman_unit(what, l->session.name, t);
    const char *folder = t->host ? NULL : getenv("AUTOLOGGER_RUNTIME_DIR");
    line_wrap(t, line,
              (const char *const[]){"systemd-run", translation_text(t, "--unit=%s", unit),
                                    "--timer-property=AccuracySec=1s", translation_text(t, "%s=%s", when, value),
                                    folder ? translation_text(t, "--setenv=AUTOLOGGER_RUNTIME_DIR=%s", folder) : NULL,
                                    NULL});
    if (line + 1 == t->lines && !t->host)
        line_undo(t, "systemctl", "stop", translation_text(t, "%s.timer", unit));
}

static void logman_time(const char *word, const char *text, struct appointment *out, struct translation *t)
{
    const enum appointment_kind kind = text ? appointment_parse(text, out) : APPOINTMENT_TO_COME;
    if (kind == APPOINTMENT_NO_TIME)
        translation_fault(t, "-%s %s: not a time. Do: write M/d/yyyy h:mm[:ss][AM|PM]", word, text);
    else if (kind == APPOINTMENT_PAST)
        translation_fault(t, "-%s %s: not a time to come", word, text);
}

/* The modes and files that belong together. */
static void logman_file_lines(struct logman *l, struct translation *t)
{
    const bool in_memory = l->session.mode && strcasestr(l->session.mode, "BUFFERING");
    if (l->circular)
        asked_mode(&l->session, "CIRCULAR", t);
    if (l->newfile)
        asked_mode(&l->session, "NEWFILE", t);
    if ((l->circular || l->newfile) && !l->limited)
        translation_fault(t, "%s needs the size of a file. Do: -max MB", l->circular ? "-f bincirc" : "-cnf");
    if (!l->file && !l->session.real_time && !in_memory)
        l->file = translation_text(t, "%s.etl", l->session.name);
    if (l->newfile && l->file && !strstr(l->file, "%d")) {
        const char *suffix = strrchr(l->file, '.');
        l->file            = translation_text(t, "%.*s_%%d%s", (int)(suffix - l->file), l->file, suffix);
    }
    if (t->host && l->file && *file_of_session(l->file, t) == '.')
        translation_fault(t, "-o %s: which folder of another computer is not known. Do: -o C:\\%s, or an absolute path",
                          l->file, l->file);
    if (l->file)
        l->session.file = l->begin ? file_from_anywhere(l->file, t) : file_of_session(l->file, t);
}

static void logman_start(struct logman *l, struct translation *t)
{
    struct appointment begin = {0}, end = {0};
    unsigned           seconds = 0;
    logman_file_lines(l, t);
    logman_time("b", l->begin, &begin, t);
    logman_time("e", l->end, &end, t);
    if (l->lasts && (!appointment_length(l->lasts, &seconds) || !seconds))
        translation_fault(t, "-rf takes [[hh:]mm:]ss, not \"%s\"", l->lasts);
    if (l->end && l->lasts)
        translation_fault(t, "-e and -rf both say when it ends. Do: one of them");
    if (l->begin && l->end && begin.seconds >= end.seconds)
        translation_fault(t, "-e %s is not after -b %s", l->end, l->begin);
    if (l->begin && l->lasts)
        appointment_after(&begin, seconds, &end);
    asked_start(&l->session, t);
    if (l->begin)
        logman_timed(l, 0, "start", "--on-calendar", begin.calendar, t);
    if (l->end || l->lasts)
        logman_simple("stop", l, t);
    if (l->end || (l->begin && l->lasts))
        logman_timed(l, 1, "stop", "--on-calendar", end.calendar, t);
    else if (l->lasts)
        logman_timed(l, 1, "stop", "--on-active", translation_text(t, "%us", seconds), t);
}

/* A collector that is saved: its sections, and the line that saves them. */
static void logman_create(struct logman *l, struct translation *t)
{
    struct appointment begin = {0}, end = {0};
    unsigned           seconds = 0;
    const char        *name = l->session.name, *text = translation_text(t, "[CollectorSet/%s]\n", name);
    if (l->circular)
        asked_mode(&l->session, "CIRCULAR", t);
    logman_time("b", l->begin, &begin, t);
    logman_time("e", l->end, &end, t);
    if (l->lasts && (!appointment_length(l->lasts, &seconds) || !seconds))
        translation_fault(t, "-rf takes [[hh:]mm:]ss, not \"%s\"", l->lasts);
    if (l->end && (l->lasts || !l->begin || begin.seconds >= end.seconds))
        translation_fault(t, "-e of a saved collector needs -b before it, and no -rf");
    if (l->end)
        seconds = (unsigned)(end.seconds - begin.seconds);
    if (l->file && !file_is_below_logs(l->file))
        translation_fault(t, "-o %s: results of a saved collector lie below the log folder. Do: -o C:\\FOLDER",
                          l->file);
    if (l->file)
        text =
            translation_text(t, "%sFolder = %.*s\n", text, (int)(strlen(l->file) - 4), l->file); /* ".etl" was added */
    if (l->counters)
        text = translation_text(t, "%sCounters = %s\n", text, l->counters);
    if (l->interval)
        text = translation_text(t, "%sCounterInterval = %s\n", text, l->interval);
    if (seconds)
        text = translation_text(t, "%sDuration = %u\n", text, seconds);
    if (l->begin)
        text = translation_text(t, "%sSchedule = %s%s\n", text, l->daily ? "*-*-*" : "",
                                begin.calendar + (l->daily ? 10 : 0));
    if (!l->counter)
        text = translation_text(t, "%s%s", text,
                                asked_sections(&l->session, translation_text(t, "CollectorSet/%s/%s", name, name), t));
    char *file = translation_text(t, "%s.set.ini", name);
    translation_file(t, file, translation_text(t, "%s", text));
    t->passing = true;
    line_begin(t, "autologger");
    line_word(t, "set");
    line_word(t, "save");
    line_word(t, "./%s", file);
    if (t->host)
        translation_fault(t, "-s is not there for saved collectors. Do: ssh %s autologger set save FILE", t->host);
}

/* A collector that was saved. */
static void logman_saved(const struct logman *l, struct translation *t)
{
    line_begin(t, "autologger");
    line_word(t, "set");
    line_word(t, "%s", l->delete ? "remove" : l->verb == LOGMAN_START ? "start" : "stop");
    line_word(t, "%s", l->session.name);
}

static void logman_update(struct logman *l, struct translation *t)
{
    if (l->file)
        l->session.file = file_below_logs(l->file, t);
    if (!l->flush || l->givens > 2) /* -ets and -fd */
        asked_update(&l->session, t);
    if (l->flush)
        logman_simple("flush", l, t);
}

/* An option that the verb would ignore is a mistake. */
static void logman_check(const struct logman *l, struct translation *t)
{
    for (unsigned i = 0; i < l->givens; i++)
        if (*l->given[i]->verbs && !strchr(l->given[i]->verbs, (int)l->verb))
            translation_fault(t, "-%s does not go with this verb. Do: see autologger windows logman --help",
                              l->given[i]->word);
}

void logman_translate(unsigned count, char *const *word, struct windows_passed *passed, struct translation *t)
{
    struct logman l = {0};
    windows_options_read(&logman_syntax, count, word, &l, passed, t);
    if (!t->fault && l.verb)
        logman_check(&l, t);
    if (t->fault)
        return;
    if (!l.verb)
        translation_fault(t, "a verb is missing. Do: see autologger windows logman --help");
    else if (l.verb == LOGMAN_QUERY)
        logman_query(&l, t);
    else if (!l.session.name)
        translation_fault(t, "the name of a session is missing");
    else if (!l.ets && l.create)
        logman_create(&l, t);
    else if (!l.ets && l.verb == LOGMAN_UPDATE)
        translation_fault(
            t, "a saved collector is changed by saving it again. Do: logman create, or add -ets for the session");
    else if (!l.ets && l.verb == LOGMAN_START && (l.session.providers || l.session.flags))
        translation_fault(t,
                          "without -ets a saved collector is started, as it was saved. Do: add -ets, or logman create");
    else if (!l.ets)
        logman_saved(&l, t);
    else if (l.counter || l.counters)
        translation_fault(t, "counters are those of saved collectors. Do: leave -ets out, and later logman start %s",
                          l.session.name);
    else if (l.verb == LOGMAN_START)
        logman_start(&l, t);
    else if (l.verb == LOGMAN_STOP)
        logman_simple("stop", &l, t);
    else
        logman_update(&l, t);
}
