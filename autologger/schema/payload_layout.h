/* payload_layout.h - where the fields of an event stand that a payload filter asks about (wire/payload_filter.h), out
 * of what describes it.
 * Threads: any. Not for: TraceLogging events, which bring their own description. */
#ifndef AUTOLOGGER_SCHEMA_PAYLOAD_LAYOUT_H
#define AUTOLOGGER_SCHEMA_PAYLOAD_LAYOUT_H
#include "autologger/schema/schema.h"
#include "autologger/wire/payload_filter.h"

/* Fills in id, version, the steps up to the last field that a predicate of the clause names, and which step each is.
 * W_INVALID_PARAMETER: there is no such field;
 * W_NOT_SUPPORTED: something before it cannot be passed over without reading all of the event. */
wstatus payload_layout(const struct schema_event *event, struct payload_clause *clause, struct reason *why);
#endif
