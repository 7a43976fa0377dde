/* boot_run.h - how long each process ran, and was ready without a processor, in bins of time. When there are too many,
 * neighbouring bins are merged in pairs.
 * Invariant: the sum over the bins of a process is its running time. Threads: one. Ownership: the boot's. Not for:
 * single moments. */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_RUN_H
#define AUTOLOGGER_ANALYSIS_BOOT_RUN_H
#include "autologger/analysis/boot.h"

struct boot_ran {
    int64_t running, ready;
}; /* ns */

/* Sums of one process in [from, to). A bin that is only partly inside counts in proportion. */
struct boot_ran boot_ran(const struct boot *b, int process, int64_t from, int64_t to);
/* The same of all processes of a unit: ns that they ran. Reads the bins once, however many processes there are. */
int64_t boot_unit_ran(const struct boot *b, int unit, int64_t from, int64_t to);
/* Adds to `time` the long waits of the process in [from, to), by state. */
void boot_waited(const struct boot *b, int process, int64_t from, int64_t to, int64_t time[BOOT_STATES]);
/* The units, and the processes without a unit, that ran most in [from, to), the most first. `but`: a process that does
 * not count; BOOT_NONE: all count. Returns their number, `most` at most. */
struct boot_runner {
    int     unit, process;
    int64_t ran;
}; /* unit BOOT_NONE: the process has no unit; `process`: of a unit's processes the one that ran most */
unsigned boot_runners(const struct boot *b, int64_t from, int64_t to, int but, struct boot_runner *out, unsigned most);
#endif
