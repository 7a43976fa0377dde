/* changed.h - what became of the declarations since a boot read them: somebody set Start or Enabled to another value,
 * or deleted the key. Tracing is switched off that way by those who do not want to be seen, so it is said, by the
 * daemon at the end and by `status` when it is asked.
 * Threads: one. Not for: values that change how a session is traced at the next boot (check). */
#ifndef AUTOLOGGER_BOOT_CHANGED_H
#define AUTOLOGGER_BOOT_CHANGED_H
#include "autologger/boot/result.h"

/* Adds a note (W_REVISION_MISMATCH) to each row whose declaration in `store` says something else than what was started;
 * what is noted already is not noted again. The number of notes added. */
unsigned changed_note(struct result_list *rows, struct regstore *store);
#endif
