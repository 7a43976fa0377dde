/* visible_print.h - printing with text of others in it (registry-sim/win32/visible.h says what is hidden).
 * The format is ours, and its newlines are kept; what %s and %c put in is escaped.
 * Threads: any, as stdio. tools/dev/check_visible.py holds the sources to it. */
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
/* One line of the daemon's: all of it is escaped, a newline is added, and it goes out in one piece. At most 2,047 bytes
 * before escapes. */
void visible_line(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Text as it is but for hidden characters. */
void visible_puts(FILE *to, const char *text);
/* A piece of JSON in UTF-8 as yajl makes it: what is hidden over U+001F can stand in strings alone, and becomes \u....
 * Pieces end between characters. */
void visible_json(FILE *to, const char *json, size_t size);
#endif
