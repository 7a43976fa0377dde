/* boot_tracepoints.h - the words on the kernel's command line that arm the tracepoints of sessions of programs before
 * user space. Patterns are expanded by this kernel's tracepoints, because the command line takes only names and
 * "group:*". A provider with a filter is left out: the kernel's buffer has no filters at that time. Threads: one. Not
 * for: the sources of kernel events (boot_entry_arguments). */
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
/* False: the session has none to arm. */
bool boot_tracepoints_find(const struct plan *plan, struct boot_tracepoints *out);
/* All words for a boot without kernel events, where this session has the kernel's main buffer. False: no room. */
bool boot_tracepoints_main(const struct boot_tracepoints *t, char *out, size_t size);
/* Appends " trace_instance=NAME,...", a buffer of Linux 6.3 and newer, for each further session to the words of the
 * main buffer. Such a buffer always has the clock 'local' and the main buffer's options. So the main buffer gets that
 * clock, too, to make all times comparable, and stacks if one session asks for them. False: no room. */
bool boot_tracepoints_instances(const struct boot_tracepoints *list, unsigned count, char *text, size_t size);
/* The total bytes of the kernel's buffers, `count` of them over all processors. Reduces "trace_buf_size=8M", down to
 * 256K, where they would exceed an eighth of the memory. */
uint64_t boot_tracepoints_sizes(uint64_t count, uint64_t ram_bytes, char *text, size_t size);
#endif
