/* visible_print.c - see visible_print.h. */
#include "registry-sim/base/visible_print.h"

#include "registry-sim/win32/visible.h"

#include <stdint.h>
#include <string.h>

static size_t visible_print_put(FILE *to, const char *text, size_t size)
{
    size_t written = 0;
    for (size_t at = 0; at < size;) {
        char   escape[VISIBLE_ESCAPE];
        size_t plain = visible_length(text + at, size - at);
        fwrite(text + at, 1, plain, to);
        written += plain;
        at += plain;
        if (at < size) {
            at += visible_escape_one(text + at, size - at, escape);
            fputs(escape, to);
            written += strlen(escape);
        }
    }
    return written;
}

void visible_puts(FILE *to, const char *text) { visible_print_put(to, text, strlen(text)); }

/* ---- formats ---- */

/* One conversion of a format: "%-26.*s". A width of -1 or a precision below 0: not given. */
struct conversion {
    char flags[8];
    int  width, precision;
    char length[3], kind;
};

static const char *visible_print_number(const char *p, va_list *args, int *out)
{
    if (*p == '*') {
        *out = va_arg(*args, int);
        return p + 1;
    }
    for (*out = 0; *p >= '0' && *p <= '9'; p++)
        if (*out < 100000)
            *out = *out * 10 + (*p - '0');
    return p;
}

/* `p` follows the '%'. Returns the position after the conversion. */
static const char *conversion_read(const char *p, va_list *args, struct conversion *c)
{
    size_t n = strspn(p, "-+ #0");
    *c       = (struct conversion){.width = -1, .precision = -1};
    memcpy(c->flags, p, n < sizeof c->flags ? n : sizeof c->flags - 1);
    p += n;
    if (*p == '*' || (*p >= '1' && *p <= '9'))
        p = visible_print_number(p, args, &c->width);
    if (*p == '.')
        p = visible_print_number(p + 1, args, &c->precision);
    n = strspn(p, "hljzt");
    memcpy(c->length, p, n < sizeof c->length ? n : sizeof c->length - 1);
    c->kind = p[n];
    return p + n + (c->kind != 0);
}

static size_t characters(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += ((unsigned char)text[i] & 0xC0) != 0x80;
    return n;
}

/* The bytes of `text` within a precision; no character is cut. The bytes after them are not read. */
static size_t limited(const char *text, int precision)
{
    const size_t most = precision < 0 ? strlen(text) : strnlen(text, (size_t)precision);
    size_t       last = most;

    if (precision < 0 || most < (size_t)precision || !most)
        return most;
    for (last--; last && most - last < 4 && ((unsigned char)text[last] & 0xC0) == 0x80; last--)
        ;
    const unsigned char first = (unsigned char)text[last];
    const size_t        needs = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    return most - last < needs ? last : most;
}

static int visible_print_string(FILE *to, const struct conversion *c, const char *text)
{
    const size_t size  = limited(text, c->precision);
    const bool   left  = strchr(c->flags, '-') || c->width < -1;
    const int    width = c->width < -1 ? -c->width : c->width;
    size_t       shown = 0;
    char         escape[VISIBLE_ESCAPE];
    for (size_t at = 0; at < size;) {
        size_t plain = visible_length(text + at, size - at);
        shown += characters(text + at, plain);
        at += plain;
        if (at < size) {
            at += visible_escape_one(text + at, size - at, escape);
            shown += strlen(escape);
        }
    }
    const int pad = width > 0 && shown < (size_t)width ? width - (int)shown : 0;
    if (!left)
        fprintf(to, "%*s", pad, "");
    const size_t written = visible_print_put(to, text, size);
    if (left)
        fprintf(to, "%*s", pad, "");
    return (int)written + pad;
}

static int integer(FILE *to, const struct conversion *c, va_list *args)
{
    char       format[32];
    const bool is_signed = c->kind == 'd' || c->kind == 'i';
    const char l = c->length[0], ll = c->length[1];
    uintmax_t  value;

    if (is_signed) {
        intmax_t v = l == 'l' && ll == 'l'  ? va_arg(*args, long long)
                     : l == 'l'             ? va_arg(*args, long)
                     : l == 'j'             ? va_arg(*args, intmax_t)
                     : l == 'z' || l == 't' ? va_arg(*args, ptrdiff_t)
                                            : va_arg(*args, int);
        value      = (uintmax_t)(l == 'h' ? ll == 'h' ? (signed char)v : (short)v : v);
    } else {
        value = l == 'l' && ll == 'l'  ? va_arg(*args, unsigned long long)
                : l == 'l'             ? va_arg(*args, unsigned long)
                : l == 'j'             ? va_arg(*args, uintmax_t)
                : l == 'z' || l == 't' ? va_arg(*args, size_t)
                                       : va_arg(*args, unsigned);
        value = l == 'h' ? ll == 'h' ? (unsigned char)value : (unsigned short)value : value;
    }
    snprintf(format, sizeof format, c->precision < 0 ? "%%%s*j%c" : "%%%s*.*j%c", c->flags, c->kind);
    const int width = c->width == -1 ? 0 : c->width;
    if (c->precision < 0)
        return is_signed ? fprintf(to, format, width, (intmax_t)value) : fprintf(to, format, width, value);
    return is_signed ? fprintf(to, format, width, c->precision, (intmax_t)value)
                     : fprintf(to, format, width, c->precision, value);
}

static int visible_print_convert(FILE *to, const struct conversion *c, va_list *args)
{
    char        format[32], one[2] = {0};
    const char *text;
    const int   width = c->width == -1 ? 0 : c->width;

    switch (c->kind) {
    case '%': return fputc('%', to) == EOF ? 0 : 1;
    case 's': text = va_arg(*args, const char *); return visible_print_string(to, c, text ? text : "(null)");
    case 'c': one[0] = (char)va_arg(*args, int); return visible_print_string(to, c, one);
    case 'p': return fprintf(to, "%*p", width, va_arg(*args, void *));
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
        snprintf(format, sizeof format, "%%%s*.*%c", c->flags, c->kind);
        return fprintf(to, format, width, c->precision, va_arg(*args, double));
    default: return integer(to, c, args);
    }
}

int visible_vprintf(FILE *to, const char *format, va_list given)
{
    struct conversion c;
    va_list           args; /* a copy: its address can be passed on */
    int               written = 0;

    va_copy(args, given);
    flockfile(to);
    for (const char *p = format; *p;) {
        const size_t n = strcspn(p, "%");
        fwrite(p, 1, n, to);
        written += (int)n;
        p += n;
        if (*p) {
            p = conversion_read(p + 1, &args, &c);
            written += visible_print_convert(to, &c, &args);
        }
    }
    funlockfile(to);
    va_end(args);
    return written;
}

int visible_printf(FILE *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int written = visible_vprintf(to, format, args);
    va_end(args);
    return written;
}

void visible_line(FILE *to, const char *format, ...)
{
    char    text[2048], shown[4096];
    va_list args;
    size_t  size;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size        = visible_escape(text, strlen(text), shown, sizeof shown - 1);
    size        = size < sizeof shown - 1 ? size : strlen(shown);
    shown[size] = '\n';
    fwrite(shown, 1, size + 1, to);
}

void visible_json(FILE *to, const char *json, size_t size)
{
    unsigned high = 0;
    for (size_t i = 0; i < size; i++)
        high |= (unsigned char)json[i] >= 0x7F;
    if (!high) {
        fwrite(json, 1, size, to);
        return;
    }
    for (size_t at = 0; at < size;) {
        char   escape[VISIBLE_ESCAPE];
        size_t plain = visible_length(json + at, size - at);
        fwrite(json + at, 1, plain, to);
        at += plain;
        if (at == size)
            break;
        if ((unsigned char)json[at] < ' ') { /* between strings: yajl escapes those within strings, as \n */
            fputc(json[at++], to);
            continue;
        }
        uint32_t code;
        bool     valid;
        visible_character(json + at, size - at, &code, &valid);
        at += visible_escape_one(json + at, size - at, escape);
        fputs(valid ? escape : "\\ufffd", to);
    }
}
