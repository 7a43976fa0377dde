/* change.h - other flags and stacks for a kernel logger that runs.
 *
 *   open what is new, switched off -> both the new and the old record -> a time on each CPU parts them -> the old is
 *   closed
 *
 * Invariants
 *   C1 nothing is opened, closed or switched before all that is new could be opened: whole or not at all.
 *   C2 a source that only changes its kind of record (with a stack, without) misses no event and has none twice: it is
 *      opened anew beside the old one; while both record, a thread of ours visits each CPU, and the time it reads there
 *      lies between two events of that CPU (handlers are not preempted). Up to that time the old one counts, then the
 *      new one (convert_change.c).
 *   C3 what a source counted goes to final_value of the log's header when its events are closed: attempted stays exact.
 *   C4 until the log has the change's records no event behind its beginning is converted (drain.hold_ns); a successor
 *      of a daemon that died in between undoes the change, or finishes it when its records are published.
 *   C5 a place in the table belongs to one kind of source for ever; one that comes back takes its old place.
 * Threads: the controlling one, beside the drainer and the logger. Not for: the early program, which has none of it
 * (convert_none.c). */
#ifndef AUTOLOGGER_KERNEL_CHANGE_H
#define AUTOLOGGER_KERNEL_CHANGE_H

struct klog;

/* A successor's: ends what a predecessor began. Before sources are enabled. */
void change_settle(struct klog *k);
#endif
