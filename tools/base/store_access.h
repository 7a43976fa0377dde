/* store_access.h - opening the store that a command line names, and saying why not.
 * Threads: one. Ownership: what opens is closed by regstore_close. */
#ifndef TOOLS_STORE_ACCESS_H
#define TOOLS_STORE_ACCESS_H
#include "registry-sim/store/regstore.h"
#include "registry-sim/text/dialect.h"
#include "tools/base/cmdline.h"
#include "tools/base/machine.h"

/* The exit code that a failure gives: 111 where the system refused, 1 otherwise. */
int exit_of(wstatus status);
/* What makes one of these many: "" or "s". */
const char *plural(uint64_t n);
/* What ends the sentence: "." or, where it has an end, "". */
const char *sentence_end(const char *text);
/* What a failure is about: the advice of a Status is for declarations, and fits a file on a command line badly. */
enum failure_about { ABOUT_ANY, ABOUT_TRACE, ABOUT_CONFIGURATION, ABOUT_STORE, ABOUT_RESULT, ABOUT_DAEMON };
/* "VERB: text. Do: advice" on stderr; returns exit_of(status). Advice: that in `why` (" Do: "), else for what it is
 * about, else that of the Status. */
int failure_print_about(enum failure_about about, const char *verb, wstatus status, const struct reason *why);
int failure_print(const char *verb, wstatus status, const struct reason *why);
/* Opens c->store. `write` creates a missing store; the folder above it only when it is the default's. */
wstatus store_access_open(const struct cmdline *c, bool write, struct regstore **out, struct reason *why);
/* Opens the machine below `root` (NULL: this one); c->store is then its store, in `path`, unless one was given. */
wstatus store_access_machine(struct cmdline *c, const char *root, struct machine *out, char path[MACHINE_PATH],
                             struct reason *why);
/* A diag_fn: "file:line: what. Do: advice" on stderr. */
void diag_print(void *ctx, const struct diag *diag);
#endif
