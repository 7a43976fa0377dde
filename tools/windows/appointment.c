/* appointment.c - see appointment.h. */
#include "tools/windows/appointment.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SECONDS_MOST = 365 * 86400 };

static bool appointment_is(const struct tm *a, const struct tm *b)
{
    return a->tm_year == b->tm_year && a->tm_mon == b->tm_mon && a->tm_mday == b->tm_mday && a->tm_hour == b->tm_hour &&
           a->tm_min == b->tm_min && a->tm_sec == b->tm_sec;
}

static bool appointment_set(time_t seconds, struct appointment *out)
{
    struct tm local;
    out->seconds = seconds;
    return localtime_r(&seconds, &local) && strftime(out->calendar, sizeof out->calendar, "%Y-%m-%d %H:%M:%S", &local);
}

/* The hour of "AM" and "PM"; false: another word, or an hour that it cannot have. */
static bool appointment_half(const char *half, int *hour)
{
    half += strspn(half, " ");
    if (!*half)
        return true;
    if ((strcasecmp(half, "AM") != 0 && strcasecmp(half, "PM") != 0) || *hour < 1 || *hour > 12)
        return false;
    *hour = *hour % 12 + (toupper((unsigned char)*half) == 'P' ? 12 : 0);
    return true;
}

bool appointment_parse(const char *text, struct appointment *out)
{
    struct tm t    = {.tm_isdst = -1};
    int       used = 0, year = 0, month = 0;
    if (sscanf(text, "%2d/%2d/%4d %2d:%2d:%2d%n", &month, &t.tm_mday, &year, &t.tm_hour, &t.tm_min, &t.tm_sec, &used) !=
            6 &&
        (used = 0, t.tm_sec = 0,
         sscanf(text, "%4d-%2d-%2d %2d:%2d%n:%2d%n", &year, &month, &t.tm_mday, &t.tm_hour, &t.tm_min, &used, &t.tm_sec,
                &used) < 5))
        return false;
    if (!used || !appointment_half(text + used, &t.tm_hour))
        return false;
    t.tm_year           = year - 1900;
    t.tm_mon            = month - 1;
    struct tm    meant  = t;
    const time_t second = mktime(&t);
    return second != -1 && appointment_is(&t, &meant) && second > time(NULL) && appointment_set(second, out);
}

void appointment_after(const struct appointment *from, unsigned seconds, struct appointment *out)
{
    appointment_set(from->seconds + (time_t)seconds, out);
}

bool appointment_length(const char *text, unsigned *seconds)
{
    unsigned long long sum   = 0;
    unsigned           parts = 0;
    for (const char *p = text;; p++) {
        unsigned long long part = 0;
        size_t             n    = 0;
        for (; isdigit((unsigned char)*p) && n < 9; p++, n++)
            part = part * 10 + (unsigned)(*p - '0');
        if (!n || ++parts > 3 || (parts > 1 && part > 59))
            return false;
        sum = sum * 60 + part;
        if (*p != ':') {
            *seconds = (unsigned)sum;
            return !*p && sum <= SECONDS_MOST;
        }
    }
}
