/* made_file.h - writes a file that a compiler reads: whole or not at all, and a file with the same bytes keeps its time,
 * so that nothing is built again. Threads: any. */
#ifndef TOOLS_FILES_MADE_FILE_H
#define TOOLS_FILES_MADE_FILE_H
#include "autologger/schema/text.h"
#include "registry-sim/win32/wstatus.h"

/* By errno, with the path. */
wstatus made_file_put(const char *path, const struct text *content, struct reason *why);
#endif
