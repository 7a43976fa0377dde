/* foreign.h - recognises other programs' files that look like a configuration, so that import refuses them with one
 * message instead of an error per line. Pure; any thread. Not for: reading them. */
#ifndef REGISTRY_SIM_TEXT_FOREIGN_H
#define REGISTRY_SIM_TEXT_FOREIGN_H
#include "registry-sim/text/dialect.h"

#include <stddef.h>
#include <stdint.h>

struct foreign {
    const char *what, *advice; /* static */
    uint32_t    line;          /* the line that identifies the file */
};
/* Identifies a file by its bytes (UTF-8 or UTF-16). `what` is NULL for an unknown kind. W_NOT_ENOUGH_MEMORY. */
wstatus foreign_find(const void *data, size_t size, struct foreign *out);
/* Reports a recognised file as one error: W_INVALID_DATA; else 0; W_NOT_ENOUGH_MEMORY. */
wstatus foreign_refuse(const void *data, size_t size, const char *file, struct diag_sink *sink, struct reason *why);
#endif
