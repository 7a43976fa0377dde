/* words.c - the INI vocabulary: human text -> typed value and back, by the `words` column of values.def. */
#include "autologger/kernel/flags.h"
#include "autologger/plan/amounts.h"
#include "autologger/plan/boot_settings.h"
#include "autologger/plan/id_words.h"
#include "autologger/plan/publishers.h"
#include "autologger/plan/values.h"
#include "autologger/wire/stack_copy.h"
#include "registry-sim/base/nearest.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/win32/utf16.h"

#include <inttypes.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { STACK_FILE_MAX = 65536, LIST_MAX = 64, WORD_SIZE = 64 };

/* What a parse is about; `row` says how to read the text. */
struct asked {
    const struct value_row *row;
    const char             *text, *base_dir, *key;
};
typedef wstatus (*parse_fn)(const struct asked *asked, struct regvalue *out, struct reason *why);
typedef char *(*print_fn)(const struct regvalue *value);

struct word {
    const char *name;
    uint32_t    number;
};
static const struct word bools[]  = {{"no", 0}, {"yes", 1}, {"false", 0}, {"true", 1}, {"off", 0}, {"on", 1}};
static const struct word clocks[] = {{"QPC", 1}, {"SystemTime", 2}, {"CPUCycle", 3}};
static const struct word levels[] = {{"All", 0},           {"LogAlways", 0},   {"Critical", 1}, {"Error", 2}, {"Warning", 3},
                                     {"Informational", 4}, {"Information", 4}, {"Info", 4},  {"Verbose", 5}};
#define COUNT(table) (sizeof(table) / sizeof *(table))

/* -- typed results ---------------------------------------------------------------------------------------------- */

static wstatus set_bytes(struct regvalue *out, uint32_t type, const void *data, size_t size, struct reason *why)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a value");
    if (size)
        memcpy(copy, data, size);
    out->type = type;
    out->data = copy;
    out->size = (uint32_t)size;
    return W_SUCCESS;
}

static wstatus set_number(const struct asked *a, uint64_t number, struct regvalue *out, struct reason *why)
{
    uint8_t  bytes[8];
    unsigned size = a->row->type == REG_TYPE_QWORD ? 8 : 4;

    if (size == 4 && number > UINT32_MAX)
        return reason_set(why, W_INVALID_PARAMETER, "'%.64s' is too large, a REG_DWORD has 32 bits", a->text);
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    return set_bytes(out, a->row->type, bytes, size, why);
}

static wstatus set_string(const char *text, struct regvalue *out, struct reason *why)
{
    size_t   size  = utf8_to_utf16le(text, strlen(text), NULL, 0);
    uint8_t *utf16 = calloc(1, size + 2);
    wstatus  st    = W_NOT_ENOUGH_MEMORY;

    if (!utf16)
        return reason_set(why, st, "no memory for a value");
    utf8_to_utf16le(text, strlen(text), utf16, size);
    st = set_bytes(out, REG_TYPE_SZ, utf16, size + 2, why);
    free(utf16);
    return st;
}

/* -- numbers and amounts ---------------------------------------------------------------------------------------- */

static wstatus parse_number(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint64_t number;
    wstatus  st = amount_parse_number(a->text, &number, why);

    return st ? st : set_number(a, number, out, why);
}

/* An amount in `unit`; what is no whole number of it would be changed by storing it, so it is refused. */
static wstatus set_amount(const struct asked *a, uint64_t amount, uint64_t unit, const char *advice,
                          struct regvalue *out, struct reason *why)
{
    if (amount % unit)
        return reason_set(why, W_INVALID_PARAMETER, "'%.64s' is no whole number of %s%s", a->text, a->row->unit,
                          advice);
    return set_number(a, amount / unit, out, why);
}

static wstatus parse_kilobytes(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint64_t bytes;
    wstatus  st = amount_parse_size(a->text, "KB", &bytes, why);

    return st ? st : set_amount(a, bytes, 1024, "", out, why);
}

static wstatus parse_megabytes(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint64_t bytes;
    wstatus  st = amount_parse_size(a->text, "MB", &bytes, why);

    return st ? st
              : set_amount(a, bytes, 1 << 20, "; for KB write a plain number and LogFileMode = USE_KBYTES_FOR_SIZE",
                           out, why);
}

static wstatus parse_seconds(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint64_t ms;
    wstatus  st = amount_parse_time(a->text, "s", &ms, why);

    return st ? st
              : set_amount(a, ms, 1000,
                           a->row->words == WORDS_SECONDS ? "; for ms write a plain number and LogFileMode = "
                                                            "USE_MS_FLUSH_TIMER"
                                                          : "",
                           out, why);
}

static uint64_t number_of(const struct regvalue *v)
{
    uint64_t number = 0;

    for (uint32_t i = 0; i < v->size && i < 8; i++)
        number |= (uint64_t)v->data[i] << 8 * i;
    return number;
}

static char *text_of(const char *format, uint64_t number)
{
    char *text = malloc(WORD_SIZE);

    if (text) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, WORD_SIZE, format, (unsigned long long)number);
#pragma GCC diagnostic pop
    }
    return text;
}

static char *print_number(const struct regvalue *v) { return text_of("%llu", number_of(v)); }
static char *print_bits(const struct regvalue *v) { return text_of("0x%llx", number_of(v)); }
static char *print_kilobytes(const struct regvalue *v) { return text_of("%llu KB", number_of(v)); }
static char *print_time(const struct regvalue *v) { return text_of("%llu s", number_of(v)); }

/* -- names ------------------------------------------------------------------------------------------------------ */

static wstatus parse_one_of(const struct asked *a, const struct word *words, size_t count, struct regvalue *out,
                            struct reason *why)
{
    struct nearest n    = nearest_make(a->text, 3);
    const char    *rest = a->text;
    uint64_t       number;

    if (amount_number(&rest, &number) && !*rest)
        return set_number(a, number, out, why);
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(words[i].name, a->text) == 0)
            return set_number(a, words[i].number, out, why);
        nearest_try(&n, words[i].name);
    }
    return reason_set(why, W_INVALID_PARAMETER, "unknown word '%.64s'%s%s%s", a->text, n.found ? ", did you mean " : "",
                      n.found ? n.found : "", n.found ? "?" : "");
}

static char *print_one_of(const struct regvalue *v, const struct word *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words[i].number == number_of(v))
            return strdup(words[i].name);
    return print_number(v);
}

static wstatus parse_bool(const struct asked *a, struct regvalue *out, struct reason *why)
{
    return parse_one_of(a, bools, COUNT(bools), out, why);
}
static wstatus parse_clock(const struct asked *a, struct regvalue *out, struct reason *why)
{
    return parse_one_of(a, clocks, COUNT(clocks), out, why);
}
static wstatus parse_level(const struct asked *a, struct regvalue *out, struct reason *why)
{
    struct reason plain = {0}, named = {0};
    uint64_t      level;
    wstatus       st = parse_one_of(a, levels, COUNT(levels), out, &plain);

    if (!st || st == W_NOT_ENOUGH_MEMORY)
        return st;
    if (publisher_word_value(a->key, PUBLISHER_LEVEL, a->text, &level, &named) == W_SUCCESS)
        return set_number(a, level, out, why);
    return reason_set(why, st, "%s", plain.text);
}
static char *print_bool(const struct regvalue *v) { return print_one_of(v, bools, COUNT(bools)); }
static char *print_clock(const struct regvalue *v) { return print_one_of(v, clocks, COUNT(clocks)); }
static char *print_level(const struct regvalue *v) { return print_one_of(v, levels, COUNT(levels)); }

/* The next word of a list joined by `separator`, trimmed; false at the end. An empty or long word comes out as "". */
static bool next_word(const char **text, char separator, char word[WORD_SIZE])
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

    while (next_word(&p, '+', word)) {
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
    return set_number(a, number, out, why);
}

static char *print_bit_names(const struct regvalue *v, const struct value_bit *bits, size_t count)
{
    uint32_t left = (uint32_t)number_of(v);
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

static wstatus parse_mode(const struct asked *a, struct regvalue *out, struct reason *why)
{
    size_t                  count;
    const struct value_bit *bits = mode_bits(&count);
    return parse_bit_names(a, bits, count, out, why);
}
static wstatus parse_property(const struct asked *a, struct regvalue *out, struct reason *why)
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

    for (const char *at = a->text; *(at += strspn(at, " \t+|")); ) {
        size_t   n = strcspn(at, "+|"), length = n;
        uint64_t one = 0;
        while (length && isspace((unsigned char)at[length - 1]))
            length--;
        if (length >= sizeof word)
            return reason_set(why, W_INVALID_PARAMETER, "a word of %zu letters", length);
        memcpy(word, at, length);
        word[length] = 0;
        wstatus st = isdigit((unsigned char)*word) ? amount_parse_number(word, &one, why) : publisher_word_value(a->key, PUBLISHER_KEYWORD, word, &one, why);
        if (st)
            return st;
        all |= one;
        at += n;
    }
    return set_number(a, all, out, why);
}

static wstatus parse_bits(const struct asked *a, struct regvalue *out, struct reason *why)
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
static char *print_mode(const struct regvalue *v)
{
    size_t                  count;
    const struct value_bit *bits = mode_bits(&count);
    return print_bit_names(v, bits, count);
}
static char *print_property(const struct regvalue *v)
{
    size_t                  count;
    const struct value_bit *bits = property_bits(&count);
    return print_bit_names(v, bits, count);
}

/* frame-pointers, or dwarf with the memory that is copied of each stack */
static wstatus parse_user_stacks(const struct asked *a, struct regvalue *out, struct reason *why)
{
    static const char dwarf[] = "dwarf";
    uint64_t          bytes   = STACK_COPY_USUAL;

    if (!strcasecmp(a->text, "frame-pointers"))
        return set_number(a, 0, out, why);
    if (strncasecmp(a->text, dwarf, sizeof dwarf - 1) != 0)
        return reason_set(why, W_INVALID_PARAMETER, "'%s' is neither frame-pointers nor dwarf", a->text);
    const char *size = a->text + sizeof dwarf - 1;
    size += strspn(size, " \t,");
    wstatus st = *size ? amount_parse_size(size, "KB", &bytes, why) : W_SUCCESS;
    if (!st && !bytes)
        st = reason_set(why, W_INVALID_PARAMETER, "dwarf needs some of each stack, 512 bytes to 32 KB");
    return st ? st : set_number(a, bytes, out, why);
}

static char *print_user_stacks(const struct regvalue *v)
{
    const uint64_t bytes = number_of(v);
    char           text[40];

    snprintf(text, sizeof text, bytes % 1024 ? "dwarf %" PRIu64 " B" : "dwarf %" PRIu64 " KB", bytes % 1024 ? bytes : bytes / 1024);
    return strdup(bytes ? text : "frame-pointers");
}

/* -- kernel flags and stacks ------------------------------------------------------------------------------------ */

static wstatus parse_kernel_flags(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint32_t mask[GROUP_MASK_WORDS];
    uint8_t  bytes[sizeof mask];
    wstatus  st = group_mask_parse(a->text, mask, why);

    for (size_t i = 0; i < sizeof bytes && st == W_SUCCESS; i++)
        bytes[i] = (uint8_t)(mask[i / 4] >> i % 4 * 8);
    return st ? st : set_bytes(out, REG_TYPE_BINARY, bytes, sizeof bytes, why);
}

static char *print_kernel_flags(const struct regvalue *v)
{
    uint32_t mask[GROUP_MASK_WORDS];

    if (group_mask_from_bytes(v->data, v->size, mask, NULL) != W_SUCCESS)
        return NULL;
    size_t size = group_mask_format(mask, NULL, 0) + 1;
    char  *text = malloc(size);
    if (text)
        group_mask_format(mask, text, size);
    return text;
}

static wstatus set_hooks(const uint16_t *hooks, unsigned count, struct regvalue *out, struct reason *why)
{
    uint8_t bytes[HOOK_MAX * 4] = {0};

    for (unsigned i = 0; i < count; i++) {
        bytes[4 * i]     = (uint8_t)hooks[i];
        bytes[4 * i + 1] = (uint8_t)(hooks[i] >> 8);
    }
    return set_bytes(out, REG_TYPE_BINARY, bytes, 4 * (size_t)count, why);
}

/* The names in one line of a stack file; '!' starts a comment. */
static wstatus stack_line(char *line, uint16_t hooks[HOOK_MAX], unsigned *count, struct reason *why)
{
    uint16_t found[HOOK_MAX];
    unsigned n  = 0;
    wstatus  st = W_SUCCESS;

    line[strcspn(line, "!\r\n")] = '\0';
    size_t used                  = strlen(line);
    while (used > 0 && (isspace((unsigned char)line[used - 1]) || line[used - 1] == '+'))
        line[--used] = '\0'; /* a '+' at the end joins the next line */
    if (line[strspn(line, " \t+")])
        st = hooks_parse(line + strspn(line, " \t+"), found, &n, why);
    if (st == W_SUCCESS && *count + n > HOOK_MAX)
        return reason_set(why, W_INVALID_USER_BUFFER, "more than %d stack names", HOOK_MAX);
    for (unsigned i = 0; i < n && st == W_SUCCESS; i++)
        hooks[(*count)++] = found[i];
    return st;
}

static wstatus parse_stack_file(const struct asked *a, struct regvalue *out, struct reason *why)
{
    const char *name = a->text + 1 + strspn(a->text + 1, " \t");
    char        path[4096], line[1024];
    uint16_t    hooks[HOOK_MAX];
    unsigned    count = 0;
    size_t      total = 0;
    wstatus     st    = W_SUCCESS;

    snprintf(path, sizeof path, "%s%s%s", *name == '/' || !a->base_dir ? "" : a->base_dir,
             *name == '/' || !a->base_dir ? "" : "/", name);
    FILE *file = fopen(path, "re");
    if (!file)
        return reason_set(why, wstatus_from_errno(errno), "the stack file '%.256s' can't be opened: %s", path,
                          strerror(errno));
    for (unsigned number = 1; st == W_SUCCESS && fgets(line, sizeof line, file); number++) {
        struct reason inner = {0};
        total += strlen(line);
        if (strlen(line) == sizeof line - 1 || total > STACK_FILE_MAX)
            st = reason_set(why, W_INVALID_PARAMETER, "%.200s:%u: the line or the file is too long", name, number);
        else if ((st = stack_line(line, hooks, &count, &inner)) != W_SUCCESS)
            reason_set(why, st, "%.200s:%u: %.256s", name, number, inner.text);
    }
    if (st == W_SUCCESS && ferror(file))
        st = reason_set(why, W_INVALID_DATA, "the stack file '%.256s' can't be read", path);
    fclose(file);
    if (st == W_SUCCESS && count == 0)
        st = reason_set(why, W_INVALID_PARAMETER, "the stack file '%.256s' names no stack", path);
    return st ? st : set_hooks(hooks, count, out, why);
}

static wstatus parse_hooks(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint16_t hooks[HOOK_MAX];
    unsigned count;

    if (*a->text == '@')
        return parse_stack_file(a, out, why);
    wstatus st = hooks_parse(a->text, hooks, &count, why);
    return st ? st : set_hooks(hooks, count, out, why);
}

static char *print_hooks(const struct regvalue *v)
{
    uint16_t hooks[HOOK_MAX];
    unsigned count;

    if (hooks_from_bytes(v->data, v->size, hooks, &count, NULL) != W_SUCCESS)
        return NULL;
    size_t size = hooks_format(hooks, count, NULL, 0) + 1;
    char  *text = malloc(size);
    if (text)
        hooks_format(hooks, count, text, size);
    return text;
}

/* -- texts and lists -------------------------------------------------------------------------------------------- */

static wstatus parse_text(const struct asked *a, struct regvalue *out, struct reason *why)
{
    return set_string(a->text, out, why);
}

static wstatus parse_guid(const struct asked *a, struct regvalue *out, struct reason *why)
{
    struct guid guid;
    char        braced[GUID_TEXT_SIZE];

    if (!guid_parse(a->text, &guid))
        return reason_set(why, W_INVALID_PARAMETER, "'%.64s' is not of the form {xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx}",
                          a->text);
    snprintf(braced, sizeof braced, *a->text == '{' ? "%s" : "{%s}", a->text);
    return set_string(braced, out, why);
}

static wstatus parse_stop_after(const struct asked *a, struct regvalue *out, struct reason *why)
{
    bool     stops, after_boot_done;
    uint64_t ms;
    wstatus  st = boot_stop_after_parse(a->text, &stops, &after_boot_done, &ms, why);

    return st ? st : set_string(a->text, out, why);
}

static wstatus parse_keep(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint64_t boots, bytes;
    wstatus  st = boot_keep_parse(a->text, &boots, &bytes, why);

    return st ? st : set_string(a->text, out, why);
}

static char *print_text(const struct regvalue *v)
{
    char *text;
    return regvalue_get_string_dup(v, &text, NULL) == W_SUCCESS ? text : NULL;
}

/* Names joined by ',' become Windows' list, which ';' joins: in INI that begins a comment. */
static wstatus parse_names(const struct asked *a, struct regvalue *out, struct reason *why)
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
    wstatus st = set_string(text, out, why);
    free(text);
    return st;
}

static char *print_names(const struct regvalue *v)
{
    char  *plain = print_text(v), *text = plain ? calloc(2, strlen(plain) + 1) : NULL, *to = text;
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

    while (next_word(&p, ',', word)) {
        wstatus st = amount_parse_number(word, &number, why);
        if (st != W_SUCCESS)
            return st;
        if (number >> 8 * width || size + width > LIST_MAX * width)
            return reason_set(why, W_INVALID_PARAMETER, "'%s' is over %u bits, or there are more than %d numbers", word,
                              8 * width, LIST_MAX);
        for (unsigned i = 0; i < width; i++)
            bytes[size++] = (uint8_t)(number >> 8 * i);
    }
    return set_bytes(out, REG_TYPE_BINARY, bytes, size, why);
}
static wstatus parse_dwords(const struct asked *a, struct regvalue *out, struct reason *why)
{
    return parse_list(a, 4, out, why);
}

static wstatus parse_ids(const struct asked *a, struct regvalue *out, struct reason *why)
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
    return st ? st : set_bytes(out, REG_TYPE_BINARY, bytes, 2 * (size_t)count, why);
}
static char *print_ids(const struct regvalue *v) { return v->size % 2 ? NULL : id_words_print(v->data, v->size); }

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
static char *print_dwords(const struct regvalue *v) { return print_list(v, 4); }

static wstatus parse_hex(const struct asked *a, struct regvalue *out, struct reason *why)
{
    (void)out;
    return reason_set(why, W_INVALID_PARAMETER, "%s has no words; write its bytes, as in hex:01,02", a->row->name);
}

/* -- the vocabulary --------------------------------------------------------------------------------------------- */

static const struct {
    parse_fn parse;
    print_fn print;
} by_words[] = {
    [WORDS_BOOL]         = {parse_bool, print_bool},
    [WORDS_NUMBER]       = {parse_number, print_number},
    [WORDS_BITS]         = {parse_bits, print_bits},
    [WORDS_KILOBYTES]    = {parse_kilobytes, print_kilobytes},
    [WORDS_MEGABYTES]    = {parse_megabytes, print_number}, /* the unit depends on LogFileMode */
    [WORDS_SECONDS]      = {parse_seconds, print_number},
    [WORDS_TIME]         = {parse_seconds, print_time},
    [WORDS_CLOCK]        = {parse_clock, print_clock},
    [WORDS_MODE]         = {parse_mode, print_mode},
    [WORDS_LEVEL]        = {parse_level, print_level},
    [WORDS_PROPERTY]     = {parse_property, print_property},
    [WORDS_KERNEL_FLAGS] = {parse_kernel_flags, print_kernel_flags},
    [WORDS_HOOKS]        = {parse_hooks, print_hooks},
    [WORDS_GUID]         = {parse_guid, print_text},
    [WORDS_PATH]         = {parse_text, print_text},
    [WORDS_TEXT]         = {parse_text, print_text},
    [WORDS_DWORD_LIST]   = {parse_dwords, print_dwords},
    [WORDS_HEX]          = {parse_hex, NULL},
    [WORDS_STOP_AFTER]   = {parse_stop_after, print_text},
    [WORDS_KEEP]         = {parse_keep, print_text},
    [WORDS_USER_STACKS]  = {parse_user_stacks, print_user_stacks},
    [WORDS_ID_LIST]      = {parse_ids, print_ids},
    [WORDS_NAME_LIST]    = {parse_names, print_names},
};

static wstatus vocabulary_parse(void *ctx, const char *key, const char *name, const char *text, const char *base_dir,
                                struct regvalue *out, struct reason *why)
{
    unsigned                scope = value_scope_of(key);
    const struct value_row *row   = value_find(scope, name);
    struct asked            asked = {row, text, base_dir, key};

    (void)ctx;
    if (!scope)
        return reason_set(why, W_BAD_PATHNAME,
                          "no words are known for values of this key; write a literal, as in dword:00000001");
    if (!row) {
        const char *near = value_suggest(scope, name);
        return reason_set(why, W_INVALID_PARAMETER, "no value of this name is known here%s%s%s",
                          near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
    }
    wstatus st = by_words[row->words].parse(&asked, out, why);
    if (st == W_NOT_ENOUGH_MEMORY)
        return st;
    if (st != W_SUCCESS) {
        if (why) /* whatever is wrong with a text is a mistake of the declaration */
            why->status = W_INVALID_PARAMETER;
        return W_INVALID_PARAMETER;
    }
    out->name = row->name;
    return W_SUCCESS;
}

/* Whether INI can hold the text as it is: one line, nothing that a reader of the dialect takes for something else. */
static bool plain_text(const char *text)
{
    static const char *const literals[] = {"dword:", "hex:", "hex(", "qword:"};
    size_t                   n          = strlen(text);

    if (n == 0 || isspace((unsigned char)text[0]) || isspace((unsigned char)text[n - 1]) || text[0] == '@')
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == '"' || text[i] == 0x7f)
            return false;
    for (size_t i = 0; i < COUNT(literals); i++)
        if (strncasecmp(text, literals[i], strlen(literals[i])) == 0)
            return false;
    return true;
}

static char *vocabulary_print(void *ctx, const char *key, const struct regvalue *value)
{
    const struct value_row *row  = value_find(value_scope_of(key), value->name);
    struct regvalue         back = {0};
    char                   *text = NULL;

    (void)ctx;
    if (row && row->type == value->type && by_words[row->words].print)
        text = by_words[row->words].print(value);
    /* read back: what would not give the same bytes is left to a literal */
    if (text && !(plain_text(text) && vocabulary_parse(NULL, key, value->name, text, NULL, &back, NULL) == W_SUCCESS &&
                  back.type == value->type && back.size == value->size &&
                  (value->size == 0 || memcmp(back.data, value->data, value->size) == 0))) {
        free(text);
        text = NULL;
    }
    free((void *)(uintptr_t)back.data);
    return text;
}

/* Filters that somebody writes down are meant; ids are let in, but for those behind "not". */
static const char *implies(void *ctx, const char *key, const char *name, const char *text, uint32_t *number)
{
    uint16_t ids[FILTER_IDS];
    unsigned count;
    bool     in;
    (void)ctx;
    if (value_scope_of(key) != IN_FILTERS)
        return NULL;
    *number                     = 1;
    const struct value_row *row = name ? value_find(IN_FILTERS, name) : NULL;
    if (!name)
        return value_rows[VALUE_FILTER_ENABLED].name;
    if (!row || row->words != WORDS_ID_LIST || (text && id_words_parse(text, ids, &count, &in, NULL)))
        return NULL;
    *number = !text || in;
    return value_rows[row == &value_rows[VALUE_EVENT_IDS] ? VALUE_EVENT_ID_FILTER_IN : VALUE_STACK_WALK_FILTER_IN].name;
}

const struct ini_vocabulary *plan_vocabulary(void)
{
    static const struct ini_vocabulary words = {NULL, vocabulary_parse, vocabulary_print, publisher_guid, implies};
    return &words;
}
