/* wevtutil.c - wevtutil: the providers with an installed manifest. Its commands for channels and logs of events have no
 * counterpart: there is no service that keeps logs of channels. */
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
    bool     json;
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
#define NO_CHANNELS "channels have no log of their own. Do: autologger dump FILE, or autologger watch SESSION"
    {"el", "enum-logs", NULL, NO_CHANNELS, false},
    {"gl", "get-log", NULL, NO_CHANNELS, false},
    {"sl", "set-log", NULL, NO_CHANNELS, false},
    {"qe", "query-events", NULL, NO_CHANNELS, false},
    {"gli", "get-log-info", NULL, NO_CHANNELS, false},
    {"epl", "export-log", NULL, NO_CHANNELS, false},
    {"al", "archive-log", NULL, NO_CHANNELS, false},
    {"cl", "clear-log", NULL, NO_CHANNELS, false},
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
    translation_fault(t, "\"%s\" is no command. Do: im, um, ep or gp", word);
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

static void wevtutil_ignore(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)into, (void)o, (void)value, (void)count, (void)t;
}

static const struct windows_option wevtutil_options[] = {
#define O(word, least, most, take, as, values, help) {word, least, most, take, as, values, help},
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

const struct windows_syntax wevtutil_syntax = {wevtutil_options, wevtutil_word, true};

void wevtutil_translate(unsigned count, char *const *word, struct windows_passed *passed, struct translation *t)
{
    struct wevtutil w = {0};
    windows_options_read(&wevtutil_syntax, count, word, &w, passed, t);
    if (!t->fault && !w.command)
        translation_fault(t, "a command is missing. Do: im, um, ep or gp");
    if (!t->fault && w.command->argument && !w.argument)
        translation_fault(t, "%s needs a manifest or a provider", w.command->brief);
    if (t->fault)
        return;
    line_begin(t, "autologger");
    line_word(t, "%s", w.command->verb);
    line_word(t, "%s", w.command->word);
    if (w.argument)
        line_word(t, "%s", strcmp(w.command->brief, "gp") == 0 ? w.argument : file_of_verb(w.argument, t));
    for (unsigned i = 0; i < w.files; i++)
        line_option(t, w.file[i].option, w.file[i].file);
    if (w.json)
        line_word(t, "--json");
}
