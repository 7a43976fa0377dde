/* file_name.h - a file as a command line of Windows names it.
 * Threads: one. Not for: FileName of a configuration (registry-sim/text/winpath.h), which the daemon maps. */
#ifndef TOOLS_WINDOWS_FILE_NAME_H
#define TOOLS_WINDOWS_FILE_NAME_H
#include "tools/windows/translation.h"

/* For a session's file, which the daemon makes: "x.etl" and "..\x.etl" are below the current folder, "C:\x.etl" and
 * "\x.etl" stay, and mean a file below the log folder. */
const char *file_of_session(const char *name, struct translation *t);
/* For a file of a session that runs, which lies below the log folder: "x.etl", "C:\x.etl". Other folders are a fault. */
const char *file_below_logs(const char *name, struct translation *t);
/* True for such a name of Windows: "C:\x.etl". */
bool file_is_below_logs(const char *name);
/* For a file that a verb itself reads or makes: the same places. */
const char *file_of_verb(const char *name, struct translation *t);
/* As file_of_session, and absolute: for a line that runs in another folder. */
const char *file_from_anywhere(const char *name, struct translation *t);
#endif
