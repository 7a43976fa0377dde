/* journal.h - store values that a boot writes before the store is writable: packed, checksummed records in memory,
 * replayed exactly once.
 * Invariants: J1 a record is appended whole or not at all. J2 replay applies all records and remembers (boot id, count)
 * in the store in the same transaction; a second replay applies only later records.
 * Threads: one. Ownership: create/destroy; the memory is a memfd, so a successor can continue it.
 * Not for: results (result.h), which are saved when the store is writable. */
#ifndef AUTOLOGGER_BOOT_JOURNAL_H
#define AUTOLOGGER_BOOT_JOURNAL_H
#include "registry-sim/base/os.h"
#include "registry-sim/store/regstore.h"

struct journal;

wstatus journal_create(struct os *os, const char *boot_id, struct journal **out, struct reason *why);
/* Maps the journal of a predecessor, and checks every record. W_INVALID_DATA: it is damaged; the sound records before
 * the damage are kept. */
wstatus  journal_adopt(int fd, struct journal **out, struct reason *why);
void     journal_destroy(struct journal *j); /* NULL is fine */
int      journal_fd(const struct journal *j);
unsigned journal_count(const struct journal *j);
/* Appends a record: value `name` of `key` becomes the DWORD `value`. W_NOT_ENOUGH_MEMORY: the journal is full. */
wstatus journal_dword(struct journal *j, const char *key, const char *name, uint32_t value, struct reason *why);
wstatus journal_replay(struct journal *j, struct regstore *store, struct reason *why);
#endif
