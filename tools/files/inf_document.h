/* inf_document.h - the lines of an INF file: sections, comments, continued lines, fields between commas, %strings% (Microsoft
 * Learn, "General Syntax Rules for INF Files"). For inf_source.c alone.
 * Threads: one. Ownership: init by zeros, inf_document_finish. */
#ifndef TOOLS_INF_DOCUMENT_H
#define TOOLS_INF_DOCUMENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INF_FIELD = 2048 };
struct inf_line {
    const char *section; /* its name, without brackets; "" before the first */
    char       *text;    /* without comment, continued lines joined */
    uint32_t    number;
};
struct inf_document {
    struct inf_line *line;
    size_t           count, room;
    char           **sections; /* owned names */
    size_t           section_count;
    bool             failed; /* no memory, or too many lines */
};
void inf_document_read(struct inf_document *d, const char *text, const char *end);
void inf_document_finish(struct inf_document *d);
/* The fields of a line's text, with %strings% replaced and quotes removed. Returns their number; at most `most` are
 * stored. */
unsigned inf_fields(const struct inf_document *d, const char *text, char (*out)[INF_FIELD], unsigned most);
/* "ENTRY = VALUE": the value's text; NULL: the line has another entry. */
const char *inf_entry(const struct inf_line *l, const char *entry);
bool        inf_number(const char *text, uint64_t *out);
#endif
