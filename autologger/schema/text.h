/* text.h - a growing UTF-8 text. Invariant: bytes added by text_utf8 or text_utf16 are valid UTF-8. Out of memory sets
 * `failed` and drops the addition; later ones go on.
 * Threads: one. Ownership: init by zeros, text_finish. */
#ifndef AUTOLOGGER_SCHEMA_TEXT_H
#define AUTOLOGGER_SCHEMA_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
    char  *data;
    size_t length, capacity;
    bool   failed;
};

void        text_finish(struct text *t);
void        text_cut(struct text *t, size_t length); /* shortens to `length` */
const char *text_get(const struct text *t);          /* NUL-terminated, never NULL */
/* text_add, when there may be no room */
void               text_grow_add(struct text *t, const void *bytes, size_t size);
static inline void text_add(struct text *t, const void *bytes, size_t size)
{
    if (size >= t->capacity - t->length || !size) { /* length < capacity, or both are 0 */
        text_grow_add(t, bytes, size);
        return;
    }
    memcpy(t->data + t->length, bytes, size);
    t->length += size;
    t->data[t->length] = 0;
}
void text_printf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds bytes meant to be UTF-8; invalid ones become U+FFFD. */
void text_utf8(struct text *t, const void *bytes, size_t size);
/* Text that others chose, to be shown: hidden characters are escaped (registry-sim/win32/visible.h). */
void text_visible(struct text *t, const char *bytes, size_t size);
/* Text of an element or attribute of XML; bytes meant to be UTF-8. */
void text_xml(struct text *out, const char *bytes, size_t size);
/* Adds UTF-16LE; unpaired surrogates become U+FFFD. */
void text_utf16(struct text *t, const void *bytes, size_t size);
void text_hex(struct text *t, const void *bytes, size_t size);
/* Numbers, as %llu, %lld and 0x%llx would write them, but without a format to read. */
void text_unsigned(struct text *t, uint64_t v);
void text_signed(struct text *t, int64_t v);
void text_hexnumber(struct text *t, uint64_t v);
/* As %.*g with `digits` digits (9 for a float, 17 for a double: enough to get the same number back). */
void text_floating(struct text *t, double v, int digits);
#endif
