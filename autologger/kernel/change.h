/* change.h - changing the flags and stacks of a running kernel logger.
 *
 *   open the new sources, disabled -> new and old record side by side -> a cut time on each CPU -> close the old
 *
 * Invariants
 *   C1 a change is made whole or not at all: no source is enabled or closed before all new sources are open.
 *   C2 a source that only gains or loses its stacks misses no event and records none twice. It is opened anew beside
 *      the old one; while both record, a thread visits each CPU, and the time it reads there lies between two events of
 *      that CPU (handlers are not preempted). Up to that time the old source counts, then the new one
 *      (convert_change.c).
 *   C3 a source's count goes to final_value of the log's header when its events are closed: attempted stays exact.
 *   C4 until the change's records are in the log, no event after the change's beginning is converted (drain.hold_ns).
 *      If the daemon dies in between, its successor undoes the change, or finishes it when its records are published.
 *   C5 a place in the table belongs to one source for ever; a source that returns takes its old place.
 * Threads: the controlling one, beside the drainer and the logger. Not for: the early program, which makes no changes
 * (convert_none.c). */
#ifndef AUTOLOGGER_KERNEL_CHANGE_H
#define AUTOLOGGER_KERNEL_CHANGE_H

struct klog;

/* For a successor: finishes or undoes the predecessor's change. Before sources are enabled. */
void change_settle(struct klog *k);
#endif
