/* backup_owner.h - whose events a backup file holds (wire/backup.h). A file is found by its session's Guid, and anyone
 * who may start a session can choose that Guid. So its events go only to a session of the same owner, the same kind and
 * the same rights, and its mark must have been made on this machine (session_env.machine_key; without a key nothing
 * matches).
 * Threads: any.
 * Not for: what happens to another owner's file (realtime.c). */
#ifndef AUTOLOGGER_SESSION_BACKUP_OWNER_H
#define AUTOLOGGER_SESSION_BACKUP_OWNER_H
#include "autologger/session/session.h"
#include "autologger/wire/backup.h"

/* Fills and seals the session's own mark; first, slots and buffer_size are set already. */
void backup_owner_set(const struct session *s, struct backup_mark *m);
/* NULL: the events are the session's. Else the difference, in words. */
const char *backup_owner_other(const struct session *s, const struct backup_mark *m);
#endif
