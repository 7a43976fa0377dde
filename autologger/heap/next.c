/* next.c - see next.h. */
#include "autologger/heap/next.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

enum { EARLY = 256 * 1024 };
static _Alignas(64) char early[EARLY];
static size_t        early_used;
static __thread bool next_finding __attribute__((tls_model("initial-exec")));
struct next          next;

void *early_memory(size_t size, size_t alignment)
{
    alignment = alignment < 16 ? 16 : alignment;
    if (size > EARLY || alignment > 4096)
        return NULL;
    const size_t at = __atomic_fetch_add(&early_used, size + alignment, __ATOMIC_RELAXED);
    if (at > EARLY - size - alignment)
        return NULL;
    return (void *)(((uintptr_t)early + at + alignment - 1) & ~(uintptr_t)(alignment - 1));
}

bool early_is(const void *p) { return (uintptr_t)p - (uintptr_t)early < EARLY; }

size_t early_rest(const void *p) { return EARLY - ((uintptr_t)p - (uintptr_t)early); }

bool next_find(void)
{
    if (next_finding)
        return false;
    next_finding = true;
    struct next found;
    memset(&found, 0, sizeof found);
#define NEXT(result, name, parameters) *(void **)(void *)&found.name = dlsym(RTLD_NEXT, #name);
#include "autologger/heap/next.def"
#undef NEXT
#define NEXT(result, name, parameters) __atomic_store_n(&next.name, found.name, __ATOMIC_RELEASE);
#include "autologger/heap/next.def"
#undef NEXT
    next_finding = false;
    return next.pthread_mutex_trylock != NULL;
}
