/* boot_modules.h - the programs of a boot that load kernel modules, and which module each one loaded.
 * Threads: one. Ownership: plain data. Not for: modules that were loaded (boot.h), drivers and their devices
 * (boot_device.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_MODULES_H
#define AUTOLOGGER_ANALYSIS_BOOT_MODULES_H
#include "autologger/analysis/boot.h"

bool boot_is_loader(const struct boot *b, const struct boot_process *p);
/* Both load modules in one unit, or below one program: what one needs comes before it. */
bool boot_loads_beside(const struct boot *b, int process, int other);
/* "raid6_pq 2.6 s, btrfs 2.2 s": the longest three of those beside `process`. Returns the sum of all, in ns; adds to
 * *running what they ran. */
int64_t boot_modules_of(const struct boot *b, int process, char *out, size_t room, int64_t *running);
#endif
