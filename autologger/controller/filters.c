/* filters.c - see filters.h. */
#include "autologger/controller/filters.h"

#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(FILTER_PIDS == MAX_EVENT_FILTER_PID_COUNT && FILTER_IDS == MAX_EVENT_FILTER_EVENT_ID_COUNT &&
                   FILTER_PARTS == MAX_EVENT_FILTERS_COUNT && FILTER_NAMES == MAX_EVENT_FILTER_EVENT_NAME_SIZE &&
                   FILTER_TEXT == MAX_EVENT_FILTER_DATA_SIZE &&
                   offsetof(EVENT_FILTER_EVENT_ID, Events) == offsetof(struct filter_ids, id) &&
                   offsetof(EVENT_FILTER_EVENT_NAME, Names) == offsetof(struct filter_names, names) &&
                   sizeof(EVENT_FILTER_LEVEL_KW) == sizeof(struct filter_level_keyword),
               "the SDK's");

/* Converts UTF-16 text, joined by ';', with or without its terminator, to UTF-8. */
static wstatus filters_text_add(struct filter_block **block, uint32_t type, const void *data, size_t size,
                                struct reason *why)
{
    char   text[FILTER_TEXT_UTF8 + 1];
    size_t n = size;
    if (!size || size > FILTER_TEXT || size % 2)
        return reason_set(why, W_INVALID_PARAMETER, "a text of %zu bytes; 2 to %d are possible", size, FILTER_TEXT);
    while (n >= 2 && !((const char *)data)[n - 1] && !((const char *)data)[n - 2])
        n -= 2;
    n = utf16le_to_utf8(data, n, text, FILTER_TEXT_UTF8);
    if (n >= FILTER_TEXT_UTF8)
        return reason_set(why, W_INVALID_PARAMETER, "a text of %zu bytes as UTF-8", n);
    text[n]    = 0;
    wstatus st = filter_part_check(type, text, n + 1, why);
    return st ? st : filter_add(block, type, text, n + 1, why);
}

/* Callers compute the size in several ways; the count decides. */
static size_t ids_size(const void *data, size_t size)
{
    struct filter_ids head;
    if (size < sizeof head)
        return size;
    memcpy(&head, data, sizeof head);
    const size_t wanted = sizeof head + 2u * head.count;
    return size >= wanted ? wanted : size;
}

static wstatus filters_one(struct filter_block **block, const EVENT_FILTER_DESCRIPTOR *d, struct reason *why)
{
    const void *data = (const void *)(uintptr_t)d->Ptr;
    size_t      size = d->Size;
    if (d->Type == EVENT_FILTER_TYPE_NONE)
        return W_SUCCESS;
    if (!data && size)
        return reason_set(why, W_INVALID_PARAMETER, "a filter of type 0x%x has no data", d->Type);
    switch (d->Type) {
    case EVENT_FILTER_TYPE_EXECUTABLE_NAME:
    case EVENT_FILTER_TYPE_PACKAGE_ID:
    case EVENT_FILTER_TYPE_PACKAGE_APP_ID:
    case EVENT_FILTER_TYPE_CONTAINER: return filters_text_add(block, d->Type, data, size, why);
    case EVENT_FILTER_TYPE_EVENT_ID:
    case EVENT_FILTER_TYPE_STACKWALK: size = ids_size(data, size); break;
    default: break;
    }
    wstatus st = filter_part_check(d->Type, data, size, why);
    return st ? st : filter_add(block, d->Type, data, size, why);
}

wstatus filters_from(const EVENT_FILTER_DESCRIPTOR *descriptors, ULONG count, struct filter_block **out,
                     struct reason *why)
{
    struct filter_block *block = NULL;
    wstatus              st    = W_SUCCESS;
    *out                       = NULL;
    if (count > MAX_EVENT_FILTERS_COUNT)
        return reason_set(why, W_INVALID_PARAMETER, "%u filters, at most %d are possible", count,
                          MAX_EVENT_FILTERS_COUNT);
    if (count && !descriptors)
        return reason_set(why, W_INVALID_PARAMETER, "there are no filters behind the count %u", count);
    for (ULONG i = 0; i < count && !st; i++)
        st = filters_one(&block, &descriptors[i], why);
    if (st) {
        free(block);
        return st;
    }
    *out = block;
    return W_SUCCESS;
}
