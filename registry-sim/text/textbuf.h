/* textbuf.h - a growing text. Invariant T1: after a failed allocation `bad` stays set and puts do nothing; check it
 * once at the end. The text is NUL-terminated when it is not bad and something was put. Ownership: the caller frees
 * `data`, or textbuf_finish does. */
#ifndef REGISTRY_SIM_TEXT_TEXTBUF_H
#define REGISTRY_SIM_TEXT_TEXTBUF_H
#include <stdbool.h>
#include <stddef.h>

struct textbuf {
    char  *data; /* malloc, or NULL */
    size_t size; /* without the NUL */
    size_t capacity;
    bool   bad;
};

void textbuf_put(struct textbuf *t, const void *data, size_t size);
void textbuf_puts(struct textbuf *t, const char *text);
/* Short pieces only: output is cut after 120 bytes. */
void textbuf_printf(struct textbuf *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void textbuf_clear(struct textbuf *t); /* empty, but keeps the memory */
void textbuf_finish(struct textbuf *t);
#endif
