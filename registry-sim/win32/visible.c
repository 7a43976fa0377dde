/* visible.c - see visible.h. */
#include "registry-sim/win32/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ranges over U+007F, in order. C0 and DEL are tested before. */
static const struct range {
    uint32_t first, last;
} hidden[] = {
    {0x0080, 0x009F}, /* C1: a terminal takes U+009B as ESC [ */
    {0x061C, 0x061C}, /* Arabic letter mark */
    {0x200E, 0x200F}, /* left-to-right and right-to-left mark */
    {0x2028, 0x202E}, /* line and paragraph separator; embeddings and overrides of the direction */
    {0x2066, 0x206F}, /* isolates of the direction; deprecated format characters */
    {0xFFF9, 0xFFFB}, /* interlinear annotations */
};

static bool is_hidden(uint32_t code)
{
    if (code < 0x80)
        return code < ' ' || code == 0x7F;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden && code >= hidden[i].first; i++)
        if (code <= hidden[i].last)
            return true;
    return false;
}

size_t visible_character(const char *text, size_t size, uint32_t *code, bool *valid)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t        *p       = (const uint8_t *)text;
    const size_t n     = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
    uint32_t     value = n > 1 ? p[0] & 0x7Fu >> n : p[0];

    *valid = n && n <= size;
    for (size_t i = 1; *valid && i < n; i++) {
        *valid = (p[i] & 0xC0) == 0x80;
        value  = value << 6 | (p[i] & 0x3Fu);
    }
    *valid = *valid && value >= least[n] && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
    *code  = *valid ? value : p[0];
    return *valid ? n : 1;
}

size_t visible_length(const char *text, size_t size)
{
    size_t   at = 0, n;
    uint32_t code;
    bool     valid;

    while (at < size) {
        for (; at < size && (unsigned char)text[at] >= ' ' && (unsigned char)text[at] < 0x7F; at++)
            ;
        if (at == size)
            break;
        n = visible_character(text + at, size - at, &code, &valid);
        if (!valid || is_hidden(code))
            break;
        at += n;
    }
    return at;
}

size_t visible_escape_one(const char *text, size_t size, char out[VISIBLE_ESCAPE])
{
    uint32_t     code;
    bool         valid;
    const size_t n      = visible_character(text, size, &code, &valid);
    const char   letter = code == '\n' ? 'n' : code == '\t' ? 't' : code == '\r' ? 'r' : 0;

    if (!valid)
        snprintf(out, VISIBLE_ESCAPE, "\\x%02x", code & 0xFF);
    else if (letter)
        snprintf(out, VISIBLE_ESCAPE, "\\%c", letter);
    else
        snprintf(out, VISIBLE_ESCAPE, "\\u%04x", code & 0xFFFF); /* no hidden character is over U+FFFF */
    return n;
}

bool visible_is(const char *text)
{
    const size_t size = strlen(text);
    return visible_length(text, size) == size;
}

/* The end of the last whole character of `text` within `most` bytes. */
static size_t whole(const char *text, size_t most)
{
    while (most && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return most;
}

size_t visible_escape(const char *text, size_t size, char *out, size_t capacity)
{
    size_t needed = 0, filled = 0;
    bool   full = capacity == 0;

    for (size_t at = 0; at < size;) {
        char         escape[VISIBLE_ESCAPE];
        const size_t plain = visible_length(text + at, size - at);
        const char  *from  = plain ? text + at : escape;
        size_t       used  = plain ? plain : visible_escape_one(text + at, size - at, escape);
        size_t       n     = plain ? plain : strlen(escape);
        needed += n;
        at += used;
        if (!full && n >= capacity - filled) {
            n    = plain ? whole(from, capacity - filled - 1) : 0;
            full = true;
        } else if (full) {
            n = 0;
        }
        if (n)
            memcpy(out + filled, from, n);
        filled += n;
    }
    if (capacity)
        out[filled] = 0;
    return needed;
}

char *visible_dup(const char *text)
{
    const size_t size = strlen(text), needed = visible_escape(text, size, NULL, 0);
    char        *out = malloc(needed + 1);
    if (out)
        visible_escape(text, size, out, needed + 1);
    return out;
}
