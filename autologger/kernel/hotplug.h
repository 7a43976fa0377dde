/* hotplug.h - processors that go online or offline while a kernel logger records.
 * Invariants: H1 a processor that went offline: its ring is drained, its counts are kept (base_value of the log's
 * header), its events are closed. H2 a processor that came online gets a ring and every recording source. They are
 * armed when the processor is noticed: earlier events on it are not in the trace, and a condition says so, with the
 * time. H3 records name their source by its place in the log's table, so the records of a processor that went offline
 * are converted as ever.
 * Threads: the controlling one, as klog_update. Not for: noticing (daemon/end/cpu_watch.h); the early program, whose
 * successor does it. */
#ifndef AUTOLOGGER_KERNEL_HOTPLUG_H
#define AUTOLOGGER_KERNEL_HOTPLUG_H
#include "autologger/kernel/klog.h"

/* Opens rings for processors that came online and closes those of processors that went offline. Returns the number of
 * processors that changed. `online`: the text of a cpu/online file, NULL: this machine's. `keep` as in klog_update.
 * Changes are reported as notes, failures as conditions. */
unsigned klog_cpus(struct klog *k, const char                                                 *online,
                   void (*keep)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx);
/* True if `cpu` is in a list such as "0-3,5". */
bool cpu_in_list(const char *list, unsigned cpu);
#endif
