/* progress.h - shows the progress of long work on standard error, if that is a terminal: from the third second on, ten
 * times a second at most, erased at the end. Threads: one. Ownership: a value; progress_end once. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what;         /* "reading"; borrowed */
    int64_t     began, shown; /* ms */
    bool        terminal;
};
struct progress progress_start(const char *what);
void            progress_tell(void *progress, unsigned per_mille);
void            progress_end(struct progress *p);
#endif
