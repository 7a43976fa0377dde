/* storm_board.h - what the writers of write_storm report about themselves, in a file that outlives them: one entry a
 * writer. A writer's events have the numbers 0, 1, 2 ...; number `done` comes next: the calls of all numbers below it
 * have returned success. */
#ifndef BOOT_TESTS_STORM_BOARD_H
#define BOOT_TESTS_STORM_BOARD_H
#include <stdint.h>

struct storm_entry {
    uint64_t attempted, done, refused; /* calls begun; returned 0; returned an error */
    uint64_t go;                       /* for the writer: write without a pause now */
};
struct storm_board {
    uint64_t           writers;
    struct storm_entry entry[];
};
#endif
