/* sha256.h - SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), for marks that cannot be made without the machine's key.
 * Threads: a struct by one at a time. Not for: passwords, random numbers. */
#ifndef REGISTRY_SIM_WIN32_SHA256_H
#define REGISTRY_SIM_WIN32_SHA256_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_BLOCK = 64 };
struct sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    uint8_t  block[SHA256_BLOCK];
};
void sha256_init(struct sha256 *s);
void sha256_update(struct sha256 *s, const void *data, size_t size);
void sha256_final(struct sha256 *s, uint8_t digest[SHA256_SIZE]);
struct hmac_sha256 {
    struct sha256 inner;
    uint8_t       outer[SHA256_BLOCK];
};
void hmac_sha256_init(struct hmac_sha256 *h, const void *key, size_t key_size);
void hmac_sha256_update(struct hmac_sha256 *h, const void *data, size_t size);
void hmac_sha256_final(struct hmac_sha256 *h, uint8_t out[SHA256_SIZE]);
void hmac_sha256(const void *key, size_t key_size, const void *data, size_t size, uint8_t out[SHA256_SIZE]);
/* Compares in constant time. */
bool sha256_equal(const uint8_t a[SHA256_SIZE], const uint8_t b[SHA256_SIZE]);
#endif
