/* hotplug.h - processors that come and go while a kernel logger records.
 * Invariants: H1 a processor that went offline: what its ring holds is taken, what it counted stays counted (base_value
 * of the log's header), its events are closed. H2 one that came online gets a ring and every source that records; each
 * is armed when that is noticed, not when it came: what ran on it before is not in the trace, and a condition says so,
 * with the time. H3 records say their source by its place in the log's table, so what was recorded on a processor
 * before it went is converted as ever.
 * Threads: the controlling one, as klog_update. Not for: noticing (daemon/end/cpu_watch.h); the early program, whose
 * successor looks. */
#ifndef AUTOLOGGER_KERNEL_HOTPLUG_H
#define AUTOLOGGER_KERNEL_HOTPLUG_H
#include "autologger/kernel/klog.h"

/* Looks which processors are online (`online`: the text of such a file, NULL: the machine's), and takes up or lets go.
 * The number of those that changed. `keep` as in klog_update. What happened are notes, what could not be done
 * conditions. */
unsigned klog_cpus(struct klog *k, const char                                                 *online,
                   void (*keep)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx);
/* "0-3,5": is `cpu` in it? */
bool cpu_in_list(const char *list, unsigned cpu);
#endif
