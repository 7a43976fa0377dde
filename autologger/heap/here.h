/* here.h - where a hook's stack begins: the hook, and where its caller goes on.
 * Threads: any. Not for: functions without a frame pointer (CMakeLists.txt compiles the hooks with one). */
#ifndef AUTOLOGGER_HEAP_HERE_H
#define AUTOLOGGER_HEAP_HERE_H
#include "autologger/heap/unwind.h"

struct stack_begin {
    uint64_t            hook; /* an address in it */
    struct unwind_frame caller;
};

static inline __attribute__((always_inline)) struct unwind_frame here_frame(void)
{
    const uint64_t *f = __builtin_frame_address(0);
#if defined(__x86_64__)
    return (struct unwind_frame){f[1], (uint64_t)(uintptr_t)(f + 2), f[0]};
#else
    return (struct unwind_frame){(uint64_t)(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)),
                                 (uint64_t)(uintptr_t)__builtin_dwarf_cfa(), f[0]};
#endif
}

/* An address in this function; that of a hook by its name may be the program's own entry for it. */
static inline __attribute__((always_inline)) uint64_t here_address(void)
{
    uint64_t at;
#if defined(__x86_64__)
    __asm__("lea 0(%%rip), %0" : "=r"(at));
#elif defined(__aarch64__)
    __asm__("adr %0, ." : "=r"(at));
#else
    at = 0;
#endif
    return at;
}
#define HERE() ((struct stack_begin){here_address(), here_frame()})
#endif
