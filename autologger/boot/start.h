/* start.h - one session that a controller declares and wants at once: the plan of a boot, with the same values,
 * defaults and checks, but no declaration in the store, no row and no Status to be kept. Conditions go to the
 * controller that asked.
 * Threads: one (controlling). Not for: boots (sequence.h); telling programs (control); early programs, which do not
 * have it. */
#ifndef AUTOLOGGER_BOOT_START_H
#define AUTOLOGGER_BOOT_START_H
#include "autologger/session/table.h"

/* Starts the one session that `store` declares below WMI (GlobalLogger, or an Autologger key, with Start = 1), kernel
 * sources included; `fs_ready`: its file may be made, and is made by its logger: a flush waits for that, then
 * session_file_status says what became of it. What was not quite as asked goes to `found`, in words of the declaration.
 * When it fails nothing of the session is left. W_INVALID_PARAMETER: `store` declares none, or several; and what a boot
 * would give it. */
wstatus boot_start_one(struct session_table *table, const char *log_dir, struct regstore *store, bool fs_ready,
                       struct session **out, struct condition_list *found, struct reason *why);
#endif
