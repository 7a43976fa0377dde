/* diag.c - findings; see dialect.h. */
#include "registry-sim/text/dialect.h"

#include <stdarg.h>
#include <stdio.h>

void diag_report(struct diag_sink *sink, enum diag_kind kind, const char *file, uint32_t line, const char *advice,
                 const char *format, ...)
{
    char    what[1024];
    va_list args;

    if (kind == DIAG_ERROR)
        sink->errors++;
    else
        sink->warnings++;
    if (!sink->fn)
        return;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    sink->fn(sink->ctx, &(struct diag){.kind = kind, .file = file, .line = line, .what = what, .advice = advice});
}
