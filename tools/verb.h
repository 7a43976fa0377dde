/* verb.h - what a verb of the command is, and how it ends.
 * Every verb is one function int cmd_<name>(int argc, char **argv) in cmd_<name>.c; it parses with argp, prints results on
 * stdout and mistakes on stderr, and returns an exit code of enum verb_exit.
 * Threads: one. Not for: options that several verbs share (cmdline.h). */
#ifndef TOOLS_VERB_H
#define TOOLS_VERB_H

enum verb_exit {
    VERB_FINE    = 0,
    VERB_FAILED  = 1,   /* the thing that was asked about failed */
    VERB_USAGE   = 100, /* called wrongly */
    VERB_REFUSED = 111  /* the system refused: rights, space, memory */
};
enum verb_group { VERB_FIRST, VERB_CONFIGURE, VERB_RUNNING, VERB_FILES };

struct verb {
    const char     *name;
    enum verb_group group;
    const char     *summary;
    int (*run)(int argc, char **argv);
};

#define V(name, group, summary) int cmd_##name(int argc, char **argv);
#include "tools/verbs.def"
#undef V

/* Without a verb: the state of this machine and the next step. */
int overview_print(int argc, char **argv);
#endif
