/* option.h - reads a command line of Windows by a table: options in any order and case, with '-', '/', or the dash that
 * a word processor made of '-'.
 * Invariants: a word that begins with '/' is an option only if the table has it: it may be a path. A word that begins
 * with '-' and a letter is never a value. Words that begin with "--", and are not in the table, go to autologger as
 * they are.
 * Threads: one. Ownership: the words stay argv's; changed ones are the translation's. */
#ifndef TOOLS_WINDOWS_OPTION_H
#define TOOLS_WINDOWS_OPTION_H
#include "tools/windows/translation.h"

struct windows_option {
    const char *word;        /* without its dash */
    unsigned    least, most; /* how many values it takes */
    /* `into` is the reader's; value[0..count). */
    void (*take)(void *into, const struct windows_option *option, char *const *value, unsigned count,
                 struct translation *t);
    const char *as;     /* for take: what it becomes, such as "BufferSize" */
    const char *verbs;  /* letters of the verbs that it goes with; "": all */
    const char *values; /* for the help: "MIN MAX" */
    const char *help;
};
struct windows_syntax {
    const struct windows_option *option; /* ends with a word of NULL */
    /* Takes a word that is no option and no value. */
    void (*word)(void *into, char *word, struct translation *t);
    bool colon; /* "/e:true": the value of an option follows a colon */
    /* Each option before it is taken; may be NULL. */
    void (*note)(void *into, const struct windows_option *option);
};

enum { WINDOWS_PASSED = 16 };
struct windows_passed { /* options of autologger itself */
    const char *word[WINDOWS_PASSED];
    unsigned    count;
};
/* Reads all words; faults are the translation's. */
void windows_options_read(const struct windows_syntax *syntax, unsigned count, char *const *word, void *into,
                          struct windows_passed *passed, struct translation *t);
/* For `take`: an option without effect, and one that is refused with the reason in option->as. */
void windows_option_ignore(void *into, const struct windows_option *option, char *const *value, unsigned count,
                           struct translation *t);
void windows_option_refuse(void *into, const struct windows_option *option, char *const *value, unsigned count,
                           struct translation *t);
/* The table as the lines of a help. */
void windows_options_print(const struct windows_syntax *syntax, FILE *to);
/* The word with '-' for U+2013 and U+2212 at its begin. */
const char *windows_dash(const char *word, struct translation *t);
#endif
