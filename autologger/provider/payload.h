/* payload.h - whether an event's payload meets a filter (wire/payload_filter.h), read from the pieces that the program
 * hands over.
 * Invariants: F1 and F2 of filter.h: no length in the filter is trusted, no lock, allocation or system call. The
 * payload is the program's own. An event that no entry names passes. A predicate holds only where its field exists,
 * stands alone, and has a type that it can be compared as; a field that a description cannot find meets no predicate.
 * Threads: any, signal handlers too. Not for: making a filter. */
#ifndef AUTOLOGGER_PROVIDER_PAYLOAD_H
#define AUTOLOGGER_PROVIDER_PAYLOAD_H
#include "autologger/provider/filter.h"

bool payload_passes(const uint8_t *part, uint32_t size, const struct filter_event *e);
#endif
