/* cursor.h - a bounded reader and a bounded writer over bytes; little-endian.
 * Invariants: C1 pos <= size. C2 once a read or write did not fit, `bad` stays set, reads give 0 and writes do nothing;
 * so a parser may read a whole structure and check cur_ok() once.
 * Threads: one at a time. Ownership: the bytes belong to the caller. Not for: shared memory that another process can
 * change while it is read (copy it first). */
#ifndef REGISTRY_SIM_BASE_CURSOR_H
#define REGISTRY_SIM_BASE_CURSOR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *data;
    size_t         size;
    size_t         pos;
    bool           bad;
};

static inline struct cursor cur_make(const void *data, size_t size)
{
    return (struct cursor){.data = data, .size = size};
}
static inline bool   cur_ok(const struct cursor *c) { return !c->bad; }
static inline size_t cur_left(const struct cursor *c) { return c->bad ? 0 : c->size - c->pos; }
/* A pointer to the next n bytes, which are consumed; NULL (and bad) when there are fewer. */
static inline const void *cur_take(struct cursor *c, size_t n)
{
    if (c->bad || n > c->size - c->pos) {
        c->bad = true;
        return NULL;
    }
    const void *p = c->data + c->pos;
    c->pos += n;
    return p;
}
static inline void cur_copy(struct cursor *c, void *out, size_t n)
{
    const void *p = cur_take(c, n);
    if (p)
        memcpy(out, p, n);
    else
        memset(out, 0, n);
}
#define CUR_READ(name, type) \
    static inline type name(struct cursor *c) \
    { \
        type v; \
        cur_copy(c, &v, sizeof v); \
        return v; \
    }
CUR_READ(cur_u8, uint8_t)
CUR_READ(cur_u16, uint16_t)
CUR_READ(cur_u32, uint32_t)
CUR_READ(cur_u64, uint64_t)
#undef CUR_READ
/* The NUL-terminated 8-bit string at the cursor (borrowed), or NULL and bad when no NUL is in reach. */
static inline const char *cur_zstring(struct cursor *c)
{
    const uint8_t *nul = c->bad ? NULL : memchr(c->data + c->pos, 0, c->size - c->pos);
    if (!nul) {
        c->bad = true;
        return NULL;
    }
    const char *s = (const char *)c->data + c->pos;
    c->pos        = (size_t)(nul - c->data) + 1;
    return s;
}

struct writer {
    uint8_t *data;
    size_t   size;
    size_t   pos;
    bool     bad;
};
static inline struct writer wr_make(void *data, size_t size) { return (struct writer){.data = data, .size = size}; }
static inline bool          wr_ok(const struct writer *w) { return !w->bad; }
static inline void          wr_bytes(struct writer *w, const void *p, size_t n)
{
    if (w->bad || n > w->size - w->pos) {
        w->bad = true;
        return;
    }
    if (n)
        memcpy(w->data + w->pos, p, n);
    w->pos += n;
}
static inline void wr_u8(struct writer *w, uint8_t v) { wr_bytes(w, &v, sizeof v); }
static inline void wr_u16(struct writer *w, uint16_t v) { wr_bytes(w, &v, sizeof v); }
static inline void wr_u32(struct writer *w, uint32_t v) { wr_bytes(w, &v, sizeof v); }
static inline void wr_u64(struct writer *w, uint64_t v) { wr_bytes(w, &v, sizeof v); }
#endif
