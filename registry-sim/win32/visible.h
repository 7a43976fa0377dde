/* visible.h - text of others, made fit to be shown: names of providers, sessions, files and programs are chosen by any
 * user, and an escape sequence in one would move the cursor of root's terminal, a newline would make a line of its own
 * in the journal.
 * Hidden characters: C0, DEL, C1, marks, overrides and isolates of the direction of text, line and paragraph
 * separators, the deprecated format characters, and bytes that are no UTF-8. They are shown as \n, \t, \r, \u001b,
 * \u202e, and bytes as \x9b. A backslash is left as it is, because paths of Windows have many. Threads: pure, any. */
#ifndef REGISTRY_SIM_WIN32_VISIBLE_H
#define REGISTRY_SIM_WIN32_VISIBLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VISIBLE_ESCAPE = 8 }; /* room for one escape and its NUL */

/* The bytes at the beginning of `text` that may be shown as they are. */
size_t visible_length(const char *text, size_t size);
/* The character at the beginning of `text`, which has to be valid or a single bad byte. Returns its bytes, 1 for a bad
 * one; `size` > 0. */
size_t visible_character(const char *text, size_t size, uint32_t *code, bool *valid);
/* What stands for the hidden character at the beginning of `text`. Returns how many bytes of `text` it stands for;
 * `size` > 0. */
size_t visible_escape_one(const char *text, size_t size, char out[VISIBLE_ESCAPE]);
/* True: nothing in the NUL-terminated text is hidden. */
bool visible_is(const char *text);
/* Writes whole characters and escapes, always NUL-terminated when capacity > 0. Returns the bytes that the whole text
 * needs, NUL not counted. */
size_t visible_escape(const char *text, size_t size, char *out, size_t capacity);
/* The same, allocated; NULL when out of memory. */
char *visible_dup(const char *text);
#endif
