/* tracepage.c - parses pages of the trace buffer. See tracepage.h. */
#include "autologger/kernel/phase/tracepage.h"

#include <stdlib.h>

enum { TYPE_LONG = 0, TYPE_PADDING = 29, TYPE_EXTEND = 30, TYPE_ABSOLUTE = 31, TYPE_BITS = 5, DELTA_BITS = 27 };
/* the two bits above it mean that entries are missing before the page; stats count them */
#define COMMIT_MASK UINT64_C(0x3FFFFFFF)
#define TIME_TOP (UINT64_C(0x1F) << 59) /* bits that an absolute time has no room for */

bool trace_page_begin(struct trace_page *page, const void *bytes, size_t size)
{
    struct cursor head = cur_make(bytes, size);
    *page              = (struct trace_page){.time = cur_u64(&head)};
    uint64_t    commit = cur_u64(&head) & COMMIT_MASK;
    const void *data   = cur_take(&head, commit > size ? SIZE_MAX : commit);
    page->damaged      = !cur_ok(&head);
    page->entries      = cur_make(data, page->damaged ? 0 : commit);
    return !page->damaged;
}

static uint64_t tracepage_later(uint64_t time, uint64_t by)
{
    return by > UINT64_MAX - time ? UINT64_MAX : time + by; /* T2 */
}

static uint64_t absolute(uint64_t before, uint64_t stamp)
{
    uint64_t time = (before & TIME_TOP) | stamp;
    return time < before ? tracepage_later(time, UINT64_C(1) << 59) : time;
}

/* Steps over one entry. *data is NULL when it was only time or padding. */
static bool tracepage_step(struct trace_page *page, const uint8_t **data, uint32_t *size)
{
    struct cursor *c    = &page->entries;
    uint32_t       word = cur_u32(c), type = word & ((1u << TYPE_BITS) - 1), length;
    uint64_t       delta = word >> TYPE_BITS;
    *data                = NULL;
    switch (type) {
    case TYPE_PADDING:
        if (delta == 0) { /* the rest of the page */
            cur_take(c, cur_left(c));
            return false;
        }
        length = cur_u32(c);
        cur_take(c, length < 4 ? SIZE_MAX : length - 4);
        /* a discarded entry: times of later entries count from its time */
        page->time = tracepage_later(page->time, delta);
        return cur_ok(c);
    case TYPE_EXTEND:
        page->time = tracepage_later(page->time, delta + ((uint64_t)cur_u32(c) << DELTA_BITS));
        return cur_ok(c);
    case TYPE_ABSOLUTE:
        page->time = absolute(page->time, delta + ((uint64_t)cur_u32(c) << DELTA_BITS));
        return cur_ok(c);
    case TYPE_LONG:
        length = cur_u32(c);
        length = length < 4 ? UINT32_MAX : length - 4; /* the length includes itself */
        break;
    default: length = type * 4; break;
    }
    page->time = tracepage_later(page->time, delta);
    *size      = length;
    *data      = cur_take(c, length);
    return cur_ok(c);
}

bool trace_page_next(struct trace_page *page, struct trace_entry *out)
{
    const uint8_t *data = NULL;
    uint32_t       size = 0;
    while (cur_left(&page->entries) && tracepage_step(page, &data, &size)) {
        if (!data)
            continue;
        if (size < TRACE_ENTRY_HEAD)
            break;
        *out = (struct trace_entry){page->time, data, size};
        return true;
    }
    page->damaged |= !cur_ok(&page->entries) || cur_left(&page->entries) || (data && size < TRACE_ENTRY_HEAD);
    page->entries = cur_make(NULL, 0);
    return false;
}

/* Reads the number after `label`. Returns the position behind it, or NULL without a number. */
static const char *tracepage_number_after(const char *p, const char *label, uint64_t *out)
{
    size_t n = strlen(label);
    char  *end;
    if (strncmp(p, label, n) != 0)
        return NULL;
    p += n;
    while (*p == ' ')
        p++;
    if (*p < '0' || *p > '9')
        return NULL;
    *out = strtoull(p, &end, 10);
    return end;
}

static bool line_number(const char *text, const char *label, uint64_t *out)
{
    for (const char *p = text; p; p = (p = strchr(p, '\n')) ? p + 1 : NULL)
        if (tracepage_number_after(p, label, out))
            return true;
    return false;
}

bool trace_stats_parse(const char *text, struct trace_stats *out)
{
    uint64_t    seconds, us;
    const char *now = strstr(text, "now ts:"), *point;
    *out            = (struct trace_stats){0};
    if (!line_number(text, "entries:", &out->entries))
        return false;
    line_number(text, "overrun:", &out->overrun);
    line_number(text, "commit overrun:", &out->commit_overrun);
    line_number(text, "dropped events:", &out->dropped);
    line_number(text, "read events:", &out->read);
    if (now && (point = tracepage_number_after(now, "now ts:", &seconds)) && tracepage_number_after(point, ".", &us) &&
        us < 1000000 && seconds < UINT64_MAX / 2000000000)
        out->now_ns = seconds * 1000000000 + us * 1000;
    return true;
}

size_t trace_page_size(const char *header_page)
{
    uint64_t    offset, size;
    const char *data = strstr(header_page, "char data;\toffset:"),
               *p    = data ? tracepage_number_after(data, "char data;\toffset:", &offset) : NULL;
    if (!p || !tracepage_number_after(p, ";\tsize:", &size) || offset != TRACE_PAGE_HEAD ||
        size > TRACE_PAGE_MAX - offset || size < 64)
        return 4096;
    return offset + size;
}
