/* allocations.c - malloc and its relatives: each call becomes an event of the Heap class, with the stack of its caller.
 * Order: a block's event follows its allocation and precedes its release, so an address belongs to one block at a time
 * also in the trace. A realloc releases and allocates in one call: its event carries the moment when it began.
 * Threads: any. Not for: memory that a program takes from the kernel itself (mmap, brk), allocators that do not go
 * through malloc. Layouts: as Windows' HeapAlloc, HeapRealloc, HeapFree; StartTime at the end of HeapRealloc is ours. */
#include "autologger/heap/library.h"
#include "autologger/heap/next.h"

#include <errno.h>
#include <string.h>

enum { HEAP_EVENT = 2 /* version */, SOURCE_CALL = 0 };
#define HEAP_HANDLE UINT64_C(1) /* the program's one heap */

static inline bool allocations_traced(void) { return library_traces(&library.allocations); }

static inline void tell_alloc(const void *p, size_t size, const struct stack_begin *where)
{
    const struct __attribute__((packed)) {
        uint64_t heap, size, address;
        uint32_t source;
    } event = {HEAP_HANDLE, size, (uint64_t)(uintptr_t)p, SOURCE_CALL};
    stream_event(HOOK_HEAP_ALLOC, HEAP_EVENT, &event, sizeof event, where);
}

static inline void tell_free(const void *p)
{
    const struct __attribute__((packed)) {
        uint64_t heap, address;
        uint32_t source;
    } event = {HEAP_HANDLE, (uint64_t)(uintptr_t)p, SOURCE_CALL};
    stream_event(HOOK_HEAP_FREE, HEAP_EVENT, &event, sizeof event, NULL);
}

static inline void tell_realloc(const void *p, uint64_t old, size_t size, uint64_t began,
                                const struct stack_begin *where)
{
    const struct __attribute__((packed)) {
        uint64_t heap, address, old, size, old_size;
        uint32_t source;
        uint64_t began;
    } event = {HEAP_HANDLE, (uint64_t)(uintptr_t)p, old, size, 0, SOURCE_CALL, began};
    stream_event(HOOK_HEAP_REALLOC, HEAP_EVENT, &event, sizeof event, where);
}

void *malloc(size_t size)
{
    if (!next_found())
        return early_memory(size, 0);
    void *p = next.malloc(size);
    if (p && allocations_traced()) {
        const struct stack_begin where = HERE();
        tell_alloc(p, size, &where);
    }
    return p;
}

void free(void *p)
{
    if (!p || early_is(p) || !next_found())
        return;
    if (allocations_traced())
        tell_free(p);
    next.free(p);
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (!next_found())
        return __builtin_mul_overflow(count, size, &bytes) ? NULL : early_memory(bytes, 0);
    void *p = next.calloc(count, size);
    if (p && allocations_traced()) {
        const struct stack_begin where = HERE();
        tell_alloc(p, count * size, &where);
    }
    return p;
}

static void *from_early(const void *old, size_t size)
{
    void        *p    = next_found() ? next.malloc(size) : early_memory(size, 0);
    const size_t most = early_rest(old);
    if (p)
        memcpy(p, old, size < most ? size : most);
    return p;
}

static void *reallocate(void *old, size_t size, const struct stack_begin *where)
{
    if (early_is(old) || !next_found())
        return old ? from_early(old, size) : early_memory(size, 0);
    if (!allocations_traced())
        return next.realloc(old, size);
    const uint64_t began = stream_now(), before = (uint64_t)(uintptr_t)old;
    void          *p = next.realloc(old, size);
    if (p && before)
        tell_realloc(p, before, size, began, where);
    else if (p)
        tell_alloc(p, size, where);
    else if (before && !size) /* that released it */
        tell_realloc(NULL, before, 0, began, where);
    return p;
}

void *realloc(void *old, size_t size)
{
    const struct stack_begin where = HERE();
    return reallocate(old, size, &where);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (!next_found())
        return (*out = early_memory(size, alignment)) ? 0 : ENOMEM;
    const int failed = next.posix_memalign(out, alignment, size);
    if (!failed && *out && allocations_traced()) {
        const struct stack_begin where = HERE();
        tell_alloc(*out, size, &where);
    }
    return failed;
}

/* The allocators that take an alignment, or imply one. */
#define ALIGNED(name, parameters, arguments, alignment) \
    void *name parameters \
    { \
        if (!next_found()) \
            return early_memory(size, alignment); \
        void *p = next.name arguments; \
        if (p && allocations_traced()) { \
            const struct stack_begin where = HERE(); \
            tell_alloc(p, size, &where); \
        } \
        return p; \
    }
ALIGNED(aligned_alloc, (size_t alignment, size_t size), (alignment, size), alignment)
ALIGNED(memalign, (size_t alignment, size_t size), (alignment, size), alignment)
ALIGNED(valloc, (size_t size), (size), 4096)
ALIGNED(pvalloc, (size_t size), (size), 4096)

/* What was mapped there is gone, and another file may come to its place. */
int dlclose(void *handle)
{
    if (!next_found())
        return -1;
    const int result = next.dlclose(handle);
    unwind_forget();
    return result;
}
