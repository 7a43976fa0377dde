/* boot_verdict.h - what made a boot slow: one sentence, three numbers, what to look at next; and what else cost time.
 * Each rule (boot_rules.def) gives at most one finding, slow-unit up to three. Cost: an estimate of how much longer the
 * boot took: the part of the finding's time on the critical path, or without a path a quarter of its length.
 * A trace that is not of a boot has findings of few rules, and their words do not mention a boot.
 * Threads: one. Ownership: plain data; borrows words from the rules, and `about` from the boot. Not for: what is on the
 * path (boot_path.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_VERDICT_H
#define AUTOLOGGER_ANALYSIS_BOOT_VERDICT_H
#include "autologger/analysis/boot_path.h"

struct boot_number {
    char what[48], value[48];
};
struct boot_finding {
    const char        *rule, *next;
    double             score;
    int64_t            cost, start, end;
    int                unit, process;
    const char        *about; /* name of a device, borrowed from the boot; NULL: of none */
    char               sentence[800];
    struct boot_number number[3];
};
enum { BOOT_FINDINGS_MOST = 16 };
struct boot_verdict {
    struct boot_finding finding[BOOT_FINDINGS_MOST]; /* the first is the verdict; none: nothing stands out */
    unsigned            findings;
    char                sentence[800]; /* of the verdict; without a verdict: the reason for that */
};
void boot_verdict_make(const struct boot *b, const struct boot_path *p, struct boot_verdict *out);
#endif
