/* access.h - who may do what at the control socket. The principal is the user at connect time (SO_PEERCRED). Root and
 * the daemon's own user may do everything, if they are in the daemon's own user and process namespaces. For other users
 * a daemon consults the descriptors of rights.h. An early program has none: with it they register providers, write to
 * sessions that are not secure, and query.
 * Threads: one (controlling). */
#ifndef AUTOLOGGER_CONTROL_ACCESS_H
#define AUTOLOGGER_CONTROL_ACCESS_H
#include "autologger/wire/state.h"
#include "registry-sim/win32/guid.h"

#include <stdbool.h>
#include <stdint.h>

/* Windows' numbers. */
enum access_right {
    ACCESS_QUERY           = 0x1,
    ACCESS_CREATE_REALTIME = 0x20,
    ACCESS_CREATE_ONDISK   = 0x40,
    ACCESS_GUID_ENABLE     = 0x80,
    ACCESS_KERNEL_LOGGER   = 0x100,
    ACCESS_LOG_EVENT       = 0x200,
    ACCESS_REALTIME        = 0x400,
    ACCESS_REGISTER_GUIDS  = 0x800,
    ACCESS_JOIN_GROUP      = 0x1000,
    ACCESS_ALL             = 0x1FE1
};

/* A daemon's descriptors. `fd`: the caller's connection, for its groups. */
struct control_rights {
    bool (*granted)(const struct control_rights *r, int fd, uint32_t uid, const struct guid *object, uint32_t wanted);
    /* the owner of new files; of too many groups only the first */
    void (*owner)(int fd, uint32_t uid, struct state_owner *out);
};

#define ACCESS_NOBODY UINT32_MAX /* no user: the rights of everybody */
/* True when that user of the daemon's own namespaces may start, stop, enable and declare the file system ready,
 * whatever descriptors say. */
bool access_may_control(uint32_t uid);
/* True when all of `wanted` is granted on `object`. `r`: NULL in an early program. */
bool access_granted(const struct control_rights *r, int fd, uint32_t uid, const struct guid *object, uint32_t wanted);
#endif
