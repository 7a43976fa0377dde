/* cmdline.h - the options that verbs share, and the words that their helps share; argp does the rest. A verb lists the
 * shared options that it takes (OPT_STORE, OPT_RUNTIME_DIR, OPT_JSON) and hands keys it doesn't know to cmdline_option.
 * Threads: one. Not for: opening what the options name (store_access.h). */
#ifndef TOOLS_CMDLINE_H
#define TOOLS_CMDLINE_H
#include <argp.h>
#include <stdbool.h>

#define CMDLINE_DEFAULT_STORE "/var/lib/autologger/registry.db"

struct cmdline {
    const char *store; /* CMDLINE_DEFAULT_STORE unless given */
    bool        store_given;
    const char *runtime_dir; /* NULL = the default */
    bool        json;
};

enum { KEY_STORE = 's', KEY_RUNTIME_DIR = 0x500, KEY_JSON = 'j' };
#define OPT_STORE \
    { \
        "store", KEY_STORE, "FILE", 0, "the store (default " CMDLINE_DEFAULT_STORE ")", 0 \
    }
#define OPT_RUNTIME_DIR \
    { \
        "runtime-dir", KEY_RUNTIME_DIR, "DIR", 0, \
            "the daemon's folder (default $AUTOLOGGER_RUNTIME_DIR, else /run/autologger)", 0 \
    }
#define OPT_JSON \
    { \
        "json", KEY_JSON, NULL, 0, "print JSON", 0 \
    }

/* The text of a help: what it does, before the options; then an example and the exit codes, after them. */
#define CMDLINE_DOC(what, example) \
    what "\vExample:\n" example \
         "\n\nExit codes: 0 fine, 1 what was asked about failed, 100 called wrongly, 111 the system refused."

void cmdline_init(void);
/* The store of this command line: that of --store once it was parsed, else the default. */
const char *cmdline_store(void);
/* For argp parsers: takes the shared keys, ARGP_ERR_UNKNOWN for others. */
error_t cmdline_option(struct cmdline *c, int key, char *arg);
/* Parses; false means that *code is the exit code to end with. `input` is passed to the parser. */
bool cmdline_parse(const struct argp *argp, int argc, char **argv, void *input, int *code);
/* The same, but options end at the first argument: what follows is another program's. */
bool cmdline_parse_in_order(const struct argp *argp, int argc, char **argv, void *input, int *code);
#endif
