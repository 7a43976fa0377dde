/* publisher_words.h - names of manifests for configurations (autologger/plan/publishers.h): first of those on the
 * command line (--manifest), then of those installed in the command line's store, which is opened only when a name is
 * looked up. Threads: one. */
#ifndef TOOLS_PUBLISHER_WORDS_H
#define TOOLS_PUBLISHER_WORDS_H
#include <argp.h>
#include <stdbool.h>

/* From now on configurations may use the names of installed manifests. */
void publisher_words_use(void);
enum { PUBLISHER_FILES_MAX = 32 };
struct publisher_option {
    const char *files[PUBLISHER_FILES_MAX];
    unsigned    count;
};
#define KEY_PUBLISHER 0x560
#define OPT_PUBLISHER \
    { \
        "manifest", KEY_PUBLISHER, "FILE", 0, \
            "names of providers, keywords and levels may be those of this manifest (.man, or a program that holds one), installed or not (repeat for more)", \
            0 \
    }
/* For argp parsers. */
void publisher_option_add(struct publisher_option *o, const char *file, struct argp_state *state);
/* Reads the files and reports their mistakes on standard error. False: *code is the exit code. The manifests stay until
 * the process ends. */
bool publisher_option_open(const struct publisher_option *o, const char *verb, int *code);
#endif
