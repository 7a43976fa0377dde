/* put_back.h - after the last requested boot ([Boot] Once = yes), restores the daemon's unit, the boot entry and the
 * early program in the initramfs to their state before apply. Declarations, logs and history stay. The sealed snapshot
 * and the guard stay, too: they tell a daemon started later that nothing is to be traced any more.
 *   the daemon: used up -> autologger-once.service -> "autologger clean --once" -> put_back_run
 * Invariants
 *   B1 Only what apply put in place is removed; the store records it (struct put_in_place).
 *   B2 The machine can boot at every moment: the image is replaced as a whole, a new one that cannot be listed is not
 *      kept, and dpkg is locked out meanwhile. If that is impossible, the image stays as it is: its early program then
 *      starts at a boot, reads the guard as soon as there is a root, and ends.
 *   B3 A kill or a power cut may end it at any point: the next boot's daemon asks again until the file put-back says
 *     done or left.
 * Threads: one. Not for: removing declarations (clean). */
#ifndef TOOLS_PUT_BACK_H
#define TOOLS_PUT_BACK_H
#include "registry-sim/store/regstore.h"
#include "tools/base/machine.h"
#include "tools/setup/apply.h"

/* What apply put in place and was not there before. Kept in the store below DECLARED_KEY. */
struct put_in_place {
    bool unit;  /* autologgerd.service was enabled */
    bool image; /* the initramfs was built with the early program */
};
struct put_in_place put_in_place_load(struct regstore *store);
/* In the caller's transaction. */
wstatus put_in_place_save(struct regstore *store, const struct put_in_place *in, struct reason *why);

/* The outcome. */
enum put_back_state { PUT_BACK_NOT_YET, PUT_BACK_DONE, PUT_BACK_LEFT };
/* `left`, for PUT_BACK_LEFT: why something is still in place. */
enum put_back_state put_back_look(const struct machine *m, char *left, size_t size);

/* "autologger clean --once". Returns an exit code of enum verb_exit; no error when there is nothing to put back, or not
 * yet. */
int put_back_run(const struct clean_options *o);
#endif
