/* filters.h - EVENT_FILTER_DESCRIPTORs as one block (wire/filter.h). Pure.
 * Threads: any. Not for: what they let through. */
#ifndef AUTOLOGGER_CONTROLLER_FILTERS_H
#define AUTOLOGGER_CONTROLLER_FILTERS_H
#include "autologger/include/evntprov.h"
#include "autologger/wire/filter.h"

/* *out: malloc; NULL when there are no filters. W_INVALID_PARAMETER malformed, over a limit, one type twice;
 * W_NOT_SUPPORTED an unknown type; W_NOT_ENOUGH_MEMORY. */
wstatus filters_from(const EVENT_FILTER_DESCRIPTOR *descriptors, ULONG count, struct filter_block **out,
                     struct reason *why);
#endif
