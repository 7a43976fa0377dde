#include "registry-sim/win32/utf16.h"

#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

enum { REPLACEMENT = 0xFFFD };

/* One code point of UTF-8 (surrogates allowed: registry names hold them); malformed bytes give U+FFFD one by one. */
static uint32_t utf8_next(const uint8_t **p, const uint8_t *end)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    uint32_t              c       = *(*p)++;
    int more = c < 0x80 ? 0 : c >= 0xC2 && c < 0xE0 ? 1 : c >= 0xE0 && c < 0xF0 ? 2 : c >= 0xF0 && c < 0xF5 ? 3 : -1;

    if (more < 0 || end - *p < more)
        return REPLACEMENT;
    if (more)
        c &= 0x3Fu >> more;
    for (int i = 0; i < more; i++) {
        if (((*p)[i] & 0xC0) != 0x80)
            return REPLACEMENT;
        c = c << 6 | ((*p)[i] & 0x3Fu);
    }
    if (c < least[more] || c > 0x10FFFF)
        return REPLACEMENT;
    *p += more;
    return c;
}

static size_t utf8_put(uint32_t c, char out[4])
{
    if (c < 0x80)
        return out[0] = (char)c, 1;
    if (c < 0x800)
        return out[0] = (char)(0xC0 | c >> 6), out[1] = (char)(0x80 | (c & 0x3F)), 2;
    if (c < 0x10000)
        return out[0] = (char)(0xE0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 0x3F)),
               out[2] = (char)(0x80 | (c & 0x3F)), 3;
    out[0] = (char)(0xF0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F)), out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

size_t utf16le_to_utf8(const void *data, size_t size, char *out, size_t capacity)
{
    const uint8_t *p    = data;
    size_t         need = 0, kept = 0;

    for (size_t i = 0; i + 1 < size; i += 2) {
        uint32_t c = (uint32_t)(p[i] | p[i + 1] << 8);
        if (c >= 0xD800 && c < 0xDC00 && i + 3 < size) {
            uint32_t low = (uint32_t)(p[i + 2] | p[i + 3] << 8);
            if (low >= 0xDC00 && low < 0xE000) {
                c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
                i += 2;
            }
        }
        char   bytes[4];
        size_t n = utf8_put(c, bytes);
        if (need == kept && need + n < capacity) { /* whole characters only */
            memcpy(out + need, bytes, n);
            kept += n;
        }
        need += n;
    }
    if (capacity)
        out[kept] = 0;
    return need;
}

size_t utf8_to_utf16le(const char *text, size_t length, void *out, size_t capacity)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + length;
    uint8_t       *o    = out;
    size_t         need = 0;

    while (p < end) {
        uint32_t c        = utf8_next(&p, end);
        uint16_t units[2] = {(uint16_t)c};
        size_t   n        = 1;
        if (c >= 0x10000) {
            units[0] = (uint16_t)(0xD800 + ((c - 0x10000) >> 10));
            units[1] = (uint16_t)(0xDC00 + (c & 0x3FF));
            n        = 2;
        }
        for (size_t i = 0; i < n; i++, need += 2)
            if (need + 2 <= capacity)
                o[need] = (uint8_t)units[i], o[need + 1] = (uint8_t)(units[i] >> 8);
    }
    return need;
}

static locale_t fold_locale;
static void     fold_locale_open(void) { fold_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); }

uint16_t utf16_upper(uint16_t unit)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (unit < 0x80)
        return unit >= 'a' && unit <= 'z' ? (uint16_t)(unit - 32) : unit;
    if (unit >= 0xD800 && unit < 0xE000)
        return unit;
    pthread_once(&once, fold_locale_open);
    if (!fold_locale)
        return unit;
    wint_t up = towupper_l(unit, fold_locale);
    return up < 0x10000 ? (uint16_t)up : unit;
}

/* Folding works on code points; those over U+FFFF have no case in the registry's mapping. */
static uint32_t win32_utf16_upper(uint32_t c) { return c < 0x10000 ? utf16_upper((uint16_t)c) : c; }

int name_compare(const char *a, const char *b)
{
    const uint8_t *p = (const uint8_t *)a, *q = (const uint8_t *)b;

    /* nearly all names are ASCII, and a boot waits for lookups in the store */
    for (; *p < 0x80 && *q < 0x80; p++, q++) {
        uint8_t x = *p >= 'a' && *p <= 'z' ? (uint8_t)(*p - 32) : *p,
                y = *q >= 'a' && *q <= 'z' ? (uint8_t)(*q - 32) : *q;
        if (x != y)
            return x < y ? -1 : 1;
        if (!x)
            return 0;
    }
    const uint8_t *pe = p + strlen((const char *)p), *qe = q + strlen((const char *)q);
    while (p < pe && q < qe) {
        uint32_t x = win32_utf16_upper(utf8_next(&p, pe)), y = win32_utf16_upper(utf8_next(&q, qe));
        if (x != y)
            return x < y ? -1 : 1;
    }
    return (p < pe) - (q < qe);
}

char *name_fold_dup(const char *name)
{
    const uint8_t *p = (const uint8_t *)name, *end = p + strlen(name);
    char          *out = malloc((size_t)(end - p) * 3 + 1), *o = out; /* a fold can grow a character by one byte */

    if (!out)
        return NULL;
    while (p < end)
        o += utf8_put(win32_utf16_upper(utf8_next(&p, end)), o);
    *o = 0;
    return out;
}
