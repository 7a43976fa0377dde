/* foreign.c - see foreign.h. */
#include "registry-sim/text/foreign.h"

#include "registry-sim/text/encoding.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LOOKED_AT = 256 << 10 }; /* bytes of the file: the identifying line is near its beginning */

/* A line that only files of this kind have: it begins with `begin` and contains `holds`; for XML it contains the
 * element `begin`. */
static const struct foreign_kind {
    const char *begin, *holds, *what, *advice;
} foreign_kinds[] = {
    {"Signature", "$Windows NT$", "this is an INF file of a driver package, not a configuration",
     "put it into the store with `autologger import FILE`"},
    {"Signature", "$CHICAGO$", "this is an INF file of a driver package, not a configuration",
     "put it into the store with `autologger import FILE`"},
    {"HKLM,", "", "this is an AddReg section of an INF file, not a configuration",
     "put it into the store with `autologger import FILE`"},
    {"HKR,", "", "this is an AddReg section of an INF file, not a configuration",
     "put its lines below HKLM into the store with `autologger import FILE`"},
    {"<WindowsPerformanceRecorder", "",
     "this is a profile of Windows Performance Recorder (.wprp), not a configuration",
     "put it into the store with `autologger import FILE`"},
    {"<instrumentationManifest", "", "this is an instrumentation manifest, not a configuration",
     "install it with `autologger manifest install FILE`"},
};

static const char *foreign_holds(const char *line, size_t n, const char *word)
{
    const size_t w = strlen(word);
    for (size_t i = 0; i + w <= n; i++)
        if (strncasecmp(line + i, word, w) == 0)
            return line + i;
    return NULL;
}

static bool foreign_line_is(const char *line, size_t n, const struct foreign_kind *k)
{
    while (n && (*line == ' ' || *line == '\t'))
        line++, n--;
    if (*k->begin == '<') /* an element may follow another one */
        return foreign_holds(line, n, k->begin) != NULL;
    const size_t b = strlen(k->begin);
    return n >= b && strncasecmp(line, k->begin, b) == 0 && foreign_holds(line, n, k->holds);
}

wstatus foreign_find(const void *data, size_t size, struct foreign *out)
{
    char         *text   = NULL;
    size_t        length = 0;
    enum encoding was;
    struct reason why;
    bool          found = false;

    *out       = (struct foreign){0};
    wstatus st = encoding_to_utf8(size ? data : "", size < LOOKED_AT ? size : LOOKED_AT, &text, &length, &was, &why);
    if (st != W_SUCCESS)
        return st == W_NOT_ENOUGH_MEMORY ? st : W_SUCCESS; /* the dialect's reader reports the mistake */
    uint32_t line = 1;
    for (const char *p = text, *end = text + length; p < end && !found; line++) {
        const char  *nl = memchr(p, '\n', (size_t)(end - p));
        const size_t n  = (size_t)((nl ? nl : end) - p);
        for (size_t i = 0; i < sizeof foreign_kinds / sizeof *foreign_kinds && !found; i++)
            if ((found = foreign_line_is(p, n, &foreign_kinds[i])))
                *out = (struct foreign){foreign_kinds[i].what, foreign_kinds[i].advice, line};
        p = nl ? nl + 1 : end;
    }
    free(text);
    return W_SUCCESS;
}

wstatus foreign_refuse(const void *data, size_t size, const char *file, struct diag_sink *sink, struct reason *why)
{
    struct diag_sink own = {0};
    struct foreign   other;

    if (foreign_find(data, size, &other) != W_SUCCESS)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", file);
    if (!other.what)
        return W_SUCCESS;
    diag_report(sink ? sink : &own, DIAG_ERROR, file, other.line, other.advice, "%s", other.what);
    return reason_set(why, W_INVALID_DATA, "%s: 1 mistake, nothing was imported", file);
}
