/* autologger_wpp_text.h - makes the text of a WPP message: printf's conversions with Windows' sizes (I64, I32, I, w,
 * ws, S, wZ, Z), and WPP's names %!FUNC!, %!FILE!, %!LINE!, %!LEVEL!, %!STATUS!, %!WINERROR!, %!HRESULT!, %!NTSTATUS!,
 * %!GUID!, %!IID!, %!CLSID!, %!bool!, %!BOOLEAN!. From any other name on, the rest is written as it is, because the
 * size of that argument is not known. Threads: any. Not for: programs (autologger_wpp.h). */
#ifndef AUTOLOGGER_WPP_TEXT_H
#define AUTOLOGGER_WPP_TEXT_H
#include "autologger_types.h"
#include "guiddef.h"
#include <stdarg.h>
#include <stdio.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* each conversion is printed alone, with its own type */

enum { AUTOLOGGER_WPP_TEXT = 2048, AUTOLOGGER_WPP_SPEC = 32 };
typedef struct AUTOLOGGER_WPP_OUT {
    char       *at, *end; /* `end` leaves room for the NUL */
    const char *function, *file;
    int         line, level;
    char        spec[AUTOLOGGER_WPP_SPEC]; /* "%-08.3": flags, width and precision of the conversion */
    size_t      spec_length;
    char        size; /* 0, or 'h' 'l' 'L' (64 bits) 'z' 'w' */
} AUTOLOGGER_WPP_OUT;

static inline void AutologgerWppPut(AUTOLOGGER_WPP_OUT *o, const char *text, size_t length)
{
    const size_t room = (size_t)(o->end - o->at);
    length            = length < room ? length : room;
    memcpy(o->at, text, length);
    o->at += length;
    *o->at = 0;
}

/* One conversion by printf; `tail` is its length and letter. */
#define AUTOLOGGER_WPP_PRINT(o, tail, value) \
    do { \
        char made[AUTOLOGGER_WPP_SPEC + 8]; \
        int  n; \
        snprintf(made, sizeof made, "%.*s%s", (int)(o)->spec_length, (o)->spec, (tail)); \
        n = snprintf((o)->at, (size_t)((o)->end - (o)->at) + 1, made, (value)); \
        (o)->at += n < 0 ? 0 : n < (o)->end - (o)->at ? n : (o)->end - (o)->at; \
    } while (0)

/* `units` of UTF-16 as UTF-8; an unpaired surrogate becomes U+FFFD. */
static inline void AutologgerWppNarrow(char *out, size_t room, const WCHAR *text, size_t units)
{
    size_t i, n = 0;
    for (i = 0; i < units && text[i] && n + 5 < room; i++) {
        unsigned long c = (unsigned long)text[i] & 0xFFFF;
        if (c >= 0xD800 && c < 0xE000) {
            const unsigned long low = c < 0xDC00 && i + 1 < units ? (unsigned long)text[i + 1] & 0xFFFF : 0;
            c = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((c & 0x3FF) << 10) + (low & 0x3FF) : 0xFFFD;
            i += c != 0xFFFD;
        }
        if (c < 0x80) {
            out[n++] = (char)c;
            continue;
        }
        if (c >= 0x10000) {
            out[n++] = (char)(0xF0 | c >> 18);
            out[n++] = (char)(0x80 | (c >> 12 & 0x3F));
        } else if (c >= 0x800)
            out[n++] = (char)(0xE0 | c >> 12);
        else {
            out[n++] = (char)(0xC0 | c >> 6);
            out[n++] = (char)(0x80 | (c & 0x3F));
            continue;
        }
        out[n++] = (char)(0x80 | (c >> 6 & 0x3F));
        out[n++] = (char)(0x80 | (c & 0x3F));
    }
    out[n] = 0;
}

/* UTF-8 as UTF-16; an invalid byte becomes U+FFFD. */
static inline void AutologgerWppWide(WCHAR *out, size_t room, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t               n = 0;
    while (*p && n + 2 < room) {
        const int     more = *p < 0x80                 ? 0
                             : *p >= 0xC2 && *p < 0xE0 ? 1
                             : *p >= 0xE0 && *p < 0xF0 ? 2
                             : *p >= 0xF0 && *p < 0xF5 ? 3
                                                       : -1;
        unsigned long c    = more < 0 ? 0xFFFD : more ? *p & (0x3Fu >> more) : *p;
        int           i    = 1;
        for (; i <= more && (p[i] & 0xC0) == 0x80; i++)
            c = c << 6 | (p[i] & 0x3F);
        p += i > more ? i : 1;
        if (i <= more)
            c = 0xFFFD;
        if (c >= 0x10000) {
            out[n++] = (WCHAR)(0xD800 + ((c - 0x10000) >> 10));
            c        = 0xDC00 + ((c - 0x10000) & 0x3FF);
        }
        out[n++] = (WCHAR)c;
    }
    out[n] = 0;
}

static inline void AutologgerWppGuid(AUTOLOGGER_WPP_OUT *o, const GUID *g)
{
    char text[40];
    if (!g) {
        AutologgerWppPut(o, "(null)", 6);
        return;
    }
    snprintf(text, sizeof text, "%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x", (unsigned)g->Data1,
             (unsigned)g->Data2, (unsigned)g->Data3, g->Data4[0], g->Data4[1], g->Data4[2], g->Data4[3], g->Data4[4],
             g->Data4[5], g->Data4[6], g->Data4[7]);
    AutologgerWppPut(o, text, 36);
}

/* %!NAME!; false: an unknown name. */
static inline int AutologgerWppNamed(AUTOLOGGER_WPP_OUT *o, const char *name, size_t length, va_list *args)
{
    char text[24];
#define AUTOLOGGER_WPP_IS(word) (length == sizeof(word) - 1 && memcmp(name, word, length) == 0)
    if (AUTOLOGGER_WPP_IS("FUNC"))
        AutologgerWppPut(o, o->function, strlen(o->function));
    else if (AUTOLOGGER_WPP_IS("FILE"))
        AutologgerWppPut(o, o->file, strlen(o->file));
    else if (AUTOLOGGER_WPP_IS("LINE") || AUTOLOGGER_WPP_IS("LEVEL"))
        AutologgerWppPut(
            o, text, (size_t)snprintf(text, sizeof text, "%d", *name == 'L' && name[1] == 'I' ? o->line : o->level));
    else if (AUTOLOGGER_WPP_IS("STATUS") || AUTOLOGGER_WPP_IS("WINERROR") || AUTOLOGGER_WPP_IS("HRESULT") ||
             AUTOLOGGER_WPP_IS("NTSTATUS") || AUTOLOGGER_WPP_IS("status") || AUTOLOGGER_WPP_IS("winerr") ||
             AUTOLOGGER_WPP_IS("hresult"))
        AutologgerWppPut(o, text, (size_t)snprintf(text, sizeof text, "0x%08x", va_arg(*args, unsigned)));
    else if (AUTOLOGGER_WPP_IS("GUID") || AUTOLOGGER_WPP_IS("guid") || AUTOLOGGER_WPP_IS("IID") ||
             AUTOLOGGER_WPP_IS("CLSID"))
        AutologgerWppGuid(o, va_arg(*args, const GUID *));
    else if (AUTOLOGGER_WPP_IS("bool") || AUTOLOGGER_WPP_IS("BOOLEAN")) {
        const int yes = va_arg(*args, int) != 0;
        AutologgerWppPut(o, yes ? "TRUE" : "FALSE", yes ? 4 : 5);
    } else
        return 0;
#undef AUTOLOGGER_WPP_IS
    return 1;
}

static inline void AutologgerWppString(AUTOLOGGER_WPP_OUT *o, int wide, int counted, const void *value)
{
    char text[AUTOLOGGER_WPP_TEXT];
    struct { /* STRING and UNICODE_STRING */
        USHORT      bytes, room;
        const void *text;
    } s         = {0, 0, NULL};
    size_t size = AUTOLOGGER_WPP_TEXT;
    if (counted && value) {
        memcpy(&s, value, sizeof s);
        value = s.text;
        size  = wide ? s.bytes / sizeof(WCHAR) : s.bytes;
    }
    if (!value)
        AUTOLOGGER_WPP_PRINT(o, "s", "(null)");
    else if (!wide && !counted)
        AUTOLOGGER_WPP_PRINT(o, "s", (const char *)value);
    else {
        if (wide)
            AutologgerWppNarrow(text, sizeof text, (const WCHAR *)value, size);
        else
            snprintf(text, sizeof text, "%.*s", (int)size, (const char *)value);
        AUTOLOGGER_WPP_PRINT(o, "s", text);
    }
}

static inline void AutologgerWppNumber(AUTOLOGGER_WPP_OUT *o, char letter, va_list *args)
{
    const char tail[4] = {'l', 'l', letter, 0};
    long long  value;
    if (o->size == 'L' || o->size == 'z') {
        AUTOLOGGER_WPP_PRINT(o, tail, va_arg(*args, long long)); /* 64 bits, the size of a pointer here */
        return;
    }
    value = va_arg(*args, int); /* long has 32 bits on Windows; a program passes a long of 64 bits with I64 */
    if (letter != 'd' && letter != 'i')
        value &= 0xFFFFFFFF;
    AUTOLOGGER_WPP_PRINT(o, tail, value);
}

/* Reads flags, width, precision and size. Returns the position of the letter. */
static inline const char *AutologgerWppSpec(AUTOLOGGER_WPP_OUT *o, const char *f, va_list *args)
{
    o->spec_length = 1;
    o->spec[0]     = '%';
    for (; *f && strchr("-+ #0123456789.*", *f); f++) {
        if (*f == '*')
            o->spec_length += (size_t)snprintf(o->spec + o->spec_length, 12, "%d", va_arg(*args, int));
        else
            o->spec[o->spec_length++] = *f;
        if (o->spec_length > AUTOLOGGER_WPP_SPEC - 13)
            o->spec_length = AUTOLOGGER_WPP_SPEC - 13;
    }
    o->size = 0;
    for (; *f && strchr("hlIwzjtL", *f); f++) {
        if (*f == 'I' && f[1] && strchr("36", f[1])) {
            o->size = f[1] == '6' ? 'L' : 0;
            f += 2;
        } else if (*f == 'l' && o->size == 'l')
            o->size = 'L';
        else
            o->size = *f == 'I' || *f == 'j' || *f == 't' ? 'z' : *f;
    }
    return f;
}

/* False: an unknown conversion, of which nothing is written. */
static inline int AutologgerWppConvert(AUTOLOGGER_WPP_OUT *o, char letter, va_list *args)
{
    const char tail[2] = {letter, 0};
    if (!letter)
        return 0;
    if (strchr("diouxX", letter))
        AutologgerWppNumber(o, letter, args);
    else if (strchr("eEfFgGaA", letter))
        AUTOLOGGER_WPP_PRINT(o, tail, va_arg(*args, double));
    else if (strchr("sSZ", letter))
        AutologgerWppString(o, letter == 'S' ? o->size != 'h' : o->size == 'w' || o->size == 'l', letter == 'Z',
                            va_arg(*args, const void *));
    else if (letter == 'p')
        AUTOLOGGER_WPP_PRINT(o, tail, va_arg(*args, void *));
    else if (letter == 'c')
        AUTOLOGGER_WPP_PRINT(o, tail, va_arg(*args, int));
    else
        return 0;
    return 1;
}

static inline void AutologgerWppFormat(AUTOLOGGER_WPP_OUT *o, const char *f, va_list *args)
{
    while (*f) {
        const char *begin = f, *end = strchr(f, '%');
        int         known;
        AutologgerWppPut(o, f, end ? (size_t)(end - f) : strlen(f));
        if (!end)
            return;
        begin = end;
        f     = end + 1;
        if (*f == '%') {
            AutologgerWppPut(o, "%", 1);
            f++;
            continue;
        }
        if (*f == '!') {
            const char *stop = strchr(f + 1, '!');
            known            = stop && AutologgerWppNamed(o, f + 1, (size_t)(stop - f - 1), args);
            f                = known ? stop : f;
        } else {
            f     = AutologgerWppSpec(o, f, args);
            known = AutologgerWppConvert(o, *f, args);
        }
        if (!known) {
            AutologgerWppPut(o, begin, strlen(begin));
            return;
        }
        f++;
    }
}
#pragma GCC diagnostic pop
#endif
