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

static void appointment_set(time_t seconds, struct appointment *out)
{
    struct tm utc;
    out->seconds = seconds;
    if (gmtime_r(&seconds, &utc))
        strftime(out->calendar, sizeof out->calendar, "%Y-%m-%d %H:%M:%S UTC", &utc);
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

/* The fields of a date and time; *used: characters that were read, 0: none of the two forms. */
static void appointment_scan(const char *text, struct tm *t, int *used)
{
    static const char *const forms[] = {"%2d/%2d/%4d %2d:%2d%n:%2d%n", "%4d-%2d-%2d %2d:%2d%n:%2d%n"};
    int                      a, b, c;
    for (unsigned i = 0; i < 2; i++) {
        *used     = 0;
        t->tm_sec = 0;
        if (sscanf(text, forms[i], &a, &b, &c, &t->tm_hour, &t->tm_min, used, &t->tm_sec, used) < 5 || !*used)
            continue;
        t->tm_year = (i ? a : c) - 1900;
        t->tm_mon  = (i ? b : a) - 1;
        t->tm_mday = i ? c : b;
        return;
    }
    *used = 0;
}

enum appointment_kind appointment_parse(const char *text, struct appointment *out)
{
    struct tm t = {.tm_isdst = -1};
    int       used;
    appointment_scan(text, &t, &used);
    if (!used || !appointment_half(text + used, &t.tm_hour))
        return APPOINTMENT_NO_TIME;
    struct tm    meant  = t;
    const time_t second = mktime(&t);
    if (second == -1 || !appointment_is(&t, &meant))
        return APPOINTMENT_NO_TIME;
    appointment_set(second, out);
    return second > time(NULL) ? APPOINTMENT_TO_COME : APPOINTMENT_PAST;
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
