/* wide_text.h - converts a program's WCHAR name to UTF-8. Threads: any. */
#ifndef AUTOLOGGER_CONSUMER_WIDE_TEXT_H
#define AUTOLOGGER_CONSUMER_WIDE_TEXT_H
#include "autologger/include/evntcons.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>

/* malloc'ed; NULL: no text, `most` units or more, or no memory. */
static inline char *utf8_of_wide(const WCHAR *text, size_t most)
{
    size_t n = 0;
    while (text && n < most && text[n])
        n++;
    if (!text || n == most)
        return NULL;
    size_t need = utf16le_to_utf8(text, n * sizeof *text, NULL, 0) + 1;
    char  *out  = malloc(need);
    if (out)
        utf16le_to_utf8(text, n * sizeof *text, out, need);
    return out;
}
#endif
