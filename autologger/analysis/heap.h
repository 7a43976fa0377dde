/* heap.h - what a program allocated and did not free, and on which locks its threads waited, from a trace of its heap
 * (the command "heap"; wire/heap.h), by stack.
 * Invariants: allocations = frees of known blocks + blocks that are left, at any time; a block belongs to the stack of
 * its last allocation or reallocation. Frees of blocks from before the trace are counted apart.
 * Memory: grows with live blocks, distinct stacks (a pointer a frame) and distinct frames. Threads: one. Ownership: create/destroy.
 * Not for: the kernel's memory (traced.h). */
#ifndef AUTOLOGGER_ANALYSIS_HEAP_H
#define AUTOLOGGER_ANALYSIS_HEAP_H
#include "autologger/symbols/symbols.h"

struct heap_frame {
    char *text;   /* "function", or "module+0x12" */
    char *module; /* "" unknown */
    char *source; /* "file.c"; "" unknown */
    int   line;
};
/* A distinct stack: who allocated, or who waited. Frames of the library itself are left out. */
struct heap_stack {
    uint64_t key;
    /* shared by all stacks */
    const struct heap_frame **frame;
    unsigned                  frames;
    uint64_t                  allocations, bytes;      /* all */
    uint64_t                  blocks_left, bytes_left; /* at the moment of the report */
    uint64_t                  waits, wait_ns, longest_ns;
    uint64_t                  unfinished; /* waits that never ended */
    uint64_t                  lock;       /* address of the last one */
    uint32_t                  owner;      /* thread that held it at the longest wait; 0: not known */
};
struct heap_totals {
    uint64_t allocations, frees, reallocations, bytes; /* allocated in all */
    uint64_t blocks_left, bytes_left;                  /* at the moment of the report */
    uint64_t unknown_frees;                            /* of blocks from before the trace */
    uint64_t peak_bytes, peak_blocks, peak_ns;         /* most bytes at once, and when, from the file's start */
    uint64_t waits, wait_ns, unfinished;
    uint64_t events_lost; /* by the file's header */
    bool     replaced;    /* the program replaced itself by one that was not traced: none of its blocks count */
    char     process[256], command[1024];
    uint32_t pid;
};
struct heap {
    struct heap_totals totals;
    struct heap_stack *stack;
    size_t             stacks;
    struct heap_names *names; /* the frames, each once */
};
/* `peak`: the blocks at the moment of most bytes, instead of at the end. W_FILE_NOT_FOUND and others of the reader;
 * W_INVALID_DATA: it has no events of a heap or of locks. `symbols` names frames (borrowed). */
wstatus heap_create(const char *file, struct symbols *symbols, bool peak, struct heap **out, struct reason *why);
void    heap_destroy(struct heap *h); /* NULL is fine */
/* Orders the stacks: most bytes left first; or most waiting first. */
void heap_sort_left(struct heap *h);
void heap_sort_waits(struct heap *h);
#endif
