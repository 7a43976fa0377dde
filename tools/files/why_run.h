/* why_run.h - carries out `autologger why` for a trace: reads the boot, and says in one screen what made it slow, what
 * to do, and how sure that is.
 * Threads: one. Not for: which trace (cmd_why.c), the whole of a boot (report_run.h). */
#ifndef TOOLS_WHY_RUN_H
#define TOOLS_WHY_RUN_H
#include <stdbool.h>

/* `without`: a unit, to predict the boot's time without it; or NULL. `own`: it is this machine's last boot, so the
 * journal is asked. An exit code of enum verb_exit: VERB_FAILED where what was lost may hide the cause. */
int why_run(const char *file, const char *without, bool own, bool as_json);
#endif
