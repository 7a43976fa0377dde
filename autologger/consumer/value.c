#include "autologger/consumer/value.h"

#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/guid.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>

struct reading {
    struct cursor   *c;
    unsigned         width;
    bool             is_64bit;
    struct text     *out;
    enum value_json *json;
};
typedef void form(struct reading *r);

static uint64_t take_uint(struct cursor *c, unsigned width)
{
    uint64_t v = 0;
    cur_copy(c, &v, width); /* little-endian host, as the wire */
    return v;
}

static void form_SIGNED(struct reading *r)
{
    unsigned unused = 64 - 8 * r->width;
    int64_t  v      = (int64_t)(take_uint(r->c, r->width) << unused) >> unused;
    text_printf(r->out, "%lld", (long long)v);
    *r->json = JSON_BARE;
}
static void form_UNSIGNED(struct reading *r)
{
    text_printf(r->out, "%llu", (unsigned long long)take_uint(r->c, r->width));
    *r->json = JSON_BARE;
}
static void form_HEX(struct reading *r)
{
    text_printf(r->out, "0x%llx", (unsigned long long)take_uint(r->c, r->width));
}
static void form_POINTER(struct reading *r)
{
    text_printf(r->out, "0x%llx", (unsigned long long)take_uint(r->c, r->is_64bit ? 8 : 4));
}
static void form_FLOAT(struct reading *r)
{
    float  f = 0;
    double d = 0;
    cur_copy(r->c, r->width == 4 ? (void *)&f : &d, r->width);
    if (r->width == 4)
        d = (double)f;
    text_printf(r->out, "%.*g", r->width == 4 ? 9 : 17, d);
    *r->json = isfinite(d) ? JSON_BARE : JSON_STRING;
}
static void form_BOOLEAN(struct reading *r)
{
    bool v = take_uint(r->c, r->width) != 0;
    text_printf(r->out, "%s", v ? "true" : "false");
    *r->json = JSON_BARE;
}
static void form_CHARACTER(struct reading *r)
{
    uint8_t unit[2] = {0};
    cur_copy(r->c, unit, r->width);
    text_utf16(r->out, unit, sizeof unit); /* one byte: Latin-1 */
}
static void form_BIG_ENDIAN(struct reading *r)
{
    text_printf(r->out, "%u", ntohs((uint16_t)take_uint(r->c, 2)));
    *r->json = JSON_BARE;
}
static void address(struct reading *r, int family, const void *bytes)
{
    char text[INET6_ADDRSTRLEN];
    if (bytes && inet_ntop(family, bytes, text, sizeof text))
        text_printf(r->out, "%s", text);
}
static void form_IPV4(struct reading *r) { address(r, AF_INET, cur_take(r->c, 4)); }
static void form_IPV6(struct reading *r) { address(r, AF_INET6, cur_take(r->c, 16)); }
static void form_GUID(struct reading *r)
{
    struct guid g;
    char        text[GUID_TEXT_SIZE];
    cur_copy(r->c, &g, sizeof g);
    text_printf(r->out, "%s", guid_format(&g, text));
}
static void form_FILETIME(struct reading *r)
{
    char text[FILETIME_TEXT_SIZE];
    text_printf(r->out, "%s", filetime_format(take_uint(r->c, 8), text));
}
static void form_SYSTEMTIME(struct reading *r)
{
    uint16_t t[8]; /* year, month, day of week, day, hour, minute, second, ms */
    cur_copy(r->c, t, sizeof t);
    text_printf(r->out, "%04u-%02u-%02uT%02u:%02u:%02u.%03u", t[0], t[1], t[3], t[4], t[5], t[6], t[7]);
}
static void form_UTF16(struct reading *r)
{
    size_t         left = cur_left(r->c), n = 0;
    const uint8_t *p = r->c->data + r->c->pos;
    while (n + 1 < left && (p[n] || p[n + 1]))
        n += 2;
    if (cur_take(r->c, n + 2))
        text_utf16(r->out, p, n);
}
static void form_ANSI(struct reading *r)
{
    const char *s = cur_zstring(r->c);
    if (s)
        text_utf8(r->out, s, strlen(s));
}
static void counted(struct reading *r, void (*add)(struct text *, const void *, size_t))
{
    size_t      n = cur_u16(r->c);
    const void *p = cur_take(r->c, n);
    if (p)
        add(r->out, p, n);
}
static void form_COUNTED_UTF16(struct reading *r) { counted(r, text_utf16); }
static void form_COUNTED_ANSI(struct reading *r) { counted(r, text_utf8); }
static void form_BINARY(struct reading *r) { counted(r, text_hex); }
static void form_BINARY_IPV6(struct reading *r)
{
    size_t      n = cur_u16(r->c);
    const void *p = cur_take(r->c, n);
    if (p && n == 16)
        address(r, AF_INET6, p);
    else if (p)
        text_hex(r->out, p, n);
}
static void form_SOCKADDR(struct reading *r)
{
    enum { FAMILY_V4 = 2, FAMILY_V6 = 23 }; /* Windows' numbers */
    size_t         n = cur_u16(r->c);
    const uint8_t *p = cur_take(r->c, n);
    if (!p)
        return;
    unsigned family = n >= 4 ? (unsigned)(p[0] | p[1] << 8) : 0, port = n >= 4 ? (unsigned)(p[2] << 8 | p[3]) : 0;
    if (family == FAMILY_V4 && n >= 8) {
        address(r, AF_INET, p + 4);
        text_printf(r->out, ":%u", port);
    } else if (family == FAMILY_V6 && n >= 24) {
        text_add(r->out, "[", 1);
        address(r, AF_INET6, p + 8);
        text_printf(r->out, "]:%u", port);
    } else {
        text_hex(r->out, p, n);
    }
}
static void form_SID(struct reading *r)
{
    uint8_t  revision = cur_u8(r->c), n = cur_u8(r->c);
    uint64_t authority = 0;
    for (int i = 0; i < 6; i++)
        authority = authority << 8 | cur_u8(r->c);
    if (n * 4u > cur_left(r->c)) {
        cur_take(r->c, n * 4u);
        return;
    }
    text_printf(r->out, "S-%u-%llu", revision, (unsigned long long)authority);
    for (unsigned i = 0; i < n; i++)
        text_printf(r->out, "-%u", cur_u32(r->c));
}
/* Four zero bytes; or a pointer, attributes (both as wide as a pointer) and a SID. */
static void form_SID_BLOCK(struct reading *r)
{
    struct cursor look = *r->c;
    if (cur_u32(&look) == 0 && cur_ok(&look)) {
        cur_take(r->c, 4);
        return;
    }
    cur_take(r->c, r->is_64bit ? 16 : 8);
    form_SID(r);
}
static void form_ADDRESSES(struct reading *r)
{
    unsigned width = r->is_64bit ? 8 : 4;
    for (bool first = true; cur_left(r->c) >= width; first = false)
        text_printf(r->out, "%s0x%llx", first ? "" : ",", (unsigned long long)take_uint(r->c, width));
    *r->json = JSON_LIST;
}
static void form_REST(struct reading *r)
{
    size_t n = cur_left(r->c);
    text_hex(r->out, cur_take(r->c, n), n);
}

static const struct {
    const char *word;
    uint8_t     width;
    form       *form;
} kinds[] = {
#define V(name, word, width, form) {word, width, form_##form},
#include "autologger/consumer/values.def"
#undef V
};

bool value_decode(struct cursor *c, enum value_kind kind, bool is_64bit, struct text *out, enum value_json *json)
{
    struct reading r = {c, kinds[kind].width, is_64bit, out, json};
    *json            = JSON_STRING;
    kinds[kind].form(&r);
    return cur_ok(c);
}

bool field_read(struct field_sink *sink, struct cursor *c, enum value_kind kind, bool is_64bit)
{
    enum value_json json;

    text_cut(&sink->value, 0);
    if (!value_decode(c, kind, is_64bit, &sink->value, &json))
        return false;
    const char  *path = text_get(&sink->path), *dot = strrchr(path, '.');
    struct field f = {.path = path, .name = dot ? dot + 1 : path, .text = text_get(&sink->value),
                      .length = sink->value.length, .json = json,
                      .hex = kinds[kind].form == form_HEX || kinds[kind].form == form_POINTER};
    sink->emit(sink->self, &f);
    return true;
}

enum value_kind value_kind_find(const char *word, size_t length)
{
    enum value_kind k = 0;
    while (k < VALUE_KINDS && (strlen(kinds[k].word) != length || memcmp(kinds[k].word, word, length) != 0))
        k++;
    return k;
}

void field_sink_finish(struct field_sink *sink)
{
    text_finish(&sink->path);
    text_finish(&sink->value);
}
