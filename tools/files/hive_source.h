/* hive_source.h - a hive file of Windows (SYSTEM, SOFTWARE) as .reg text: the keys that autologger reads, of the control
 * set that the hive says is in use. libhivex reads it, in a process of its own without rights; it is loaded when a hive
 * is read for the first time.
 * Threads: one. Ownership: the text is malloc, the caller's. Not for: hives that are written. */
#ifndef TOOLS_HIVE_SOURCE_H
#define TOOLS_HIVE_SOURCE_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>

/* True: the file begins as a hive does ("regf"). */
bool hive_is(const char *path);
/* *text: UTF-8, as "regedit /e" writes it. W_NOT_SUPPORTED: libhivex is not there; W_INVALID_DATA: no hive, or damaged;
 * W_NOT_FOUND: it has none of the keys. */
wstatus hive_read(const char *path, char **text, size_t *size, struct reason *why);
/* The key that line `line` of such a text belongs to: "[HKEY_...]", or "". Returns `out`. */
const char *hive_key_of_line(const char *text, unsigned line, char *out, size_t size);
#endif
