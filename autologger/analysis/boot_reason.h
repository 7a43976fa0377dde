/* boot_reason.h - why the start of a unit took as long as it did: which of its programs took the time, and what that
 * program did or waited for.
 * Threads: one. Ownership: plain data; `next` borrows from the table boot_reasons.def. Not for: which unit it is
 * (boot_verdict.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_REASON_H
#define AUTOLOGGER_ANALYSIS_BOOT_REASON_H
#include "autologger/analysis/boot.h"

enum boot_reason_kind {
#define R(name, next) REASON_##name,
#include "autologger/analysis/boot_reasons.def"
#undef R
    REASONS
};
struct boot_reason {
    enum boot_reason_kind kind;
    int                   process;   /* index or BOOT_NONE */
    int64_t               length;    /* ns of [start, end) that it explains */
    char                  text[700]; /* follows "X held up the boot for 10.0 s: " */
    const char           *next;      /* what to look at */
};
/* The reason for the unit's start in [start, end). False: not known (no context switches). */
bool boot_reason_find(const struct boot *b, int unit, int64_t start, int64_t end, struct boot_reason *out);
#endif
