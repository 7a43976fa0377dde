/* snapshot.h - the converter's state at one point of the raw log, in a memfd, so that a successor goes on from there.
 * Invariants: S1 a snapshot is complete before rawlog's header names it. S2 raw bytes before its position are not
 * needed: state plus what follows gives the same events with the same times; those already released are not given out
 * again.
 * Threads: the logger's. Ownership: the descriptors are the caller's. Not for: files that outlive a boot (no
 * portability). */
#ifndef AUTOLOGGER_KERNEL_SNAPSHOT_H
#define AUTOLOGGER_KERNEL_SNAPSHOT_H
#include "autologger/kernel/convert/convert.h"

/* Bytes that grow; once there was no memory nothing is added any more, and the snapshot is not taken. */
struct sink;
void snapshot_put(struct sink *s, const void *bytes, size_t size);

/* True when all that is loaded has been converted up to the horizon: only then may a snapshot be taken. */
bool convert_settled(const struct convert *c);
/* Writes the state to `fd` (a memfd; its old content goes). `pos`: the lowest raw position that a successor needs. */
wstatus convert_snapshot_write(const struct convert *c, uint64_t pos, int fd, struct reason *why);
/* Loads it into a fresh converter. W_INVALID_DATA when it is damaged; *c is then only good for convert_finish. */
wstatus convert_snapshot_read(struct convert *c, int fd, struct reason *why);
#endif
