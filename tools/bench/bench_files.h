/* bench_files.h - the traces of `autologger bench read`: the same events as LTTng's, as an .etl; two large files of one
 * clock.
 * Threads: one. Ownership: the caller removes the folder. */
#ifndef TOOLS_BENCH_FILES_H
#define TOOLS_BENCH_FILES_H
#include "registry-sim/win32/wstatus.h"

#include <stdint.h>

/* Events number 0 .. count - 1 of bench_request.h, as TraceLogging events of one CPU. */
wstatus bench_etl_requests(const char *path, uint32_t count, struct reason *why);
/* About `megabytes` of the same, by turns on two CPUs; `which` of two files whose times interleave. */
wstatus bench_etl_large(const char *path, uint32_t megabytes, unsigned which, struct reason *why);
/* Reads a file, decodes every field, and calls a function for each event, like a program that uses ProcessTrace.
 * *events: the number of events that were decoded wholly. */
wstatus bench_decode(const char *path, uint64_t *events, struct reason *why);
#endif
