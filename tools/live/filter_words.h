/* filter_words.h - filters of a provider by the words of a declaration, from the command line: "EventIds=not 17,
 * 100-120".
 * Threads: one. Ownership: the block is malloc. Not for: what filters mean (autologger/wire/filter.h,
 * plan/filters.c). */
#ifndef TOOLS_FILTER_WORDS_H
#define TOOLS_FILTER_WORDS_H
#include "autologger/wire/filter.h"
#include "registry-sim/win32/guid.h"

/* Each pair is VALUE=TEXT of the section Filters, or PART/VALUE=TEXT of one below it (EventNameFilter/Names=Start,
 * Stop). `pids`: ids joined by ','; NULL: any. W_INVALID_PARAMETER with what is wrong. */
wstatus filter_words(const struct guid *provider, char *const *pairs, unsigned count, const char *pids,
                     struct filter_block **out, struct reason *why);
#endif
