/* bench_write_peer.h - what `autologger bench write` measures against LTTng-UST: events written by a program with this
 * project's library into a session of the daemon that keeps the newest in memory, and the same events by LTTng-UST into
 * a session of that kind, by turns on one CPU. Also: two writers on two CPUs, and the instructions of an event that no
 * session wants.
 * Threads: one. Not for: the library alone against memcpy (autologger/provider/bench). */
#ifndef TOOLS_BENCH_WRITE_PEER_H
#define TOOLS_BENCH_WRITE_PEER_H
#include "autologger/provider/bench/bench.h"

/* Appends its rows to *out. `programs` as in bench_stand.h. */
wstatus bench_write_peer(unsigned rounds, const char *programs, struct bench_result *out, struct reason *why);
#endif
