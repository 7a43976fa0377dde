/* classic_event.h - fields of kernel events that other parts of the consumer need beyond showing them.
 * Threads: pure, any. Pointers borrow from the event. Not for: showing events (classic.h). */
#ifndef AUTOLOGGER_CONSUMER_CLASSIC_EVENT_H
#define AUTOLOGGER_CONSUMER_CLASSIC_EVENT_H
#include "autologger/etl/reader.h"

struct image_fields {
    uint64_t base, size;
    uint32_t process_id, checksum, stamp; /* process 0: the kernel and its modules */
    char     path[4096];                  /* as Linux has it: "/usr/lib/libc.so.6", "[vdso]" */
};
/* False: no Image event, or one that is cut or of a 32-bit trace. */
bool image_event_read(const struct etl_event *event, struct image_fields *out);
/* The part behind the last slash. */
const char *image_base_name(const char *path);

/* Chains of frame pointers in programs that have none end in arbitrary values: those are no kernel addresses. */
static inline bool is_kernel_address(uint64_t address) { return address >= UINT64_C(0xffff800000000000); }

struct stack_fields {
    int64_t        trigger; /* raw time of the event it belongs to; 0: of a definition of a stack key */
    uint32_t       process_id, thread_id;
    unsigned       count;
    const uint8_t *frames; /* 8 bytes each, unaligned, leaf first */
};
/* StackWalk/Stack and definitions of stack keys (process and thread 0). False: none of these. */
bool     stack_event_read(const struct etl_event *event, struct stack_fields *out);
uint64_t stack_frame(const struct stack_fields *stack, unsigned i);
#endif
