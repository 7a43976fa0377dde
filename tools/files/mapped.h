/* mapped.h - reading a trace through a mapping (etl_reader_map) in a command: where the file is truncated meanwhile,
 * the command says so and ends with 1. Threads: one. Not for: commands that write files beside what they print, which
 * would stay half done. */
#ifndef TOOLS_MAPPED_H
#define TOOLS_MAPPED_H
#include "autologger/etl/reader.h"

/* `verb` and `path` stay valid as long as the reader is used. */
void mapped_reader(const char *verb, const char *path, struct etl_reader *reader);
#endif
