/* words_texts.c - texts, and lists of texts and numbers; see words_parts.h. */
#include "autologger/plan/words_parts.h"
#include "autologger/plan/amounts.h"
#include "autologger/plan/boot_settings.h"
#include "autologger/plan/id_words.h"
#include "autologger/plan/payload_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 64 };

wstatus words_parse_text(const struct asked *a, struct regvalue *out, struct reason *why)
{
    return words_set_string(a->text, out, why);
}

wstatus words_parse_guid(const struct asked *a, struct regvalue *out, struct reason *why)
{
    struct guid guid;
    char        braced[GUID_TEXT_SIZE];

    if (!guid_parse(a->text, &guid))
        return reason_set(why, W_INVALID_PARAMETER, "'%.64s' is not of the form {xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx}",
                          a->text);
    snprintf(braced, sizeof braced, *a->text == '{' ? "%s" : "{%s}", a->text);
    return words_set_string(braced, out, why);
}

wstatus words_parse_stop_after(const struct asked *a, struct regvalue *out, struct reason *why)
{
    bool     stops, after_boot_done;
    uint64_t ms;
    wstatus  st = boot_stop_after_parse(a->text, &stops, &after_boot_done, &ms, why);

    return st ? st : words_set_string(a->text, out, why);
}

wstatus words_parse_keep(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint64_t boots, bytes;
    wstatus  st = boot_keep_parse(a->text, &boots, &bytes, why);

    return st ? st : words_set_string(a->text, out, why);
}

char *words_print_text(const struct regvalue *v)
{
    char *text;
    return regvalue_get_string_dup(v, &text, NULL) == W_SUCCESS ? text : NULL;
}

/* Names joined by ',' become Windows' list, joined by ';', which begins a comment in INI. */
wstatus words_parse_names(const struct asked *a, struct regvalue *out, struct reason *why)
{
    char *text = strdup(a->text), *to = text;
    if (!text)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a value");
    for (const char *p = a->text; *p;) {
        const bool between = *p == ',' || *p == ';';
        while (between && to > text && to[-1] == ' ')
            to--;
        *to++ = between ? ';' : *p;
        p += between ? 1 + strspn(p + 1, " \t") : 1;
    }
    *to        = 0;
    wstatus st = words_set_string(text, out, why);
    free(text);
    return st;
}

char *words_print_names(const struct regvalue *v)
{
    char *plain = words_print_text(v), *text = plain ? calloc(2, strlen(plain) + 1) : NULL, *to = text;
    for (const char *p = plain; text && *p; p++) {
        *to++ = *p == ';' ? ',' : *p;
        if (*p == ';')
            *to++ = ' ';
    }
    free(plain);
    return text;
}

/* Numbers of `width` bytes, joined by ','. */
static wstatus parse_list(const struct asked *a, unsigned width, struct regvalue *out, struct reason *why)
{
    uint8_t     bytes[LIST_MAX * 4];
    size_t      size = 0;
    const char *p    = a->text;
    char        word[WORD_SIZE];
    uint64_t    number;

    while (words_next(&p, ',', word)) {
        wstatus st = amount_parse_number(word, &number, why);
        if (st != W_SUCCESS)
            return st;
        if (number >> 8 * width || size + width > LIST_MAX * width)
            return reason_set(why, W_INVALID_PARAMETER, "'%s' is over %u bits, or there are more than %d numbers", word,
                              8 * width, LIST_MAX);
        for (unsigned i = 0; i < width; i++)
            bytes[size++] = (uint8_t)(number >> 8 * i);
    }
    return words_bytes(out, REG_TYPE_BINARY, bytes, size, why);
}
wstatus words_parse_dwords(const struct asked *a, struct regvalue *out, struct reason *why)
{
    return parse_list(a, 4, out, why);
}

wstatus words_parse_ids(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint16_t ids[FILTER_IDS];
    uint8_t  bytes[sizeof ids];
    unsigned count;
    bool     in; /* becomes a value of its own, see implies() */
    wstatus  st = id_words_parse(a->text, ids, &count, &in, why);
    for (unsigned i = 0; i < count && !st; i++) {
        bytes[2 * i]     = (uint8_t)ids[i];
        bytes[2 * i + 1] = (uint8_t)(ids[i] >> 8);
    }
    return st ? st : words_bytes(out, REG_TYPE_BINARY, bytes, 2 * (size_t)count, why);
}
char *words_print_ids(const struct regvalue *v) { return v->size % 2 ? NULL : id_words_print(v->data, v->size); }

static char *print_list(const struct regvalue *v, unsigned width)
{
    size_t capacity = (size_t)v->size / width * 12 + 1, n = 0;
    char  *text = calloc(1, capacity);

    for (uint32_t at = 0; text && at + width <= v->size; at += width) {
        uint32_t number = 0;
        for (unsigned i = 0; i < width; i++)
            number |= (uint32_t)v->data[at + i] << 8 * i;
        n += (size_t)snprintf(text + n, capacity - n, "%s%u", n ? ", " : "", number);
    }
    return text;
}
char *words_print_dwords(const struct regvalue *v) { return print_list(v, 4); }

wstatus words_parse_hex(const struct asked *a, struct regvalue *out, struct reason *why)
{
    (void)out;
    return reason_set(why, W_INVALID_PARAMETER, "%s has no words; write its bytes, as in hex:01,02", a->row->name);
}

wstatus words_parse_payload(const struct asked *a, struct regvalue *out, struct reason *why)
{
    struct payload_bytes *bytes = malloc(sizeof *bytes);
    if (!bytes)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a value");
    wstatus st = payload_words_parse(a->key, a->text, bytes, why);
    st         = st ? st : words_bytes(out, REG_TYPE_BINARY, bytes->at, bytes->size, why);
    free(bytes);
    return st;
}
char *words_print_payload(const struct regvalue *v)
{
    enum { ROOM = 16384 };
    char *text = payload_check(v->data, v->size, NULL) ? NULL : malloc(ROOM);
    if (text)
        payload_describe(v->data, v->size, text, ROOM);
    return text;
}
