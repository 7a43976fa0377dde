/* wevtutil.c - wevtutil: the providers with an installed manifest, their channels, and the events of channels in
 * systemd's journal. */
#include "tools/windows/file_name.h"
#include "tools/windows/personality.h"

#include <string.h>
#include <strings.h>

enum { WEVTUTIL_FILES = 3 };
struct wevtutil {
    const struct wevtutil_row *command;
    const char                *argument;
    struct {
        const char *option, *file;
    } file[WEVTUTIL_FILES];
    unsigned files;
    bool     json, reverse;
    /* NULL: not given */
    const char *count, *enabled;
};
typedef const struct windows_option option;

static const struct wevtutil_row {
    const char *brief, *full, *verb, *word; /* verb and word: of autologger; verb NULL: `word` is why not */
    bool        argument;
} wevtutil_rows[] = {
    {"im", "install-manifest", "manifest", "install", true},
    {"um", "uninstall-manifest", "manifest", "uninstall", true},
    {"ep", "enum-publishers", "providers", "--installed", false},
    {"gp", "get-publisher", "manifest", "show", true},
    {"el", "enum-logs", "channels", "list", false},
    {"gl", "get-log", "channels", "list", true},
    {"sl", "set-log", "channels", "enable", true},
    {"qe", "query-events", "channels", "query", true},
#define OF_THE_JOURNAL "channels have no files of their own, their events are in systemd's journal. Do: "
    {"gli", "get-log-info", NULL, OF_THE_JOURNAL "journalctl --disk-usage", false},
    {"epl", "export-log", NULL, OF_THE_JOURNAL "journalctl -o export AUTOLOGGER_CHANNEL=CHANNEL", false},
    {"al", "archive-log", NULL, OF_THE_JOURNAL "journalctl -o export AUTOLOGGER_CHANNEL=CHANNEL", false},
    {"cl", "clear-log", NULL, OF_THE_JOURNAL "journalctl --vacuum-time=TIME", false},
};

static void wevtutil_row_set(struct wevtutil *w, const char *word, struct translation *t)
{
    for (unsigned i = 0; i < sizeof wevtutil_rows / sizeof *wevtutil_rows; i++)
        if (strcasecmp(word, wevtutil_rows[i].brief) == 0 || strcasecmp(word, wevtutil_rows[i].full) == 0) {
            w->command = &wevtutil_rows[i];
            if (!w->command->verb)
                translation_fault(t, "%s: %s", word, w->command->word);
            return;
        }
    translation_fault(t, "\"%s\" is no command. Do: im, um, ep, gp, el, gl, sl or qe", word);
}

static void wevtutil_command(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)value, (void)count;
    wevtutil_row_set(into, o->as, t);
}

static void wevtutil_file(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    struct wevtutil *w = into;
    (void)count;
    if (w->files == WEVTUTIL_FILES) {
        translation_fault(t, "/%s is one file too many", o->word);
        return;
    }
    w->file[w->files].option = o->as;
    w->file[w->files++].file = value[0];
}

static void wevtutil_form(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)count;
    if (strcasecmp(value[0], "XML") == 0)
        ((struct wevtutil *)into)->json = true;
    else if (strcasecmp(value[0], "Text") != 0)
        translation_fault(t, "/%s is Text or XML, not %s", o->word, value[0]);
}

/* o->as: which text of the struct it is. */
static void wevtutil_text(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    struct wevtutil *w = into;
    (void)count;
    const bool yes = strcasecmp(value[0], "true") == 0;
    if (*o->as == 'c')
        w->count = value[0];
    else if (!yes && strcasecmp(value[0], "false") != 0)
        translation_fault(t, "/%s is true or false, not %s", o->word, value[0]);
    else if (*o->as == 'e')
        w->enabled = yes ? "enable" : "disable";
    else
        w->reverse = yes;
}

static void wevtutil_refuse(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)into, (void)value, (void)count;
    translation_fault(t, "/%s is not there: %s", o->word, o->as);
}

static const struct windows_option wevtutil_options[] = {
#define O(word, least, most, take, as, verbs, values, help) {word, least, most, take, as, verbs, values, help},
#include "tools/windows/wevtutil.def"
#undef O
    {0}};

static void wevtutil_word(void *into, char *word, struct translation *t)
{
    struct wevtutil *w = into;
    if (!w->command)
        wevtutil_row_set(w, word, t);
    else if (w->command->argument && !w->argument)
        w->argument = word;
    else
        translation_fault(t, "\"%s\" is one word too many", word);
}

const struct windows_syntax wevtutil_syntax = {wevtutil_options, wevtutil_word, true, NULL};

void wevtutil_translate(unsigned count, char *const *word, struct windows_passed *passed, struct translation *t)
{
    struct wevtutil w = {0};
    windows_options_read(&wevtutil_syntax, count, word, &w, passed, t);
    if (!t->fault && !w.command)
        translation_fault(t, "a command is missing. Do: im, um, ep, gp, el, gl, sl or qe");
    if (!t->fault && w.command->argument && !w.argument)
        translation_fault(t, "%s needs a manifest, a provider or a channel", w.command->brief);
    const bool set = w.command && strcmp(w.command->brief, "sl") == 0;
    if (!t->fault && set && !w.enabled)
        translation_fault(t, "sl changes /e:true or /e:false alone");
    if (t->fault)
        return;
    line_begin(t, "autologger");
    line_word(t, "%s", w.command->verb);
    line_word(t, "%s", set ? w.enabled : w.command->word);
    if (strcmp(w.command->brief, "el") == 0)
        line_word(t, "--all");
    if (w.argument) /* a manifest's file may be named as on Windows */
        line_word(t, "%s",
                  strcmp(w.command->verb, "manifest") == 0 && *w.command->brief != 'g' ? file_of_verb(w.argument, t)
                                                                                       : w.argument);
    line_option(t, "--count", w.count);
    if (w.reverse)
        line_word(t, "--reverse");
    for (unsigned i = 0; i < w.files; i++)
        line_option(t, w.file[i].option, w.file[i].file);
    if (w.json)
        line_word(t, "--json");
}
