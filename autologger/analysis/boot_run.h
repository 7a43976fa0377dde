/* boot_run.h - how much each process ran, and was ready without a processor, in bins of time. Where there are too many,
 * two neighbours become one.
 * Invariant: the sum over the bins of a process is what it ran. Threads: one. Ownership: the boot's. Not for: single
 * moments. */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_RUN_H
#define AUTOLOGGER_ANALYSIS_BOOT_RUN_H
#include "autologger/analysis/boot.h"

struct boot_ran {
    int64_t running, ready;
}; /* ns */

/* Of one process in [from, to). A bin that is only partly in it counts in proportion. */
struct boot_ran boot_ran(const struct boot *b, int process, int64_t from, int64_t to);
/* What the process waited for in [from, to), by its long waits: added to `time`. */
void boot_waited(const struct boot *b, int process, int64_t from, int64_t to, int64_t time[BOOT_STATES]);
/* Who ran most in [from, to), the most first: units, and processes of none. `but`: a process that does not count;
 * BOOT_NONE: none is left out. Returns how many of `most` there are. */
struct boot_runner {
    int     unit, process;
    int64_t ran;
}; /* unit BOOT_NONE: the process is of none; `process`: the one of the unit that ran most */
unsigned boot_runners(const struct boot *b, int64_t from, int64_t to, int but, struct boot_runner *out, unsigned most);
#endif
