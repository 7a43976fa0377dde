/* guard.h - the file that keeps tracing from ever being the reason why a machine does not come up: which boots were
 * traced, and which of them reached their end. A boot that starts tracing is counted as a try; boot-done marks it
 * finished. After as many unfinished boots in a row as the limit allows, nothing starts until the configuration is
 * applied again.
 * Invariants: G1 the file is replaced whole (new file, fsync, rename). G2 a file that can't be parsed counts as one
 * try.
 * G3 one boot is one try, however often it asks (a restart, a resume from hibernation keep the boot id). G4 another
 * change number of the configuration starts afresh.
 * Threads: one. Ownership: a struct guard is a value. Needs libc alone: the early program uses it before there is a
 * root.
 * Not for: what a boot is traced with (plan), when a boot is done (boot_done.h). */
#ifndef AUTOLOGGER_DAEMON_GUARD_H
#define AUTOLOGGER_DAEMON_GUARD_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

/* Below the root, without a leading '/': it is opened from a descriptor of the root. */
#define GUARD_PATH "var/lib/autologger/guard"
enum { GUARD_BOOTS = 8, GUARD_LIMIT_ONCE = 1, GUARD_LIMIT_ALWAYS = 2 };

struct guard_boot {
    uint64_t number; /* of the boot, from 1; 0 = unknown */
    bool     finished;
    char     id[64]; /* of the boot */
};
struct guard {
    bool              damaged;  /* there was a file that could not be parsed */
    uint64_t          change;   /* number of the configuration that all of this is about */
    uint64_t          consumed; /* the boot in which a configuration for one boot was used up, 0 = not yet */
    unsigned          count;
    struct guard_boot boot[GUARD_BOOTS]; /* oldest first */
    char              note[200];         /* about the reading, "" = none */
};

/* Reads the file at `path` below `root_fd` (AT_FDCWD for the present root and an absolute path). Never fails: a missing
 * file is an empty guard; one that can't be read or parsed is `damaged`, with a note. */
void guard_read(int root_fd, const char *path, struct guard *out);
/* Writes it, and makes the folders above it. W_WRITE_PROTECT on a read-only root; others by errno. */
wstatus guard_write(int root_fd, const char *path, const struct guard *g, struct reason *why);
/* The text of the file; returns its size in bytes. For guard_write and tests; `size` of 2048 is always enough. */
size_t guard_format(const struct guard *g, char *out, size_t size);
void   guard_parse(const char *text, size_t size, struct guard *out);

/* How many boots in a row may stay unfinished: 1 for a configuration for one boot, 2 for one that traces every boot. */
unsigned guard_limit(bool once);
/* True: boot `boot_id` may be traced by the configuration of change number `change`. Else *why has the Status and
 * reason for the rows: "off: boot 6 did not finish" (W_CANCELLED, with what to do), "traced once in boot 6; nothing is
 * declared for the next boot" or "off: boot 6 was traced already" (both W_SUCCESS: nothing is wrong). */
bool guard_verdict(const struct guard *g, uint64_t change, bool once, unsigned limit, const char *boot_id,
                   struct reason *why);
/* True: the configuration of that change number was for one boot, and that boot was traced: g->consumed. */
bool guard_used_up(const struct guard *g, uint64_t change);
/* True: this very boot has been traced already, up to its end. */
bool guard_traced(const struct guard *g, const char *boot_id);
/* True: it is a try that has not reached its end yet. */
bool guard_open(const struct guard *g, const char *boot_id);
/* Counts boot `boot_id` as a try: it begins to trace. `number`: of the boot, 0 = one more than the last one here. True
 * when *g has changed. */
bool guard_count_try(struct guard *g, uint64_t change, uint64_t number, const char *boot_id);
/* Sets the number of a boot that was counted before it had one. True when *g has changed. */
bool guard_number(struct guard *g, const char *boot_id, uint64_t number);
/* Boot-done was reached: marks the boot finished. True when *g has changed. */
bool guard_clear(struct guard *g, const char *boot_id);
/* ... and what was declared for one boot is used up. True when *g has changed. */
bool guard_consume(struct guard *g, const char *boot_id);
#endif
