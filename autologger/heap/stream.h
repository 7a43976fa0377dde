/* stream.h - writes events into the memory that is shared with the collector. An event has the time at which it is
 * written; in each slot times rise. When the buffers of a slot are full, the writer waits for the collector: nothing is
 * lost while that one lives. When it writes nothing for some seconds, tracing ends, and further events count as lost.
 * Threads: any. Not for: stacks (unwind.h), hooks (allocations.c, locks.c). */
#ifndef AUTOLOGGER_HEAP_STREAM_H
#define AUTOLOGGER_HEAP_STREAM_H
#include "autologger/heap/here.h"
#include "autologger/wire/heap.h"
#include "autologger/wire/hooks.h"

#include <stdbool.h>
#include <sys/types.h>

enum { STREAM_PAYLOAD = 4096 };
/* True: this process is traced. A process that was made by fork is not. */
bool stream_on(void);
/* Attaches to the memory that the environment names, if it is for this process. Flags of HEAP_...; 0: not traced. */
uint32_t stream_begin(void);
/* An event of this thread; keeps errno. `where`: where its stack begins; NULL: it has none. */
void stream_event(enum hook hook, uint16_t version, const void *payload, uint32_t size,
                  const struct stack_begin *where);
/* A moment on the session's clock. */
uint64_t stream_now(void);
/* The program's allocations can't be seen: it has an allocator of its own. */
void stream_own_allocator(void);
/* The memory's descriptor, and the process that is traced. */
int   stream_fd(void);
pid_t stream_pid(void);
/* True while this thread is inside of the library: what it does then is not traced. */
extern __thread bool stream_inside __attribute__((tls_model("initial-exec")));
#endif
