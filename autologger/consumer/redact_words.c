#include "autologger/consumer/redact_words.h"

#include <ctype.h>
#include <string.h>

/* --- SipHash-2-4, as its authors publish it: a hash that tells nothing without its key --- */

static uint64_t redact_words_rotated(uint64_t x, unsigned n) { return x << n | x >> (64 - n); }

static void redact_words_mix(uint64_t v[4], unsigned rounds)
{
    while (rounds--) {
        v[0] += v[1], v[2] += v[3];
        v[1] = redact_words_rotated(v[1], 13) ^ v[0], v[3] = redact_words_rotated(v[3], 16) ^ v[2];
        v[0] = redact_words_rotated(v[0], 32);
        v[2] += v[1], v[0] += v[3];
        v[1] = redact_words_rotated(v[1], 17) ^ v[2], v[3] = redact_words_rotated(v[3], 21) ^ v[0];
        v[2] = redact_words_rotated(v[2], 32);
    }
}

uint64_t words_hash(const struct redact_words *w, const void *data, size_t size)
{
    uint64_t v[4] = {w->key[0] ^ UINT64_C(0x736f6d6570736575), w->key[1] ^ UINT64_C(0x646f72616e646f6d),
                     w->key[0] ^ UINT64_C(0x6c7967656e657261), w->key[1] ^ UINT64_C(0x7465646279746573)};
    uint64_t m;
    size_t   at = 0;

    for (; at + 8 <= size; at += 8) {
        memcpy(&m, (const uint8_t *)data + at, 8);
        v[3] ^= m;
        redact_words_mix(v, 2);
        v[0] ^= m;
    }
    m = (uint64_t)size << 56;
    for (size_t i = at; i < size; i++)
        m |= (uint64_t)((const uint8_t *)data)[i] << 8 * (i - at);
    v[3] ^= m;
    redact_words_mix(v, 2);
    v[0] ^= m;
    v[2] ^= 0xFF;
    redact_words_mix(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* --- words --- */

/* Units as UTF-8 without case; returns the number of bytes, 0: they do not fit in `room`. */
static size_t redact_words_folded(const struct redact_units *u, size_t from, size_t to, uint8_t *out, size_t room)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++) {
        unsigned c = unit_at(u, i);
        if (n + 4 > room)
            return 0;
        if (u->width == 1 || c < 0x80) {
            out[n++] = (uint8_t)(c < 0x80 ? tolower((int)c) : (int)c);
        } else if (c < 0x800) {
            out[n++] = (uint8_t)(0xC0 | c >> 6);
            out[n++] = (uint8_t)(0x80 | (c & 0x3F));
        } else if (c >= 0xD800 && c < 0xDC00 && i + 1 < to) {
            unsigned full = 0x10000 + ((c & 0x3FF) << 10) + (unit_at(u, ++i) & 0x3FF);
            out[n++]      = (uint8_t)(0xF0 | full >> 18);
            out[n++]      = (uint8_t)(0x80 | (full >> 12 & 0x3F));
            out[n++]      = (uint8_t)(0x80 | (full >> 6 & 0x3F));
            out[n++]      = (uint8_t)(0x80 | (full & 0x3F));
        } else {
            out[n++] = (uint8_t)(0xE0 | c >> 12);
            out[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
            out[n++] = (uint8_t)(0x80 | (c & 0x3F));
        }
    }
    return n;
}

void words_add(struct redact_words *w, const char *text, size_t size, enum redact_kind kind)
{
    static const char *const  common[] = {"root",   "home", "localhost", "nobody", "users", "system", "public",
                                          "(none)", "true", "false",     "local",  "null",  "default"};
    uint8_t                   bytes[WORD_MOST * 4];
    const struct redact_units u = {(uint8_t *)(uintptr_t)text, size, 1};

    if (size < WORD_LEAST || size > WORD_MOST)
        return;
    size_t n = redact_words_folded(&u, 0, size, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (n == strlen(common[i]) && memcmp(bytes, common[i], n) == 0)
            return;
    uint64_t h = words_hash(w, bytes, n);
    w->failed |= !idmap_put(&w->kinds, h ? h : 1, (void *)(uintptr_t)(kind + 1u));
}

int words_find(const struct redact_words *w, const struct redact_units *u, size_t from, size_t to)
{
    uint8_t bytes[WORD_MOST * 4];

    if (!w->kinds.count || to - from < WORD_LEAST || to - from > WORD_MOST)
        return -1;
    size_t   n = redact_words_folded(u, from, to, bytes, sizeof bytes);
    uint64_t h = n ? words_hash(w, bytes, n) : 0;
    return n ? (int)(uintptr_t)idmap_get(&w->kinds, h ? h : 1) - 1 : -1;
}

void words_token(const struct redact_words *w, const struct redact_units *u, size_t from, size_t to,
                 enum redact_kind kind)
{
    static const char first[TOKEN_KINDS] = {'a', 'n', 'i', 'p', 'v'};
    static const char digits[]           = "0123456789bcdfghjkmnpqrstvwxyz_~";
    uint8_t           bytes[WORD_MOST * 4];
    size_t            n = redact_words_folded(u, from, to, bytes, sizeof bytes);
    /* a text that is too long is hashed by its raw bytes */
    uint64_t h = n ? words_hash(w, bytes, n) : words_hash(w, u->data + from * u->width, (to - from) * u->width);

    for (size_t i = from; i < to; i++) {
        size_t k = i - from;
        if (k && k % 12 == 0) /* further digits */
            h = words_hash(w, &h, sizeof h);
        unit_set(u, i, k ? digits[h >> 5 * (k % 12) & 31] : first[kind]);
    }
}

void words_finish(struct redact_words *w)
{
    idmap_finish(&w->kinds);
    memset(w, 0, sizeof *w);
}
