/* progress.h - how far a long work is, on a terminal's standard error: from the third second on, ten times a second at
 * most, and gone at the end. Nothing is shown where standard error is no terminal. Threads: one. Ownership: a value;
 * progress_end once. */
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
