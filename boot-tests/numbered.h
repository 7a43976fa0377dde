/* numbered.h - the events of the whole-system tests: numbered, self-checking, of varying size.
 * A writer sets bit `number` of its bitmap file after each call that returned success, so that what must be in the
 * trace is known even when the writer was killed. */
#ifndef BOOT_TESTS_NUMBERED_H
#define BOOT_TESTS_NUMBERED_H
#include <stdint.h>

#define NUMBERED_MAGIC UINT32_C(0x4E554D42)
/* NUMBERED_FIXED: the fill of events that are all of one size, 200 bytes. */
enum { NUMBERED_FILL = 180, NUMBERED_FIXED = 176, NUMBERED_EVENT_ID = 77 };

struct numbered {
    uint32_t magic;
    uint32_t writer;
    uint64_t number;
    uint32_t check;
    uint32_t fill; /* bytes that follow */
};
/* The shared file of one writer: counters, then the bitmap. */
struct numbered_tally {
    uint64_t attempted, succeeded, refused; /* calls begun; returned 0; returned an error */
    uint64_t capacity;                      /* bits */
    uint8_t  bitmap[];
};

static inline uint32_t numbered_fill(uint64_t number) { return (uint32_t)(number * 2654435761u >> 7) % NUMBERED_FILL; }
static inline int      numbered_fill_is_sound(uint64_t number, uint32_t fill)
{
    return fill == numbered_fill(number) || fill == NUMBERED_FIXED;
}
static inline uint8_t numbered_byte(uint32_t writer, uint64_t number, uint32_t i)
{
    return (uint8_t)(writer * 31u + number * 7u + i);
}
static inline uint32_t numbered_check(uint32_t writer, uint64_t number)
{
    uint64_t x = (number + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ writer;
    return (uint32_t)(x ^ x >> 32);
}
/* The provider of test number n. */
#define NUMBERED_PROVIDER(n) \
    { \
        0x5ca1ab1e, 0x7e57, (uint16_t)(n), { 0x80, 0, 0, 0, 0, 0, 0, (uint8_t)(n) } \
    }
#endif
