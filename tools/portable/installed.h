/* installed.h - what the portable program puts on a machine so that a boot can be traced, and how all of it goes again.
 * The fixed places of a package are used (the initramfs and systemd know no others). Every path is written to a list
 * before it is made: /var/lib/autologger/portable.
 * Invariants: I1 nothing that was there before is replaced: a machine with the package is refused. I2 what is in the
 * list is ours, and nothing else is removed, except the folders of logs, store and runtime, which are then ours as a
 * whole.
 * Threads: one. Not for: what is traced (apply, clean). */
#ifndef TOOLS_PORTABLE_INSTALLED_H
#define TOOLS_PORTABLE_INSTALLED_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

#define INSTALLED_LIST "/var/lib/autologger/portable"

bool installed_here(void);
/* Files of the payload, and this program as the daemon and the command. What is ours already is made anew.
 * W_ALREADY_EXISTS when there is something that is not ours: with the path. With any failure everything that was made
 * goes again, unless it had been there before. */
wstatus installed_put(struct reason *why);
/* Takes the files away: those of the list, logs, store, runtime folder, folders that are empty then. Goes on after a
 * failure and names the first. Fine when there is nothing. */
wstatus installed_remove(struct reason *why);
/* Into a new private folder below /tmp: this program under its other names, and the profiles. For verbs that need them
 * beside themselves. */
wstatus private_make(char folder[64], struct reason *why);
void    private_remove(const char *folder);
#endif
