/* payload.h - whether an event's payload says what a filter asks (wire/payload_filter.h), out of the pieces that the
 * program hands over.
 * Invariants: F1 and F2 of filter.h: no length in the filter is trusted, no lock, allocation or system call. The
 * payload is the program's own. An event that no entry names passes. A predicate holds only where its field is there,
 * stands alone, and is of a type that it can be compared as; what a description cannot find it does not say.
 * Threads: any, signal handlers too. Not for: making a filter. */
#ifndef AUTOLOGGER_PROVIDER_PAYLOAD_H
#define AUTOLOGGER_PROVIDER_PAYLOAD_H
#include "autologger/provider/filter.h"

bool payload_passes(const uint8_t *part, uint32_t size, const struct filter_event *e);
#endif
