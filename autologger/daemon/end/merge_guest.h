/* merge_guest.h - a merge that has no rights: files are opened, and the target is renamed, by whoever is at the other
 * end of a socket (merge_host.h). The merge itself notices nothing: it is given another edge (base/os.h), another who
 * opens (base/opening.h), and another who starts autologger-unwind (consumer/unwinding.h).
 * Threads: one; once in a process. Not for: what the guest may have (merge_host.c). */
#ifndef AUTOLOGGER_DAEMON_MERGE_GUEST_H
#define AUTOLOGGER_DAEMON_MERGE_GUEST_H
#include "registry-sim/base/os.h"

/* From now on this process asks at `socket`. The edge that it then has. */
struct os *merge_guest(int socket);
#endif
