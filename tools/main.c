/* autologger: finds the verb and calls it. */
#include "registry-sim/base/nearest.h"
#include "tools/cmdline.h"
#include "tools/verb.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct verb verbs[] = {
#define V(name, group, summary) {#name, VERB_##group, summary, cmd_##name},
#include "tools/verbs.def"
#undef V
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

static const char *const group_titles[] = {
    [VERB_FIRST]     = "The first day",
    [VERB_CONFIGURE] = "The configuration",
    [VERB_RUNNING]   = "Running sessions",
    [VERB_FILES]     = "Files and measuring",
};

static void help_print(FILE *to)
{
    fputs("Usage: autologger [VERB] [OPTION...]\n"
          "Boot tracing: why was this boot slow, and what did my program do in it?\n"
          "Without a verb: the state of this machine and the next step.\n",
          to);
    for (size_t g = 0; g < sizeof group_titles / sizeof group_titles[0]; g++) {
        fprintf(to, "\n%s\n", group_titles[g]);
        for (size_t i = 0; i < VERBS; i++)
            if (verbs[i].group == g)
                fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    }
    fputs("\nExample, on any machine, as root:\n"
          "  autologger rehearse config/examples/first-boot.ini\n"
          "\n'autologger VERB --help' shows options, an example and the exit codes of each.\n"
          "Exit codes: 0 fine, 1 what was asked about failed, 100 called wrongly, 111 the system refused.\n",
          to);
}

static int unknown_verb(const char *word)
{
    struct nearest near = nearest_make(word, 2);
    for (size_t i = 0; i < VERBS; i++)
        nearest_try(&near, verbs[i].name);
    fprintf(stderr, "autologger: there is no verb \"%s\".", word);
    if (near.found)
        fprintf(stderr, " Did you mean \"%s\"?", near.found);
    fputs(" Do: autologger --help\n", stderr);
    return VERB_USAGE;
}

static const struct verb *verb_find(const char *word)
{
    for (size_t i = 0; i < VERBS; i++)
        if (!strcmp(verbs[i].name, word))
            return &verbs[i];
    return NULL;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    cmdline_init();
    if (argc < 2 || (argv[1][0] == '-' && strcmp(argv[1], "--help") && strcmp(argv[1], "-h") && strcmp(argv[1], "-?") &&
                     strcmp(argv[1], "--version") && strcmp(argv[1], "-V")))
        return overview_print(argc, argv);
    const char *word = argv[1];
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
        printf("autologger %s\n", AL_VERSION);
        return VERB_FINE;
    }
    bool help = !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "-?");
    if (help && argc < 3) {
        help_print(stdout);
        return fflush(stdout) ? VERB_REFUSED : VERB_FINE;
    }
    if (help)
        word = argv[2];
    const struct verb *verb = verb_find(word);
    if (!verb)
        return unknown_verb(word);
    char        name[64];
    char        ask_help[] = "--help";
    snprintf(name, sizeof name, "autologger %s", verb->name);
    char *helped[] = {name, ask_help, NULL};
    if (help)
        return verb->run(2, helped);
    argv[1]  = name;
    int code = verb->run(argc - 1, argv + 1);
    if (fflush(stdout) || ferror(stdout)) {
        perror("autologger: writing the result");
        return VERB_REFUSED;
    }
    return code;
}
