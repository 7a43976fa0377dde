#include "registry-sim/win32/guid.h"

#include "registry-sim/win32/sha1.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <string.h>

static int guid_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool guid_parse(const char *text, struct guid *out)
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    bool              braced  = *text == '{';
    uint8_t           bytes[16];
    size_t            digits = 0;

    text += braced;
    for (const char *s = shape; *s; s++, text++) {
        int value = guid_hex_digit(*text);
        if (*s == '-' ? *text != '-' : value < 0)
            return false;
        if (*s == '-')
            continue;
        bytes[digits / 2] = (uint8_t)(digits % 2 ? bytes[digits / 2] | value : value << 4);
        digits++;
    }
    if (braced && *text++ != '}')
        return false;
    if (*text)
        return false;
    out->data1 = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    out->data2 = (uint16_t)(bytes[4] << 8 | bytes[5]);
    out->data3 = (uint16_t)(bytes[6] << 8 | bytes[7]);
    memcpy(out->data4, bytes + 8, 8);
    return true;
}

bool guid_parse_braced(const char *text, struct guid *out) { return *text == '{' && guid_parse(text, out); }

char *guid_format(const struct guid *g, char out[GUID_TEXT_SIZE])
{
    const uint8_t *d = g->data4;
    snprintf(out, GUID_TEXT_SIZE, "{%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x}", g->data1, g->data2, g->data3,
             d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
    return out;
}

bool guid_equal(const struct guid *a, const struct guid *b) { return memcmp(a, b, sizeof *a) == 0; }

bool guid_is_zero(const struct guid *guid)
{
    static const struct guid zero;
    return guid_equal(guid, &zero);
}

struct guid guid_from_name(const char *name)
{
    static const uint8_t space[16] = {0x48, 0x2C, 0x2D, 0xB2, 0xC3, 0x90, 0x47, 0xC8,
                                      0x87, 0xF8, 0x1A, 0x15, 0xBF, 0xC1, 0x30, 0xFB};
    struct sha1          s;
    uint8_t              digest[20];
    struct guid          guid;

    sha1_init(&s);
    sha1_update(&s, space, sizeof space);
    for (const char *p = name; *p;) {
        size_t  step = 1; /* one UTF-8 character at a time: no buffer whose size a name could exceed */
        uint8_t units[4];
        while ((p[step] & 0xC0) == 0x80)
            step++;
        size_t size = utf8_to_utf16le(p, step, units, sizeof units);
        for (size_t i = 0; i + 1 < size && i < sizeof units; i += 2) {
            uint16_t unit  = utf16_upper((uint16_t)(units[i] | units[i + 1] << 8));
            uint8_t  be[2] = {(uint8_t)(unit >> 8), (uint8_t)unit};
            sha1_update(&s, be, sizeof be);
        }
        p += step;
    }
    sha1_final(&s, digest);
    digest[7] = (uint8_t)((digest[7] & 0x0F) | 0x50);
    memcpy(&guid, digest, sizeof guid);
    return guid;
}
