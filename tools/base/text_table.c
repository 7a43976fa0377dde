/* text_table.c - see text_table.h. */
#include "tools/base/text_table.h"

#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/visible.h"
#include "registry-sim/base/visible_print.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more row of empty cells, or NULL. */
static char **text_table_row_add(struct text_table *t)
{
    if (t->rows == t->capacity) {
        unsigned more  = t->capacity ? t->capacity * 2 : 32;
        char   **cells = realloc(t->cells, (size_t)more * TEXT_TABLE_COLUMNS * sizeof *cells);
        if (!cells)
            return NULL;
        t->cells    = cells;
        t->capacity = more;
    }
    char **row = t->cells + (size_t)t->rows++ * TEXT_TABLE_COLUMNS;
    memset(row, 0, TEXT_TABLE_COLUMNS * sizeof *row);
    return row;
}

void text_table_init(struct text_table *t, const char *const *titles)
{
    *t         = (struct text_table){0};
    char **row = text_table_row_add(t);
    for (; titles[t->columns] && t->columns < TEXT_TABLE_COLUMNS; t->columns++)
        if (row)
            row[t->columns] = strdup(titles[t->columns]);
}

void text_table_row(struct text_table *t, ...)
{
    char **row = text_table_row_add(t);
    if (!row)
        return;
    va_list args;
    va_start(args, t);
    for (unsigned i = 0; i < t->columns; i++)
        row[i] = visible_dup(va_arg(args, const char *));
    va_end(args);
}

void text_table_line(struct text_table *t, const char *format, ...)
{
    char **row = text_table_row_add(t);
    if (!row)
        return;
    size_t  size;
    va_list args;
    FILE   *line = open_memstream(&row[0], &size);
    if (!line)
        return;
    va_start(args, format);
    visible_vprintf(line, format, args);
    va_end(args);
    fclose(line);
}

static bool starts_character(char c) { return (c & 0xC0) != 0x80; }

static int width(const char *text)
{
    int n = 0;
    for (; text && *text; text++)
        n += starts_character(*text);
    return n;
}

const char *text_table_cut(const char *text, unsigned most, char *out, size_t size)
{
    const char *end = text;
    unsigned    n   = 0;
    if (!visible_is(text)) { /* its escapes have a width, too */
        char      *shown = visible_dup(text);
        const bool cut   = shown && text_table_cut(shown, most, out, size);
        free(shown);
        return cut ? out : "?";
    }
    if ((unsigned)width(text) <= most) {
        snprintf(out, size, "%s", text);
        return out;
    }
    for (; *end && n + 2 < most + starts_character(*end); end++)
        n += starts_character(*end);
    snprintf(out, size, "%.*s..", (int)(end - text), text);
    return out;
}

/* A continued line begins below the text after a leading "word:", else 4 columns after the leading spaces. */
static int hanging_indent(const char *line)
{
    int indent = (int)strspn(line, " "), word = (int)strcspn(line + indent, " ");
    if (word && line[indent + word - 1] == ':' && word <= 8)
        return indent + word + (int)strspn(line + indent + word, " ");
    return indent + 4;
}

/* Breaks the line at spaces; a word that is too long for a line is left whole. */
static void line_print(const char *line, unsigned limit, FILE *to)
{
    int indent = hanging_indent(line), column = 0;
    if (!limit || (unsigned)width(line) <= limit) {
        visible_printf(to, "%s\n", line);
        return;
    }
    for (const char *p = line; *p;) {
        int  spaces = (int)strspn(p, " "), bytes = (int)strcspn(p + spaces, " ");
        char word[512];
        snprintf(word, sizeof word, "%.*s", bytes, p + spaces);
        if (column > indent && column + spaces + width(word) > (int)limit)
            column = visible_printf(to, "\n%*s", indent, "") - 1;
        else
            column += visible_printf(to, "%*s", spaces, "");
        visible_printf(to, "%.*s", bytes, p + spaces);
        column += width(word);
        p += spaces + bytes;
    }
    fputc('\n', to);
}

static void text_table_row_print(const struct text_table *t, char *const *row, const int *widths, FILE *to)
{
    unsigned last = t->columns - 1;
    while (last && (!row[last] || !*row[last]))
        last--;
    for (unsigned c = 0; c <= last; c++) {
        const char *cell = row[c] ? row[c] : "";
        int         pad  = widths[c] - width(cell);
        if (t->right & 1u << c)
            visible_printf(to, "%*s%s%s", pad, "", cell, c < last ? "  " : "");
        else
            visible_printf(to, "%s%*s", cell, c < last ? pad + 2 : 0, "");
    }
    fputc('\n', to);
}

void text_table_print(const struct text_table *t, FILE *to)
{
    int widths[TEXT_TABLE_COLUMNS] = {0};
    for (unsigned r = 0; r < t->rows; r++)
        for (unsigned c = 0; c < t->columns; c++) {
            char *const *row = t->cells + (size_t)r * TEXT_TABLE_COLUMNS;
            int          w   = row[1] ? width(row[c]) : 0;
            if (w > widths[c])
                widths[c] = w;
        }
    for (unsigned r = 0; r < t->rows; r++) {
        char *const *row = t->cells + (size_t)r * TEXT_TABLE_COLUMNS;
        if (row[1])
            text_table_row_print(t, row, widths, to);
        else if (row[0])
            line_print(row[0], t->width, to);
    }
}

void text_table_finish(struct text_table *t)
{
    for (size_t i = 0; i < (size_t)t->rows * TEXT_TABLE_COLUMNS; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = (struct text_table){0};
}
