/* unit_name.h - the systemd unit of a cgroup, by its path. Threads: any. Not for: asking systemd (autologger/units). */
#ifndef AUTOLOGGER_KERNEL_UNIT_NAME_H
#define AUTOLOGGER_KERNEL_UNIT_NAME_H
#include <stddef.h>

/* The unit of the processes in this cgroup, by systemd's rules: the first part of the path below slices that is a unit.
 * "" for none: slices only, or a cgroup of no unit. */
void unit_of_cgroup(const char *path, char *out, size_t size);
#endif
