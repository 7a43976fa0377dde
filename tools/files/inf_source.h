/* inf_source.h - the boot sessions of a driver package's INF file as .reg text: AddAutoLogger and UpdateAutoLogger with
 * their sections, and AddReg lines below the keys that autologger reads (Microsoft Learn, "INF AddAutoLogger and
 * UpdateAutoLogger Directives", "INF AddReg Directive"). What has no counterpart is reported, with its line.
 * Threads: one. Ownership: inf_free. Not for: the rest of such files: services, files, devices. */
#ifndef TOOLS_INF_SOURCE_H
#define TOOLS_INF_SOURCE_H
#include "registry-sim/text/dialect.h"

struct inf_text {
    char     *text; /* .reg, in UTF-8 */
    size_t    size;
    uint32_t *lines; /* the INF line of each line of the text */
    size_t    count;
};
/* True: the file has the signature of an INF file, or is a part of one: lines of AddReg. */
bool inf_is(const char *path);
/* Problems go to `sink`. W_INVALID_DATA: errors were reported, or the file declares no session; else by errno. */
wstatus inf_read(const char *path, struct inf_text *out, struct diag_sink *sink, struct reason *why);
/* The same of a document in memory; `file` is its name in messages. */
wstatus inf_convert_text(const char *document, size_t size, const char *file, struct inf_text *out,
                         struct diag_sink *sink, struct reason *why);
void    inf_free(struct inf_text *t);
/* The line of the INF that made this line of the text; 0: unknown. */
uint32_t inf_line_of(const struct inf_text *t, uint32_t line);
#endif
