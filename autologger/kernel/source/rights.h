/* rights.h - why the kernel refuses tracing, in words: a missing capability, perf_event_paranoid, a lockdown, a
 * container.
 * Threads: any. Ownership: none. Not for: asking for rights. */
#ifndef AUTOLOGGER_KERNEL_RIGHTS_H
#define AUTOLOGGER_KERNEL_RIGHTS_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source_rights {
    uint64_t capabilities; /* effective */
    bool     namespaced;   /* ... in a user namespace other than the first one */
    bool     locked;       /* the kernel's lockdown forbids it to everybody (confidentiality) */
    char     paranoid[16]; /* kernel.perf_event_paranoid, "?" when it can't be read */
    uint64_t locked_kb;    /* RLIMIT_MEMLOCK, UINT64_MAX: no limit, or not readable */
    bool     counts_bpf;   /* the kernel counts BPF programs against that limit (before 5.11) */
};
/* The rights of this process, from the files below `root` ("": the machine's own). */
void rights_read(const char *root, struct source_rights *out);
/* Capabilities of the process that opens events for this one; they do not count as missing. Before there is a second
 * thread. */
void rights_far(uint64_t capabilities);
/* perf_event_open failed with `error`: a Status, with the missing right and the advice. W_PRIVILEGE_NOT_HELD,
 * W_NOT_SUPPORTED, W_NOT_ENOUGH_MEMORY. */
wstatus rights_refused(const struct source_rights *r, int error, struct reason *why);
/* Loading or attaching a BPF program failed with `error`: a Status, with the missing right; `what` begins the sentence.
 * W_PRIVILEGE_NOT_HELD, W_NOT_ENOUGH_MEMORY, W_NOT_SUPPORTED. */
wstatus rights_bpf(const struct source_rights *r, int error, const char *what, struct reason *why);
/* Takes the advice out of a reason and returns it; `otherwise` if the reason has none. */
const char *rights_advice(struct reason *why, const char *otherwise);
/* Reading a tracepoint's description failed: true when a right is missing; reason and advice then say which. */
bool rights_tracefs(const struct source_rights *r, int error, char *reason, size_t size, const char **advice);
#endif
