/* xpress.h - compresses bytes as XPRESS (plain LZ77 of [MS-XCA]), as buffers of a compressed .etl are. The other way is
 * libfwnt's. Matches are looked for by a hash of three bytes, one candidate each: quick, not the smallest result.
 * Threads: pure, any. Not for: XPRESS Huffman. */
#ifndef AUTOLOGGER_ETL_XPRESS_H
#define AUTOLOGGER_ETL_XPRESS_H
#include <stddef.h>
#include <stdint.h>

/* Compresses `size` bytes (at most 16 MB) into `out`; the bytes made, or 0 when they would be more than `room`. */
size_t xpress_compress(const uint8_t *in, size_t size, uint8_t *out, size_t room);
#endif
