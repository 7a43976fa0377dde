/* summary_headers.h - `summary --headers`: what the headers of a trace file's buffers say, without reading its events.
 * Its time grows with the number of buffers: a file of 10 GB has 160,000 of 64 KB. Threads: one. */
#ifndef TOOLS_SUMMARY_HEADERS_H
#define TOOLS_SUMMARY_HEADERS_H
#include <stdbool.h>

/* An exit code: 1 when the file is damaged. */
int summary_headers(const char *verb, const char *path, bool json);
#endif
