/* enablement.h - the shared part of the verbs enable and disable: one provider in a running session.
 * Threads: one. Not for: sessions (session_start.h). */
#ifndef TOOLS_ENABLEMENT_H
#define TOOLS_ENABLEMENT_H
#include "autologger/control/client.h"
#include "tools/base/cmdline.h"
#include "tools/files/publisher_words.h"

enum { ENABLEMENT_PAIRS = 32 };
struct enablement {
    struct cmdline common;
    /* as on the command line; words of levels and keywords may be the provider's own */
    const char               *session, *provider;
    const char               *level, *any, *all, *property;
    struct ctl_enable_request request;                /* its code is the verb's */
    char                     *pair[ENABLEMENT_PAIRS]; /* VALUE=TEXT of filters */
    unsigned                  pairs;
    const char               *pids;
    struct filter_block      *filter; /* malloc, or NULL */
    unsigned                  wait_ms;
    struct publisher_option   manifests;
    int                       code; /* exit code for a manifest that can't be read; 0: none */
};
enum {
    ENABLEMENT_ALL = 0x600,
    ENABLEMENT_CAPTURE,
    ENABLEMENT_PROPERTY,
    ENABLEMENT_WAIT,
    ENABLEMENT_FILTER,
    ENABLEMENT_PID
};
#define OPT_ENABLEMENT_WAIT \
    { \
        "wait", ENABLEMENT_WAIT, "MS", 0, \
            "wait until every program that has registered it has run its callback, at most so long", 0 \
    }

/* An argp parser: 'l', 'k' and the keys above, SESSION and PROVIDER; input is a struct enablement. */
error_t enablement_option(int key, char *arg, struct argp_state *state);
/* Parses, asks the daemon, reports. Returns the exit code. */
int enablement_run(const struct argp *argp, int argc, char **argv, struct enablement *e);
#endif
