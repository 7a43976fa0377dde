/* provider_message.h - parses what providers send (CTL_HELLO to CTL_THREAD) from untrusted bytes: anyone may connect to
 * the socket `provider`, and only this code checks the form of its messages. It has no state, allocates nothing, calls
 * no other part.
 * Invariants, which tools/prove proves for all bytes and all sizes up to CTL_MAX: no byte outside of the message is
 * read, it terminates, and an accepted message is as the comments at the fields say.
 * Threads: pure, any. Ownership: `name` is a part of the message. Not for: who may do it (server.c), what a name may
 * show (visible.h). */
#ifndef AUTOLOGGER_CONTROL_PROVIDER_MESSAGE_H
#define AUTOLOGGER_CONTROL_PROVIDER_MESSAGE_H
#include "autologger/wire/control.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>

/* Fields of other types of message are 0. */
struct provider_message {
    struct ctl_header header;                     /* `size` is the true one, `type` one of the five */
    uint16_t          highest_version, shm_major; /* CTL_HELLO */
    uint32_t          index;                      /* CTL_REGISTER, CTL_UNREGISTER */
    uint32_t          ticket;                     /* CTL_ENABLE_ACK */
    uint32_t          inner;                      /* CTL_THREAD */
    /* CTL_REGISTER; its CTL_REGISTER_* are in header.status */
    struct guid provider;
    uint32_t    traits_size; /* as the message says */
    bool        whole;       /* that many bytes follow; else name and group are missing */
    bool        grouped;     /* the traits name a group; only behind a name */
    struct guid group;       /* the first group named; 0 if none */
    const char *name;        /* ends within the message; NULL: the traits have none */
    size_t      name_length; /* of `name`, without its NUL */
};

/* Reads the header of any message to the daemon. False: no whole header, or its size is not the message's; *out is
 * zeroed then. */
bool message_header_read(const void *bytes, size_t size, struct ctl_header *out);
/* W_BAD_LENGTH: no header, or shorter than its type. W_INVALID_FUNCTION: none of the five types. On both *out is
 * zeroed. `bytes` need not be aligned. */
wstatus provider_message_read(const void *bytes, size_t size, struct provider_message *out);
#endif
