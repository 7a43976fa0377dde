/* bench_read.h - the cost of reading a trace, against babeltrace2 on the same events traced by LTTng, and of merging,
 * against cp. Everything is in one run, by turns: events to text, events decoded for a callback, the merge of two
 * files. The first two ratios compare CPU time (one thread each), that of the merge compares wall-clock time, with all
 * data on the disk at the end of both.
 * Threads: one. Needs babeltrace2, lttng and the program autologger-bench-ust; a missing one is an error that says what
 * to do. */
#ifndef TOOLS_BENCH_READ_H
#define TOOLS_BENCH_READ_H
#include "autologger/provider/bench/bench.h"

#include <stdint.h>

enum { BENCH_READ_ROUNDS = 5, BENCH_READ_LEAST = 1, BENCH_READ_MOST = 100 };
struct bench_read_size {
    uint32_t events;    /* traced and read */
    uint32_t megabytes; /* of each of the two files that are merged */
};
extern const struct bench_read_size bench_read_usual;
/* `programs`: a folder of a build; NULL: beside this program, or installed. */
wstatus bench_read(unsigned rounds, const struct bench_read_size *size, const char *programs, struct bench_result *out,
                   struct reason *why);
#endif
