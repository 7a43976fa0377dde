/* boot_compare.h - what got slower between boots: by phase, unit, initramfs script, process, initcall and disk. One
 * boot is compared with another one, or with the median of several: for each item, the median of the boots that have
 * it (boot_figures.h).
 * Threads: one. Ownership: boot_comparison_create / destroy; it copies what it needs. Not for: reading boots
 * (boot.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_COMPARE_H
#define AUTOLOGGER_ANALYSIS_BOOT_COMPARE_H
#include "autologger/analysis/boot_figures.h"

struct boot_change {
    enum boot_compare_kind kind;
    char                  *name;
    int64_t                before, after; /* ns; -1: that boot does not have it */
    int64_t                change;        /* after - before; a new or vanished item counts in full */
};
struct boot_comparison {
    struct boot_change *row; /* by kind, largest change first; the first row is the boot as a whole */
    unsigned            rows;
    unsigned            boots; /* before */
    char                sentence[400];
};
/* `least`: changes of fewer ns are left out. W_NOT_ENOUGH_MEMORY. */
wstatus boot_comparison_create(const struct boot *const *before, unsigned count, const struct boot *after,
                               int64_t least, struct boot_comparison **out, struct reason *why);
void    boot_comparison_destroy(struct boot_comparison *c); /* NULL is fine */
#endif
