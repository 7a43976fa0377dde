/* calls.h - the system call filter and the Landlock rules of a sandbox: kernel calls alone.
 * Threads: as sandbox_enter().
 * Not for: which kind may make which call (calls.def). */
#ifndef AUTOLOGGER_SANDBOX_CALLS_H
#define AUTOLOGGER_SANDBOX_CALLS_H
#include "autologger/sandbox/sandbox.h"

/* The kind still opens files for reading. */
static inline bool sandbox_reads(enum sandbox_kind kind) { return kind == SANDBOX_READER || kind == SANDBOX_HELPED; }
/* Installs the filter. False: the kernel has no seccomp filters, or the call numbers of this architecture are not
 * known. */
bool sandbox_calls_filter(enum sandbox_kind kind);
bool sandbox_calls_possible(void);
/* Those of SANDBOX_FILES, _NETWORK and _SCOPE that are now in force, and those that the kernel could enforce. */
unsigned sandbox_landlock(enum sandbox_kind kind);
unsigned sandbox_landlock_possible(enum sandbox_kind kind);
#endif
