/* unit_name.h - which unit of systemd's a cgroup is, by its path. Threads: any. Not for: asking systemd
 * (autologger/units). */
#ifndef AUTOLOGGER_KERNEL_UNIT_NAME_H
#define AUTOLOGGER_KERNEL_UNIT_NAME_H
#include <stddef.h>

/* The unit that a process in this cgroup belongs to, in systemd's rules: the first part of the path below slices that
 * is a unit. "" for none: slices alone, or no unit's cgroup. */
void unit_of_cgroup(const char *path, char *out, size_t size);
#endif
