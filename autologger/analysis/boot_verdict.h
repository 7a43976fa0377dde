/* boot_verdict.h - what made a boot slow: one sentence, three numbers, what to look at next; and what else cost time.
 * Each rule (boot_rules.def) gives at most one finding, slow-unit up to three. Cost: how much longer the boot took, as
 * far as that can be told: what of it lies on the critical path. Where there is no path, a quarter of its length.
 * A trace that is not of a boot has findings of few rules, none of which speaks of a boot.
 * Threads: one. Ownership: plain data; borrows words from the rules alone. Not for: what is on the path
 * (boot_path.h). */
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
    const char        *about; /* a device's name, of the boot; NULL: it is about none */
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
