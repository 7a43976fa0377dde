/* library.c - libautologger-heap.so begins: the command "heap" preloads it into a program. Without that command's memory
 * its hooks only pass calls on. See library.h. */
#include "autologger/heap/library.h"

#include "autologger/heap/next.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct library library;

/* A program with a malloc of its own does not call ours; its blocks are not those of the C library. */
static bool own_allocator(void)
{
    void *const used = dlsym(RTLD_DEFAULT, "malloc");
    Dl_info     first, mine;
    return used && dladdr(used, &first) && dladdr((void *)&library, &mine) && first.dli_fbase != mine.dli_fbase;
}

/* Children are not to have the library, nor the memory: takes both out of the environment, and keeps them for an exec. */
static void environment_clean(void)
{
    const char *memory = getenv(HEAP_VARIABLE);
    char       *list   = getenv("LD_PRELOAD");
    Dl_info     mine;
    if (!memory || !list || !dladdr((void *)&library, &mine))
        return;
    snprintf(exec_memory, sizeof exec_memory, "%s", memory);
    const size_t n = strlen(mine.dli_fname);
    if (strncmp(list, mine.dli_fname, n) == 0 && (!list[n] || list[n] == ':') && n < sizeof exec_library) {
        memcpy(exec_library, mine.dli_fname, n + 1);
        memmove(list, list + n + (list[n] == ':'), strlen(list + n + (list[n] == ':')) + 1);
        if (!*list)
            unsetenv("LD_PRELOAD");
    }
    unsetenv(HEAP_VARIABLE);
}

void library_begin(void)
{
    if (stream_inside || !environ || !next_found())
        return;
    stream_inside = true;
    if (!__atomic_exchange_n(&library.begun, true, __ATOMIC_ACQ_REL)) {
        const uint32_t flags = stream_begin();
        const uint64_t heap  = 1;
        environment_clean();
        if (flags) { /* blocks of a program that this one replaced are gone */
            stream_event(HOOK_HEAP_CREATE, 2, &heap, sizeof heap, NULL);
            const bool foreign = own_allocator();
            if (foreign)
                stream_own_allocator();
            library.allocations = flags & HEAP_ALLOCATIONS && !foreign;
            library.locks       = flags & HEAP_LOCKS;
        }
    }
    stream_inside = false;
}

static __attribute__((constructor)) void library_loaded(void) { library_begin(); }
