/* calls.h - the filter of system calls and the Landlock rules of a sandbox: calls of the kernel alone. Threads: as
 * sandbox_enter().
 * Not for: who needs which (calls.def). */
#ifndef AUTOLOGGER_SANDBOX_CALLS_H
#define AUTOLOGGER_SANDBOX_CALLS_H
#include "autologger/sandbox/sandbox.h"

/* It opens files to read, as it could before. */
static inline bool sandbox_reads(enum sandbox_kind kind) { return kind == SANDBOX_READER || kind == SANDBOX_HELPED; }
/* The filter is in force. False: this kernel has none, or this architecture's numbers are not known. */
bool sandbox_calls_filter(enum sandbox_kind kind);
bool sandbox_calls_possible(void);
/* SANDBOX_FILES, _NETWORK and _SCOPE as far as the kernel has them: in force, or only possible. */
unsigned sandbox_landlock(enum sandbox_kind kind);
unsigned sandbox_landlock_possible(enum sandbox_kind kind);
#endif
