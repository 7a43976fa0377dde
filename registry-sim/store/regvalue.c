/* regvalue.c - typed access to values; see regstore.h. Nothing here knows the backend. */
#include "registry-sim/base/cursor.h"
#include "registry-sim/store/regstore.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
    "REG_NONE",
    "REG_SZ",
    "REG_EXPAND_SZ",
    "REG_BINARY",
    "REG_DWORD",
    "REG_DWORD_BIG_ENDIAN",
    "REG_LINK",
    "REG_MULTI_SZ",
    "REG_RESOURCE_LIST",
    "REG_FULL_RESOURCE_DESCRIPTOR",
    "REG_RESOURCE_REQUIREMENTS_LIST",
    "REG_QWORD",
};

static const char *type_name(uint32_t type)
{
    return type < sizeof type_names / sizeof *type_names ? type_names[type] : "an unknown type";
}

static const char *regvalue_shown(const struct regvalue *value) { return *value->name ? value->name : "(default)"; }

static wstatus expect(const struct regvalue *value, uint32_t type, uint32_t size, struct reason *why)
{
    if (value->type != type)
        return reason_set(why, W_INVALID_PARAMETER, "%s is %s (type %u), but must be %s", regvalue_shown(value),
                          type_name(value->type), value->type, type_name(type));
    if (value->size < size)
        return reason_set(why, W_INVALID_PARAMETER, "%s has %u bytes, but %s needs %u", regvalue_shown(value),
                          value->size, type_name(type), size);
    return W_SUCCESS;
}

wstatus regvalue_get_dword(const struct regvalue *value, uint32_t *out, struct reason *why)
{
    wstatus st = expect(value, REG_TYPE_DWORD, 4, why);
    if (st == W_SUCCESS) {
        struct cursor c = cur_make(value->data, value->size);
        *out            = cur_u32(&c);
    }
    return st;
}

wstatus regvalue_get_dword_big_endian(const struct regvalue *value, uint32_t *out, struct reason *why)
{
    wstatus st = expect(value, REG_TYPE_DWORD_BIG_ENDIAN, 4, why);
    if (st == W_SUCCESS) {
        struct cursor c = cur_make(value->data, value->size);
        *out            = __builtin_bswap32(cur_u32(&c));
    }
    return st;
}

wstatus regvalue_get_qword(const struct regvalue *value, uint64_t *out, struct reason *why)
{
    wstatus st = expect(value, REG_TYPE_QWORD, 8, why);
    if (st == W_SUCCESS) {
        struct cursor c = cur_make(value->data, value->size);
        *out            = cur_u64(&c);
    }
    return st;
}

wstatus regvalue_get_binary(const struct regvalue *value, const uint8_t **data, uint32_t *size, struct reason *why)
{
    if (value->type != REG_TYPE_NONE) { /* NONE is bytes without a meaning */
        wstatus st = expect(value, REG_TYPE_BINARY, 0, why);
        if (st != W_SUCCESS)
            return st;
    }
    *data = value->data;
    *size = value->size;
    return W_SUCCESS;
}

/* Bytes of the UTF-16 string at `data`, up to its NUL or the end. */
static size_t wide_length(const uint8_t *data, size_t size)
{
    size_t n = 0;
    while (n + 1 < size && (data[n] || data[n + 1]))
        n += 2;
    return n;
}

wstatus regvalue_get_string_dup(const struct regvalue *value, char **out, struct reason *why)
{
    if (value->type != REG_TYPE_EXPAND_SZ) {
        wstatus st = expect(value, REG_TYPE_SZ, 0, why);
        if (st != W_SUCCESS)
            return st;
    }
    size_t length = wide_length(value->data, value->size);
    size_t need   = utf16le_to_utf8(value->data, length, NULL, 0) + 1;
    if (!(*out = malloc(need)))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", regvalue_shown(value));
    utf16le_to_utf8(value->data, length, *out, need);
    return W_SUCCESS;
}

wstatus regvalue_get_multi_dup(const struct regvalue *value, char ***out, struct reason *why)
{
    wstatus st = expect(value, REG_TYPE_MULTI_SZ, 0, why);
    if (st != W_SUCCESS)
        return st;
    /* first the sizes, then the strings after the pointers in one block; an empty string ends the list */
    size_t count = 0, bytes = 0;
    for (size_t at = 0, n; (n = wide_length(value->data + at, value->size - at)) > 0; count++) {
        bytes += utf16le_to_utf8(value->data + at, n, NULL, 0) + 1;
        at = at + n + 2 < value->size ? at + n + 2 : value->size;
    }
    char **list = malloc((count + 1) * sizeof *list + bytes);
    if (!list)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", regvalue_shown(value));
    char *text = (char *)(list + count + 1), *end = text + bytes;
    for (size_t i = 0, at = 0; i < count; i++) {
        size_t n = wide_length(value->data + at, value->size - at);
        list[i]  = text;
        text += utf16le_to_utf8(value->data + at, n, text, (size_t)(end - text)) + 1;
        at = at + n + 2 < value->size ? at + n + 2 : value->size;
    }
    list[count] = NULL;
    *out        = list;
    return W_SUCCESS;
}

static wstatus get_named(struct regstore *store, const char *key, const char *name, struct regvalue *value,
                         struct reason *why)
{
    wstatus st = regstore_get(store, key, name, value);
    return st == W_SUCCESS ? st : reason_set(why, st, "%s: %s", *name ? name : "(default)", wstatus_text(st));
}

wstatus regstore_get_dword(struct regstore *store, const char *key, const char *name, uint32_t *out, struct reason *why)
{
    struct regvalue value;
    wstatus         st = get_named(store, key, name, &value, why);
    return st == W_SUCCESS ? regvalue_get_dword(&value, out, why) : st;
}

wstatus regstore_get_qword(struct regstore *store, const char *key, const char *name, uint64_t *out, struct reason *why)
{
    struct regvalue value;
    wstatus         st = get_named(store, key, name, &value, why);
    return st == W_SUCCESS ? regvalue_get_qword(&value, out, why) : st;
}

wstatus regstore_get_string_dup(struct regstore *store, const char *key, const char *name, char **out,
                                struct reason *why)
{
    struct regvalue value;
    wstatus         st = get_named(store, key, name, &value, why);
    return st == W_SUCCESS ? regvalue_get_string_dup(&value, out, why) : st;
}

wstatus regstore_set_dword(struct regstore *store, const char *key, const char *name, uint32_t value,
                           struct reason *why)
{
    uint8_t       bytes[4];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_u32(&w, value);
    return regstore_set(store, key, &(struct regvalue){.name = name, .type = REG_TYPE_DWORD, .data = bytes, .size = 4},
                        why);
}

wstatus regstore_set_qword(struct regstore *store, const char *key, const char *name, uint64_t value,
                           struct reason *why)
{
    uint8_t       bytes[8];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_u64(&w, value);
    return regstore_set(store, key, &(struct regvalue){.name = name, .type = REG_TYPE_QWORD, .data = bytes, .size = 8},
                        why);
}

wstatus regstore_set_string(struct regstore *store, const char *key, const char *name, const char *utf8,
                            struct reason *why)
{
    size_t   size = utf8_to_utf16le(utf8, strlen(utf8) + 1, NULL, 0); /* with its NUL */
    uint8_t *data = size <= UINT32_MAX ? malloc(size) : NULL;
    if (!data)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", name);
    utf8_to_utf16le(utf8, strlen(utf8) + 1, data, size);
    wstatus st = regstore_set(
        store, key, &(struct regvalue){.name = name, .type = REG_TYPE_SZ, .data = data, .size = (uint32_t)size}, why);
    free(data);
    return st;
}
