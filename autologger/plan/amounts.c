#include "autologger/plan/amounts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct amounts_unit {
    const char *name;
    uint64_t    factor;
};
static const struct amounts_unit sizes[] = {{"B", 1}, {"KB", 1024}, {"MB", 1 << 20}, {"GB", 1 << 30}, {NULL, 0}};
static const struct amounts_unit amounts_times[] = {{"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}, {NULL, 0}};

bool amount_number(const char **text, uint64_t *out)
{
    bool  hex = strncasecmp(*text, "0x", 2) == 0;
    char *end;

    if (!isxdigit((unsigned char)(*text)[hex ? 2 : 0]) || (!hex && !isdigit((unsigned char)**text)))
        return false;
    errno                    = 0;
    unsigned long long value = strtoull(*text, &end, hex ? 16 : 10);
    if (errno)
        return false;
    *text = end + strspn(end, " \t");
    *out  = value;
    return true;
}

wstatus amount_parse_number(const char *text, uint64_t *out, struct reason *why)
{
    const char *p = text;

    if (!amount_number(&p, out) || *p)
        return reason_set(why, W_INVALID_PARAMETER, "'%.64s' is not a number (decimal, or 0x and hexadecimal)", text);
    return W_SUCCESS;
}

static wstatus parse_amount(const char *text, const char *base, const struct amounts_unit *units, uint64_t *out,
                            struct reason *why)
{
    const char *p = text;
    char        all[32];
    size_t      used = 0;

    if (amount_number(&p, out)) {
        if (!*p)
            p = base;
        for (const struct amounts_unit *u = units; u->name; u++)
            if (strcasecmp(u->name, p) == 0) {
                if (__builtin_mul_overflow(*out, u->factor, out))
                    return reason_set(why, W_INVALID_PARAMETER, "'%.64s' is too large", text);
                return W_SUCCESS;
            }
    }
    for (const struct amounts_unit *u = units; u->name; u++) {
        size_t n = strlen(u->name);
        memcpy(all + used, u->name, n);
        all[used + n] = ' ';
        used += n + 1;
    }
    all[used - 1] = '\0';
    return reason_set(why, W_INVALID_PARAMETER, "'%.64s' is not a number with one of the units %s", text, all);
}

wstatus amount_parse_size(const char *text, const char *base, uint64_t *bytes, struct reason *why)
{
    return parse_amount(text, base, sizes, bytes, why);
}

wstatus amount_parse_time(const char *text, const char *base, uint64_t *milliseconds, struct reason *why)
{
    return parse_amount(text, base, amounts_times, milliseconds, why);
}
