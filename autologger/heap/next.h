/* next.h - the functions that the library's hooks stand in front of: those of the C library, or of another allocator.
 * Invariant: next.NAME is set once next_find has returned; before that, memory comes from a small area of the library's.
 * Threads: next_find from any, also at once. Not for: the hooks. */
#ifndef AUTOLOGGER_HEAP_NEXT_H
#define AUTOLOGGER_HEAP_NEXT_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <threads.h>
#include <time.h>

struct next {
#define NEXT(result, name, parameters) result(*name) parameters;
#include "autologger/heap/next.def"
#undef NEXT
};
extern struct next next;
/* False while it is looked for: dlsym itself asks for memory. */
bool               next_find(void);
static inline bool next_found(void) { return next.pthread_mutex_trylock != NULL || next_find(); }
/* Memory before the functions are known; zeros. It is never returned. NULL: there is no more. */
void *early_memory(size_t size, size_t alignment);
bool  early_is(const void *p);
/* What is behind it in the area: at least as much as the block had. */
size_t early_rest(const void *p);
#endif
