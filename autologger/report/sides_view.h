/* sides_view.h - boots before and after a change, and the answers of gates: as text, as one JSON value, as JUnit's XML.
 * Threads: one. Not for: the figures (analysis/boot_sides.h, boot_gate.h). */
#ifndef AUTOLOGGER_REPORT_SIDES_VIEW_H
#define AUTOLOGGER_REPORT_SIDES_VIEW_H
#include "autologger/analysis/boot_sides.h"
#include "autologger/schema/text.h"

#include <stdio.h>

struct yajl_gen_t;
struct sides_gate {
    struct boot_gate_rule rule;
    struct boot_gate      gate;
};
void sides_text(const struct boot_sides *s, FILE *out);
void sides_gate_text(const struct sides_gate *g, FILE *out); /* one line */
void sides_json(const struct boot_sides *s, const struct sides_gate *gates, unsigned count, struct yajl_gen_t *gen);
/* A test suite with a test for each gate: exceeded is a failure, not known yet an error. */
void sides_junit(const struct sides_gate *gates, unsigned count, struct text *out);
#endif
