/* early_root.h - the real root as seen by a process that was started in the initramfs: is it there, can it be written?
 * Such a process keeps the emptied initramfs as its own root; the way to the real one is "1/root" below a descriptor
 * for /proc that was taken before the switch. Mount changes wake the saved mountinfo descriptor (POLLPRI); between the
 * mount move and process 1's own chroot there is a gap, so the caller also looks every 100 ms.
 * The switch takes /proc, /sys and /dev along, but the early program opens files there long afterwards (memory of a
 * session for another user, tracepoints, command lines). So the process has a mount namespace of its own, in which they
 * stay. On a machine without an initramfs the own root is the real one from the start.
 * Threads: one. Ownership: open/close. Not for: whether the log folder is mounted (the daemon's unit knows). */
#ifndef AUTOLOGGER_DAEMON_EARLY_ROOT_H
#define AUTOLOGGER_DAEMON_EARLY_ROOT_H
#include <stdbool.h>

struct early_root {
    int  proc_fd, mountinfo_fd; /* -1: not available */
    bool own;                   /* the own root is the real one */
    bool reached, writable;     /* as of the last look */
};

void early_root_open(struct early_root *r);
/* Enters a mount namespace of its own; after early_root_open, before there are threads. False: it goes on without. */
bool early_root_stay(const struct early_root *r);
void early_root_close(struct early_root *r);
/* Updates `reached` and `writable`. */
void early_root_look(struct early_root *r);
/* A descriptor (O_PATH) of the real root; -1 before it is reached. */
int early_root_fd(const struct early_root *r);
/* Makes it this process's root and working folder, in the machine's own mount namespace again: for a child that works
 * there. */
bool early_root_enter(const struct early_root *r);
#endif
