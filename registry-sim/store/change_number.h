/* change_number.h - counts the changes of the boot's configuration: a number in the store (HKLM\SOFTWARE\autologger,
 * ChangeNumber). Every change bumps it in the same transaction, so that a snapshot, a guard file and a Status can name
 * their configuration. Threads: as regstore.h. Not for: whether a snapshot is current (compare its content hash, see
 * snapshot.h). */
#ifndef REGISTRY_SIM_STORE_CHANGE_NUMBER_H
#define REGISTRY_SIM_STORE_CHANGE_NUMBER_H
#include "registry-sim/store/regstore.h"

/* The number, 0 in a store that was never changed. W_INVALID_PARAMETER when the value is not a QWORD. */
wstatus change_number_get(struct regstore *store, uint64_t *out, struct reason *why);
/* Adds one, in the caller's transaction; *out (may be NULL) gets the new number. */
wstatus change_number_bump(struct regstore *store, uint64_t *out, struct reason *why);
#endif
