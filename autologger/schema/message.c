#include "autologger/schema/message.h"

#include "autologger/schema/message_format.h"
#include "registry-sim/base/unset.h"

#include <ctype.h>

enum { VALUES_MAX = 100 }; /* as FormatMessage */

/* The texts of the values, one after another in `all`. */
struct values {
    struct text all;
    size_t      end[VALUES_MAX]; /* the end of value i, which begins at the end of the one before */
    unsigned    count;
    bool        xml;
    bool        formatted; /* the formats count; then these are the values: */
    struct {
        const struct schema_field *field;
        struct value               value;
    } raw[VALUES_MAX];
    const struct schema_field *last;
    uint16_t                   last_round; /* of the struct that it is in */
};

static bool message_see(void *ctx, const struct walk_place *place, const struct value *v)
{
    struct values           *all   = ctx;
    const struct walk_level *at    = &place->levels[place->depth];
    uint16_t                 round = place->depth ? place->levels[place->depth - 1].element : 0;
    bool            same = at->field == all->last && at->in_array && at->element > 0 && round == all->last_round;
    enum value_json json;

    if (at->field->flags & FIELD_HIDDEN)
        return true;
    if (!same && all->count == VALUES_MAX)
        return false;
    if (same)
        text_add(&all->all, ", ", 2);
    walk_text(at->field, v, place->is_64bit, &all->all, &json);
    all->last       = at->field;
    all->last_round = round;
    all->count += !same;
    all->end[all->count - 1] = all->all.length;
    if (all->formatted) {
        all->raw[all->count - 1].field = at->field;
        all->raw[all->count - 1].value = *v;
    }
    return true;
}

/* Escapes the special characters of XML; a byte that XML does not allow becomes a blank. */
static void put_xml(const char *p, size_t size, struct text *out)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            text_printf(out, "&#%u;", c);
        else
            text_add(out, c < ' ' && c != '\t' && c != '\n' ? " " : &p[i], 1);
    }
}

/* "0x%p" is how programs of Windows write a pointer: the value's own "0x" would be the second. */
static bool message_has_prefix(const struct values *v, unsigned n, const struct text *out)
{
    const size_t at = out->length;
    return v->formatted && v->raw[n - 1].field->kind == VALUE_POINTER && at >= 2 && text_get(out)[at - 2] == '0' &&
           (text_get(out)[at - 1] | 0x20) == 'x';
}

/* `spec`: the format behind the number, without its signs. */
static void message_put_value(const struct values *v, unsigned n, const char *spec, size_t length, struct text *out)
{
    if (n == 0 || n > v->count) {
        text_add(out, "%", 1);
        text_unsigned(out, n);
        return;
    }
    size_t from = n > 1 ? v->end[n - 2] : 0;
    if (v->formatted) {
        const size_t own = message_has_prefix(v, n, out) && v->end[n - 1] - from > 2 ? 2 : 0;
        message_format(spec, length, v->raw[n - 1].field, &v->raw[n - 1].value, text_get(&v->all) + from + own,
                       v->end[n - 1] - from - own, out);
    } else if (v->xml)
        put_xml(text_get(&v->all) + from, v->end[n - 1] - from, out);
    else
        text_add(out, text_get(&v->all) + from, v->end[n - 1] - from);
}

/* The length of a format behind a number, "!s!" or "!08x!"; 0: no format, but text. Only those of WPP count (a blank is
 * a flag there): other values are shown by their types. */
static size_t format_length(const char *p, bool formatted)
{
    static const char letters[] = " 0123456789.-+#*abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const size_t      n         = *p == '!' ? strspn(p + 1, letters + !formatted) : 0;
    return n && p[1 + n] == '!' ? n + 2 : 0;
}

/* Writes the escape behind a '%'; returns the number of characters taken. 0: the message ends here. */
static size_t message_escape(const char *p, const struct values *v, struct text *out)
{
    static const char from[] = "ntbr.!%", to[] = "\n\t \r.!%";
    unsigned          n    = 0;
    size_t            used = 0;

    if (*p == '0' && !isdigit((unsigned char)p[1]))
        return 0;
    if (*p == '%' && isdigit((unsigned char)p[1]) &&
        !v->formatted) { /* %%N: the provider's parameter file is not here */
        text_add(out, "%%", 2);
        return 1;
    }
    for (; isdigit((unsigned char)p[used]) && used < 3; used++)
        n = n * 10 + (unsigned)(p[used] - '0');
    if (used) {
        const size_t format = format_length(p + used, v->formatted);
        message_put_value(v, n, p + used + 1, format ? format - 2 : 0, out);
        return used + format;
    }
    const char *known = *p ? strchr(from, *p) : NULL;
    text_add(out, known ? &to[known - from] : "%", 1);
    return known ? 1 : 0;
}

static bool message_fill(const struct schema_event *e, const char *with, bool xml, const void *payload, size_t size,
                         bool is_64bit, struct text *out)
{
    UNSET struct values v;
    uint32_t            used;

    v.all        = (struct text){0};
    v.count      = 0;
    v.xml        = xml;
    v.formatted  = e->formatted;
    v.last       = NULL;
    v.last_round = 0;
    walk_payload(e, payload, size, is_64bit, message_see, &v, &used);
    for (const char *p = with ? with : ""; *p;) {
        size_t plain = strcspn(p, "%");
        text_add(out, p, plain);
        p += plain;
        if (!*p)
            break;
        bool   ends = p[1] == '0' && !isdigit((unsigned char)p[2]);
        size_t n    = message_escape(p + 1, &v, out);
        if (ends)
            break;
        p += 1 + n;
    }
    bool ok = !out->failed && !v.all.failed;
    text_finish(&v.all);
    return ok;
}

bool message_text(const struct schema_event *e, const void *payload, size_t size, bool is_64bit, struct text *out)
{
    return message_fill(e, e->message, false, payload, size, is_64bit, out);
}

bool message_user_data(const struct schema_event *e, const void *payload, size_t size, bool is_64bit, struct text *out)
{
    return message_fill(e, e->user_data, true, payload, size, is_64bit, out);
}
