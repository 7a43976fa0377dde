/* foreign.h - files of other programs that look like a configuration: recognised, so that they are refused with one
 * sentence, not with a mistake a line. Pure; any thread. Not for: reading them. */
#ifndef REGISTRY_SIM_TEXT_FOREIGN_H
#define REGISTRY_SIM_TEXT_FOREIGN_H
#include "registry-sim/text/dialect.h"

#include <stddef.h>
#include <stdint.h>

struct foreign {
    const char *what, *advice; /* static */
    uint32_t    line;          /* that shows what it is */
};
/* What the bytes of a file are (UTF-8 or UTF-16); `what` NULL: nothing that is known here. W_NOT_ENOUGH_MEMORY. */
wstatus foreign_find(const void *data, size_t size, struct foreign *out);
/* The same, reported as one mistake: W_INVALID_DATA; else 0; W_NOT_ENOUGH_MEMORY. */
wstatus foreign_refuse(const void *data, size_t size, const char *file, struct diag_sink *sink, struct reason *why);
#endif
