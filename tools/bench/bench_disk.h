/* bench_disk.h - `autologger bench disk`: measures a program that writes as fast as it can into a session with a file,
 * without a loss, against LTTng-UST; the daemon's processor time for that, against copying the records, copying and
 * writing them, and LTTng's daemons; the memory of an idle session.
 * Threads: one, and bench_bare.h's. See bench_stand.h for what it needs. */
#ifndef TOOLS_BENCH_DISK_H
#define TOOLS_BENCH_DISK_H
#include "autologger/provider/bench/bench.h"

enum { BENCH_DISK_ROUNDS = 5, BENCH_DISK_LEAST = 1, BENCH_DISK_MOST = 100, BENCH_DISK_EVENTS = 5000000 };
/* `events` a round on each side. */
wstatus bench_disk(unsigned rounds, unsigned events, const char *programs, struct bench_result *out,
                   struct reason *why);
#endif
