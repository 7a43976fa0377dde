/* encoding.c - see encoding.h. */
#include "registry-sim/text/encoding.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

/* Windows-1252 at 0x80..0x9F; the five unassigned bytes keep their number, as in Windows. */
static const uint16_t ansi_high[32] = {
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
};

bool encoding_is_utf8(const void *data, size_t size)
{
    const uint8_t *p = data, *end = p + size;

    while (p < end) {
        unsigned first = *p, low = 0x80,
                 high = 0xBF; /* bounds of the second byte: no overlong form, none past U+10FFFF */
        int more = first < 0x80 ? 0 : first < 0xC2 ? -1 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : first < 0xF5 ? 3 : -1;
        if (more < 0 || end - p <= more)
            return false;
        if (first == 0xE0)
            low = 0xA0;
        if (first == 0xF0)
            low = 0x90;
        if (first == 0xF4)
            high = 0x8F;
        for (int i = 1; i <= more; i++, low = 0x80, high = 0xBF)
            if (p[i] < low || p[i] > high)
                return false;
        p += more + 1;
    }
    return true;
}

void encoding_ansi_to_utf16le(const uint8_t *data, size_t size, uint8_t *out)
{
    for (size_t i = 0; i < size; i++) {
        unsigned c     = data[i] >= 0x80 && data[i] < 0xA0 ? ansi_high[data[i] - 0x80] : data[i];
        out[2 * i]     = (uint8_t)c;
        out[2 * i + 1] = (uint8_t)(c >> 8);
    }
}

static wstatus from_utf16(const void *wide, size_t size, char **text, size_t *length)
{
    *length = utf16le_to_utf8(wide, size, NULL, 0);
    if (!(*text = malloc(*length + 1)))
        return W_NOT_ENOUGH_MEMORY;
    utf16le_to_utf8(wide, size, *text, *length + 1);
    return W_SUCCESS;
}

wstatus encoding_to_utf8(const void *data, size_t size, char **text, size_t *length, enum encoding *was,
                         struct reason *why)
{
    const uint8_t *p  = data;
    wstatus        st = W_SUCCESS;

    *text = NULL;
    *was  = ENCODING_UTF8;
    if (size >= 2 && p[0] == 0xFE && p[1] == 0xFF)
        return reason_set(why, W_NOT_SUPPORTED, "the file is big-endian UTF-16; save it as UTF-8 or UTF-16LE");
    if (size >= 2 && p[0] == 0xFF && p[1] == 0xFE) {
        *was = ENCODING_UTF16LE;
        st   = from_utf16(p + 2, size - 2, text, length);
    } else if (encoding_is_utf8(data, size)) {
        size_t skip = size >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        *length     = size - skip;
        if ((*text = malloc(*length + 1))) {
            if (*length)
                memcpy(*text, p + skip, *length);
            (*text)[*length] = 0;
        }
    } else {
        *was          = ENCODING_ANSI;
        uint8_t *wide = malloc(size * 2);
        if (wide) {
            encoding_ansi_to_utf16le(data, size, wide);
            st = from_utf16(wide, size * 2, text, length);
        }
        free(wide);
    }
    return st == W_SUCCESS && *text ? W_SUCCESS : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the text");
}
