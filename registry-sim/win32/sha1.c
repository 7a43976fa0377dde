#include "registry-sim/win32/sha1.h"

#include <string.h>

static uint32_t rotate(uint32_t v, int n) { return v << n | v >> (32 - n); }

static void sha1_block(uint32_t state[5], const uint8_t *p)
{
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? (b & c) | (~b & d)
                     : i < 40 ? b ^ c ^ d
                     : i < 60 ? (b & c) | (b & d) | (c & d)
                              : b ^ c ^ d;
        uint32_t k = i < 20 ? 0x5A827999 : i < 40 ? 0x6ED9EBA1 : i < 60 ? 0x8F1BBCDC : 0xCA62C1D6;
        uint32_t t = rotate(a, 5) + f + e + k + w[i];
        e = d, d = c, c = rotate(b, 30), b = a, a = t;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

void sha1_init(struct sha1 *s)
{
    *s = (struct sha1){.state = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0}};
}

void sha1_update(struct sha1 *s, const void *data, size_t size)
{
    const uint8_t *p = data;
    while (size) {
        size_t have = s->length % 64, n = 64 - have < size ? 64 - have : size;
        memcpy(s->block + have, p, n);
        s->length += n;
        p += n;
        size -= n;
        if (s->length % 64 == 0)
            sha1_block(s->state, s->block);
    }
}

void sha1_final(struct sha1 *s, uint8_t digest[20])
{
    uint64_t bits = s->length * 8;
    uint8_t  end  = 0x80;

    sha1_update(s, &end, 1);
    for (end = 0; s->length % 64 != 56;)
        sha1_update(s, &end, 1);
    for (int i = 7; i >= 0; i--) {
        uint8_t byte = (uint8_t)(bits >> (8 * i));
        sha1_update(s, &byte, 1);
    }
    for (int i = 0; i < 20; i++)
        digest[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}
