/* id_words.c - see id_words.h. */
#include "autologger/plan/id_words.h"
#include "autologger/plan/amounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORD = 32 };

/* "17" or "100-120". */
static wstatus range_parse(const char *word, uint64_t *first, uint64_t *last, struct reason *why)
{
    const char *dash = strchr(word, '-');
    char        low[WORD];
    snprintf(low, sizeof low, "%.*s", dash ? (int)(dash - word) : (int)strlen(word), word);
    for (size_t n = strlen(low); n && strchr(" \t", low[n - 1]); n--)
        low[n - 1] = 0;
    wstatus st = amount_parse_number(low, first, why);
    *last      = *first;
    if (!st && dash)
        st = amount_parse_number(dash + 1 + strspn(dash + 1, " \t"), last, why);
    if (!st && (*last > UINT16_MAX || *first > *last))
        st = reason_set(why, W_INVALID_PARAMETER, "'%s' is no event id of 16 bits, and no range of them", word);
    return st;
}

wstatus id_words_parse(const char *text, uint16_t ids[FILTER_IDS], unsigned *count, bool *in, struct reason *why)
{
    const char *p = text + strspn(text, " \t");
    *in           = strncasecmp(p, "not", 3) != 0 || !strchr(" \t,", p[3]);
    *count        = 0;
    for (p += *in ? 0 : 3; *(p += strspn(p, " \t,"));) {
        char         word[WORD];
        uint64_t     first, last;
        const size_t n = strcspn(p, ",");
        if (n >= sizeof word)
            return reason_set(why, W_INVALID_PARAMETER, "'%.40s' is no event id", p);
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        for (size_t k = n; k && strchr(" \t", word[k - 1]); k--)
            word[k - 1] = 0;
        wstatus st = range_parse(word, &first, &last, why);
        if (st)
            return st;
        if (last - first >= FILTER_IDS - *count)
            return reason_set(why, W_INVALID_PARAMETER, "with '%s' there are more than %d event ids", word, FILTER_IDS);
        while (first <= last)
            ids[(*count)++] = (uint16_t)first++;
        p += n;
    }
    return *count ? W_SUCCESS : reason_set(why, W_INVALID_PARAMETER, "'%.40s' names no event id", text);
}

char *id_words_print(const uint8_t *bytes, uint32_t size)
{
    enum { ONE = sizeof "65535-65535, " };
    const uint32_t count = size / 2;
    char          *text  = calloc(1, (size_t)count * ONE + 1);
    size_t         n     = 0;
    uint16_t       id, next;
    for (uint32_t i = 0, from; text && i < count; i++) {
        memcpy(&id, bytes + 2 * i, sizeof id);
        for (from = i; i + 1 < count && (memcpy(&next, bytes + 2 * (i + 1), sizeof next), next == id + (i + 1 - from));
             i++)
            ;
        n += (size_t)sprintf(text + n, "%s%u", n ? ", " : "", id);
        if (i > from)
            n += (size_t)sprintf(text + n, "%s%u", i == from + 1 ? ", " : "-", id + (i - from));
    }
    return text;
}
