/* text_table.h - text in aligned columns; full lines may stand between the rows. With a width, a full line is broken at
 * spaces and continued below its own text; rows are never broken.
 * Threads: one. Ownership: init/finish; cells are copied.
 * Cells and lines may hold names that any user chose: hidden characters are escaped (registry-sim/win32/visible.h),
 * newlines too. Widths count characters, not bytes. */
#ifndef TOOLS_TEXT_TABLE_H
#define TOOLS_TEXT_TABLE_H
#include <stdio.h>

enum { TEXT_TABLE_COLUMNS = 8 };

struct text_table {
    unsigned columns;
    unsigned right; /* bit i: column i is right-aligned; the caller sets it */
    unsigned width; /* full lines are at most this wide; 0 = any. The caller sets it */
    unsigned rows, capacity;
    char   **cells; /* rows x TEXT_TABLE_COLUMNS; a row whose second cell is NULL is a full line */
};
/* `titles` has one NULL-terminated word per column. */
void text_table_init(struct text_table *t, const char *const *titles);
/* One row; as many strings as there are columns. Out of memory drops the row. */
void text_table_row(struct text_table *t, ...);
/* A full line below the last row. */
void text_table_line(struct text_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `text`, or its beginning and "..", at most `most` (4 or more) characters. Returns `out`. */
const char *text_table_cut(const char *text, unsigned most, char *out, size_t size);
void        text_table_print(const struct text_table *t, FILE *to);
void        text_table_finish(struct text_table *t);
#endif
