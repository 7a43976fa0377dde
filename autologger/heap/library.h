/* library.h - when the library begins, and what it traces. Threads: any. */
#ifndef AUTOLOGGER_HEAP_LIBRARY_H
#define AUTOLOGGER_HEAP_LIBRARY_H
#include "autologger/heap/stream.h"

#include <limits.h>

struct library {
    bool begun; /* or found that this process is not to be traced */
    bool allocations, locks;
};
extern struct library library;
/* The library's path and the value of HEAP_VARIABLE, as this process had them in its environment; for exec.c. */
extern char exec_library[PATH_MAX], exec_memory[64];
/* Attaches, at the first call of a hook or in the library's constructor, whichever comes first: libraries of the program
 * allocate in their own constructors. No effect before the C library has the environment. */
void library_begin(void);
/* True: this call is to be traced. */
static inline bool library_traces(const bool *what)
{
    if (__builtin_expect(!library.begun, 0))
        library_begin();
    return *what && !stream_inside && stream_on();
}
#endif
