/* rights.h - who may do what with a session, a provider or a group: security descriptors by GUID, and the question to
 * them. A GUID without one has that of DefaultTraceSecurityGuid; without that too, the table of rights.c: all for root,
 * control and reading for the group "autologger" (Windows' Performance Log Users), registering, writing and asking for
 * everybody. Root and the daemon's own user have every right and are never asked.
 * Invariants: R1 who asks is told by the socket (SO_PEERCRED, SO_PEERGROUPS), as it was when the connection was made;
 * nothing that a program says counts. R2 what a descriptor does not give is refused; one that is not sound gives
 * nothing.
 * Threads: one (controlling), but for rights_digest. Ownership: create/destroy. Not for: where descriptors are kept
 * (daemon/rights_store.h), the right to end the daemon or a boot (access.h). */
#ifndef AUTOLOGGER_CONTROL_RIGHTS_H
#define AUTOLOGGER_CONTROL_RIGHTS_H
#include "autologger/control/access.h"
#include "registry-sim/win32/security.h"

struct rights;

/* Makes an empty set; the defaults of the table apply. `group`: gid of the group "autologger", or RIGHTS_NO_GROUP.
 * W_NOT_ENOUGH_MEMORY. */
enum { RIGHTS_MOST = 4096 };
#define RIGHTS_NO_GROUP UINT32_MAX
wstatus rights_create(uint32_t group, struct rights **out, struct reason *why);
void    rights_destroy(struct rights *r); /* NULL is fine */
/* What the server asks; borrowed. */
const struct control_rights *rights_asked(const struct rights *r);
/* The descriptor of `object` from now on; a copy is kept. W_INVALID_PARAMETER: it is not sound, W_NO_SYSTEM_RESOURCES:
 * too many, W_NOT_ENOUGH_MEMORY. */
wstatus rights_put(struct rights *r, const struct guid *object, const void *descriptor, size_t size,
                   struct reason *why);
bool    rights_drop(struct rights *r, const struct guid *object);
/* The one that counts for `object`, malloc; *own: it is its own, not the default. W_NOT_ENOUGH_MEMORY. */
wstatus rights_get_dup(const struct rights *r, const struct guid *object, bool *own, uint8_t **out, size_t *size);
/* SHA-256 of the descriptor that counts for `object`, and, `kernel`, of that of the kernel's events. From any
 * thread. */
void rights_digest(const struct rights *r, const struct guid *object, bool kernel, uint8_t out[32]);
/* Own descriptor number `i`, in no order; false: there is none. */
bool rights_at(const struct rights *r, unsigned i, struct guid *object);
/* One entry more (`replace`: this one alone) in the descriptor that counts for `object`; malloc. */
wstatus rights_changed_dup(const struct rights *r, const struct guid *object, const struct security_entry *entry,
                           bool replace, uint8_t **out, size_t *size, struct reason *why);
/* The gid of the group `name` in a file like /etc/group, or RIGHTS_NO_GROUP. No NSS: the daemon starts before what that
 * may ask. */
uint32_t rights_group_find(const char *path, const char *name);
#endif
