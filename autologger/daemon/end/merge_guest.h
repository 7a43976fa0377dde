/* merge_guest.h - a merge without rights: its host, at the other end of a socket (merge_host.h), opens the files and
 * renames the target. The merge itself notices nothing: it gets another edge (base/os.h), another opener
 * (base/opening.h), and another starter of autologger-unwind (consumer/unwinding.h).
 * Threads: one; once in a process. Not for: what the guest may have (merge_host.c). */
#ifndef AUTOLOGGER_DAEMON_MERGE_GUEST_H
#define AUTOLOGGER_DAEMON_MERGE_GUEST_H
#include "registry-sim/base/os.h"

/* From now on this process asks at `socket`. Returns its edge. */
struct os *merge_guest(int socket);
#endif
