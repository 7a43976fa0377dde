/* xpress_huff.h - expands XPRESS with Huffman codes ([MS-XCA] 2.2), the form of buffers in some compressed .etl.
 * Written here, because the decoder of libfwnt 20181227 overwrites its stack on some damaged input (found by
 * fuzz_xpress).
 * Threads: pure, any. Not for: LZNT1 and plain XPRESS, which libfwnt reads. */
#ifndef AUTOLOGGER_ETL_XPRESS_HUFF_H
#define AUTOLOGGER_ETL_XPRESS_HUFF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills all of `out`; the input may be hostile. False: it is damaged, or does not expand to `out_size` bytes. */
bool xpress_huff_expand(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size);
#endif
