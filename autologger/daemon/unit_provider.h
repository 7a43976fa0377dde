/* unit_provider.h - has systemd's units written into the sessions that want them: runs autologger-units for every enablement of the
 * Service Control Manager's GUID, and of every declaration with Unit=. What was told is kept in a memfd that outlives program and daemon.
 * Where no systemd runs, or where it can't be asked, the declaration's row has a condition, and nothing else changes.
 * Threads: the controlling one. Ownership: create/destroy. Not for: what units do (autologger/units). */
#ifndef AUTOLOGGER_DAEMON_UNIT_PROVIDER_H
#define AUTOLOGGER_DAEMON_UNIT_PROVIDER_H
#include "autologger/daemon/beside.h"

struct unit_provider_options {
    const char *systemd_dir; /* exists where systemd runs */
    const char *bus;         /* systemd's address; NULL: the usual one */
    const char *program;     /* autologger-units; NULL: beside this program, or where it is installed */
};
struct unit_provider;

/* NULL when out of memory. The options' texts must outlive it. */
struct unit_provider *unit_provider_create(const struct unit_provider_options *options);
const struct beside  *unit_provider_beside(struct unit_provider *p);
void                  unit_provider_destroy(struct unit_provider *p); /* ends the program; NULL is fine */
#endif
