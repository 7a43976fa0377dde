/* installed.h - installs the portable program on a machine so that a boot can be traced, and removes all of it again.
 * It uses the fixed places of a package (the initramfs and systemd know no others). Every path is written to a list
 * before it is made: /var/lib/autologger/portable.
 * Invariants: I1 no file that was there before is replaced: a machine with the package is refused. I2 what is in the
 * list is ours, and nothing else is removed, except the folders of logs, store and runtime, which are then ours as a
 * whole.
 * Threads: one. Not for: what is traced (apply, clean). */
#ifndef TOOLS_PORTABLE_INSTALLED_H
#define TOOLS_PORTABLE_INSTALLED_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

#define INSTALLED_LIST "/var/lib/autologger/portable"

bool installed_here(void);
/* Installs the files of the payload, and this program as the daemon and the command. Files in the list are made anew.
 * W_ALREADY_EXISTS with the path: a file that is not ours is there. After any failure everything is removed again,
 * unless the program was installed before. */
wstatus installed_put(struct reason *why);
/* Removes the files of the list, logs, store, runtime folder, and folders that are then empty. Goes on after a failure
 * and names the first. Succeeds when nothing is installed. */
wstatus installed_remove(struct reason *why);
/* Makes a new private folder below /tmp with this program under its other names, and the profiles: for verbs that need
 * them beside themselves. */
wstatus private_make(char folder[64], struct reason *why);
void    private_remove(const char *folder);
#endif
