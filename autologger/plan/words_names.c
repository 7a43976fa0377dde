/* words_names.c - words that are names of numbers and of bits; see words_parts.h. */
#include "autologger/plan/words_parts.h"
#include "autologger/plan/amounts.h"
#include "autologger/plan/publishers.h"
#include "autologger/wire/stack_copy.h"
#include "registry-sim/base/nearest.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct word {
    const char *name;
    uint32_t    number;
};
static const struct word bools[]  = {{"no", 0}, {"yes", 1}, {"false", 0}, {"true", 1}, {"off", 0}, {"on", 1}};
static const struct word clocks[] = {{"QPC", 1}, {"SystemTime", 2}, {"CPUCycle", 3}};
static const struct word levels[] = {{"All", 0},         {"LogAlways", 0}, {"Critical", 1},
                                     {"Error", 2},       {"Warning", 3},   {"Informational", 4},
                                     {"Information", 4}, {"Info", 4},      {"Verbose", 5}};
#define COUNT(table) (sizeof(table) / sizeof *(table))

static wstatus parse_one_of(const struct asked *a, const struct word *words, size_t count, struct regvalue *out,
                            struct reason *why)
{
    struct nearest n    = nearest_make(a->text, 3);
    const char    *rest = a->text;
    uint64_t       number;

    if (amount_number(&rest, &number) && !*rest)
        return words_set_number(a, number, out, why);
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(words[i].name, a->text) == 0)
            return words_set_number(a, words[i].number, out, why);
        nearest_try(&n, words[i].name);
    }
    return reason_set(why, W_INVALID_PARAMETER, "unknown word '%.64s'%s%s%s", a->text, n.found ? ", did you mean " : "",
                      n.found ? n.found : "", n.found ? "?" : "");
}

static char *print_one_of(const struct regvalue *v, const struct word *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words[i].number == words_number(v))
            return strdup(words[i].name);
    return words_print_number(v);
}

wstatus words_parse_bool(const struct asked *a, struct regvalue *out, struct reason *why)
{
    return parse_one_of(a, bools, COUNT(bools), out, why);
}
wstatus words_parse_clock(const struct asked *a, struct regvalue *out, struct reason *why)
{
    return parse_one_of(a, clocks, COUNT(clocks), out, why);
}
wstatus words_parse_level(const struct asked *a, struct regvalue *out, struct reason *why)
{
    struct reason plain = {0}, named = {0};
    uint64_t      level;
    wstatus       st = parse_one_of(a, levels, COUNT(levels), out, &plain);

    if (!st || st == W_NOT_ENOUGH_MEMORY)
        return st;
    if (publisher_word_value(a->key, PUBLISHER_LEVEL, a->text, &level, &named) == W_SUCCESS)
        return words_set_number(a, level, out, why);
    return reason_set(why, st, "%s", plain.text);
}
char *words_print_bool(const struct regvalue *v) { return print_one_of(v, bools, COUNT(bools)); }
char *words_print_clock(const struct regvalue *v) { return print_one_of(v, clocks, COUNT(clocks)); }
char *words_print_level(const struct regvalue *v) { return print_one_of(v, levels, COUNT(levels)); }

/* The next word of a list joined by `separator`, trimmed; false at the end. An empty or long word comes out as "". */
bool words_next(const char **text, char separator, char word[WORD_SIZE])
{
    const char *p = *text;
    size_t      n = 0;

    if (!p)
        return false;
    p += strspn(p, " \t");
    while (p[n] && p[n] != separator)
        n++;
    *text = p[n] ? p + n + 1 : NULL;
    while (n > 0 && isspace((unsigned char)p[n - 1]))
        n--;
    snprintf(word, WORD_SIZE, "%.*s", (int)(n < WORD_SIZE ? n : 0), p);
    return true;
}

static wstatus parse_bit_names(const struct asked *a, const struct value_bit *bits, size_t count, struct regvalue *out,
                               struct reason *why)
{
    const char *p      = a->text;
    uint64_t    number = 0, one;
    char        word[WORD_SIZE];

    while (words_next(&p, '+', word)) {
        struct nearest n     = nearest_make(word, 4);
        const char    *rest  = word;
        bool           found = amount_number(&rest, &one) && !*rest;
        for (size_t i = 0; i < count && !found; i++) {
            if (strcasecmp(bits[i].name, word) == 0) {
                one   = bits[i].bit;
                found = true;
            }
            nearest_try(&n, bits[i].name);
        }
        if (!found)
            return reason_set(why, W_INVALID_PARAMETER, "unknown word '%s'%s%s%s", word,
                              n.found ? ", did you mean " : "", n.found ? n.found : "", n.found ? "?" : "");
        number |= one;
    }
    return words_set_number(a, number, out, why);
}

static char *print_bit_names(const struct regvalue *v, const struct value_bit *bits, size_t count)
{
    uint32_t left = (uint32_t)words_number(v);
    char     text[1024];
    size_t   n = 0;

    if (left == 0)
        return strdup("0");
    for (size_t i = 0; i < count; i++)
        if (left & bits[i].bit) {
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? "+" : "", bits[i].name);
            left &= ~bits[i].bit;
        }
    if (left)
        snprintf(text + n, sizeof text - n, "%s0x%x", n ? "+" : "", left);
    return strdup(text);
}

wstatus words_parse_mode(const struct asked *a, struct regvalue *out, struct reason *why)
{
    size_t                  count;
    const struct value_bit *bits = mode_bits(&count);
    return parse_bit_names(a, bits, count, out, why);
}
wstatus words_parse_property(const struct asked *a, struct regvalue *out, struct reason *why)
{
    size_t                  count;
    const struct value_bit *bits = property_bits(&count);
    return parse_bit_names(a, bits, count, out, why);
}
/* Keyword + Keyword + 0x40 */
static wstatus parse_keywords(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint64_t all = 0;
    char     word[128];

    for (const char *at = a->text; *(at += strspn(at, " \t+|"));) {
        size_t   n = strcspn(at, "+|"), length = n;
        uint64_t one = 0;
        while (length && isspace((unsigned char)at[length - 1]))
            length--;
        if (length >= sizeof word)
            return reason_set(why, W_INVALID_PARAMETER, "a word of %zu letters", length);
        memcpy(word, at, length);
        word[length] = 0;
        wstatus st   = isdigit((unsigned char)*word) ? amount_parse_number(word, &one, why)
                                                     : publisher_word_value(a->key, PUBLISHER_KEYWORD, word, &one, why);
        if (st)
            return st;
        all |= one;
        at += n;
    }
    return words_set_number(a, all, out, why);
}

wstatus words_parse_bits(const struct asked *a, struct regvalue *out, struct reason *why)
{
    struct reason plain = {0};
    wstatus       st    = parse_bit_names(a, NULL, 0, out, &plain);

    if (st && st != W_NOT_ENOUGH_MEMORY && a->row->type == REG_TYPE_QWORD) {
        struct reason words = {0};
        wstatus       named = parse_keywords(a, out, &words);
        if (!named || *words.text) {
            st    = named;
            plain = words;
        }
    }
    if (st)
        return reason_set(why, st, "%s", plain.text);
    return W_SUCCESS;
}
char *words_print_mode(const struct regvalue *v)
{
    size_t                  count;
    const struct value_bit *bits = mode_bits(&count);
    return print_bit_names(v, bits, count);
}
char *words_print_property(const struct regvalue *v)
{
    size_t                  count;
    const struct value_bit *bits = property_bits(&count);
    return print_bit_names(v, bits, count);
}

/* frame-pointers, or dwarf with the bytes copied of each stack */
wstatus words_parse_user_stacks(const struct asked *a, struct regvalue *out, struct reason *why)
{
    static const char dwarf[] = "dwarf";
    uint64_t          bytes   = STACK_COPY_USUAL;

    if (!strcasecmp(a->text, "frame-pointers"))
        return words_set_number(a, 0, out, why);
    if (strncasecmp(a->text, dwarf, sizeof dwarf - 1) != 0)
        return reason_set(why, W_INVALID_PARAMETER, "'%s' is neither frame-pointers nor dwarf", a->text);
    const char *size = a->text + sizeof dwarf - 1;
    size += strspn(size, " \t,");
    wstatus st = *size ? amount_parse_size(size, "KB", &bytes, why) : W_SUCCESS;
    if (!st && !bytes)
        st = reason_set(why, W_INVALID_PARAMETER, "dwarf needs some of each stack, 512 bytes to 32 KB");
    return st ? st : words_set_number(a, bytes, out, why);
}

char *words_print_user_stacks(const struct regvalue *v)
{
    const uint64_t bytes = words_number(v);
    char           text[40];

    snprintf(text, sizeof text, bytes % 1024 ? "dwarf %" PRIu64 " B" : "dwarf %" PRIu64 " KB",
             bytes % 1024 ? bytes : bytes / 1024);
    return strdup(bytes ? text : "frame-pointers");
}
