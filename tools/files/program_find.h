/* program_find.h - the project's other programs: beside this one, or where an installation has them. Threads: any. */
#ifndef TOOLS_PROGRAM_FIND_H
#define TOOLS_PROGRAM_FIND_H
#include "registry-sim/win32/wstatus.h"

#include <stddef.h>

/* The path of the program `name`. W_FILE_NOT_FOUND when there is none; the reason has the advice. */
wstatus program_find(const char *name, char *out, size_t size, struct reason *why);
#endif
