/* store_access.h - opens the store that a command line names, and reports failures.
 * Threads: one. Ownership: the caller closes an opened store with regstore_close. */
#ifndef TOOLS_STORE_ACCESS_H
#define TOOLS_STORE_ACCESS_H
#include "registry-sim/store/regstore.h"
#include "registry-sim/text/dialect.h"
#include "tools/base/cmdline.h"
#include "tools/base/machine.h"

/* The exit code for a failure: 111 when the system refused, 1 otherwise. */
int exit_of(wstatus status);
/* The ending of a noun that counts `n`: "" or "s". */
const char *plural(uint64_t n);
/* The full stop of a sentence: ".", or "" when it has one. */
const char *sentence_end(const char *text);
/* The subject of a failure: the advice of a Status is for declarations, and fits a file on a command line badly. */
enum failure_about {
    ABOUT_ANY,
    ABOUT_TRACE,
    ABOUT_CONFIGURATION,
    ABOUT_STORE,
    ABOUT_RESULT,
    ABOUT_DAEMON,
    ABOUT_SOURCE
};
/* "VERB: text. Do: advice" on stderr; returns exit_of(status). The advice is that in `why` (" Do: "), else that for the
 * subject, else that of the Status. */
int failure_print_about(enum failure_about about, const char *verb, wstatus status, const struct reason *why);
int failure_print(const char *verb, wstatus status, const struct reason *why);
/* Opens c->store. `write` creates a missing store; the folder above it only for the default store. */
wstatus store_access_open(const struct cmdline *c, bool write, struct regstore **out, struct reason *why);
/* Opens the machine below `root` (NULL: this one); c->store is then its store, in `path`, unless one was given. */
wstatus store_access_machine(struct cmdline *c, const char *root, struct machine *out, char path[MACHINE_PATH],
                             struct reason *why);
/* A diag_fn: "file:line: what. Do: advice" on stderr. */
void diag_print(void *ctx, const struct diag *diag);
#endif
