/* words_numbers.c - words that are numbers and amounts, and the building of values; see words_parts.h. */
#include "autologger/plan/words_parts.h"
#include "autologger/plan/amounts.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wstatus words_bytes(struct regvalue *out, uint32_t type, const void *data, size_t size, struct reason *why)
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

wstatus words_set_number(const struct asked *a, uint64_t number, struct regvalue *out, struct reason *why)
{
    uint8_t  bytes[8];
    unsigned size = a->row->type == REG_TYPE_QWORD ? 8 : 4;

    if (size == 4 && number > UINT32_MAX)
        return reason_set(why, W_INVALID_PARAMETER, "'%.64s' is too large, a REG_DWORD has 32 bits", a->text);
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    return words_bytes(out, a->row->type, bytes, size, why);
}

wstatus words_set_string(const char *text, struct regvalue *out, struct reason *why)
{
    size_t   size  = utf8_to_utf16le(text, strlen(text), NULL, 0);
    uint8_t *utf16 = calloc(1, size + 2);
    wstatus  st    = W_NOT_ENOUGH_MEMORY;

    if (!utf16)
        return reason_set(why, st, "no memory for a value");
    utf8_to_utf16le(text, strlen(text), utf16, size);
    st = words_bytes(out, REG_TYPE_SZ, utf16, size + 2, why);
    free(utf16);
    return st;
}

wstatus words_parse_number(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint64_t number;
    wstatus  st = amount_parse_number(a->text, &number, why);

    return st ? st : words_set_number(a, number, out, why);
}

/* Stores an amount as a number of `unit`. Refuses one that is no multiple of `unit`: storing would change it. */
static wstatus set_amount(const struct asked *a, uint64_t amount, uint64_t unit, const char *advice,
                          struct regvalue *out, struct reason *why)
{
    if (amount % unit)
        return reason_set(why, W_INVALID_PARAMETER, "'%.64s' is no whole number of %s%s", a->text, a->row->unit,
                          advice);
    return words_set_number(a, amount / unit, out, why);
}

wstatus words_parse_kilobytes(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint64_t bytes;
    wstatus  st = amount_parse_size(a->text, "KB", &bytes, why);

    return st ? st : set_amount(a, bytes, 1024, "", out, why);
}

wstatus words_parse_megabytes(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint64_t bytes;
    wstatus  st = amount_parse_size(a->text, "MB", &bytes, why);

    return st ? st
              : set_amount(a, bytes, 1 << 20, "; for KB write a plain number and LogFileMode = USE_KBYTES_FOR_SIZE",
                           out, why);
}

wstatus words_parse_seconds(const struct asked *a, struct regvalue *out, struct reason *why)
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

uint64_t words_number(const struct regvalue *v)
{
    uint64_t number = 0;

    for (uint32_t i = 0; i < v->size && i < 8; i++)
        number |= (uint64_t)v->data[i] << 8 * i;
    return number;
}

static char *words_numbers_text_of(const char *format, uint64_t number)
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

char *words_print_number(const struct regvalue *v) { return words_numbers_text_of("%llu", words_number(v)); }
char *words_print_bits(const struct regvalue *v) { return words_numbers_text_of("0x%llx", words_number(v)); }
char *words_print_kilobytes(const struct regvalue *v) { return words_numbers_text_of("%llu KB", words_number(v)); }
char *words_print_time(const struct regvalue *v) { return words_numbers_text_of("%llu s", words_number(v)); }
