/* journal.h - what a boot wants to write into the store while the store can't be written yet: packed, checksummed
 * records in memory, replayed exactly once.
 * Invariants: J1 a record is appended whole or not at all. J2 replay applies all records and remembers (boot id, count)
 * in the store in the same transaction; replaying again applies only what came after.
 * Threads: one. Ownership: create/destroy; the memory is a memfd, so that a successor can go on with it.
 * Not for: results (result.h), which are made when the store can be written. */
#ifndef AUTOLOGGER_BOOT_JOURNAL_H
#define AUTOLOGGER_BOOT_JOURNAL_H
#include "registry-sim/base/os.h"
#include "registry-sim/store/regstore.h"

struct journal;

wstatus journal_create(struct os *os, const char *boot_id, struct journal **out, struct reason *why);
/* The journal of a predecessor; checks every record. W_INVALID_DATA when damaged: what is sound before the damage is
 * kept. */
wstatus  journal_adopt(int fd, struct journal **out, struct reason *why);
void     journal_destroy(struct journal *j); /* NULL is fine */
int      journal_fd(const struct journal *j);
unsigned journal_count(const struct journal *j);
/* Notes that value `name` of `key` is to become the DWORD `value`. W_NOT_ENOUGH_MEMORY when the journal is full. */
wstatus journal_dword(struct journal *j, const char *key, const char *name, uint32_t value, struct reason *why);
wstatus journal_replay(struct journal *j, struct regstore *store, struct reason *why);
#endif
