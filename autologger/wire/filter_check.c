/* filter_check.c - checks and describes a block; see filter.h. */
#include "autologger/wire/payload_filter.h"
#include "registry-sim/base/cursor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct type {
    uint32_t    type;
    const char *name; /* in descriptions */
    size_t      least, most;
    wstatus (*check)(const struct type *t, const uint8_t *data, size_t size, struct reason *why);
    void (*describe)(const struct type *t, const uint8_t *data, size_t size, char *out, size_t room);
};

static wstatus malformed(const struct type *t, const char *what, struct reason *why)
{
    return reason_set(why, W_INVALID_PARAMETER, "the filter '%s' %s", t->name, what);
}

static void filter_check_put(char *out, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void filter_check_put(char *out, size_t room, const char *format, ...)
{
    size_t  used = strlen(out);
    va_list args;
    va_start(args, format);
    if (used < room)
        vsnprintf(out + used, room - used, format, args);
    va_end(args);
}

/* ---- numbers ---- */

static wstatus pids_check(const struct type *t, const uint8_t *data, size_t size, struct reason *why)
{
    (void)data;
    return size % 4 ? malformed(t, "is not a list of process ids", why) : W_SUCCESS;
}
static void pids_describe(const struct type *t, const uint8_t *data, size_t size, char *out, size_t room)
{
    struct cursor c = cur_make(data, size);
    for (const char *between = " "; cur_left(&c) >= 4; between = ", ")
        filter_check_put(out, room, "%s%u", between, cur_u32(&c));
    (void)t;
}

static wstatus ids_check(const struct type *t, const uint8_t *data, size_t size, struct reason *why)
{
    struct cursor c  = cur_make(data, size);
    const uint8_t in = cur_u8(&c);
    cur_u8(&c);
    const uint16_t count = cur_u16(&c);
    if (count > FILTER_IDS)
        return reason_set(why, W_INVALID_PARAMETER, "the filter '%s' has %u ids, more than %d", t->name, count,
                          FILTER_IDS);
    if (!count || in > 1)
        return malformed(t, "names no event, or does not say whether it lets in or keeps out", why);
    return cur_left(&c) == 2u * count ? W_SUCCESS : malformed(t, "has another length than its count says", why);
}
static void ids_describe(const struct type *t, const uint8_t *data, size_t size, char *out, size_t room)
{
    struct cursor c  = cur_make(data, size);
    const uint8_t in = cur_u8(&c);
    cur_u8(&c);
    cur_u16(&c);
    filter_check_put(out, room, "%s", in ? "" : " not");
    for (const char *between = " "; cur_left(&c) >= 2; between = ", ")
        filter_check_put(out, room, "%s%u", between, cur_u16(&c));
    (void)t;
}

/* ---- names ---- */

static bool printable(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return false;
    return true;
}

static wstatus filter_check_text_check(const struct type *t, const uint8_t *data, size_t size, struct reason *why)
{
    if (data[size - 1] || memchr(data, 0, size) != data + size - 1)
        return malformed(t, "is not one text that ends", why);
    if (size == 1 || !printable((const char *)data, size - 1))
        return malformed(t, "is empty, or has control characters", why);
    return W_SUCCESS;
}
static void text_describe(const struct type *t, const uint8_t *data, size_t size, char *out, size_t room)
{
    (void)t;
    filter_check_put(out, room, " %.*s", (int)size, (const char *)data);
}

static void terms_describe(uint64_t any, uint64_t all, uint8_t level, char *out, size_t room)
{
    if (level)
        filter_check_put(out, room, " level %u", level);
    if (any)
        filter_check_put(out, room, " keywords 0x%llx", (unsigned long long)any);
    if (all)
        filter_check_put(out, room, " (all of 0x%llx)", (unsigned long long)all);
}

static wstatus filter_check_names_check(const struct type *t, const uint8_t *data, size_t size, struct reason *why)
{
    struct filter_names head;
    size_t              at = offsetof(struct filter_names, names), count = 0;
    memcpy(&head, data, at);
    if (head.filter_in > 1 || !head.count)
        return malformed(t, "has no names, or does not say whether it lets in or keeps out", why);
    for (; count < head.count && at < size; count++) {
        const size_t n = strnlen((const char *)data + at, size - at);
        if (!n || n == size - at || !printable((const char *)data + at, n))
            return malformed(t, "has a name that is empty, has control characters or does not end", why);
        at += n + 1;
    }
    return count == head.count && at == size ? W_SUCCESS
                                             : malformed(t, "has another number of names than it says", why);
}
static void names_describe(const struct type *t, const uint8_t *data, size_t size, char *out, size_t room)
{
    struct filter_names head;
    size_t              at = offsetof(struct filter_names, names);
    memcpy(&head, data, at);
    filter_check_put(out, room, "%s", head.filter_in ? "" : " not");
    for (const char *between = " "; at < size; between = ", ") {
        filter_check_put(out, room, "%s%s", between, (const char *)data + at);
        at += strnlen((const char *)data + at, size - at) + 1;
    }
    terms_describe(head.any, head.all, head.level, out, room);
    (void)t;
}

static wstatus level_keyword_check(const struct type *t, const uint8_t *data, size_t size, struct reason *why)
{
    struct filter_level_keyword f;
    memcpy(&f, data, size);
    return f.filter_in > 1 ? malformed(t, "does not say whether it lets in or keeps out", why) : W_SUCCESS;
}
static void level_keyword_describe(const struct type *t, const uint8_t *data, size_t size, char *out, size_t room)
{
    struct filter_level_keyword f;
    memcpy(&f, data, size);
    filter_check_put(out, room, "%s", f.filter_in ? "" : " not");
    terms_describe(f.any, f.all, f.level, out, room);
    (void)t;
}

/* ---- the rest ---- */

static wstatus predicates_check(const struct type *t, const uint8_t *data, size_t size, struct reason *why)
{
    (void)t;
    return payload_check(data, size, why);
}
static void predicates_describe(const struct type *t, const uint8_t *data, size_t size, char *out, size_t room)
{
    const size_t used = strlen(out);
    (void)t;
    if (used + 1 >= room)
        return;
    out[used] = ' ';
    payload_describe(data, size, out + used + 1, room - used - 1);
}

static wstatus any_check(const struct type *t, const uint8_t *data, size_t size, struct reason *why)
{
    (void)t, (void)data, (void)size, (void)why;
    return W_SUCCESS;
}
static void size_describe(const struct type *t, const uint8_t *data, size_t size, char *out, size_t room)
{
    (void)t, (void)data;
    filter_check_put(out, room, " of %zu bytes", size);
}

enum { NAMES_AT = offsetof(struct filter_names, names) };
static const struct type filter_check_types[] = {
    {FILTER_PID, "pids", 4, 4 * FILTER_PIDS, pids_check, pids_describe},
    {FILTER_EXECUTABLE, "programs", 1, FILTER_TEXT_UTF8, filter_check_text_check, text_describe},
    {FILTER_PACKAGE, "packages", 1, FILTER_TEXT_UTF8, filter_check_text_check, text_describe},
    {FILTER_PACKAGE_APP, "package applications", 1, FILTER_TEXT_UTF8, filter_check_text_check, text_describe},
    {FILTER_CONTAINER, "container", 1, FILTER_TEXT_UTF8, filter_check_text_check, text_describe},
    {FILTER_EVENT_ID, "event ids", 4, 4 + 2 * FILTER_IDS, ids_check, ids_describe},
    {FILTER_EVENT_NAME, "event names", NAMES_AT, FILTER_NAMES, filter_check_names_check, names_describe},
    {FILTER_STACK_ID, "stacks of ids", 4, 4 + 2 * FILTER_IDS, ids_check, ids_describe},
    {FILTER_STACK_NAME, "stacks of names", NAMES_AT, FILTER_NAMES, filter_check_names_check, names_describe},
    {FILTER_STACK_LEVEL_KEYWORD, "stacks of", sizeof(struct filter_level_keyword), sizeof(struct filter_level_keyword),
     level_keyword_check, level_keyword_describe},
    {FILTER_PAYLOAD, "payload", sizeof(struct payload_head), FILTER_PAYLOAD_MAX, predicates_check, predicates_describe},
    {FILTER_SCHEMATIZED, "provider's own filter", 1, FILTER_SCHEMATIZED_MAX, any_check, size_describe},
};

/* A type number of the provider's own is a SCHEMATIZED filter by another name. */
static const struct type *filter_check_type_of(uint32_t type)
{
    if (type && type < FILTER_SCHEMATIZED)
        type = FILTER_SCHEMATIZED;
    for (size_t i = 0; i < sizeof filter_check_types / sizeof *filter_check_types; i++)
        if (filter_check_types[i].type == type)
            return &filter_check_types[i];
    return NULL;
}

wstatus filter_part_check(uint32_t type, const void *data, size_t size, struct reason *why)
{
    const struct type *t = filter_check_type_of(type);
    if (!t)
        return reason_set(why, W_NOT_SUPPORTED, "there is no filter of type 0x%x here", type);
    if (size < t->least || size > t->most)
        return reason_set(why, W_INVALID_PARAMETER, "the filter '%s' has %zu bytes; %zu to %zu are possible", t->name,
                          size, t->least, t->most);
    return t->check(t, data, size, why);
}

wstatus filter_check(const void *block, size_t size, struct reason *why)
{
    struct filter_block head;
    struct filter_part  part;
    struct cursor       c    = cur_make(block, size);
    uint32_t            seen = 0, parts = 0;

    if (size < sizeof head || size > FILTER_BLOCK_MAX || size % 8)
        return reason_set(why, W_INVALID_PARAMETER, "the filters have %zu bytes", size);
    cur_copy(&c, &head, sizeof head);
    for (; cur_left(&c) >= sizeof part; parts++) {
        cur_copy(&c, &part, sizeof part);
        const uint8_t *data = cur_take(&c, part.size <= size ? (part.size + 7u) & ~7u : SIZE_MAX);
        if (!data)
            return reason_set(why, W_INVALID_PARAMETER, "a filter of type 0x%x has no end", part.type);
        const struct type *t  = filter_check_type_of(part.type);
        wstatus            st = filter_part_check(part.type, data, part.size, why);
        if (st)
            return st;
        if (seen & 1u << (t - filter_check_types))
            return reason_set(why, W_INVALID_PARAMETER, "the filter '%s' is there twice", t->name);
        seen |= 1u << (t - filter_check_types);
    }
    return cur_left(&c) || head.size != size || head.parts != parts
               ? reason_set(why, W_INVALID_PARAMETER, "the filters have another size or number than they say")
               : W_SUCCESS;
}

void filter_describe(const struct filter_block *block, char *out, size_t size)
{
    *out = 0;
    for (size_t i = 0; i < sizeof filter_check_types / sizeof *filter_check_types; i++) {
        uint32_t    n;
        const void *data = filter_part(block, filter_check_types[i].type, &n);
        if (!data)
            continue;
        filter_check_put(out, size, "%s%s", *out ? "; " : "", filter_check_types[i].name);
        filter_check_types[i].describe(&filter_check_types[i], data, n, out, size);
    }
}
