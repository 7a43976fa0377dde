/* textbuf.c - see textbuf.h. */
#include "registry-sim/text/textbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void textbuf_put(struct textbuf *t, const void *data, size_t size)
{
    if (t->bad)
        return;
    if (t->capacity - t->size <= size) {
        size_t capacity = (t->size + size + 1) * 2;
        char  *p        = realloc(t->data, capacity);
        if (!p) {
            t->bad = true;
            return;
        }
        t->data     = p;
        t->capacity = capacity;
    }
    if (size)
        memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = 0;
}

void textbuf_puts(struct textbuf *t, const char *text) { textbuf_put(t, text, strlen(text)); }

void textbuf_printf(struct textbuf *t, const char *format, ...)
{
    char    piece[121];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (n > 0)
        textbuf_put(t, piece, (size_t)n < sizeof piece ? (size_t)n : sizeof piece - 1);
}

void textbuf_clear(struct textbuf *t)
{
    t->size = 0;
    if (t->data)
        *t->data = 0;
}

void textbuf_finish(struct textbuf *t)
{
    free(t->data);
    *t = (struct textbuf){0};
}
