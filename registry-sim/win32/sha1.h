/* sha1.h - SHA-1, for the name-to-GUID hash and for finding damage and changes (the early-boot program links libc
 * alone). Not for security. Threads: a struct sha1 by one at a time. */
#ifndef REGISTRY_SIM_WIN32_SHA1_H
#define REGISTRY_SIM_WIN32_SHA1_H
#include <stddef.h>
#include <stdint.h>

struct sha1 {
    uint32_t state[5];
    uint64_t length; /* bytes so far */
    uint8_t  block[64];
};
void sha1_init(struct sha1 *s);
void sha1_update(struct sha1 *s, const void *data, size_t size);
void sha1_final(struct sha1 *s, uint8_t digest[20]);
#endif
