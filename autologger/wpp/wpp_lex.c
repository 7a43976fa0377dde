#include "autologger/wpp/wpp_private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RAW_DELIMITER = 16 };

static bool wpp_is_name(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

static bool wpp_sees(const struct wpp_lexer *l, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(l->end - l->at) >= n && memcmp(l->at, word, n) == 0;
}

static void wpp_advance(struct wpp_lexer *l, size_t n)
{
    for (; n && l->at < l->end; n--, l->at++)
        if (*l->at == '\n') {
            l->line++;
            l->begins_line = true;
        }
}

/* To the end of a line; a backslash before it continues it. */
static void wpp_to_line_end(struct wpp_lexer *l)
{
    while (l->at < l->end && *l->at != '\n') {
        const bool joined = wpp_sees(l, "\\\n") || wpp_sees(l, "\\\r\n");
        wpp_advance(l, joined ? (l->at[1] == '\r' ? 3 : 2) : 1);
    }
}

static void wpp_blanks(struct wpp_lexer *l)
{
    while (l->at < l->end) {
        if (isspace((unsigned char)*l->at) || !*l->at) {
            wpp_advance(l, 1);
        } else if (wpp_sees(l, "//")) {
            wpp_to_line_end(l);
        } else if (wpp_sees(l, "/*")) {
            const bool begins = l->begins_line;
            wpp_advance(l, 2);
            while (l->at < l->end && !wpp_sees(l, "*/"))
                wpp_advance(l, 1);
            wpp_advance(l, 2);
            l->begins_line |= begins;
        } else if (wpp_sees(l, "\\\n") || wpp_sees(l, "\\\r\n")) {
            wpp_advance(l, l->at[1] == '\r' ? 3 : 2);
            l->begins_line = false;
        } else {
            return;
        }
    }
}

/* R"x(...)x", at the quote. */
static void wpp_raw_string(struct wpp_lexer *l)
{
    char   ending[RAW_DELIMITER + 3] = ")";
    size_t n                         = 1;
    for (l->at++; l->at < l->end && *l->at != '(' && n <= RAW_DELIMITER; l->at++)
        ending[n++] = *l->at;
    ending[n] = '"';
    while (l->at < l->end && !wpp_sees(l, ending))
        wpp_advance(l, 1);
    wpp_advance(l, n + 1);
}

/* A literal in quotes, at the first of them. One without an end stops at the end of its line. */
static void wpp_quoted(struct wpp_lexer *l)
{
    const char quote = *l->at;
    for (l->at++; l->at < l->end && *l->at != quote && *l->at != '\n';)
        wpp_advance(l, wpp_sees(l, "\\\r\n") ? 3 : *l->at == '\\' && l->at + 1 < l->end ? 2 : 1);
    if (l->at < l->end && *l->at == quote)
        l->at++;
}

/* #line 12 "x", # 12 "x" */
static void wpp_line_directive(struct wpp_lexer *l)
{
    const char *p = l->at;
    while (p < l->end && (*p == ' ' || *p == '\t'))
        p++;
    uint32_t line = 0;
    for (; p < l->end && isdigit((unsigned char)*p) && line < 100000000; p++)
        line = line * 10 + (uint32_t)(*p - '0');
    wpp_to_line_end(l);
    if (line)
        l->line = line - 1; /* that of the line behind the directive */
}

static struct wpp_token wpp_directive(struct wpp_lexer *l)
{
    const char      *from = l->at;
    struct wpp_token t    = {.kind = WPP_OTHER, .line = l->line};
    l->at++;
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\t'))
        l->at++;
    const char *word = l->at;
    while (l->at < l->end && isalpha((unsigned char)*l->at))
        l->at++;
    const size_t n = (size_t)(l->at - word);
    if ((n == 4 && memcmp(word, "line", n) == 0) || n == 0)
        wpp_line_directive(l);
    else
        wpp_to_line_end(l);
    static const struct {
        const char         *word;
        enum wpp_token_kind kind;
    } kinds[] = {{"define", WPP_DEFINE}, {"if", WPP_IF},     {"ifdef", WPP_IF},     {"ifndef", WPP_IF},
                 {"else", WPP_ELSE},     {"elif", WPP_ELSE}, {"elifdef", WPP_ELSE}, {"endif", WPP_ENDIF}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].word) == n && memcmp(word, kinds[i].word, n) == 0)
            t.kind = kinds[i].kind;
    t.text = from;
    t.size = (size_t)(l->at - from);
    return t;
}

struct wpp_token wpp_next(struct wpp_lexer *l)
{
    wpp_blanks(l);
    struct wpp_token t     = {.kind = WPP_END, .text = l->at, .line = l->line};
    const bool       first = l->begins_line;
    l->begins_line         = false;
    if (l->at >= l->end)
        return t;
    const char c = *l->at;
    if (c == '#' && first)
        return wpp_directive(l);
    if (wpp_is_name(c) && !isdigit((unsigned char)c)) {
        while (l->at < l->end && wpp_is_name(*l->at))
            l->at++;
        t.kind        = WPP_NAMED;
        t.size        = (size_t)(l->at - t.text);
        const bool to = l->at < l->end && *l->at == '"' && t.size <= 3;
        if (to && t.text[t.size - 1] == 'R')
            wpp_raw_string(l);
        else if (to && (memchr("LuU", t.text[0], 3) != NULL))
            wpp_quoted(l);
        else
            return t;
        t.kind = WPP_STRING;
    } else if (c == '"' || c == '\'') {
        wpp_quoted(l);
        t.kind = c == '"' ? WPP_STRING : WPP_OTHER;
    } else if (isdigit((unsigned char)c)) { /* 1'000 of C++ is one number */
        while (l->at < l->end && (wpp_is_name(*l->at) || *l->at == '.' ||
                                  (*l->at == '\'' && l->at + 1 < l->end && wpp_is_name(l->at[1]))))
            l->at++;
        t.kind = WPP_OTHER;
    } else {
        wpp_advance(l, 1);
        t.kind = WPP_SIGN;
        t.sign = c;
    }
    t.size = (size_t)(l->at - t.text);
    return t;
}

/* ---- literals ---- */

/* PRIx64 of inttypes.h, by the sizes of this machine: "llx". */
static bool wpp_inttypes(const char *name, size_t size, char out[4])
{
    static const struct {
        const char *suffix, *length;
    } sizes[] = {{"8", "hh"}, {"16", "h"}, {"32", ""}, {"64", "ll"}, {"PTR", "ll"}, {"MAX", "ll"}};

    if (size < 5 || memcmp(name, "PRI", 3) != 0 || !strchr("diouxX", name[3]))
        return false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strlen(sizes[i].suffix) == size - 4 && memcmp(sizes[i].suffix, name + 4, size - 4) == 0) {
            snprintf(out, 4, "%s%c", sizes[i].length, name[3]);
            return true;
        }
    return false;
}

static void wpp_utf8(uint32_t code, struct text *out)
{
    const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    const int     bytes  = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = bytes - 1; i >= 0; i--) {
        const uint8_t six  = (uint8_t)(code >> (6 * i) & (bytes == 1 ? 0x7F : 0x3F));
        const uint8_t made = (uint8_t)(i == bytes - 1 ? lead[bytes == 1 ? 0 : bytes] | six : 0x80 | six);
        text_add(out, &made, 1);
    }
}

static size_t wpp_escape(const char *p, const char *to, struct text *out)
{
    static const char from[] = "ntrabfv0\"\\'?", made[] = "\n\t\r\a\b\f\v\0\"\\'?";
    const char       *known = strchr(from, *p);

    if (*p == 'x') {
        char  *end;
        char   digits[9] = {0};
        size_t n         = (size_t)(to - p - 1) < 8 ? (size_t)(to - p - 1) : 8;
        memcpy(digits, p + 1, n);
        const char byte = (char)strtoul(digits, &end, 16);
        text_add(out, &byte, 1);
        return 1 + (size_t)(end - digits);
    }
    if (*p == 'u' || *p == 'U') {
        const size_t most = *p == 'u' ? 4 : 8;
        uint32_t     code = 0;
        size_t       n    = 1;
        for (; n <= most && p + n < to && isxdigit((unsigned char)p[n]); n++)
            code = code << 4 | (uint32_t)(p[n] <= '9' ? p[n] - '0' : (p[n] | 0x20) - 'a' + 10);
        wpp_utf8(code, out);
        return n;
    }
    if (*p >= '0' && *p < '8') {
        unsigned value = 0;
        size_t   n     = 0;
        for (; n < 3 && p + n < to && p[n] >= '0' && p[n] < '8'; n++)
            value = value * 8 + (unsigned)(p[n] - '0');
        const char byte = (char)value;
        text_add(out, &byte, 1);
        return n;
    }
    text_add(out, known && *known ? &made[known - from] : p, 1);
    return 1;
}

static void wpp_string_content(const struct wpp_token *t, struct text *out)
{
    const char *p = memchr(t->text, '"', t->size), *to = t->text + t->size - 1;
    if (!p || to <= p)
        return;
    if (p > t->text && p[-1] == 'R') {
        const char *open = memchr(p, '(', t->size);
        const char *stop = t->text + t->size - 1 - (open ? open - p : 0);
        if (open && stop > open)
            text_add(out, open + 1, (size_t)(stop - open - 1));
        return;
    }
    for (p++; p < to;) {
        if (*p != '\\') {
            text_add(out, p++, 1);
        } else if (p + 1 < to && (p[1] == '\n' || p[1] == '\r')) {
            p += p[1] == '\r' ? 3 : 2;
        } else {
            p += 1 + (p + 1 < to ? wpp_escape(p + 1, to, out) : 0);
        }
    }
}

bool wpp_literal(const char *from, const char *to, struct text *out, const char **rest)
{
    struct wpp_lexer l   = {.at = from, .end = to, .line = 1};
    bool             any = false;
    for (;;) {
        struct wpp_token t = wpp_next(&l);
        char             length[4];
        if (t.kind == WPP_END)
            return any;
        *rest = t.text;
        if (t.kind == WPP_STRING)
            wpp_string_content(&t, out);
        else if (t.kind == WPP_NAMED && wpp_inttypes(t.text, t.size, length))
            text_add(out, length, strlen(length));
        else
            return false;
        any = true;
    }
}
