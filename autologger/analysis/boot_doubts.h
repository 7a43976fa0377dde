/* boot_doubts.h - how sure a verdict is: what the trace lacks that could hide the cause, a sentence each.
 * Threads: one. Ownership: plain data. Not for: the cause (boot_verdict.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_DOUBTS_H
#define AUTOLOGGER_ANALYSIS_BOOT_DOUBTS_H
#include "autologger/analysis/boot.h"

enum { BOOT_DOUBTS_MOST = 8, BOOT_DOUBT = 160 };
/* The sentence where there is no doubt. */
#define BOOT_SURE "nothing was lost; who ran, who waited and who ended it was recorded"

struct boot_doubts {
    char     text[BOOT_DOUBTS_MOST][BOOT_DOUBT];
    unsigned count; /* 0: sure */
    bool     lost;  /* the recording has losses or damage */
};
/* The first context switch came more than two seconds after user space began. */
bool boot_seen_late(const struct boot *b);
void boot_doubts_find(const struct boot *b, struct boot_doubts *out);
#endif
