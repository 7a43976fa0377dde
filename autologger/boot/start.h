/* start.h - starts one session that a controller declares, at once: planned as at a boot, with the same values,
 * defaults and checks, but without a declaration in the store, a row or a kept Status. Conditions go to the controller.
 * Threads: one (controlling). Not for: boots (sequence.h); notifying programs (control); the early program, which does
 * not have it. */
#ifndef AUTOLOGGER_BOOT_START_H
#define AUTOLOGGER_BOOT_START_H
#include "autologger/session/table.h"

/* Starts the one session that `store` declares below WMI (GlobalLogger, or an Autologger key, with Start = 1), with its
 * kernel sources. `fs_ready`: its file may be created. Its logger creates it: a flush waits for that, and then
 * session_file_status has the result. Conditions go to `found`, in words of the declaration. On failure nothing of the
 * session is left. W_INVALID_PARAMETER: `store` declares no session, or several. Other errors: those of a boot. */
wstatus boot_start_one(struct session_table *table, const char *log_dir, struct regstore *store, bool fs_ready,
                       struct session **out, struct condition_list *found, struct reason *why);
#endif
