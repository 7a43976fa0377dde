/* boot_verdict_rules.h - shared by the files of the rules. Private to boot_verdict*.c.
 * Threads: one. Ownership: a finding owns its sentence and numbers; it borrows `rule` and `next` from the rules, and
 * `about` from the boot. */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_VERDICT_RULES_H
#define AUTOLOGGER_ANALYSIS_BOOT_VERDICT_RULES_H
#include "autologger/analysis/boot_verdict.h"

enum { BOOT_FINDING_LEAST = 300000000 /* ns: a smaller cost is no finding */ };
#define BOOT_SAY(f, ...) snprintf((f)->sentence, sizeof(f)->sentence, __VA_ARGS__)
#define BOOT_NUMBER(f, i, label, ...) \
    (snprintf((f)->number[i].what, sizeof(f)->number[i].what, "%s", label), \
     snprintf((f)->number[i].value, sizeof(f)->number[i].value, __VA_ARGS__))

static inline int64_t boot_later(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t boot_sooner(int64_t a, int64_t b) { return a < b ? a : b; }
/* How much of [a, b) lies in [from, to). */
static inline int64_t boot_between(int64_t a, int64_t b, int64_t from, int64_t to)
{
    const int64_t start = boot_later(a, from), end = boot_sooner(b, to);
    return end > start ? end - start : 0;
}
/* boot_verdict_device.c. Fills *f with the probe, or the wait for a deferred device, that cost most on the path (a
 * deferral also if it cost 90 % of that). False: none cost enough. The caller drops a cost below BOOT_FINDING_LEAST. */
bool boot_rule_device(const struct boot *b, const struct boot_path *p, struct boot_finding *f);
#endif
