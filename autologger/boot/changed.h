/* changed.h - declarations that changed after a boot read them: Start or Enabled has another value, or the key is gone.
 * An intruder can switch tracing off that way, so the daemon reports it at the end, and `status` when it runs.
 * Threads: one. Not for: values that change how a session is traced at the next boot (check). */
#ifndef AUTOLOGGER_BOOT_CHANGED_H
#define AUTOLOGGER_BOOT_CHANGED_H
#include "autologger/boot/result.h"

/* Adds a note (W_REVISION_MISMATCH) to each row whose declaration in `store` differs from what was started, but no note
 * twice. Returns the number of added notes. */
unsigned changed_note(struct result_list *rows, struct regstore *store);
#endif
