/* phase_count.h - reads a boot's merged file once: when process 1 became /init and the system's own init, and how many
 * events each phase of the boot has. Threads: any; done in the process that merges. Not for: what a phase is
 * (boot/phases.h). */
#ifndef AUTOLOGGER_DAEMON_PHASE_COUNT_H
#define AUTOLOGGER_DAEMON_PHASE_COUNT_H
#include "autologger/boot/result.h"

/* `boot` has the times known already. out->counted is false when the file can't be read. Process 1's programs are known
 * only where a kernel session recorded processes. */
void phase_count(const char *path, const struct result_list *boot, struct result_phases *out);
#endif
