/* machine_key.h - the machine's key: 32 random bytes beside the store ("key", root's alone), made once. Marks that this
 * machine's daemon has to know again after a reboot are sealed with it (session/backup_owner.h).
 * Threads: any. Not for: secrets of programs, what a machine without its own root keeps from it. */
#ifndef AUTOLOGGER_DAEMON_MACHINE_KEY_H
#define AUTOLOGGER_DAEMON_MACHINE_KEY_H
#include "registry-sim/win32/wstatus.h"

#include <stdint.h>

enum { MACHINE_KEY_SIZE = 32 };
/* `store`: the path of the store; its folder must be there. A file that is not the daemon's own user's, that others may
 * read or write, or that is no regular file of 32 bytes is refused with W_INVALID_DATA, and stays as it is. */
wstatus machine_key_load(const char *store, uint8_t out[MACHINE_KEY_SIZE], struct reason *why);
/* The same, but makes none: W_FILE_NOT_FOUND where there is no key. */
wstatus machine_key_read(const char *store, uint8_t out[MACHINE_KEY_SIZE], struct reason *why);
/* One for this run alone. False: the kernel gives no random numbers. */
int machine_key_random(uint8_t out[MACHINE_KEY_SIZE]);
#endif
