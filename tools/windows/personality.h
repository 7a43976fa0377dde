/* personality.h - the programs of Windows whose command lines autologger takes: personality.def.
 * Each reads its command line by a table of options (option.h) and adds the lines of autologger that do the same.
 * Threads: one. */
#ifndef TOOLS_WINDOWS_PERSONALITY_H
#define TOOLS_WINDOWS_PERSONALITY_H
#include "tools/windows/option.h"

struct personality {
    const char *name, *summary;
    const char *usage, *example; /* of the help */
    /* NULL: the words are handed to the verb of that name as they are. */
    const struct windows_syntax *syntax;
    void (*translate)(unsigned count, char *const *word, struct windows_passed *passed, struct translation *t);
};

#define P(name, summary, usage, example) \
    extern const struct windows_syntax name##_syntax; \
    void name##_translate(unsigned count, char *const *word, struct windows_passed *passed, struct translation *t);
#include "tools/windows/personality.def"
#undef P

/* In the order of personality.def. */
const struct personality *personality_table(unsigned *count);
/* By name, in any case, also as a path and with ".exe"; NULL: none. */
const struct personality *personality_find(const char *name);
/* Translates, then prints the lines (explain) or runs them, with --json (json). The exit code. */
int personality_run(const struct personality *p, unsigned count, char *const *word, bool explain, bool json);
#endif
