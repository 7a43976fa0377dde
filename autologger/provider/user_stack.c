/* user_stack.c - the call stack of an event's writer, where a session asks for it. See filter.h. */
#include "autologger/provider/filter.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* A frame: the caller's frame pointer, the return address. */
struct frame {
    uint64_t next, from;
};
enum { PAGE = 4096, WINDOW = 1024, FAR = 16 << 20 /* no two frames are further apart */ };

/* A copy of a part of the stack. */
struct window {
    uint64_t start;
    size_t   size;
    uint8_t  bytes[WINDOW];
};

/* Bytes on two pages are read in two parts: a missing page ends the read, and raises no signal. */
static bool window_read(struct window *w, uint64_t at)
{
    const size_t first   = (PAGE - (size_t)at % PAGE) < WINDOW ? PAGE - (size_t)at % PAGE : WINDOW;
    struct iovec to      = {w->bytes, WINDOW},
                 from[2] = {{(void *)(uintptr_t)at, first}, {(void *)(uintptr_t)(at + first), WINDOW - first}};
    const ssize_t n      = process_vm_readv(getpid(), &to, 1, from, first < WINDOW ? 2 : 1, 0);
    w->start             = at;
    w->size              = n > 0 ? (size_t)n : 0;
    return w->size >= sizeof(struct frame);
}

static bool frame_read(struct window *w, uint64_t at, struct frame *out)
{
    if ((at < w->start || at + sizeof *out > w->start + w->size) && !window_read(w, at))
        return false;
    memcpy(out, w->bytes + (at - w->start), sizeof *out);
    return true;
}

unsigned user_stack(const void *frame, const void *caller, uint64_t out[USER_STACK_MAX])
{
    struct window w = {0};
    struct frame  f;
    unsigned      n     = 0;
    int           error = errno;
    uint64_t      at    = (uint64_t)(uintptr_t)frame;

    if (caller)
        out[n++] = (uint64_t)(uintptr_t)caller;
#if defined(__x86_64__) || defined(__aarch64__)
    if (!frame_read(&w, at, &f)) /* the frame of the function that `caller` called */
        at = 0;
    while (at && n < USER_STACK_MAX) {
        if (f.next % 8 || f.next <= at || f.next - at > FAR)
            break;
        at = f.next;
        if (!frame_read(&w, at, &f) || !f.from)
            break;
        out[n++] = f.from;
    }
#else
    (void)at, (void)w, (void)f;
#endif
    errno = error;
    return n;
}
