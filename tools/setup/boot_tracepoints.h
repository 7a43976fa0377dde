/* boot_tracepoints.h - the words on the kernel's command line that arm the tracepoints of sessions of programs before
 * user space. What a pattern names is looked up in this kernel, because the command line knows names and "group:*"
 * alone. A provider with a filter is left out: the kernel's buffer has no filters then. Threads: one. Not for: the
 * sources of kernel events (boot_entry_arguments). */
#ifndef TOOLS_BOOT_TRACEPOINTS_H
#define TOOLS_BOOT_TRACEPOINTS_H
#include "autologger/plan/plan.h"
#include "autologger/wire/tracepoint.h"

enum { BOOT_TRACEPOINTS = 8 }; /* sessions */
struct boot_tracepoints {
    char instance[TRACEPOINT_INSTANCE];
    char events[512]; /* "ext4:ext4_sync_file_enter,block:*" */
    bool stacks;
};
/* False: the session wants none. */
bool boot_tracepoints_find(const struct plan *plan, struct boot_tracepoints *out);
/* The whole of the words for a boot without kernel events: this session has the kernel's main buffer. False: they do
 * not fit. */
bool boot_tracepoints_main(const struct boot_tracepoints *t, char *out, size_t size);
/* Appends a buffer for each of the others, " trace_instance=NAME,...", which Linux 6.3 and newer make, to the words of
 * the main buffer. Such a buffer has the clock 'local' whatever the command line says, and the main one's options: the
 * main buffer gets that clock, too, so that the times of all of them can be compared, and stacks where one of them
 * wants some. False: they do not fit. */
bool boot_tracepoints_instances(const struct boot_tracepoints *list, unsigned count, char *text, size_t size);
/* What the kernel's buffers take together, `count` of them over all processors. "trace_buf_size=8M" becomes less where
 * they would take more than an eighth of the memory: down to 256K. */
uint64_t boot_tracepoints_sizes(uint64_t count, uint64_t ram_bytes, char *text, size_t size);
#endif
