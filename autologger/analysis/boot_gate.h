/* boot_gate.h - may a change of boots pass? Rules such as "total +3 %" over the figures of boots before and after
 * (boot_figures.h). A rule fails only when the boots show that the limit is exceeded, and holds only when they show that
 * it is not; else it is not known yet, and more boots are needed. An item that a boot does not have counts as 0 there.
 * Risk: BOOT_GATE_RISK of the judgements of a rule may be wrong, however many items it covers (Bonferroni's
 * correction).
 * Threads: one. Not for: what got slower in one boot (boot_compare.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_GATE_H
#define AUTOLOGGER_ANALYSIS_BOOT_GATE_H
#include "autologger/analysis/boot_figures.h"
#include "autologger/analysis/samples.h"

#define BOOT_GATE_RISK 0.02
enum { BOOT_GATE_NAME = 128 };

struct boot_gate_rule {
    bool                   every; /* items of each kind */
    enum boot_compare_kind kind;
    char                   name[BOOT_GATE_NAME]; /* of one item; "": every item of that kind */
    bool                   relative;             /* the limit is a share of the median before, else ns */
    double                 limit;
    char                   text[2 * BOOT_GATE_NAME]; /* as it was given */
};
/* "total +3 %", "unit +200 ms", "unit:ssh.service +1 s", "any +5 %". W_INVALID_PARAMETER. */
wstatus boot_gate_parse(const char *text, struct boot_gate_rule *out, struct reason *why);

/* One item's figures on both sides, in ns. */
struct boot_shift {
    const struct boot_item *item;          /* of the figures */
    double                  before, after; /* medians */
    struct sample_shift     by;
};
/* Boots [0, before) are before, the others after; both at least one. False: no memory. */
bool boot_shift_of(const struct boot_figures *f, const struct boot_item *item, unsigned before, double risk,
                   struct boot_shift *out);

enum boot_gate_verdict { GATE_HOLDS, GATE_EXCEEDED, GATE_NOT_KNOWN };
struct boot_gate {
    enum boot_gate_verdict verdict;
    unsigned               items; /* that the rule covers */
    struct boot_shift
             worst; /* the reason of the verdict: the largest shift over its limit. item NULL: no item is covered */
    double   limit; /* of that item, ns */
    unsigned more;  /* not known: about so many more boots a side; 0: more than GATE_MORE_MOST */
};
enum { GATE_MORE_MOST = 200 };
/* `least`: a shift of fewer ns never fails a rule, and shorter items are not looked at. False: no memory. */
bool boot_gate_judge(const struct boot_figures *f, unsigned before, const struct boot_gate_rule *rule, double least,
                     struct boot_gate *out);
#endif
