/* compare_sides.h - carries out `autologger compare BEFORE... vs AFTER...`: reads the boots of both sides, compares them,
 * and judges gates.
 * Threads: one. Not for: options (cmd_compare.c), one boot after (compare_run.h). */
#ifndef TOOLS_COMPARE_SIDES_H
#define TOOLS_COMPARE_SIDES_H
#include "autologger/report/sides_view.h"
#include "tools/base/cmdline.h"

enum { SIDES_GATES = 32, SIDES_FILES = 2000 };
struct compare_sides {
    struct cmdline    common;
    const char      **before, **after; /* traces, and folders of traces (*.etl) */
    unsigned          before_count, after_count;
    const char       *junit; /* NULL: none */
    double            least_ms;
    struct sides_gate gates[SIDES_GATES];
    unsigned          gate_count;
};
enum { SIDES_NOT_KNOWN = 2 }; /* exit code: no gate is exceeded, and at least one is not known yet */
/* SIDES_NOT_KNOWN, or an exit code of enum verb_exit; VERB_FAILED: a gate is exceeded, or there is nothing to compare. */
int compare_sides(struct compare_sides *a);
#endif
