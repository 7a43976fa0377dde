/* verb.h - what a verb of the command is, and how it ends.
 * Every verb is one function int cmd_<name>(int argc, char **argv) in cmd_<name>.c; it parses with argp, prints results
 * on stdout and mistakes on stderr, and returns an exit code of enum verb_exit.
 * Threads: one. Not for: options that several verbs share (cmdline.h). */
#ifndef TOOLS_VERB_H
#define TOOLS_VERB_H
#include <stdbool.h>
#include <stdio.h>

enum verb_exit {
    VERB_FINE    = 0,
    VERB_FAILED  = 1,   /* the subject of the request failed */
    VERB_USAGE   = 100, /* called wrongly */
    VERB_REFUSED = 111  /* the system refused: rights, space, memory */
};
enum verb_group { VERB_FIRST, VERB_LIVE, VERB_FILES, VERB_DEV, VERB_GROUPS };

struct verb {
    const char     *name; /* as in verbs.def; verb_word gives the typed form */
    enum verb_group group;
    const char     *summary;
    int (*run)(int argc, char **argv);
};

#define V(name, group, summary) int cmd_##name(int argc, char **argv);
#include "tools/base/verbs.def"
#undef V

/* The verbs in the order of verbs.def. */
const struct verb *verb_table(unsigned *count);
/* The verb whose typed form is `word`, or NULL. */
const struct verb *verb_find(const char *word);
enum { VERB_WORD = 32 };
/* The typed form of a verb: its name with '-' for '_'. Returns `out`. */
const char *verb_word(const struct verb *verb, char out[VERB_WORD]);
/* The main help, or that of one group ("live", "files", "dev"). False: there is no such group. */
bool verb_help(const char *group, FILE *to);

/* Without a verb: the state of this machine and the next step. */
int overview_print(int argc, char **argv);
#endif
