/* mc.c - mc: the verb of that name reads its command line. */
#include "tools/windows/file_name.h"
#include "tools/windows/personality.h"

#include <string.h>

/* mc's options differ by case (-p and -P), so no table of options without case is read. */
static const struct windows_option mc_options[] = {{0}};

static void mc_word(void *into, char *word, struct translation *t) { (void)into, (void)word, (void)t; }

const struct windows_syntax mc_syntax = {mc_options, mc_word, false, NULL};

void mc_translate(unsigned count, char *const *word, struct windows_passed *passed, struct translation *t)
{
    (void)passed;
    line_begin(t, "autologger");
    line_word(t, "mc");
    for (unsigned i = 0; i < count && !t->fault; i++) {
        const char *plain = windows_dash(word[i], t);
        line_word(t, "%s", *plain == '-' ? plain : file_of_verb(plain, t));
    }
}
