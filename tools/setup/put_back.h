/* put_back.h - after the last boot that was asked for ([Boot] Once = yes): the daemon's unit, the boot entry and the
 * early program in the initramfs are put back as they were before apply. Declarations, logs and history stay; the
 * sealed snapshot and the guard stay, too, for they are how a daemon that somebody starts knows that nothing is to be
 * traced any more.
 *   the daemon: used up -> autologger-once.service -> "autologger clean --once" -> put_back_run
 * Invariants
 *   B1 Only what apply put in place goes: it is remembered in the store (struct put_in_place).
 *   B2 At every moment the machine boots: the image is replaced as a whole, a new one that cannot be listed is not
 *      kept, and dpkg is locked out meanwhile. What stands in the way of that leaves the image as it is: the early
 *      program in it then starts at a boot, sees the guard as soon as there is a root, and ends.
 *   B3 It may be killed at any point, and by a power cut: the next boot's daemon asks again until the file put-back
 *     says done or left.
 * Threads: one. Not for: taking away what was declared (clean). */
#ifndef TOOLS_PUT_BACK_H
#define TOOLS_PUT_BACK_H
#include "registry-sim/store/regstore.h"
#include "tools/base/machine.h"
#include "tools/setup/apply.h"

/* What apply has put in place, and was not there before. In the store below DECLARED_KEY. */
struct put_in_place {
    bool unit;  /* autologgerd.service was enabled */
    bool image; /* the initramfs was built with the early program */
};
struct put_in_place put_in_place_load(struct regstore *store);
/* In the caller's transaction. */
wstatus put_in_place_save(struct regstore *store, const struct put_in_place *in, struct reason *why);

/* What became of it. */
enum put_back_state { PUT_BACK_NOT_YET, PUT_BACK_DONE, PUT_BACK_LEFT };
/* `left`: why something is still in place, of PUT_BACK_LEFT. */
enum put_back_state put_back_look(const struct machine *m, char *left, size_t size);

/* "autologger clean --once". An exit code of enum verb_exit; fine when there is nothing to put back, or not yet. */
int put_back_run(const struct clean_options *o);
#endif
