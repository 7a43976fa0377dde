/* literal.c - see literal.h. */
#include "registry-sim/text/literal.h"
#include "registry-sim/base/cursor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WRAP_COLUMN = 76 }; /* regedit continues the line below after this column */

static const char hex_advice[] = "write bytes of two hex digits with commas between, as in hex:01,02,ff";

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool blank(char c) { return c == ' ' || c == '\t'; }

static bool literal_starts(const char *text, size_t length, const char *word)
{
    return length >= strlen(word) && strncasecmp(text, word, strlen(word)) == 0;
}

bool literal_looks_like(const char *text, size_t length)
{
    return literal_starts(text, length, "hex:") || literal_starts(text, length, "hex(") ||
           literal_starts(text, length, "dword:") || literal_starts(text, length, "qword:");
}

static wstatus literal_wrong(struct literal *out, const char *advice, const char *what)
{
    snprintf(out->what, sizeof out->what, "%s", what);
    out->advice = advice;
    return W_INVALID_DATA;
}

/* 1..max hex digits that fill the text. */
static bool literal_number(const char *p, const char *end, int max, uint64_t *out)
{
    if (p == end || end - p > max)
        return false;
    for (*out = 0; p < end; p++) {
        if (digit(*p) < 0)
            return false;
        *out = *out << 4 | (uint64_t)digit(*p);
    }
    return true;
}

static wstatus literal_parse_number(const char *p, const char *end, bool quad, struct literal *out)
{
    uint64_t v;
    if (!literal_number(p, end, quad ? 16 : 8, &v))
        return quad ? literal_wrong(out, "write qword: and 1 to 16 hex digits, without 0x",
                                    "qword: is not followed by 1 to 16 hex digits")
                    : literal_wrong(out, "write dword: and 1 to 8 hex digits, without 0x",
                                    "dword: is not followed by 1 to 8 hex digits");
    out->type = quad ? REG_TYPE_QWORD : REG_TYPE_DWORD;
    out->size = quad ? 8 : 4;
    if (!(out->data = malloc(8)))
        return W_NOT_ENOUGH_MEMORY;
    struct writer w = wr_make(out->data, 8);
    wr_u64(&w, v);
    return W_SUCCESS;
}

static wstatus parse_bytes(const char *p, const char *end, struct literal *out)
{
    bool comma = false; /* a byte must follow */
    if (!(out->data = malloc((size_t)(end - p) / 2 + 1)))
        return W_NOT_ENOUGH_MEMORY;
    for (;; p++) {
        while (p < end && blank(*p))
            p++;
        if (p == end)
            return comma ? literal_wrong(out, hex_advice, "a byte is missing after the last comma") : W_SUCCESS;
        if (out->size && !comma)
            return literal_wrong(out, hex_advice, "a comma is missing between two bytes");
        int high = digit(*p), low = high >= 0 && p + 1 < end ? digit(p[1]) : -1;
        if (high < 0)
            return literal_wrong(out, hex_advice,
                                 *p == ',' ? "a byte is missing between two commas" : "this is no hex digit");
        if (low >= 0)
            p++;
        out->data[out->size++] = (uint8_t)(low >= 0 ? high << 4 | low : high);
        do
            p++;
        while (p < end && blank(*p));
        comma = p < end && *p == ',';
        if (!comma)
            p--; /* the loop's step */
    }
}

static wstatus parse_hex(const char *p, const char *end, struct literal *out)
{
    bool unchecked = false;
    out->type      = REG_TYPE_BINARY;
    if (*p == '(') {
        const char *close = memchr(p, ')', (size_t)(end - p));
        uint64_t    type;
        if (!close || !literal_number(p + 1, close, 8, &type) || close + 1 == end || close[1] != ':')
            return literal_wrong(out, "write hex(N): with the type N as a hex number, as in hex(b):",
                                 "the type of hex(...): is not a hex number");
        unchecked = p[1] == '0';
        out->type = (uint32_t)type;
        p         = close + 1;
    }
    wstatus st = parse_bytes(p + 1, end, out);
    if (st == W_SUCCESS && out->type == REG_TYPE_QWORD && out->size < 8 && !unchecked)
        return literal_wrong(out, "give all 8 bytes, lowest first", "a QWORD, hex(b):, has fewer than 8 bytes");
    return st;
}

wstatus literal_parse(const char *text, size_t length, struct literal *out)
{
    const char *p = text, *end = text + length;
    *out = (struct literal){0};
    while (p < end && blank(*p))
        p++;
    while (end > p && blank(end[-1]))
        end--;
    length = (size_t)(end - p);

    wstatus st;
    if (literal_starts(p, length, "dword:") || literal_starts(p, length, "qword:"))
        st = literal_parse_number(p + 6, end, *p == 'q' || *p == 'Q', out);
    else if (literal_starts(p, length, "hex:") || literal_starts(p, length, "hex("))
        st = parse_hex(p + 3, end, out);
    else
        st = literal_wrong(out, "use a quoted string, dword:, qword:, hex: or hex(N):", "the data has no known form");
    if (st != W_SUCCESS) {
        free(out->data);
        out->data = NULL;
    }
    return st;
}

void literal_print(struct textbuf *out, const struct regvalue *value, size_t column, const char *newline)
{
    static const char digits[] = "0123456789abcdef";
    size_t            start    = out->size;

    if (value->type == REG_TYPE_DWORD && value->size == 4) {
        struct cursor c = cur_make(value->data, value->size);
        textbuf_printf(out, "dword:%08x", cur_u32(&c));
        return;
    }
    if (value->type == REG_TYPE_BINARY)
        textbuf_puts(out, "hex:");
    else if (value->type == REG_TYPE_QWORD && value->size < 8)
        textbuf_puts(out, "hex(0b):");
    else
        textbuf_printf(out, "hex(%x):", value->type);
    size_t at = column + (out->size - start);
    for (uint32_t i = 0; i < value->size; i++) {
        char byte[3] = {digits[value->data[i] >> 4], digits[value->data[i] & 15], ','};
        bool more    = i + 1 < value->size;
        textbuf_put(out, byte, more ? 3 : 2);
        at += 3;
        if (more && column && at > WRAP_COLUMN) {
            textbuf_puts(out, "\\");
            textbuf_puts(out, newline);
            textbuf_puts(out, "  ");
            at = 2;
        }
    }
}
