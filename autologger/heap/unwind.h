/* unwind.h - the call stack of a running thread, by the unwind tables of the files that it has mapped (.eh_frame).
 * A rule for each address is worked out once, and kept. A frame without a usable rule ends the stack.
 * Invariants: memory of a stack is read only inside the thread's stack, or by the kernel (process_vm_readv), so a wrong
 * table ends a stack and never the program. Nothing is allocated from the program's heap.
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
/* Called once for each mapped file in which a frame was found: its bounds. */
typedef void unwind_image_seen(uint64_t low, uint64_t high, const char *path);
void         unwind_begin(unwind_image_seen *seen);
/* Tells the image of an address that no stack may have. */
void unwind_tell(uint64_t address);
/* Frames from `first` on, leaf first; their number, at most `most`. */
unsigned unwind_stack(const struct unwind_frame *first, uint64_t *out, unsigned most);
/* A file was unmapped: forget all rules. */
void unwind_forget(void);
#endif
