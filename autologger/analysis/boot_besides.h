/* boot_besides.h - what stands beside a verdict: the findings that do not repeat it, and the lines of the kernel's log
 * about its device.
 * Threads: one. Ownership: borrows from verdict and boot. Not for: which finding is the verdict (boot_verdict.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_BESIDES_H
#define AUTOLOGGER_ANALYSIS_BOOT_BESIDES_H
#include "autologger/analysis/boot_verdict.h"

enum { BOOT_BESIDES_MOST = 4, BOOT_LINES_MOST = 3 };

/* The other findings, the likeliest first. Returns their number. */
unsigned boot_besides(const struct boot_verdict *v, const struct boot_finding *out[BOOT_BESIDES_MOST]);
/* The first lines of the kernel's log about the finding's device at that time. `f` NULL: none. Returns their number. */
unsigned boot_log_lines(const struct boot *b, const struct boot_finding *f,
                        const struct boot_text *out[BOOT_LINES_MOST]);
#endif
