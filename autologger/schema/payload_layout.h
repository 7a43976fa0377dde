/* payload_layout.h - the places of the event fields that a payload filter tests (wire/payload_filter.h), from the
 * event's description.
 * Threads: any. Not for: TraceLogging events, which carry their own description. */
#ifndef AUTOLOGGER_SCHEMA_PAYLOAD_LAYOUT_H
#define AUTOLOGGER_SCHEMA_PAYLOAD_LAYOUT_H
#include "autologger/schema/schema.h"
#include "autologger/wire/payload_filter.h"

/* Fills in id, version, the steps up to the last field that a predicate of the clause names, and the step of each
 * predicate. W_INVALID_PARAMETER: there is no such field; W_NOT_SUPPORTED: an earlier field can't be skipped without
 * reading all of the event. */
wstatus payload_layout(const struct schema_event *event, struct payload_clause *clause, struct reason *why);
#endif
