/* snapshot.h - the converter's state at one point of the raw log, in a memfd, from which a successor goes on.
 * Invariants: S1 a snapshot is complete before rawlog's header names it. S2 raw bytes before its position are not
 * needed: the state and the later bytes give the same events with the same times; released events are not given out
 * again.
 * Threads: the logger's. Ownership: the descriptors are the caller's. Not for: files that outlive a boot (no
 * portability). */
#ifndef AUTOLOGGER_KERNEL_SNAPSHOT_H
#define AUTOLOGGER_KERNEL_SNAPSHOT_H
#include "autologger/kernel/convert/convert.h"

/* A growing buffer; after an allocation failed nothing is added, and the snapshot is not taken. */
struct sink;
void snapshot_put(struct sink *s, const void *bytes, size_t size);

/* True when all loaded records up to the horizon are converted: only then may a snapshot be taken. */
bool convert_settled(const struct convert *c);
/* Writes the state to `fd` (a memfd; its old content is dropped). `pos`: the lowest raw position that a successor
 * needs. */
wstatus convert_snapshot_write(const struct convert *c, uint64_t pos, int fd, struct reason *why);
/* Loads a snapshot into a fresh converter. W_INVALID_DATA when it is damaged; *c is then only good for
 * convert_finish. */
wstatus convert_snapshot_read(struct convert *c, int fd, struct reason *why);
#endif
