#include "autologger/schema/message_format.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPEC_MAX = 24, DIGITS_MAX = 3, MADE_MAX = 1100 };

/* "%-08.3" and the letter; false: this is no format. */
struct format_spec {
    char     head[SPEC_MAX];
    unsigned width;
    int      precision; /* -1: none */
    bool     left;
    char     letter;
};

static bool format_spec_read(const char *spec, size_t size, struct format_spec *out)
{
    size_t at = 0, used = 1;
    *out = (struct format_spec){.head = "%", .precision = -1};
    for (; at < size && strchr("-+ #0", spec[at]) && used < 8; at++) {
        out->left |= spec[at] == '-';
        out->head[used++] = spec[at];
    }
    for (unsigned n = 0; at < size && isdigit((unsigned char)spec[at]) && n < DIGITS_MAX; at++, n++) {
        out->width        = out->width * 10 + (unsigned)(spec[at] - '0');
        out->head[used++] = spec[at];
    }
    if (at < size && spec[at] == '.') {
        out->head[used++] = spec[at++];
        out->precision    = 0;
        for (unsigned n = 0; at < size && isdigit((unsigned char)spec[at]) && n < DIGITS_MAX; at++, n++) {
            out->precision    = out->precision * 10 + (spec[at] - '0');
            out->head[used++] = spec[at];
        }
    }
    out->head[used] = 0;
    while (at < size && strchr("hlwzjtLqI", spec[at])) /* the value's own size counts */
        at += size - at >= 3 && (memcmp(spec + at, "I64", 3) == 0 || memcmp(spec + at, "I32", 3) == 0) ? 3 : 1;
    out->letter = at < size ? spec[at] : 0;
    return at + 1 == size;
}

/* The characters of `shown`, as many as the precision allows, filled up to the width. Characters count, not bytes. */
static void format_text(const struct format_spec *s, const char *shown, size_t length, struct text *out)
{
    size_t end = 0, characters = 0;
    while (end < length) {
        const bool begins = ((unsigned char)shown[end] & 0xC0) != 0x80;
        if (begins && s->precision >= 0 && characters == (size_t)s->precision)
            break;
        characters += begins;
        end++;
    }
    for (size_t i = characters; i < s->width && !s->left; i++)
        text_add(out, " ", 1);
    text_add(out, shown, end);
    for (size_t i = characters; i < s->width && s->left; i++)
        text_add(out, " ", 1);
}

static bool format_is_integer(const struct schema_field *f)
{
    switch ((enum value_kind)f->kind) {
    case VALUE_I8:
    case VALUE_I16:
    case VALUE_I32:
    case VALUE_I64:
    case VALUE_U8:
    case VALUE_U16:
    case VALUE_U32:
    case VALUE_U64:
    case VALUE_X8:
    case VALUE_X16:
    case VALUE_X32:
    case VALUE_X64:
    case VALUE_CHAR8:
    case VALUE_CHAR16:
    case VALUE_POINTER:
    case VALUE_SIZE: return true;
    default: return false;
    }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* made above, of checked letters alone */
static void            format_integer(struct format_spec *s, const struct value *v, struct text *out)
{
    char     made[MADE_MAX];
    uint64_t number = 0;
    bool     sign   = s->letter == 'd' || s->letter == 'i';

    memcpy(&number, v->data, v->size < sizeof number ? v->size : sizeof number);
    if (sign && v->size < sizeof number && number >> (8 * v->size - 1))
        number |= ~UINT64_C(0) << (8 * v->size);
    const char tail[] = {'l', 'l', s->letter, 0};
    strcat(s->head, tail);
    snprintf(made, sizeof made, s->head, (long long)number);
    text_add(out, made, strlen(made));
}

static void format_real(struct format_spec *s, const struct value *v, struct text *out)
{
    char       made[MADE_MAX];
    double     number;
    float      narrow;
    const char tail[] = {s->letter, 0};

    if (v->size == sizeof number) {
        memcpy(&number, v->data, sizeof number);
    } else {
        memcpy(&narrow, v->data, sizeof narrow);
        number = (double)narrow;
    }
    strcat(s->head, tail);
    snprintf(made, sizeof made, s->head, number);
    text_add(out, made, strlen(made));
}
#pragma GCC diagnostic pop

void message_format(const char *spec, size_t size, const struct schema_field *f, const struct value *v,
                    const char *shown, size_t length, struct text *out)
{
    struct format_spec s;

    if (!size || !format_spec_read(spec, size, &s)) {
        text_add(out, shown, length);
        return;
    }
    const bool real = f->kind == VALUE_F32 || f->kind == VALUE_F64;
    if (!f->map && strchr("diouxX", s.letter) && format_is_integer(f))
        format_integer(&s, v, out);
    else if (strchr("eEfFgGaA", s.letter) && real)
        format_real(&s, v, out);
    else
        format_text(&s, shown, length, out);
}
