/* visible.h - escapes untrusted text for display: any user chooses names of providers, sessions, files and programs. An
 * escape sequence in one would move the cursor of root's terminal, and a newline would start a line of its own in the
 * journal.
 * Hidden characters: C0, DEL, C1, marks, overrides and isolates of the direction of text, line and paragraph
 * separators, the deprecated format characters, and invalid UTF-8 bytes. They are shown as \n, \t, \r, \u001b, \u202e,
 * and bytes as \x9b. A backslash is left as it is, because paths of Windows have many. Threads: pure, any. */
#ifndef REGISTRY_SIM_WIN32_VISIBLE_H
#define REGISTRY_SIM_WIN32_VISIBLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VISIBLE_ESCAPE = 8 }; /* room for one escape and its NUL */

/* The bytes at the beginning of `text` that may be shown as they are. */
size_t visible_length(const char *text, size_t size);
/* Decodes the character at the beginning of `text`. Returns its bytes; a bad byte is not *valid and counts 1. `size` >
 * 0. */
size_t visible_character(const char *text, size_t size, uint32_t *code, bool *valid);
/* The escape of the hidden character at the beginning of `text`. Returns how many bytes of `text` it replaces; `size` >
 * 0. */
size_t visible_escape_one(const char *text, size_t size, char out[VISIBLE_ESCAPE]);
/* True: the NUL-terminated text has no hidden character. */
bool visible_is(const char *text);
/* Writes whole characters and escapes, always NUL-terminated when capacity > 0. Returns the bytes that the whole text
 * needs, NUL not counted. */
size_t visible_escape(const char *text, size_t size, char *out, size_t capacity);
/* The same, allocated; NULL when out of memory. */
char *visible_dup(const char *text);
#endif
