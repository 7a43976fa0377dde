/* mapped.h - reading a trace through a mapping (etl_reader_map) in a command: if the file is truncated meanwhile, the
 * command reports it and exits with VERB_FAILED. Threads: one. Not for: commands that also write files, which would
 * stay half written. */
#ifndef TOOLS_MAPPED_H
#define TOOLS_MAPPED_H
#include "autologger/etl/reader.h"

/* `verb` and `path` stay valid as long as the reader is used. */
void mapped_reader(const char *verb, const char *path, struct etl_reader *reader);
#endif
