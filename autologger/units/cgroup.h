/* cgroup.h - a unit's cgroup in the file system: its id, as in the kernel's events, and its processes.
 * Threads: any. Not for: which cgroup a unit has (unit.h). */
#ifndef AUTOLOGGER_UNITS_CGROUP_H
#define AUTOLOGGER_UNITS_CGROUP_H
#include <stdint.h>

/* `path`: in the hierarchy, "/system.slice/x.service". 0: no such cgroup. */
uint64_t cgroup_id(const char *path);
/* Its processes, or if it has none those of the groups below it; at most `most`. Returns their number. */
unsigned cgroup_processes(const char *path, uint32_t *pid, unsigned most);
#endif
