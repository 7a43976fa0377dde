/* page_maker.h - builds pages of the kernel's trace buffer, entry by entry. */
#ifndef AUTOLOGGER_KERNEL_TESTS_PAGE_MAKER_H
#define AUTOLOGGER_KERNEL_TESTS_PAGE_MAKER_H
#include "autologger/kernel/phase/tracepage.h"

#include <stdlib.h>

struct page_maker {
    uint8_t bytes[4096];
    size_t  used;
};

static inline void page_raw(struct page_maker *m, const void *p, size_t n)
{
    if (m->used + n > sizeof m->bytes)
        abort();
    memcpy(m->bytes + m->used, p, n);
    m->used += n;
    uint64_t commit = m->used - TRACE_PAGE_HEAD;
    memcpy(m->bytes + 8, &commit, 8);
}
static inline void page_begin(struct page_maker *m, uint64_t time)
{
    memset(m, 0, sizeof *m);
    memcpy(m->bytes, &time, 8);
    m->used = TRACE_PAGE_HEAD;
}
static inline void page_word(struct page_maker *m, uint32_t type, uint64_t delta)
{
    uint32_t word = type | (uint32_t)delta << 5;
    if (delta >> 27)
        abort();
    page_raw(m, &word, 4);
}
/* An entry of `size` bytes (a multiple of 4) that comes `delta` after the one before. */
static inline void page_entry(struct page_maker *m, uint32_t delta, const void *data, uint32_t size)
{
    uint32_t length = size + 4;
    page_word(m, size <= 28 * 4 ? size / 4 : 0, delta);
    if (size > 28 * 4)
        page_raw(m, &length, 4);
    page_raw(m, data, size);
}
static inline void page_extend(struct page_maker *m, uint64_t delta)
{
    uint32_t high = (uint32_t)(delta >> 27);
    page_word(m, 30, delta & ((1u << 27) - 1));
    page_raw(m, &high, 4);
}
static inline void page_absolute(struct page_maker *m, uint64_t time)
{
    uint32_t high = (uint32_t)(time >> 27);
    page_word(m, 31, time & ((1u << 27) - 1));
    page_raw(m, &high, 4);
}
/* A discarded entry: `size` bytes behind its length word */
static inline void page_discarded(struct page_maker *m, uint32_t delta, uint32_t size)
{
    uint8_t  zeros[256] = {0};
    uint32_t length     = size + 4;
    page_word(m, 29, delta);
    page_raw(m, &length, 4);
    page_raw(m, zeros, size);
}
static inline void page_pad(struct page_maker *m) { page_word(m, 29, 0); }
#endif
