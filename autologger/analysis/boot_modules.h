/* boot_modules.h - the programs of a boot that load kernel modules, and which module each one loaded.
 * Threads: one. Ownership: plain data. Not for: modules that were loaded (boot.h), drivers and their devices
 * (boot_device.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_MODULES_H
#define AUTOLOGGER_ANALYSIS_BOOT_MODULES_H
#include "autologger/analysis/boot.h"

bool boot_is_loader(const struct boot *b, const struct boot_process *p);
/* True for two loaders in one unit, or without a unit below one program: modules that one needs are loaded before. */
bool boot_loads_beside(const struct boot *b, int process, int other);
/* "raid6_pq 2.6 s, btrfs 2.2 s": the longest three of the loaders beside `process`. Returns the sum of all, in ns; adds
 * their running time to *running. */
int64_t boot_modules_of(const struct boot *b, int process, char *out, size_t room, int64_t *running);
#endif
