/* rights.h - rights on a session, a provider or a group: security descriptors by GUID, and queries. A GUID without a
 * descriptor has that of DefaultTraceSecurityGuid; without that too, the table of rights.c: all for root, control and
 * reading for the group "autologger" (Windows' Performance Log Users), registering and querying for everybody. Writing
 * needs a right only in SECURE sessions. Root and the daemon's own user have every right without a query.
 * Invariants: R1 the caller's identity comes from the socket (SO_PEERCRED, SO_PEERGROUPS), as it was when the
 * connection was made; nothing that a program says counts. R2 what a descriptor does not grant is refused; a malformed
 * one grants nothing.
 * Threads: one (controlling), but for rights_digest. Ownership: create/destroy. Not for: where descriptors are kept
 * (daemon/rights_store.h), the right to end the daemon or a boot (access.h). */
#ifndef AUTOLOGGER_CONTROL_RIGHTS_H
#define AUTOLOGGER_CONTROL_RIGHTS_H
#include "autologger/control/access.h"
#include "registry-sim/win32/security.h"

struct rights;

/* Creates an empty set; the defaults of the table apply. `group`: gid of the group "autologger", or RIGHTS_NO_GROUP.
 * W_NOT_ENOUGH_MEMORY. */
enum { RIGHTS_MOST = 4096 };
#define RIGHTS_NO_GROUP UINT32_MAX
wstatus rights_create(uint32_t group, struct rights **out, struct reason *why);
void    rights_destroy(struct rights *r); /* NULL is fine */
/* The interface for the server; borrowed. */
const struct control_rights *rights_asked(const struct rights *r);
/* Sets the descriptor of `object`; a copy is kept. W_INVALID_PARAMETER: malformed, W_NO_SYSTEM_RESOURCES: too many,
 * W_NOT_ENOUGH_MEMORY. */
wstatus rights_put(struct rights *r, const struct guid *object, const void *descriptor, size_t size,
                   struct reason *why);
bool    rights_drop(struct rights *r, const struct guid *object);
/* The descriptor in force for `object`, malloc; *own: the object's own, not the default. W_NOT_ENOUGH_MEMORY. */
wstatus rights_get_dup(const struct rights *r, const struct guid *object, bool *own, uint8_t **out, size_t *size);
/* SHA-256 of the descriptor in force for `object` and, with `kernel`, of that for kernel events. From any thread. */
void rights_digest(const struct rights *r, const struct guid *object, bool kernel, uint8_t out[32]);
/* Own descriptor number `i`, in no order; false: there is none. */
bool rights_at(const struct rights *r, unsigned i, struct guid *object);
/* The descriptor in force for `object` with one more entry (`replace`: with this one alone); malloc. */
wstatus rights_changed_dup(const struct rights *r, const struct guid *object, const struct security_entry *entry,
                           bool replace, uint8_t **out, size_t *size, struct reason *why);
/* The gid of the group `name` in a file like /etc/group, or RIGHTS_NO_GROUP. No NSS: the daemon starts before services
 * that NSS may need. */
uint32_t rights_group_find(const char *path, const char *name);
#endif
