#include "autologger/etl/xpress_huff.h"

#include <string.h>

enum {
    SYMBOLS     = 512,
    TABLE_BYTES = SYMBOLS / 2,
    MAX_BITS    = 15,
    CHUNK       = 65536,
    LITERALS    = 256,
    LONG_MATCH  = 15,
    LEAST_MATCH = 3
};

/* The bits of the stream, 16 at a time, and bytes that stand between those words. */
struct xpress_huff_bits {
    const uint8_t *in;
    size_t         size, pos;
    uint32_t       next;  /* the next bits, highest first */
    int            extra; /* bits of `next` beyond the first 16 */
    bool           bad;
};

static uint32_t take_byte(struct xpress_huff_bits *b)
{
    if (b->pos >= b->size) {
        b->bad = true;
        return 0;
    }
    return b->in[b->pos++];
}

static uint32_t take_word(struct xpress_huff_bits *b)
{
    uint32_t low = take_byte(b);
    return low | take_byte(b) << 8;
}

/* The decoder reads a word ahead; behind the last one there may be none. */
static uint32_t ahead(struct xpress_huff_bits *b)
{
    if (b->size - b->pos >= 2)
        return take_word(b);
    b->pos = b->size;
    return 0;
}

static void xpress_huff_drop(struct xpress_huff_bits *b, int n)
{
    b->next <<= n;
    b->extra -= n;
    if (b->extra < 0) {
        b->next |= ahead(b) << -b->extra;
        b->extra += 16;
    }
}

struct code {
    uint16_t symbol[1 << MAX_BITS]; /* by the next 15 bits */
    uint8_t  length[SYMBOLS];
};

/* False: the lengths form no complete code. */
static bool code_make(struct code *c, const uint8_t *table)
{
    size_t at = 0;
    for (size_t i = 0; i < TABLE_BYTES; i++) {
        c->length[2 * i]     = table[i] & 15;
        c->length[2 * i + 1] = table[i] >> 4;
    }
    for (int bits = 1; bits <= MAX_BITS; bits++)
        for (unsigned s = 0; s < SYMBOLS; s++) {
            const size_t span = (size_t)1 << (MAX_BITS - bits);
            if (c->length[s] != bits)
                continue;
            if (span > sizeof c->symbol / sizeof *c->symbol - at)
                return false;
            for (size_t i = 0; i < span; i++)
                c->symbol[at++] = (uint16_t)s;
        }
    return at == sizeof c->symbol / sizeof *c->symbol;
}

static size_t xpress_huff_match_length(struct xpress_huff_bits *b, unsigned symbol)
{
    size_t length = symbol & LONG_MATCH;
    if (length == LONG_MATCH) {
        length = take_byte(b);
        if (length == 255) {
            length = take_word(b);
            if (length == 0) {
                length = take_word(b);
                length |= (size_t)take_word(b) << 16;
            }
            if (length < LONG_MATCH)
                b->bad = true;
            else
                length -= LONG_MATCH;
        }
        length += LONG_MATCH;
    }
    return length + LEAST_MATCH;
}

static size_t match_offset(struct xpress_huff_bits *b, unsigned symbol)
{
    const int    bits   = (int)(symbol >> 4);
    const size_t offset = ((size_t)1 << bits) + (bits ? b->next >> (32 - bits) : 0);
    xpress_huff_drop(b, bits);
    return offset;
}

/* Expands one chunk of at most 64 KB of `out`, from `at` on. A match may go on beyond it. Returns where it ends; 0:
 * damaged. */
static size_t chunk_expand(struct xpress_huff_bits *b, const struct code *c, uint8_t *out, size_t at, size_t end,
                           size_t out_size)
{
    while (at < end) {
        const unsigned symbol = c->symbol[b->next >> (32 - MAX_BITS)];
        xpress_huff_drop(b, c->length[symbol]);
        if (symbol < LITERALS) {
            out[at++] = (uint8_t)symbol;
            continue;
        }
        const size_t length = xpress_huff_match_length(b, symbol - LITERALS),
                     offset = match_offset(b, symbol - LITERALS);
        if (b->bad || offset > at || length > out_size - at)
            return 0;
        for (size_t i = 0; i < length; i++, at++) /* it may overlap itself */
            out[at] = out[at - offset];
    }
    return at;
}

bool xpress_huff_expand(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
    struct xpress_huff_bits b = {.in = in, .size = in_size};
    struct code             c;
    size_t                  at = 0;
    while (at < out_size) {
        if (b.size - b.pos < TABLE_BYTES || !code_make(&c, in + b.pos))
            return false;
        b.pos += TABLE_BYTES;
        b.next = ahead(&b) << 16;
        b.next |= ahead(&b);
        b.extra          = 16;
        const size_t end = out_size - at < CHUNK ? out_size : at + CHUNK;
        if ((at = chunk_expand(&b, &c, out, at, end, out_size)) == 0)
            return false;
    }
    return !b.bad;
}
