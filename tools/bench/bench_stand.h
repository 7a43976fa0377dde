/* bench_stand.h - the test stand of `autologger bench write, latency and disk`: a daemon of this project and LTTng's
 * session daemon, both with folders of their own, and two programs that write the same events on command
 * (tools/writers/bench_writer.h).
 * Threads: one. Ownership: remove removes what make made, whatever happened between. A missing program is an error that
 * says what to do.
 * Not for: figures (bench_write_peer.h, bench_latency.h, bench_disk.h). */
#ifndef TOOLS_BENCH_STAND_H
#define TOOLS_BENCH_STAND_H
#include "autologger/wire/control.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum bench_side { BENCH_SIDE_OURS, BENCH_SIDE_LTTNG, BENCH_SIDES };
struct bench_program { /* that writes events */
    pid_t pid;
    FILE *to, *from;
};
struct bench_stand {
    char                 dir[256];
    char                 self[512], daemon_path[512], writer_path[BENCH_SIDES][512];
    char                 lttng_version[80];
    pid_t                daemon, sessiond;
    int                  cpu[2]; /* where programs write; equal when this thread may use only one */
    struct bench_program program[BENCH_SIDES];
};
/* What a session keeps: the newest events in memory, or all of them in a file, without a loss. */
enum bench_keep { BENCH_IN_MEMORY, BENCH_ON_DISK };
/* Buffer space of the file session, per CPU: the same on both sides. */
enum { BENCH_DISK_MB_A_CPU = 64, BENCH_DISK_BUFFER_MB = 4 };
#define BENCH_SESSION "bench"

/* `programs`: the folder of the built programs; NULL: beside this one. */
wstatus     bench_stand_make(struct bench_stand *s, const char *programs, struct reason *why);
void        bench_stand_remove(struct bench_stand *s);
const char *bench_stand_path(const struct bench_stand *s, const char *name, char out[400]);

wstatus bench_session_begin(struct bench_stand *s, enum bench_side side, enum bench_keep keep, struct reason *why);
/* *out (may be NULL): the session's last numbers; of LTTng's lost_ring alone: 1 when it reports discarded or lost
 * events, else 0. */
wstatus bench_session_end(struct bench_stand *s, enum bench_side side, struct ctl_session_info *out,
                          struct reason *why);
/* Runs the command with `args` (NULL at the end) against the stand's daemon. */
wstatus bench_self_run(const struct bench_stand *s, const char *const args[], struct reason *why);

/* Tells a program a command and waits for its line of numbers: `count` of them, or an error. */
wstatus bench_ask(struct bench_stand *s, enum bench_side side, double *answer, unsigned count, struct reason *why,
                  const char *format, ...) __attribute__((format(printf, 6, 7)));
wstatus bench_tell(struct bench_stand *s, enum bench_side side, struct reason *why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
wstatus bench_hear(struct bench_stand *s, enum bench_side side, double *answer, unsigned count, struct reason *why);
/* Processor time so far, ns: of the stand's daemon; of LTTng's session daemon and its consumers. */
double bench_daemon_cpu(const struct bench_stand *s);
double bench_lttng_cpu(const struct bench_stand *s);
double bench_clock_ns(void);
#endif
