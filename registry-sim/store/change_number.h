/* change_number.h - how often what a boot reads was changed: a number in the store (HKLM\SOFTWARE\autologger,
 * ChangeNumber). Whoever changes the boot's configuration bumps it in the same transaction, so that a snapshot, a guard
 * file and a Status can say which configuration they are about. Threads: as regstore.h. Not for: whether a snapshot is
 * current (its content hash tells, see snapshot.h). */
#ifndef REGISTRY_SIM_STORE_CHANGE_NUMBER_H
#define REGISTRY_SIM_STORE_CHANGE_NUMBER_H
#include "registry-sim/store/regstore.h"

/* The number, 0 in a store that was never changed. W_INVALID_PARAMETER when the value is there and is no QWORD. */
wstatus change_number_get(struct regstore *store, uint64_t *out, struct reason *why);
/* Adds one, in the caller's transaction; *out (may be NULL) gets the new number. */
wstatus change_number_bump(struct regstore *store, uint64_t *out, struct reason *why);
#endif
