/* tracerpt.c - tracerpt: the verb of that name takes its options; names of files are mapped here. */
#include "tools/windows/file_name.h"
#include "tools/windows/personality.h"

#include <string.h>
#include <strings.h>

typedef const struct windows_option option;

static void tracerpt_word(void *into, char *word, struct translation *t)
{
    if ((*(unsigned *)into)++)
        translation_fault(t, "%s: one file at a time. Do: autologger merge FILE... --output ALL.etl", word);
    line_word(t, "%s", file_of_verb(word, t));
}

/* An option with its file, which may be left out. */
static void tracerpt_file(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)into;
    line_word(t, "-%s", o->word);
    if (count)
        line_word(t, "%s", file_of_verb(value[0], t));
}

static void tracerpt_files(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    tracerpt_word(into, value[0], t);
}

static void tracerpt_value(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)into;
    line_word(t, "-%s", o->word);
    for (unsigned i = 0; i < count; i++)
        line_word(t, "%s", value[i]);
}

static const struct windows_option tracerpt_options[] = {
#define O(word, least, most, take, as, verbs, values, help) {word, least, most, take, as, verbs, values, help},
#include "tools/windows/tracerpt.def"
#undef O
    {0}};
const struct windows_syntax tracerpt_syntax = {tracerpt_options, tracerpt_word, false, NULL};

void tracerpt_translate(unsigned count, char *const *word, struct windows_passed *passed, struct translation *t)
{
    unsigned files = 0;
    line_begin(t, "autologger");
    line_word(t, "tracerpt");
    windows_options_read(&tracerpt_syntax, count, word, &files, passed, t);
}
