/* sideband.h - perf's side-band records of all processes: created, other program, ended, code mapped. No tracepoint, no
 * sample. Records come in the order of their times over all CPUs; SIDEBAND_HOLD_NS is how long a record may take to
 * reach its ring.
 * Threads: one at a time. Ownership: open/close. Not for: events of the kernel logger (autologger/kernel). */
#ifndef AUTOLOGGER_PROCESSES_SIDEBAND_H
#define AUTOLOGGER_PROCESSES_SIDEBAND_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIDEBAND_HOLD_NS = 1000000 };
enum sideband_kind { SIDEBAND_FORK, SIDEBAND_EXIT, SIDEBAND_EXEC, SIDEBAND_CODE, SIDEBAND_LOST };
struct sideband_record {
    enum sideband_kind kind;
    uint32_t           pid, tid, parent;      /* FORK: the creating process */
    uint64_t           time_ns;               /* CLOCK_MONOTONIC_RAW */
    uint64_t           address, size, offset; /* CODE */
    uint64_t           lost;                  /* LOST: records */
    const char        *text; /* EXEC: the name, at most 15 bytes; CODE: the file. Valid during the call */
};
typedef void sideband_fn(void *ctx, const struct sideband_record *r);
struct sideband;

/* W_ACCESS_DENIED with the missing right; W_NOT_SUPPORTED without perf; W_NOT_ENOUGH_MEMORY. */
wstatus sideband_open(struct sideband **out, struct reason *why);
/* Calls `each` for all records up to `until_ns`. */
void sideband_take(struct sideband *s, uint64_t until_ns, sideband_fn *each, void *ctx);
/* Waits until there is a record, or fd is readable, or for wait_ms (-1: no limit). `s` may be NULL. */
void sideband_wait(struct sideband *s, int fd, int wait_ms);
void sideband_close(struct sideband *s); /* NULL is fine */
#endif
