/* visible_print.h - prints untrusted text (registry-sim/win32/visible.h defines the hidden characters).
 * The format is trusted and keeps its newlines; the output of %s and %c is escaped.
 * Threads: any, as stdio. tools/dev/check_visible.py checks that the sources use it. */
#ifndef REGISTRY_SIM_BASE_VISIBLE_PRINT_H
#define REGISTRY_SIM_BASE_VISIBLE_PRINT_H
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* fprintf, but %s and %c are escaped. Known: flags, width and precision, also '*', hh h l ll j z t, and d i u x X o c s
 * p f e g %. A precision of %s that would end in the middle of a character ends before it. Returns the bytes
 * printed. */
int visible_printf(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
int visible_vprintf(FILE *to, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* One line of the daemon's: escaped as a whole, ended by a newline, written in one piece. At most 2,047 bytes before
 * escapes. */
void visible_line(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the text with its hidden characters escaped. */
void visible_puts(FILE *to, const char *text);
/* A piece of JSON in UTF-8 as yajl makes it: hidden characters above U+001F occur in strings alone, and become \u....
 * Pieces end between characters. */
void visible_json(FILE *to, const char *json, size_t size);
#endif
