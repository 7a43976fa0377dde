/* utf16.h - UTF-16LE <-> UTF-8, and comparing names without case. Threads: pure, any.
 * Malformed input never fails: each bad unit becomes U+FFFD, except that unpaired surrogates survive a round trip
 * (kept as their three-byte form, as registry names may hold them). */
#ifndef REGISTRY_SIM_WIN32_UTF16_H
#define REGISTRY_SIM_WIN32_UTF16_H
#include <stddef.h>
#include <stdint.h>

/* Converts `size` bytes of UTF-16LE (an odd last byte is dropped). Writes at most `capacity` bytes to `out`, always
 * NUL-terminated when capacity > 0. Returns the bytes the whole text needs, NUL not counted. */
size_t utf16le_to_utf8(const void *data, size_t size, char *out, size_t capacity);
/* Converts `length` bytes of UTF-8. Writes at most `capacity` bytes of UTF-16LE, no NUL added. Returns the bytes
 * needed. */
size_t utf8_to_utf16le(const char *text, size_t length, void *out, size_t capacity);
/* Compares two UTF-8 names as the registry does: simple upper-casing, code point by code point. <0, 0, >0 */
int name_compare(const char *a, const char *b);
/* Upper-cases one UTF-16 unit by the simple invariant mapping (ASCII, Latin, Greek, Cyrillic and the rest of the
 * BMP). */
uint16_t utf16_upper(uint16_t unit);
/* The folded (upper-cased) form of `name`, for keys of indexes. malloc; NULL when out of memory. */
char *name_fold_dup(const char *name);
#endif
