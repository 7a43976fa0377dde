/* machine_key.h - the machine's key: 32 random bytes beside the store ("key", root's alone), made once. It seals marks
 * that this machine's daemon has to recognise after a reboot (session/backup_owner.h).
 * Threads: any. Not for: secrets of programs, what a machine without its own root keeps from it. */
#ifndef AUTOLOGGER_DAEMON_MACHINE_KEY_H
#define AUTOLOGGER_DAEMON_MACHINE_KEY_H
#include "registry-sim/win32/wstatus.h"

#include <stdint.h>

enum { MACHINE_KEY_SIZE = 32 };
/* `store`: the path of the store; its folder must exist. A file that is not the daemon's own user's, that others may
 * read or write, or that is no regular file of 32 bytes: W_INVALID_DATA, and it stays as it is. */
wstatus machine_key_load(const char *store, uint8_t out[MACHINE_KEY_SIZE], struct reason *why);
/* The same, but makes no key: W_FILE_NOT_FOUND where there is none. */
wstatus machine_key_read(const char *store, uint8_t out[MACHINE_KEY_SIZE], struct reason *why);
/* A key for this run alone. False: the kernel gives no random numbers. */
int machine_key_random(uint8_t out[MACHINE_KEY_SIZE]);
#endif
