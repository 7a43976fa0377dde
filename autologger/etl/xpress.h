/* xpress.h - compresses bytes as XPRESS (plain LZ77 of [MS-XCA]), the form of buffers in a compressed .etl. libfwnt
 * decompresses. A hash of three bytes gives one candidate for a match: fast, not the smallest result.
 * Threads: pure, any. Not for: XPRESS Huffman. */
#ifndef AUTOLOGGER_ETL_XPRESS_H
#define AUTOLOGGER_ETL_XPRESS_H
#include <stddef.h>
#include <stdint.h>

/* Compresses `size` bytes (at most 16 MB) into `out`; returns the compressed size, or 0 when it would exceed `room`. */
size_t xpress_compress(const uint8_t *in, size_t size, uint8_t *out, size_t room);
#endif
