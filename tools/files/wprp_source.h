/* wprp_source.h - a profile of Windows Performance Recorder (.wprp) as an INI configuration: what "wpr -boottrace" would
 * make of it. The system collector becomes GlobalLogger, each event collector an Autologger of its id. What has no
 * counterpart is reported, with its line.
 * Threads: one. Ownership: the text is malloc, the caller's. Not for: profiles that inherit from others (reported). */
#ifndef TOOLS_WPRP_SOURCE_H
#define TOOLS_WPRP_SOURCE_H
#include "registry-sim/text/dialect.h"

/* True: the file begins as XML and has the element of such profiles. */
bool wprp_is(const char *path);
/* `profile`: its Id or Name; NULL: the only one, or the only one that is written to a file. Problems go to `sink`.
 * W_INVALID_DATA: no such file, or damaged; W_NOT_FOUND: no such profile: the reason lists those that there are. */
wstatus wprp_read(const char *path, const char *profile, char **text, size_t *size, struct diag_sink *sink,
                  struct reason *why);
/* The same of a document in memory, in UTF-8, followed by a NUL; `file` is its name in messages. */
wstatus wprp_convert_text(const char *document, size_t length, const char *file, const char *profile, char **text,
                          size_t *size, struct diag_sink *sink, struct reason *why);
#endif
