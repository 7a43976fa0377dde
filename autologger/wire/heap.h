/* heap.h - the memory that a program with the library of heap events shares with its collector (tools/heap): a slot for
 * each processor, each with buffers of an .etl file that the library fills and the collector writes.
 * Invariants: H1 head - tail <= HEAP_BUFFERS. H2 bytes [72, filled) of a slot's present buffer are whole records. H3 in
 * each slot an event counts once, as written or lost, when its call is over; the end of the program cuts calls off.
 * Threads: a slot's writer holds its lock; `tail` is the collector's alone. Neither side trusts the other's numbers.
 * Not for: what the events are (hooks.def), programs of different builds: both come from one package. */
#ifndef AUTOLOGGER_WIRE_HEAP_H
#define AUTOLOGGER_WIRE_HEAP_H
#include <stdint.h>

/* "DESCRIPTOR:INODE:PROCESS" in the program's environment: the memory, and the process that it is for. */
#define HEAP_VARIABLE "AUTOLOGGER_HEAP"
enum {
    HEAP_MAGIC       = 0x50414548,
    HEAP_VERSION     = 1,
    HEAP_SLOTS       = 256, /* most processors; further ones share */
    HEAP_BUFFERS     = 4,   /* of a slot */
    HEAP_BUFFER_SIZE = 256 * 1024,
    HEAP_LOCKS       = 1, /* flags: events of locks; events of the heap */
    HEAP_ALLOCATIONS = 2
};

struct heap_slot {
    /* the writers' */
    uint32_t lock, reserved;
    uint64_t at;            /* buffers that were filled << 32 | bytes of the present one, its header's place included */
    uint64_t last;          /* time of the last record */
    uint64_t written, lost; /* events; attempted is their sum */
    uint32_t size_of[HEAP_BUFFERS]; /* of filled buffers */
    /* the collector's */
    _Alignas(128) uint32_t tail; /* buffers that were written */
};
struct heap_shared {
    uint32_t magic, version;
    uint32_t slots, flags;
    uint32_t clock; /* enum clock_read_kind */
    uint32_t attached;
    uint32_t own_allocator; /* 1: the program has a malloc of its own */
    /* a futex: grows with each filled buffer */
    _Alignas(128) uint32_t wake;
    /* a futex: grows with each written buffer */
    _Alignas(128) uint32_t room;
    /* 1: the collector wrote no buffer for seconds, and tracing ended */
    uint32_t given_up;
    _Alignas(4096) struct heap_slot slot[HEAP_SLOTS];
};

static inline uint32_t heap_at_filled(uint64_t at) { return (uint32_t)at; }
static inline uint32_t heap_at_head(uint64_t at) { return (uint32_t)(at >> 32); }
static inline uint64_t heap_at(uint32_t head, uint32_t filled) { return (uint64_t)head << 32 | filled; }

/* Behind the slots: the buffers, HEAP_BUFFERS for each slot. */
static inline uint64_t heap_shared_size(uint32_t slots)
{
    return sizeof(struct heap_shared) + (uint64_t)slots * HEAP_BUFFERS * HEAP_BUFFER_SIZE;
}
static inline uint8_t *heap_buffer(struct heap_shared *s, uint32_t slot, uint64_t n)
{
    return (uint8_t *)s + sizeof *s + ((uint64_t)slot * HEAP_BUFFERS + n % HEAP_BUFFERS) * HEAP_BUFFER_SIZE;
}
#endif
