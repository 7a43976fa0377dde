/* runs.h - several traced boots in a row: how many were asked for, which of the history's boots are theirs, and how
 * their times differ. Kept in the store: HKLM\SOFTWARE\autologger\TraceBoot with Word, Runs, From (the number of the
 * last boot before them), Reboot and apply's options.
 * Threads: one. Ownership: a struct runs is a value; history is the caller's. Not for: tracing and rebooting
 * (cmd_trace_boot). */
#ifndef TOOLS_RUNS_H
#define TOOLS_RUNS_H
#include "autologger/boot/history.h"
#include "tools/base/json_out.h"

enum { RUNS_MAX = 100 };

struct runs {
    uint32_t wanted, from;
    bool     reboot, force, accept_tpm, no_initramfs;
    char     word[1024]; /* FILE or PROFILE, a file by its whole path */
};
/* W_FILE_NOT_FOUND when none were asked for. */
wstatus runs_load(struct regstore *store, struct runs *out, struct reason *why);
/* In a transaction of its own. */
wstatus runs_save(struct regstore *store, const struct runs *r, struct reason *why);

/* True: a finished boot of this series. */
bool     runs_has(const struct runs *r, const struct history_boot *b);
unsigned runs_done(const struct runs *r, const struct history *h);
/* True: another boot is to be traced. False once `wanted` boots have run, even if Keep removed some of them from the
 * history: otherwise it would never end. */
bool runs_left(const struct runs *r, const struct history *h);

struct runs_spread {
    uint64_t median, least, most;
};
/* Of `count` numbers, which it sorts. All 0 when there are none. */
struct runs_spread runs_spread_of(uint64_t *values, unsigned count);
/* A table of the boots; median and spread of their times, events and losses. */
void runs_print(const struct runs *r, const struct history *h, FILE *to);
void runs_json(const struct runs *r, const struct history *h, struct json *j);
#endif
