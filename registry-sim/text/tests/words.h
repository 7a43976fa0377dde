/* words.h - a small vocabulary for the tests: digits are a DWORD, 0x... a QWORD, anything else a REG_SZ; a text with
 * the word "wrong" is refused. */
#ifndef REGISTRY_SIM_TEXT_TESTS_WORDS_H
#define REGISTRY_SIM_TEXT_TESTS_WORDS_H
#include "registry-sim/text/dialect.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline wstatus words_parse(void *ctx, const char *key, const char *name, const char *text, const char *base_dir,
                                  struct regvalue *out, struct reason *why)
{
    (void)ctx, (void)key, (void)base_dir;
    size_t n      = strlen(text);
    bool   number = n && n < 9 && strspn(text, "0123456789") == n,
         hex      = n > 2 && n < 19 && !strncmp(text, "0x", 2) && strspn(text + 2, "0123456789abcdef") == n - 2;
    uint64_t v    = number || hex ? strtoull(text, NULL, hex ? 16 : 10) : 0;
    size_t   size = number ? 4 : hex ? 8 : utf8_to_utf16le(text, n + 1, NULL, 0);
    uint8_t *data = NULL;
    if (strstr(text, "wrong"))
        return reason_set(why, W_INVALID_PARAMETER, "'%s' is unknown, did you mean 'right'?. Do: write right", text);
    if (!(data = malloc(size)))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory");
    if (number || hex)
        memcpy(data, &v, size);
    else
        utf8_to_utf16le(text, n + 1, data, size);
    *out = (struct regvalue){.name = strcmp(name, "Alias") ? NULL : "Canonical",
                             .data = data,
                             .size = (uint32_t)size,
                             .type = number ? REG_TYPE_DWORD
                                     : hex  ? REG_TYPE_QWORD
                                            : REG_TYPE_SZ};
    return W_SUCCESS;
}

static inline char *words_print(void *ctx, const char *key, const struct regvalue *v)
{
    (void)ctx, (void)key;
    char    *text = malloc(v->size * 2u + 32);
    uint64_t n    = 0;
    if (text && v->size <= 8)
        memcpy(&n, v->data, v->size);
    if (text && v->type == REG_TYPE_DWORD)
        sprintf(text, "%u", (unsigned)n);
    else if (text && v->type == REG_TYPE_QWORD)
        sprintf(text, "0x%llx", (unsigned long long)n);
    else if (text && v->type == REG_TYPE_SZ) /* wrong for odd ones, so that the exporter has to notice */
        utf16le_to_utf8(v->data, v->size, text, v->size * 2u + 32);
    else {
        free(text);
        return NULL;
    }
    return text;
}
static const struct ini_vocabulary words = {.parse = words_parse, .print = words_print};
#endif
