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
struct inf_name {
    const char *text;
    uint32_t    size, line; /* its line's place in inf_document.line */
};
/* Names in the order of their letters, those that are the same in the order of the file. */
struct inf_names {
    struct inf_name *name;
    size_t           count, room;
};
struct inf_document {
    struct inf_line *line;
    size_t           count, room;
    char           **sections; /* owned names */
    size_t           section_count;
    struct inf_names by_section, strings, deleted; /* each line's section; [Strings]; what DelReg names */
    bool             failed;                       /* no memory, or too many lines */
};
void inf_document_read(struct inf_document *d, const char *text, const char *end);
void inf_document_finish(struct inf_document *d);
/* The fields of a line's text, with %strings% replaced and quotes removed. Returns their number; at most `most` are
 * stored. */
unsigned inf_fields(const struct inf_document *d, const char *text, char (*out)[INF_FIELD], unsigned most);
/* "ENTRY = VALUE": the value's text; NULL: the line has another entry. */
const char *inf_entry(const struct inf_line *l, const char *entry);
/* The next line of a section; *at: 0 at first. NULL: no more. */
const struct inf_line *inf_section_next(const struct inf_document *d, const char *section, size_t *at);
/* Does a DelReg entry name the section? */
bool inf_is_deleted(const struct inf_document *d, const char *section);
bool inf_number(const char *text, uint64_t *out);
#endif
