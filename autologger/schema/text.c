#include "autologger/schema/text.h"

#include "registry-sim/win32/utf16.h"
#include "registry-sim/win32/visible.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_finish(struct text *t)
{
    free(t->data);
    *t = (struct text){0};
}

void text_cut(struct text *t, size_t length)
{
    if (t->data && length <= t->length) {
        t->length       = length;
        t->data[length] = 0;
    }
}

const char *text_get(const struct text *t) { return t->data ? t->data : ""; }

/* Room for `more` bytes and a NUL. */
static bool text_reserve(struct text *t, size_t more)
{
    if (t->length + more + 1 > t->capacity) {
        size_t capacity = (t->length + more + 1) * 2;
        char  *grown    = realloc(t->data, capacity);
        if (!grown) {
            t->failed = true;
            return false;
        }
        t->data     = grown;
        t->capacity = capacity;
    }
    return true;
}

void text_grow_add(struct text *t, const void *bytes, size_t size)
{
    if (!text_reserve(t, size))
        return;
    if (size)
        memcpy(t->data + t->length, bytes, size);
    t->length += size;
    t->data[t->length] = 0;
}

void text_printf(struct text *t, const char *format, ...)
{
    va_list args;

    if (!text_reserve(t, 64))
        return;
    va_start(args, format);
    int n = vsnprintf(t->data + t->length, t->capacity - t->length, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n >= t->capacity - t->length && text_reserve(t, (size_t)n)) {
        va_start(args, format);
        n = vsnprintf(t->data + t->length, t->capacity - t->length, format, args);
        va_end(args);
    }
    if (n > 0 && (size_t)n < t->capacity - t->length)
        t->length += (size_t)n;
    t->data[t->length] = 0;
}

/* Bytes of the well-formed UTF-8 character at p, or 0. */
static size_t utf8_length(const uint8_t *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xC2 && p[0] < 0xE0 ? 2 : (p[0] & 0xF0) == 0xE0 ? 3 : p[0] >= 0xF0 && p[0] < 0xF5 ? 4 : 0;
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    bool too_long = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
    bool outside  = (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF4 && p[1] > 0x8F); /* surrogates; over U+10FFFF */
    return too_long || outside ? 0 : n;
}

/* Bytes of 7 bits at the beginning. */
static size_t ascii_length(const uint8_t *p, size_t size)
{
    size_t   n = 0;
    uint64_t eight;

    for (; n + sizeof eight <= size; n += sizeof eight) {
        memcpy(&eight, p + n, sizeof eight);
        if (eight & UINT64_C(0x8080808080808080))
            break;
    }
    while (n < size && p[n] < 0x80)
        n++;
    return n;
}

void text_utf8(struct text *t, const void *bytes, size_t size)
{
    const uint8_t *p     = bytes;
    size_t         plain = ascii_length(p, size);

    text_add(t, p, plain);
    p += plain;
    size -= plain;
    for (size_t i = 0, good = 0; i < size || good < size; good = i) {
        size_t n;
        while (i < size && (n = utf8_length(p + i, size - i)))
            i += n;
        text_add(t, p + good, i - good);
        if (i == size)
            break;
        bool surrogate = p[i] == 0xED && size - i >= 3 && p[i + 1] >= 0xA0;
        text_add(t, "\xEF\xBF\xBD", 3);
        i += surrogate ? 3 : 1;
    }
}

void text_visible(struct text *t, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        char         escape[VISIBLE_ESCAPE];
        const size_t plain = visible_length(bytes + at, size - at);
        text_add(t, bytes + at, plain);
        at += plain;
        if (at < size) {
            at += visible_escape_one(bytes + at, size - at, escape);
            text_add(t, escape, strlen(escape));
        }
    }
}

void text_utf16(struct text *t, const void *bytes, size_t size)
{
    size_t most = size / 2 * 3 + 1;
    char  *utf8 = malloc(most);

    if (!utf8) {
        t->failed = true;
        return;
    }
    text_utf8(t, utf8, utf16le_to_utf8(bytes, size, utf8, most));
    free(utf8);
}

void text_hex(struct text *t, const void *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t    *p        = bytes;

    if (!text_reserve(t, 2 * size))
        return;
    for (size_t i = 0; i < size; i++) {
        t->data[t->length++] = digits[p[i] >> 4];
        t->data[t->length++] = digits[p[i] & 15];
    }
    t->data[t->length] = 0;
}

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354"
    "555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

void text_unsigned(struct text *t, uint64_t v)
{
    char digits[20], *p = digits + sizeof digits;

    for (; v >= 100; v /= 100)
        memcpy(p -= 2, pairs + v % 100 * 2, 2);
    if (v >= 10)
        memcpy(p -= 2, pairs + v * 2, 2);
    else
        *--p = (char)('0' + v);
    text_add(t, p, (size_t)(digits + sizeof digits - p));
}

void text_signed(struct text *t, int64_t v)
{
    if (v < 0)
        text_add(t, "-", 1);
    text_unsigned(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void text_hexnumber(struct text *t, uint64_t v)
{
    char digits[18], *p = digits + sizeof digits;

    do
        *--p = "0123456789abcdef"[v & 15];
    while (v >>= 4);
    memcpy(p -= 2, "0x", 2);
    text_add(t, p, (size_t)(digits + sizeof digits - p));
}

/* Numbers with few digits behind the point, as most are: the digits are exact, so multiplication finds them. */
static bool text_short_floating(struct text *t, double v, int digits)
{
    /* below these limits six digits behind the point complete the `digits` */
    static const double most[]   = {[9] = 1e3, [17] = 1e11};
    double              positive = fabs(v), whole, rest, shifted;

    if ((digits != 9 && digits != 17) || !(positive < most[digits]))
        return false;
    whole   = floor(positive);
    rest    = positive - whole;
    shifted = rest * 1e6;
    /* the last test: %g writes an exponent */
    if (shifted != floor(shifted) || fma(rest, 1e6, -shifted) != 0 || (whole == 0 && shifted < 100))
        return false;
    if (signbit(v))
        text_add(t, "-", 1);
    text_unsigned(t, (uint64_t)whole);
    unsigned left = (unsigned)shifted;
    if (left) {
        char decimals[7] = {'.'};
        int  n           = 7;
        for (int i = 6; i > 0; i--, left /= 10)
            decimals[i] = (char)('0' + left % 10);
        while (decimals[n - 1] == '0')
            n--;
        text_add(t, decimals, (size_t)n);
    }
    return true;
}

void text_floating(struct text *t, double v, int digits)
{
    if (v == 0 || !text_short_floating(t, v, digits))
        text_printf(t, "%.*g", digits, v);
}

void text_xml(struct text *out, const char *p, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)p[i];
        switch (c) {
        case '&': text_add(out, "&amp;", 5); break;
        case '<': text_add(out, "&lt;", 4); break;
        case '>': text_add(out, "&gt;", 4); break;
        case '"': text_add(out, "&quot;", 6); break;
        case '\t':
        case '\n':
        case '\r': text_printf(out, "&#%u;", c); break; /* else an attribute has a blank there */
        default:
            if (c < ' ') {
                text_add(out, "\xEF\xBF\xBD", 3);
            } else if (c == 0xEF && i + 2 < size && (unsigned char)p[i + 1] == 0xBF &&
                       (unsigned char)p[i + 2] >= 0xBE) {
                text_add(out, "\xEF\xBF\xBD", 3); /* U+FFFE, U+FFFF */
                i += 2;
            } else if (c >= 0x7F) {
                uint32_t     code;
                bool         valid;
                const size_t n = visible_character(p + i, size - i, &code, &valid);
                if (visible_length(p + i, n) == n)
                    text_add(out, p + i, n);
                else
                    text_printf(out, "&#x%x;", valid ? code : 0xFFFD); /* XML allows C1 and direction marks so */
                i += n - 1;
            } else {
                text_add(out, p + i, 1);
            }
        }
    }
}
