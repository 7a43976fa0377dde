/* personality.c - see personality.h. */
#include "tools/windows/personality.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/verb.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct personality personalities[] = {
#define P(name, summary, usage, example) {#name, summary, usage, example, &name##_syntax, name##_translate},
#include "tools/windows/personality.def"
#undef P
};
enum { PERSONALITIES = sizeof personalities / sizeof personalities[0] };

const struct personality *personality_table(unsigned *count)
{
    *count = PERSONALITIES;
    return personalities;
}

const struct personality *personality_find(const char *name)
{
    const char *slash = strrchr(name, '/');
    name              = slash ? slash + 1 : name;
    size_t n          = strlen(name);
    if (n > 4 && strcasecmp(name + n - 4, ".exe") == 0)
        n -= 4;
    for (size_t i = 0; i < PERSONALITIES; i++)
        if (strlen(personalities[i].name) == n && strncasecmp(personalities[i].name, name, n) == 0)
            return &personalities[i];
    return NULL;
}

static int personality_help(const struct personality *p)
{
    visible_printf(stdout, "Usage: %s %s\n       autologger windows [--explain] %s %s\n", p->name, p->usage, p->name,
                   p->usage);
    visible_printf(stdout, "As the program of Windows: %s.\n\n", p->summary);
    windows_options_print(p->syntax, stdout);
    visible_printf(stdout,
                   "  %-22s %s\n  %-22s %s\n\nOptions are accepted in any order and case.\nExample:\n  %s\n\n"
                   "Exit codes: 0 fine, 1 what was asked about failed, 100 called wrongly, 111 the system refused.\n",
                   "--explain", "show the lines of autologger that do the same, and run nothing", "--OPTION=VALUE",
                   "an option of autologger, such as --json, for all of these lines", p->example);
    return VERB_FINE;
}

/* "-?" anywhere, and "help" alone; mc has a help of its own. */
static bool personality_asks_help(const struct personality *p, unsigned count, char *const *word)
{
    static const char *const helps[] = {"--help", "-?", "/?"};
    for (unsigned i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof helps / sizeof *helps; k++)
            if (strcmp(word[i], helps[k]) == 0 && p->syntax->option->word)
                return true;
    return count == 1 &&
           (strcasecmp(word[0], "help") == 0 || strcasecmp(word[0], "-help") == 0 || strcasecmp(word[0], "-h") == 0);
}

/* --explain may stand anywhere; it is taken out of the words. */
static bool personality_take_explain(unsigned *count, char **word)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < *count; i++)
        if (strcmp(word[i], "--explain") != 0)
            word[kept++] = word[i];
    const bool found = kept != *count;
    *count           = kept;
    return found;
}

/* Options of autologger go to its verbs, not to programs that a line only calls. */
static void personality_pass(const struct windows_passed *passed, struct translation *t)
{
    for (unsigned i = 0; i < t->lines; i++)
        for (unsigned k = 0; k < passed->count; k++)
            line_append(t, i, passed->word[k]);
}

int personality_run(const struct personality *p, unsigned count, char *const *given, bool explain, bool json)
{
    struct translation    t      = {.personality = p->name};
    struct windows_passed passed = {0};
    char                **word   = calloc(count + 1, sizeof *word);
    int                   code   = VERB_FINE;
    if (!word)
        return VERB_REFUSED;
    memcpy(word, given, count * sizeof *word);
    explain |= personality_take_explain(&count, word);
    if (personality_asks_help(p, count, word)) {
        free(word);
        return personality_help(p);
    }
    if (json)
        passed.word[passed.count++] = "--json";
    p->translate(count, word, &passed, &t);
    personality_pass(&passed, &t);
    if (t.fault) {
        visible_printf(stderr, "%s: %s\n", p->name, t.fault);
        code = t.code;
    } else if (explain)
        translation_print(&t, stdout);
    else
        code = translation_run(&t);
    translation_finish(&t);
    free(word);
    return code;
}
