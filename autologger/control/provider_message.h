/* provider_message.h - what providers send (CTL_HELLO to CTL_THREAD), out of bytes that nobody vouches for: everybody
 * may connect to the socket `provider`, and this is all that looks at the form of what comes there. It has no state,
 * allocates nothing, calls no other part. Invariants, which tools/prove proves for all bytes and all sizes up to
 * CTL_MAX: no byte outside of the message is read, it comes to an end, and what it has accepted is as the comments at
 * the fields say.
 * Threads: pure, any. Ownership: `name` is a part of the message. Not for: who may do it (server.c), what a name may
 * show (visible.h). */
#ifndef AUTOLOGGER_CONTROL_PROVIDER_MESSAGE_H
#define AUTOLOGGER_CONTROL_PROVIDER_MESSAGE_H
#include "autologger/wire/control.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>

/* Fields of other types than the message's are 0. */
struct provider_message {
    struct ctl_header header;                     /* `size` is the true one, `type` one of the five */
    uint16_t          highest_version, shm_major; /* CTL_HELLO */
    uint32_t          index;                      /* CTL_REGISTER, CTL_UNREGISTER */
    uint32_t          ticket;                     /* CTL_ENABLE_ACK */
    uint32_t          inner;                      /* CTL_THREAD */
    /* CTL_REGISTER; its CTL_REGISTER_* are in header.status */
    struct guid provider;
    uint32_t    traits_size; /* as it says */
    bool        whole;       /* that many bytes follow; else there are no name and no group */
    bool        grouped;     /* the traits name a group; only behind a name */
    struct guid group;       /* the first that they name; 0 without */
    const char *name;        /* ends within the message; NULL: the traits have none */
    size_t      name_length; /* of `name`, without its NUL */
};

/* The header of any message to the daemon. False: it has not the size that it says, or not even a header; *out is
 * zeroed then. */
bool message_header_read(const void *bytes, size_t size, struct ctl_header *out);
/* W_BAD_LENGTH: no header, or shorter than its type. W_INVALID_FUNCTION: it is none of the five. With these *out is
 * zeroed. `bytes` need not be aligned. */
wstatus provider_message_read(const void *bytes, size_t size, struct provider_message *out);
#endif
