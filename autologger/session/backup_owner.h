/* backup_owner.h - whose events a backup file holds (wire/backup.h). A file is found by a session's Guid, which anybody
 * can write down who may start a session; so what it holds is given to a session of the same owner, the same kind and
 * the same rights alone, and its mark must have been made on this machine (session_env.machine_key; without a key
 * nothing matches).
 * Threads: any. Not for: what becomes of a file of others (realtime.c). */
#ifndef AUTOLOGGER_SESSION_BACKUP_OWNER_H
#define AUTOLOGGER_SESSION_BACKUP_OWNER_H
#include "autologger/session/session.h"
#include "autologger/wire/backup.h"

/* The session's own mark, sealed; first, slots and buffer_size are there already. */
void backup_owner_set(const struct session *s, struct backup_mark *m);
/* NULL: the events are the session's. Else what is another: words. */
const char *backup_owner_other(const struct session *s, const struct backup_mark *m);
#endif
