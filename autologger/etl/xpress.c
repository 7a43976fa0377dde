#include "autologger/etl/xpress.h"

#include <stdbool.h>
#include <string.h>

enum {
    WINDOW      = 8192,
    LEAST       = 3,
    HASH_BITS   = 13,
    MOST        = 16 << 20,
    FLAGS       = 32,
    LONGEST     = 32768, /* longer forms exist; libfwnt refuses them */
    CODE_MORE   = 7,
    NIBBLE_MORE = 15,
    BYTE_MORE   = 255
};

struct packing {
    uint8_t *out;
    size_t   room, pos;
    size_t   flags_at; /* of the flag word that is being filled */
    uint32_t flags;
    unsigned used;      /* of its bits */
    size_t   nibble_at; /* a byte whose high nibble is free; 0: there is none (it is never the first byte) */
    bool     full;
};

static void xpress_put(struct packing *p, const void *bytes, size_t size)
{
    if (p->full || size > p->room - p->pos) {
        p->full = true;
        return;
    }
    memcpy(p->out + p->pos, bytes, size);
    p->pos += size;
}
static void put_u8(struct packing *p, unsigned v) { xpress_put(p, &(uint8_t){(uint8_t)v}, 1); }
static void put_u16(struct packing *p, unsigned v) { xpress_put(p, (uint8_t[]){(uint8_t)v, (uint8_t)(v >> 8)}, 2); }

static void flags_begin(struct packing *p)
{
    p->flags_at = p->pos;
    p->flags    = 0;
    p->used     = 0;
    xpress_put(p, (uint8_t[4]){0}, 4);
}

static void flags_end(struct packing *p)
{
    uint32_t flags = p->flags;
    for (; p->used < FLAGS; p->used++)
        flags = flags << 1 | 1; /* unused bits are set: they mean the end, not literals */
    if (!p->full)
        memcpy(p->out + p->flags_at, &flags, sizeof flags);
}

/* Starts a new word only when another bit comes, never after the last: so no needless word stands at the end. */
static void flag(struct packing *p, unsigned bit)
{
    if (p->used == FLAGS) {
        flags_end(p);
        flags_begin(p);
    }
    p->flags = p->flags << 1 | bit;
    p->used++;
}

static void put_nibble(struct packing *p, unsigned v)
{
    if (p->nibble_at) {
        if (!p->full)
            p->out[p->nibble_at] |= (uint8_t)(v << 4);
        p->nibble_at = 0;
    } else {
        p->nibble_at = p->pos;
        put_u8(p, v);
    }
}

/* `length` is that of the match less 3; a field that is too small for it has its highest value, and the next one
 * follows. */
static void put_match(struct packing *p, size_t offset, size_t length)
{
    flag(p, 1);
    put_u16(p, (unsigned)((offset - 1) << 3 | (length < CODE_MORE ? length : CODE_MORE)));
    if (length < CODE_MORE)
        return;
    put_nibble(p, (unsigned)(length - CODE_MORE < NIBBLE_MORE ? length - CODE_MORE : NIBBLE_MORE));
    if (length - CODE_MORE < NIBBLE_MORE)
        return;
    size_t left = length - CODE_MORE - NIBBLE_MORE;
    put_u8(p, (unsigned)(left < BYTE_MORE ? left : BYTE_MORE));
    if (left < BYTE_MORE)
        return;
    put_u16(p, (unsigned)length);
}

static uint32_t xpress_hash(const uint8_t *p)
{
    return (p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16) * UINT32_C(0x9E3779B1) >> (32 - HASH_BITS);
}

static size_t xpress_match_length(const uint8_t *a, const uint8_t *b, size_t most)
{
    size_t   n = 0;
    uint64_t x, y;

    for (; n + sizeof x <= most; n += sizeof x) {
        memcpy(&x, a + n, sizeof x);
        memcpy(&y, b + n, sizeof y);
        if (x != y)
            return n + (size_t)__builtin_ctzll(x ^ y) / 8;
    }
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

size_t xpress_compress(const uint8_t *in, size_t size, uint8_t *out, size_t room)
{
    uint32_t       last[1 << HASH_BITS]; /* by hash: where such three bytes were, + 1 */
    struct packing p = {.out = out, .room = room};

    if (size > MOST)
        return 0;
    memset(last, 0, sizeof last);
    flags_begin(&p);
    for (size_t i = 0; i < size && !p.full;) {
        size_t length = 0, from = 0;
        if (i + LEAST <= size) {
            uint32_t *seen = &last[xpress_hash(in + i)];
            from           = *seen;
            *seen          = (uint32_t)i + 1;
            if (from && i - (from - 1) <= WINDOW)
                length = xpress_match_length(in + from - 1, in + i, size - i < LONGEST ? size - i : LONGEST);
        }
        if (length < LEAST) {
            flag(&p, 0);
            put_u8(&p, in[i++]);
            continue;
        }
        put_match(&p, i - (from - 1), length - LEAST);
        for (size_t end = i + length; ++i < end;)
            if (i + LEAST <= size && (i & 3) == 0) /* some of the skipped bytes, for later matches */
                last[xpress_hash(in + i)] = (uint32_t)i + 1;
    }
    flags_end(&p);
    return p.full ? 0 : p.pos;
}
