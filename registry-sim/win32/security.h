/* security.h - security descriptors in Windows' own bytes (self-relative): who may do what to one object. The bytes are
 * what the registry keeps below WMI\Security, so an export of Windows can be imported.
 * A SID of Linux: S-1-22-1-uid is a user, S-1-22-2-gid a group (as Samba writes them); root is S-1-5-18 (LocalSystem)
 * and an Administrator.
 * Invariants: N1 bytes are hostile: nothing is read beyond `size`, and a malformed descriptor grants nothing.
 * Threads: none of its own, pure. Not for: the set of rights, and the check of a caller
 * (autologger/control/rights.h). */
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
/* One entry of a descriptor: a SID, its rights, and whether they are granted or denied. */
struct security_entry {
    struct sid who;
    uint32_t   rights;
    bool       deny;
};

/* "S-1-5-32-559" -> bytes. False: not a SID. */
bool sid_parse(const char *text, struct sid *out);
/* Reads the SID at the beginning of `bytes`; more may follow. False: no SID. */
bool sid_read(const void *bytes, size_t size, struct sid *out);
/* SID -> text; returns `out`. */
const char *sid_format(const struct sid *s, char out[SID_TEXT]);
bool        sid_equal(const struct sid *a, const struct sid *b);
struct sid  sid_of_user(uint32_t uid);
struct sid  sid_of_group(uint32_t gid);
/* A SID of sid_of_user or sid_of_group. */
bool sid_is_user(const struct sid *s, uint32_t *uid);
bool sid_is_group(const struct sid *s, uint32_t *gid);

/* True: well-formed; owner, group and lists lie inside. */
bool security_valid(const void *bytes, size_t size);
/* Entry `i` of the access list; false: no such entry. A descriptor without a list has no entries, and grants everything
 * to everybody. */
bool security_entry_get(const void *bytes, size_t size, unsigned i, struct security_entry *out);
/* As Windows' access check: entry by entry, the first one that names a right decides. `is(ctx, sid)` tells whether the
 * caller is, or belongs to, `sid`. */
bool security_granted(const void *bytes, size_t size, uint32_t wanted, bool (*is)(void *ctx, const struct sid *s),
                      void *ctx);
/* A descriptor of these entries, denying ones first, malloc. W_NOT_ENOUGH_MEMORY, W_INVALID_PARAMETER (more than
 * fit). */
wstatus security_build(const struct security_entry *entries, unsigned count, uint8_t **out, size_t *size);
#endif
