/* alraw.h - writes a keeper's table into one checksummed file, and restores its descriptors from it (wire/alraw.h).
 * Only memory is written, and the existence of wake-up descriptors; perf events, sockets and connections can't outlive
 * a boot.
 * Threads: one. Ownership: the table stays the caller's. Not for: what the memory holds. */
#ifndef AUTOLOGGER_DAEMON_ALRAW_H
#define AUTOLOGGER_DAEMON_ALRAW_H
#include "autologger/daemon/kept.h"
#include "registry-sim/win32/wstatus.h"

#include <stdint.h>

/* Writes `path` (a new file; "PATH.part" until it is complete and synced), sealed with `key` (machine_key.h; NULL:
 * without a seal). *bytes: its size. W_DISK_FULL, W_WRITE_PROTECT, W_ACCESS_DENIED, ... */
wstatus alraw_write(const char *path, const struct kept *k, const uint8_t *key, const char *boot_id, uint64_t *bytes,
                    struct reason *why);
/* Adds to `k` a memory (or wake-up) descriptor for every item. `key`: the file must be sealed with it; NULL: any file
 * is accepted. W_FILE_NOT_FOUND; W_ACCESS_DENIED: another seal or none; W_INVALID_DATA: damaged or of another
 * version. */
wstatus alraw_read(const char *path, const uint8_t *key, struct kept *k, char boot_id[64], struct reason *why);
#endif
