#include "registry-sim/win32/sha256.h"

#include <string.h>

static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t sha256_rotated(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

static void block_take(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], v[8];
    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (unsigned i = 16; i < 64; i++) {
        const uint32_t s0 = sha256_rotated(w[i - 15], 7) ^ sha256_rotated(w[i - 15], 18) ^ w[i - 15] >> 3,
                       s1 = sha256_rotated(w[i - 2], 17) ^ sha256_rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i]              = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, state, sizeof v);
    for (unsigned i = 0; i < 64; i++) {
        const uint32_t s1       = sha256_rotated(v[4], 6) ^ sha256_rotated(v[4], 11) ^ sha256_rotated(v[4], 25),
                       choice   = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t t1       = v[7] + s1 + choice + round_constant[i] + w[i];
        const uint32_t s0       = sha256_rotated(v[0], 2) ^ sha256_rotated(v[0], 13) ^ sha256_rotated(v[0], 22),
                       majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += v[i];
}

void sha256_init(struct sha256 *s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    *s                             = (struct sha256){.length = 0};
    memcpy(s->state, start, sizeof start);
}

void sha256_update(struct sha256 *s, const void *data, size_t size)
{
    const uint8_t *p = data;
    while (size) {
        const size_t at = s->length % SHA256_BLOCK, n = SHA256_BLOCK - at < size ? SHA256_BLOCK - at : size;
        memcpy(s->block + at, p, n);
        s->length += n;
        p += n;
        size -= n;
        if (at + n == SHA256_BLOCK)
            block_take(s->state, s->block);
    }
}

void sha256_final(struct sha256 *s, uint8_t digest[SHA256_SIZE])
{
    static const uint8_t pad[SHA256_BLOCK] = {0x80};
    const uint64_t       bits              = s->length * 8;
    uint8_t              end[8];
    for (unsigned i = 0; i < 8; i++)
        end[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_update(s, pad, 1 + (119 - s->length % SHA256_BLOCK) % SHA256_BLOCK);
    sha256_update(s, end, sizeof end);
    for (unsigned i = 0; i < SHA256_SIZE; i++)
        digest[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void hmac_sha256_init(struct hmac_sha256 *h, const void *key, size_t key_size)
{
    uint8_t inner[SHA256_BLOCK] = {0};
    if (key_size > SHA256_BLOCK) {
        sha256_init(&h->inner);
        sha256_update(&h->inner, key, key_size);
        sha256_final(&h->inner, inner);
    } else {
        memcpy(inner, key, key_size);
    }
    for (unsigned i = 0; i < SHA256_BLOCK; i++) {
        h->outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    sha256_init(&h->inner);
    sha256_update(&h->inner, inner, sizeof inner);
}

void hmac_sha256_update(struct hmac_sha256 *h, const void *data, size_t size) { sha256_update(&h->inner, data, size); }

void hmac_sha256_final(struct hmac_sha256 *h, uint8_t out[SHA256_SIZE])
{
    sha256_final(&h->inner, out);
    sha256_init(&h->inner);
    sha256_update(&h->inner, h->outer, sizeof h->outer);
    sha256_update(&h->inner, out, SHA256_SIZE);
    sha256_final(&h->inner, out);
}

void hmac_sha256(const void *key, size_t key_size, const void *data, size_t size, uint8_t out[SHA256_SIZE])
{
    struct hmac_sha256 h;
    hmac_sha256_init(&h, key, key_size);
    hmac_sha256_update(&h, data, size);
    hmac_sha256_final(&h, out);
}

bool sha256_equal(const uint8_t a[SHA256_SIZE], const uint8_t b[SHA256_SIZE])
{
    uint8_t differs = 0;
    for (unsigned i = 0; i < SHA256_SIZE; i++)
        differs |= a[i] ^ b[i];
    return !differs;
}
