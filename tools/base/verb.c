/* verb.c - the table of verbs, and the helps made from it. */
#include "tools/base/verb.h"
#include "registry-sim/base/visible_print.h"

#include <string.h>

static const struct verb verbs[] = {
#define V(name, group, summary) {#name, VERB_##group, summary, cmd_##name},
#include "tools/base/verbs.def"
#undef V
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

static const struct group {
    const char *word, *title; /* word: "autologger help WORD" */
} verb_groups[VERB_GROUPS] = {
    [VERB_FIRST] = {"", "The first day"},
    [VERB_LIVE]  = {"live", "Running sessions"},
    [VERB_FILES] = {"files", "The store and trace files"},
    [VERB_DEV]   = {"dev", "Measuring and debugging"},
};

const struct verb *verb_table(unsigned *count)
{
    *count = VERBS;
    return verbs;
}

const char *verb_word(const struct verb *verb, char out[VERB_WORD])
{
    snprintf(out, VERB_WORD, "%s", verb->name);
    for (char *p = out; *p; p++)
        if (*p == '_')
            *p = '-';
    return out;
}

const struct verb *verb_find(const char *word)
{
    char typed[VERB_WORD];
    for (size_t i = 0; i < VERBS; i++)
        if (!strcmp(verb_word(&verbs[i], typed), word))
            return &verbs[i];
    return NULL;
}

static void group_print(size_t g, FILE *to)
{
    char word[VERB_WORD];
    visible_printf(to, g == VERB_FIRST ? "\n%s\n" : "%s\n", verb_groups[g].title);
    for (size_t i = 0; i < VERBS; i++)
        if (verbs[i].group == g)
            visible_printf(to, "  %-10s %s\n", verb_word(&verbs[i], word), verbs[i].summary);
}

/* "live: sessions query ..." for each group that the main help leaves out. */
static void others_print(FILE *to)
{
    char word[VERB_WORD];
    fputs("\nMore\n", to);
    for (size_t g = VERB_FIRST + 1; g < VERB_GROUPS; g++) {
        visible_printf(to, "  help %-5s", verb_groups[g].word);
        for (size_t i = 0; i < VERBS; i++)
            if (verbs[i].group == g)
                visible_printf(to, " %s", verb_word(&verbs[i], word));
        fputc('\n', to);
    }
}

static void ending_print(FILE *to)
{
    fputs("\n'autologger VERB --help' shows options, an example and the exit codes of each.\n"
          "Exit codes: 0 fine, 1 what was asked about failed, 100 called wrongly, 111 the system refused.\n",
          to);
}

bool verb_help(const char *group, FILE *to)
{
    size_t g = VERB_FIRST;
    if (group)
        for (g = VERB_FIRST + 1; g < VERB_GROUPS && strcmp(verb_groups[g].word, group); g++)
            ;
    if (g == VERB_GROUPS)
        return false;
    if (g == VERB_FIRST)
        fputs("Usage: autologger [VERB] [OPTION...]\n"
              "Boot tracing: why was this boot slow, and what did my program do in it?\n"
              "Without a verb: the state of this machine and the next step.\n",
              to);
    group_print(g, to);
    if (g == VERB_FIRST) {
        others_print(to);
        fputs("\nExamples, as root: now, and at the next boot:\n  autologger rehearse boot\n  autologger trace-boot\n",
              to);
    }
    ending_print(to);
    return true;
}
