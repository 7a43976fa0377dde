/* rights.h - why the kernel does not let itself be traced, in words: a missing capability, perf_event_paranoid, a
 * lockdown, a container.
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
    bool     locked;       /* the kernel is locked down against everybody (confidentiality) */
    char     paranoid[16]; /* kernel.perf_event_paranoid, "?" when it can't be read */
    uint64_t locked_kb;    /* RLIMIT_MEMLOCK, UINT64_MAX: no limit, or it can't be read */
    bool     counts_bpf;   /* a kernel that counts the memory of BPF programs to it (before 5.11) */
};
/* Of this process, from the files below `root` ("" is the machine's). */
void rights_read(const char *root, struct source_rights *out);
/* Who opens events for this process has these, so they are not what is missing. Before there is a second thread. */
void rights_far(uint64_t capabilities);
/* perf_event_open failed with `error`: the Status with what is missing and what to do. W_PRIVILEGE_NOT_HELD,
 * W_NOT_SUPPORTED, W_NOT_ENOUGH_MEMORY. */
wstatus rights_refused(const struct source_rights *r, int error, struct reason *why);
/* A BPF program can't be loaded or attached, with `error`: the Status with what is missing; `what` begins the sentence.
 * W_PRIVILEGE_NOT_HELD, W_NOT_ENOUGH_MEMORY, W_NOT_SUPPORTED. */
wstatus rights_bpf(const struct source_rights *r, int error, const char *what, struct reason *why);
/* What to do, which is then taken out of the reason; `otherwise` where it says nothing. */
const char *rights_advice(struct reason *why, const char *otherwise);
/* A tracepoint's description can't be read: true when a right is what is missing; then reason and advice say which. */
bool rights_tracefs(const struct source_rights *r, int error, char *reason, size_t size, const char **advice);
#endif
