/* foreign.h - the folder of traces that other programs made, for tests with the label "foreign". They are no part of
 * the project: AUTOLOGGER_DATA names their folder, else they are looked for beside the source, and a test without them
 * is skipped. Not for: what every clone must prove. */
#ifndef TOOLS_DEV_FOREIGN_H
#define TOOLS_DEV_FOREIGN_H
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FOREIGN_SKIPPED = 77 };

/* Writes the path of a foreign file to `path`; 0, with the reason on standard output: it is not there. */
static inline int foreign_path(const char *name, char *path, size_t size)
{
    const char *data = getenv("AUTOLOGGER_DATA");
    snprintf(path, size, "%s/%s", data ? data : AL_SOURCE_DIR "/../shared/data", name);
    if (access(path, R_OK) == 0)
        return 1;
    printf("skipped: no file %s (AUTOLOGGER_DATA)\n", path);
    return 0;
}
#endif
