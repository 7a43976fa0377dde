/* unwind.h - the call stack of a running thread, by the unwind tables of the files that it has mapped (.eh_frame).
 * A rule for each address is worked out once, and kept. A frame without a usable rule ends the stack.
 * Invariants: memory of a stack is read only between the stack pointer and the end of the thread's stack, or by the kernel
 * (process_vm_readv), so a wrong table ends a stack and never the program. Nothing is allocated, no lock is taken where
 * the C library has _dl_find_object, and only some hundred bytes of the program's stack are used.
 * Threads: any; lock-free. Not for: other processes (symbols/unwind.h), names of frames. */
#ifndef AUTOLOGGER_HEAP_UNWIND_H
#define AUTOLOGGER_HEAP_UNWIND_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How to get from a frame to its caller's: the caller's stack pointer (CFA) is a register plus `cfa`. */
struct unwind_rule {
    bool    valid, end; /* end: the outermost frame of a thread */
    bool    by_frame;   /* CFA by the frame pointer, not by the stack pointer */
    bool    saves_frame;
    int32_t cfa;
    int32_t frame_at;  /* of the saved frame pointer, from the CFA */
    int32_t return_at; /* of the return address, from the CFA */
};
/* The rule for `address` by the table whose .eh_frame_hdr is at `header`; all reads stay in [low, high). */
struct unwind_rule unwind_rule_find(const uint8_t *header, uint64_t low, uint64_t high, uint64_t address);

/* A frame: the address to which the callee returns, the stack and frame pointers there. */
struct unwind_frame {
    uint64_t address, stack, frame;
};
/* Work space of one walk: a program's stack may be too small for it. */
enum { UNWIND_WINDOW = 1024, UNWIND_PATH = 4096 };
struct unwind_room {
    uint64_t       window_at;
    size_t         window_size;
    uint8_t        window[UNWIND_WINDOW]; /* a copy of a part of the stack */
    uint64_t       low, high;             /* of the image that was found */
    const uint8_t *header;                /* its .eh_frame_hdr; NULL: none */
    char           path[UNWIND_PATH];
};
/* Called once for each mapped file in which a frame was found: its bounds and path are in the room. */
typedef void unwind_image_seen(struct unwind_room *room);
void         unwind_begin(unwind_image_seen *seen);
/* Tells the image of an address that no stack may have. */
void unwind_tell(struct unwind_room *room, uint64_t address);
/* Frames from `first` on, leaf first; their number, at most `most`. */
unsigned unwind_stack(const struct unwind_frame *first, struct unwind_room *room, uint64_t *out, unsigned most);
/* A file was unmapped: forget all rules. The number of times that this happened is the generation of addresses. */
void     unwind_forget(void);
uint32_t unwind_generation(void);
#endif
