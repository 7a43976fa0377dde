#include "registry-sim/win32/filetime.h"

#include <stdio.h>
#include <time.h>

char *filetime_format(uint64_t filetime, char out[FILETIME_TEXT_SIZE])
{
    time_t    seconds  = (time_t)(filetime / 10000000u) - 11644473600;
    unsigned  fraction = (unsigned)(filetime % 10000000u);
    struct tm tm;

    if (!gmtime_r(&seconds, &tm))
        snprintf(out, FILETIME_TEXT_SIZE, "(no date)");
    else
        snprintf(out, FILETIME_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%07u00Z", (int)(tm.tm_year + 1900) % 100000,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, fraction);
    return out;
}
