/* redact_option.h - the option --redact of the verbs that give traces away, and its counts.
 * Threads: one. Ownership: open/close. Not for: replacing (autologger/consumer/redact.h). */
#ifndef TOOLS_REDACT_OPTION_H
#define TOOLS_REDACT_OPTION_H
#include "autologger/consumer/redact.h"
#include "tools/files/describe.h"

#include <argp.h>

enum { KEY_REDACT = 0x700, KEY_REDACT_WORD, REDACT_WORDS = 64 };
#define OPT_REDACT \
    {"redact", \
     KEY_REDACT, \
     "WHAT", \
     OPTION_ARG_OPTIONAL, \
     "replace what is private by tokens: arguments, names, addresses (all three without WHAT), paths; joined by commas, or all", \
     0}, \
    { \
        "redact-word", KEY_REDACT_WORD, "WORD", 0, "replace this word, too, wherever it stands (repeat for more)", 0 \
    }
struct redact_option {
    unsigned         what; /* 0: not asked for */
    const char      *word[REDACT_WORDS];
    unsigned         words;
    struct redactor *redactor;
    struct describe  describe;
};
struct json;
/* For argp parsers: ARGP_ERR_UNKNOWN for other keys. */
error_t redact_option_parse(struct redact_option *o, int key, char *arg, struct argp_state *state);
/* Asks the machine for the names of users, which are private in any trace; they may come over a socket. A command that
 * gives up its rights calls it before. */
void redact_option_prepare(struct redact_option *o);
/* Makes the redactor, which learns the files; does nothing without --redact. `files` live as long as the option. False:
 * *code is the exit code. */
bool redact_option_open(struct redact_option *o, const char *verb, const char *const *files, unsigned count, int *code);
void redact_option_print(const struct redact_option *o);
void redact_option_json(const struct redact_option *o, struct json *j);
void redact_option_close(struct redact_option *o);
#endif
