/* autologger: finds the verb and calls it. */
#include "registry-sim/base/nearest.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/cmdline.h"
#include "tools/base/verb.h"
#include "tools/files/publisher_words.h"
#include "tools/windows/personality.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int unknown_verb(const char *word)
{
    struct nearest     near = nearest_make(word, 2);
    char               typed[VERB_WORD], found[VERB_WORD] = "";
    unsigned           count;
    const struct verb *verbs = verb_table(&count);
    for (unsigned i = 0; i < count; i++) {
        nearest_try(&near, verb_word(&verbs[i], typed));
        if (near.found == typed) { /* it points to `typed`, which the next word overwrites */
            memcpy(found, typed, sizeof found);
            near.found = found;
        }
    }
    visible_printf(stderr, "autologger: there is no verb \"%s\".", word);
    if (near.found)
        visible_printf(stderr, " Did you mean \"%s\"?", near.found);
    fputs(" Do: autologger --help\n", stderr);
    return VERB_USAGE;
}

/* The exit code, when standard output has taken the result. */
static int written(int code)
{
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    perror("autologger: writing the result");
    return VERB_REFUSED;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    cmdline_init();
    const struct personality *as = argc ? personality_find(argv[0]) : NULL;
    if (as) { /* called by its link */
        publisher_words_use();
        return written(personality_run(as, (unsigned)argc - 1, argv + 1, false, false));
    }
    if (argc < 2 || (argv[1][0] == '-' && strcmp(argv[1], "--help") && strcmp(argv[1], "-h") && strcmp(argv[1], "-?") &&
                     strcmp(argv[1], "--version") && strcmp(argv[1], "-V")))
        return overview_print(argc, argv);
    const char *word = argv[1];
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
        visible_printf(stdout, "autologger %s\n", AL_VERSION);
        return VERB_FINE;
    }
    bool help = !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "-?");
    if (help && verb_help(argc < 3 ? NULL : argv[2], stdout))
        return fflush(stdout) ? VERB_REFUSED : VERB_FINE;
    if (help)
        word = argv[2];
    publisher_words_use();
    const struct verb *verb = verb_find(word);
    if (!verb)
        return unknown_verb(word);
    char name[64], typed_as[VERB_WORD];
    char ask_help[] = "--help";
    snprintf(name, sizeof name, "autologger %s", verb_word(verb, typed_as));
    char *helped[] = {name, ask_help, NULL};
    if (help)
        return verb->run(2, helped);
    argv[1] = name;
    return written(verb->run(argc - 1, argv + 1));
}
