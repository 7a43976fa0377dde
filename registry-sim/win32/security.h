/* security.h - security descriptors in Windows' own bytes (self-relative): who may do what to one object. The bytes are
 * what the registry keeps below WMI\Security, so an export of Windows can be imported.
 * A SID of Linux: S-1-22-1-uid is a user, S-1-22-2-gid a group (as Samba writes them); root is S-1-5-18 (LocalSystem)
 * and an Administrator.
 * Invariants: N1 bytes are hostile: nothing is read beyond `size`, and a descriptor that is not sound grants nothing.
 * Threads: none of its own, pure. Not for: which rights there are, and who is asked (autologger/control/rights.h). */
#ifndef REGISTRY_SIM_WIN32_SECURITY_H
#define REGISTRY_SIM_WIN32_SECURITY_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SID_HEAD = 8, SID_PARTS = 15, SID_MOST = SID_HEAD + 4 * SID_PARTS, SID_TEXT = 200, SECURITY_MOST = 32768 };

struct sid {
    uint8_t  bytes[SID_MOST];
    unsigned size;
};
/* One line of a descriptor: who, which rights, and whether they are given or refused. */
struct security_entry {
    struct sid who;
    uint32_t   rights;
    bool       deny;
};

/* "S-1-5-32-559" as bytes. False: it is none. */
bool sid_parse(const char *text, struct sid *out);
/* From bytes, which may be followed by others. False: no SID stands there. */
bool sid_read(const void *bytes, size_t size, struct sid *out);
/* The text; returns `out`. */
const char *sid_format(const struct sid *s, char out[SID_TEXT]);
bool        sid_equal(const struct sid *a, const struct sid *b);
struct sid  sid_of_user(uint32_t uid);
struct sid  sid_of_group(uint32_t gid);
/* A SID of sid_of_user or sid_of_group. */
bool sid_is_user(const struct sid *s, uint32_t *uid);
bool sid_is_group(const struct sid *s, uint32_t *gid);

/* True: sound, with an owner, group and lists that lie inside. */
bool security_valid(const void *bytes, size_t size);
/* Entry `i` of the access list; false: there is none. A descriptor without a list has none, and lets everybody in. */
bool security_entry_get(const void *bytes, size_t size, unsigned i, struct security_entry *out);
/* As Windows' access check: entry by entry, the first that speaks of a right decides. `is(ctx, sid)` says whether the
 * caller is that. */
bool security_granted(const void *bytes, size_t size, uint32_t wanted, bool (*is)(void *ctx, const struct sid *s),
                      void *ctx);
/* A descriptor of these entries, those that refuse first, malloc. W_NOT_ENOUGH_MEMORY, W_INVALID_PARAMETER (more than
 * fit). */
wstatus security_build(const struct security_entry *entries, unsigned count, uint8_t **out, size_t *size);
#endif
