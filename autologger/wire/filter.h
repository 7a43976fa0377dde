/* filter.h - what an enablement asks beyond level and keywords: EnableProperty and filters, as one block of bytes. A
 * controller sends it behind its request, and a plan builds it from a `Filters` key; it lies in the directory's memory,
 * where programs read it (shm.h). The data of a part is that of EVENT_FILTER_DESCRIPTOR's types, little-endian, except
 * lists of texts (NUL-terminated UTF-8, names joined by ';') and payloads (payload_filter.h).
 * Invariants of a block that filter_check or filter_add has passed: sizes are multiples of 8 and add up, no type occurs
 * twice, each part keeps the limits of its type.
 * Threads: any.
 * Ownership: filter_add's is malloc.
 * Not for: what a filter lets through (provider/filter.h). */
#ifndef AUTOLOGGER_WIRE_FILTER_H
#define AUTOLOGGER_WIRE_FILTER_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* EVENT_FILTER_TYPE_* */
#define FILTER_SCHEMATIZED UINT32_C(0x80000000)
#define FILTER_PID UINT32_C(0x80000004)
#define FILTER_EXECUTABLE UINT32_C(0x80000008)
#define FILTER_PACKAGE UINT32_C(0x80000010)
#define FILTER_PACKAGE_APP UINT32_C(0x80000020)
#define FILTER_PAYLOAD UINT32_C(0x80000100)
#define FILTER_EVENT_ID UINT32_C(0x80000200)
#define FILTER_EVENT_NAME UINT32_C(0x80000400)
#define FILTER_STACK_ID UINT32_C(0x80001000)
#define FILTER_STACK_NAME UINT32_C(0x80002000)
#define FILTER_STACK_LEVEL_KEYWORD UINT32_C(0x80004000)
#define FILTER_CONTAINER UINT32_C(0x80008000)

/* EVENT_ENABLE_PROPERTY_* */
enum {
    PROPERTY_SID               = 0x1,
    PROPERTY_TS_ID             = 0x2,
    PROPERTY_STACK_TRACE       = 0x4,
    PROPERTY_PSM_KEY           = 0x8,
    PROPERTY_IGNORE_KEYWORD_0  = 0x10,
    PROPERTY_PROVIDER_GROUP    = 0x20,
    PROPERTY_ENABLE_KEYWORD_0  = 0x40,
    PROPERTY_PROCESS_START_KEY = 0x80,
    PROPERTY_EVENT_KEY         = 0x100,
    PROPERTY_EXCLUDE_INPRIVATE = 0x200,
    PROPERTY_ENABLE_SILOS      = 0x400,
    PROPERTY_SOURCE_CONTAINER  = 0x800,
    PROPERTY_CPU_TIME          = 0x10000, /* ours: the thread's times in kernel and in user mode */
    /* supported by this version; the rest is refused, or reported as a condition */
    PROPERTY_KNOWN = 0xFF7 | PROPERTY_CPU_TIME,
    /* only a block can express these; the others are flags of the enablement */
    PROPERTY_OF_BLOCK = PROPERTY_SID | PROPERTY_TS_ID | PROPERTY_STACK_TRACE | PROPERTY_PROCESS_START_KEY |
                        PROPERTY_EVENT_KEY | PROPERTY_EXCLUDE_INPRIVATE | PROPERTY_SOURCE_CONTAINER | PROPERTY_CPU_TIME
};

/* Limits, as on Windows. There texts are measured as UTF-16: half as much again suffices for UTF-8. */
enum {
    FILTER_PARTS           = 13,
    FILTER_PIDS            = 8,
    FILTER_IDS             = 64,
    FILTER_TEXT            = 1024,
    FILTER_TEXT_UTF8       = 1536,
    FILTER_NAMES           = 4096,
    FILTER_PAYLOAD_MAX     = 4096,
    FILTER_SCHEMATIZED_MAX = 1024,
    FILTER_BLOCK_MAX       = 24576
};

struct filter_block { /* a multiple of 8 bytes, aligned to 8 */
    uint32_t size;    /* of the whole block */
    uint32_t property;
    uint32_t parts;
    uint32_t reserved;
};
struct filter_part { /* its data follows, padded to 8 */
    uint32_t type, size;
};
_Static_assert(sizeof(struct filter_block) == 16 && sizeof(struct filter_part) == 8, "filter.h");

struct filter_ids { /* EVENT_FILTER_EVENT_ID: of events, or of events with stacks */
    uint8_t  filter_in, reserved;
    uint16_t count;
    uint16_t id[];
};
struct filter_names { /* EVENT_FILTER_EVENT_NAME: `names` is UTF-8, each with its NUL */
    uint64_t any, all;
    uint8_t  level, filter_in;
    uint16_t count;
    char     names[];
};
struct filter_level_keyword { /* EVENT_FILTER_LEVEL_KW */
    uint64_t any, all;
    uint8_t  level, filter_in, reserved[6];
};
_Static_assert(offsetof(struct filter_ids, id) == 4 && offsetof(struct filter_names, names) == 20 &&
                   sizeof(struct filter_level_keyword) == 24,
               "as the SDK has them");

/* Adds a part to *block, which grows (NULL at first). W_INVALID_PARAMETER: the type is there already, or there are too
 * many parts; W_NOT_ENOUGH_MEMORY. Does not check the data: see filter_check. */
wstatus filter_add(struct filter_block **block, uint32_t type, const void *data, size_t size, struct reason *why);
/* The part of that type, or NULL. */
const void *filter_part(const struct filter_block *block, uint32_t type, uint32_t *size);
/* Does the enablement need the block at all? */
static inline bool filter_needed(const struct filter_block *b)
{
    return b && (b->parts || b->property & PROPERTY_OF_BLOCK);
}

/* ---- filter_check.c, which the early program does not have ---- */
/* Checks whether `size` bytes of unknown origin are a block. W_INVALID_PARAMETER with what is wrong; W_NOT_SUPPORTED an
 * unknown type. */
wstatus filter_check(const void *block, size_t size, struct reason *why);
/* One part's data, by its type. */
wstatus filter_part_check(uint32_t type, const void *data, size_t size, struct reason *why);
/* "pids 12, 13; ids not 17, 100": for people. Cut if too long. */
void filter_describe(const struct filter_block *block, char *out, size_t size);
#endif
