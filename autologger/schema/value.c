#include "autologger/schema/value.h"

#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/guid.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>

/* How a value's end is found. */
enum ending {
    END_FIXED,
    END_POINTER,
    END_NUL16,
    END_NUL8,
    END_COUNTED,
    END_REVERSED,
    END_COUNTED32,
    END_REST,
    END_SID,
    END_SID_BLOCK,
    END_POINTERS
};

struct writing {
    const uint8_t   *data;
    size_t           size;
    bool             is_64bit;
    struct text     *out;
    enum value_json *json;
};
typedef void form(struct writing *w);

/* ---- forms ---- */

static uint64_t schema_value_number(const uint8_t *p, size_t size)
{
    uint64_t v = 0;
    memcpy(&v, p, size < sizeof v ? size : sizeof v); /* little-endian host, as the wire */
    return v;
}

static int64_t extended(const uint8_t *p, size_t size)
{
    unsigned unused = size && size < 8 ? 64 - 8 * (unsigned)size : 0;
    return (int64_t)(schema_value_number(p, size) << unused) >> unused;
}

static void form_SIGNED(struct writing *w)
{
    text_signed(w->out, extended(w->data, w->size));
    *w->json = JSON_BARE;
}
static void form_UNSIGNED(struct writing *w)
{
    text_unsigned(w->out, schema_value_number(w->data, w->size));
    *w->json = JSON_BARE;
}
static void form_HEX(struct writing *w) { text_hexnumber(w->out, schema_value_number(w->data, w->size)); }
static void form_FLOAT(struct writing *w)
{
    float  f = 0;
    double d = 0;
    memcpy(w->size == 4 ? (void *)&f : &d, w->data, w->size);
    if (w->size == 4)
        d = (double)f;
    text_floating(w->out, d, w->size == 4 ? 9 : 17);
    *w->json = isfinite(d) ? JSON_BARE : JSON_STRING;
}
static void form_BOOLEAN(struct writing *w)
{
    bool v = schema_value_number(w->data, w->size) != 0;
    text_add(w->out, v ? "true" : "false", v ? 4 : 5);
    *w->json = JSON_BARE;
}
static void form_CHARACTER(struct writing *w)
{
    uint8_t unit[2] = {0};
    memcpy(unit, w->data, w->size < sizeof unit ? w->size : sizeof unit);
    text_utf16(w->out, unit, sizeof unit); /* one byte: Latin-1 */
}
static void form_BIG_ENDIAN(struct writing *w)
{
    text_unsigned(w->out, ntohs((uint16_t)schema_value_number(w->data, 2)));
    *w->json = JSON_BARE;
}
static void value_address(struct writing *w, int family, const void *bytes)
{
    char text[INET6_ADDRSTRLEN];
    if (inet_ntop(family, bytes, text, sizeof text))
        text_add(w->out, text, strlen(text));
}
static void form_IPV4(struct writing *w) { value_address(w, AF_INET, w->data); }
static void form_IPV6(struct writing *w) { value_address(w, AF_INET6, w->data); }
static void form_GUID(struct writing *w)
{
    struct guid g;
    char        text[GUID_TEXT_SIZE];
    memcpy(&g, w->data, sizeof g);
    text_add(w->out, guid_format(&g, text), GUID_TEXT_SIZE - 1);
}
static void form_FILETIME(struct writing *w)
{
    char text[FILETIME_TEXT_SIZE];
    filetime_format(schema_value_number(w->data, 8), text);
    text_add(w->out, text, strlen(text));
}
static void form_UNIXTIME(struct writing *w)
{
    char text[FILETIME_TEXT_SIZE];
    filetime_format(filetime_from_unix_ns(schema_value_number(w->data, 4) * UINT64_C(1000000000)), text);
    text_add(w->out, text, strlen(text));
}
static void form_SYSTEMTIME(struct writing *w)
{
    uint16_t t[8]; /* year, month, day of week, day, hour, minute, second, ms */
    memcpy(t, w->data, sizeof t);
    text_printf(w->out, "%04u-%02u-%02uT%02u:%02u:%02u.%03u", t[0], t[1], t[3], t[4], t[5], t[6], t[7]);
}
static void form_UTF16(struct writing *w) { text_utf16(w->out, w->data, w->size); }
static void form_ANSI(struct writing *w) { text_utf8(w->out, w->data, w->size); }
static void form_BYTES(struct writing *w) { text_hex(w->out, w->data, w->size); }
static void form_BYTES_IPV6(struct writing *w)
{
    if (w->size == 16)
        value_address(w, AF_INET6, w->data);
    else
        text_hex(w->out, w->data, w->size);
}
static void form_SOCKADDR(struct writing *w)
{
    enum { FAMILY_V4 = 2, FAMILY_V6 = 23 }; /* Windows' numbers */
    const uint8_t *p      = w->data;
    size_t         n      = w->size;
    unsigned       family = n >= 4 ? (unsigned)(p[0] | p[1] << 8) : 0, port = n >= 4 ? (unsigned)(p[2] << 8 | p[3]) : 0;
    if (family == FAMILY_V4 && n >= 8) {
        value_address(w, AF_INET, p + 4);
        text_printf(w->out, ":%u", port);
    } else if (family == FAMILY_V6 && n >= 24) {
        text_add(w->out, "[", 1);
        value_address(w, AF_INET6, p + 8);
        text_printf(w->out, "]:%u", port);
    } else {
        text_hex(w->out, p, n);
    }
}
static void form_SID(struct writing *w)
{
    uint64_t authority = 0;
    for (int i = 2; i < 8; i++)
        authority = authority << 8 | w->data[i];
    text_printf(w->out, "S-%u-%llu", w->data[0], (unsigned long long)authority);
    for (unsigned i = 0; i < w->data[1]; i++) {
        text_add(w->out, "-", 1);
        text_unsigned(w->out, schema_value_number(w->data + 8 + 4ul * i, 4));
    }
}
/* Four zero bytes, or a SID (the bytes before it are not the value's). */
static void form_SID_BLOCK(struct writing *w)
{
    if (w->size)
        form_SID(w);
}
static void form_ADDRESSES(struct writing *w)
{
    unsigned width = w->is_64bit ? 8 : 4;
    for (size_t at = 0; at + width <= w->size; at += width) {
        if (at)
            text_add(w->out, ",", 1);
        text_hexnumber(w->out, schema_value_number(w->data + at, width));
    }
    *w->json = JSON_LIST;
}

static const struct {
    const char *word;
    uint8_t     width, end;
    form       *form;
} value_kinds[] = {
#define V(name, word, width, end, form) {word, width, END_##end, form_##form},
#include "autologger/schema/values.def"
#undef V
};

/* ---- types ---- */

static const struct {
    uint16_t in, out;
    uint8_t  kind;
    bool     manifest;
} value_shown[] = {
#define M(in, out, kind) {IN_##in, OUT_##out, VALUE_##kind, true},
#define T(in, out, kind) {IN_##in, OUT_##out, VALUE_##kind, false},
#include "autologger/schema/shown.def"
#undef M
#undef T
};
enum { SHOWN = sizeof value_shown / sizeof *value_shown };

static unsigned value_first_row(uint16_t in)
{
    unsigned i = 0;
    while (i < SHOWN && value_shown[i].in != in)
        i++;
    return i;
}

enum value_kind value_kind_of(uint16_t in, uint16_t out)
{
    unsigned first = value_first_row(in);
    for (unsigned i = first; i < SHOWN && value_shown[i].in == in; i++)
        if (value_shown[i].out == out)
            return value_shown[i].kind;
    return first < SHOWN ? value_shown[first].kind : VALUE_KINDS;
}

uint16_t schema_out_default(uint16_t in)
{
    unsigned first = value_first_row(in);
    return first < SHOWN ? value_shown[first].out : OUT_NULL;
}

bool schema_out_fits(uint16_t in, uint16_t out)
{
    for (unsigned i = value_first_row(in); i < SHOWN && value_shown[i].in == in; i++)
        if (value_shown[i].out == out)
            return value_shown[i].manifest;
    return false;
}

unsigned value_width(enum value_kind kind) { return value_kinds[kind].width; }
bool     value_is_hex(enum value_kind kind) { return value_kinds[kind].form == form_HEX; }

enum value_kind value_kind_find(const char *word, size_t length)
{
    enum value_kind k = 0;
    while (k < VALUE_KINDS &&
           (length == 0 || strlen(value_kinds[k].word) != length || memcmp(value_kinds[k].word, word, length) != 0))
        k++;
    return k;
}

/* ---- taking ---- */

/* UTF-16 units up to a NUL, at most `size` bytes: their bytes. */
static size_t units_before_nul(const uint8_t *p, size_t size)
{
    size_t n = 0;
    while (n + 1 < size && (p[n] || p[n + 1]))
        n += 2;
    return n;
}

static bool take_sid(struct cursor *c, struct value *out)
{
    size_t         left = cur_left(c);
    const uint8_t *p    = c->data + c->pos;
    size_t         size = left >= 8 ? 8 + 4ul * p[1] : 8;
    out->data           = cur_take(c, size);
    out->size           = (uint32_t)size;
    return out->data;
}

/* Four zero bytes; or a pointer, attributes (both as wide as a pointer) and a SID. */
static bool take_sid_block(struct cursor *c, bool is_64bit, struct value *out)
{
    struct cursor look = *c;
    if (cur_u32(&look) == 0 && cur_ok(&look)) {
        out->data = cur_take(c, 4);
        out->size = 0;
        return true;
    }
    return cur_take(c, is_64bit ? 16 : 8) && take_sid(c, out);
}

/* A text with a NUL behind it, `width` bytes wide; the end of the payload may replace the NUL, if the text has a
 * letter. */
static bool value_take_text(struct cursor *c, unsigned width, struct value *out)
{
    size_t         left = cur_left(c), n;
    const uint8_t *p    = c->data + c->pos, *nul;

    if (width == 2) {
        n = units_before_nul(p, left);
    } else {
        nul = left ? memchr(p, 0, left) : NULL;
        n   = nul ? (size_t)(nul - p) : left;
    }
    out->data = p;
    out->size = (uint32_t)n;
    return cur_take(c, n && n + width > left ? n : n + width);
}

static bool take_bytes(struct cursor *c, size_t size, struct value *out)
{
    out->data = cur_take(c, size);
    out->size = (uint32_t)size;
    return out->data;
}

/* A text or bytes of a given length; a text may end earlier, with a NUL. */
static bool take_length(struct cursor *c, unsigned end, size_t length, struct value *out)
{
    bool wide = end == END_NUL16;
    if (!take_bytes(c, wide ? length * 2 : length, out))
        return false;
    if (wide)
        out->size = (uint32_t)units_before_nul(out->data, out->size);
    else if (end == END_NUL8)
        out->size = (uint32_t)strnlen((const char *)out->data, out->size);
    return true;
}

static bool schema_value_take(struct cursor *c, unsigned end, unsigned width, bool is_64bit, struct value *out)
{
    uint16_t count;

    switch ((enum ending)end) {
    case END_FIXED: return take_bytes(c, width, out);
    case END_POINTER: return take_bytes(c, is_64bit ? 8 : 4, out);
    case END_NUL16: return value_take_text(c, 2, out);
    case END_NUL8: return value_take_text(c, 1, out);
    case END_COUNTED: return take_bytes(c, cur_u16(c), out);
    case END_REVERSED: count = cur_u16(c); return take_bytes(c, ntohs(count), out);
    case END_COUNTED32: return take_bytes(c, cur_u32(c), out);
    case END_REST: return take_bytes(c, cur_left(c), out);
    case END_POINTERS: return take_bytes(c, cur_left(c) / (is_64bit ? 8 : 4) * (is_64bit ? 8 : 4), out);
    case END_SID: return take_sid(c, out);
    case END_SID_BLOCK: return take_sid_block(c, is_64bit, out);
    }
    return false;
}

bool value_take(struct cursor *c, enum value_kind kind, bool is_64bit, int64_t length, struct value *out)
{
    unsigned end    = value_kinds[kind].end;
    size_t   before = c->pos;
    bool     sized  = length != VALUE_NO_LENGTH && (end == END_NUL16 || end == END_NUL8 || end == END_REST);

    if (!(sized ? take_length(c, end, (size_t)length, out)
                : schema_value_take(c, end, value_kinds[kind].width, is_64bit, out)))
        return false;
    out->stored      = c->data + before;
    out->stored_size = (uint32_t)(c->pos - before);
    return cur_ok(c);
}

void value_text(const struct value *v, enum value_kind kind, bool is_64bit, struct text *out, enum value_json *json)
{
    struct writing w = {v->data, v->size, is_64bit, out, json};
    *json            = JSON_STRING;
    value_kinds[kind].form(&w);
}

uint64_t value_number(const struct value *v, enum value_kind kind)
{
    return value_kinds[kind].form == form_SIGNED ? (uint64_t)extended(v->data, v->size)
                                                 : schema_value_number(v->data, v->size);
}
