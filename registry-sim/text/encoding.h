/* encoding.h - the encodings of a text file: UTF-16LE with BOM, UTF-8 with or without BOM, or Windows-1252.
 * Threads: pure, any. Ownership: the text returned is malloc. */
#ifndef REGISTRY_SIM_TEXT_ENCODING_H
#define REGISTRY_SIM_TEXT_ENCODING_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stdint.h>

enum encoding { ENCODING_UTF8, ENCODING_UTF16LE, ENCODING_ANSI };

/* True when the bytes are UTF-8 (unpaired surrogates in their three-byte form are let through, as in utf16.h). */
bool encoding_is_utf8(const void *data, size_t size);
/* Turns a file into UTF-8 without BOM, NUL-terminated. Bytes that are not UTF-8 are taken as Windows-1252. */
wstatus encoding_to_utf8(const void *data, size_t size, char **text, size_t *length, enum encoding *was,
                         struct reason *why);
/* Windows-1252 -> UTF-16LE; out has room for 2 * size bytes. */
void encoding_ansi_to_utf16le(const uint8_t *data, size_t size, uint8_t *out);
#endif
