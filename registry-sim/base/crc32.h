/* crc32.h - the CRC-32 of IEEE 802.3 (as in gzip), for finding damage. Not for security. Threads: any. */
#ifndef REGISTRY_SIM_BASE_CRC32_H
#define REGISTRY_SIM_BASE_CRC32_H
#include <stddef.h>
#include <stdint.h>

uint32_t crc32_of(const void *data, size_t size);
#endif
