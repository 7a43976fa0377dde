/* tracepoint.h - the kernel tracepoints that a session requests as providers, as its state keeps them (state.h).
 * Not for: how they are opened (kernel/source/tracepoints.h). */
#ifndef AUTOLOGGER_WIRE_TRACEPOINT_H
#define AUTOLOGGER_WIRE_TRACEPOINT_H
#include "registry-sim/win32/guid.h"

#include <stdint.h>
#include <stdio.h>

enum { TRACEPOINT_WISHES = 16, TRACEPOINT_TEXT = 256, TRACEPOINT_NAME = 128 };
struct tracepoint_wish {
    struct guid guid;                     /* of the provider */
    char        name[TRACEPOINT_NAME];    /* of the provider: its events carry it */
    char        pattern[TRACEPOINT_TEXT]; /* "group:name", both with * and ?, several separated by blanks or commas */
    char        filter[TRACEPOINT_TEXT];  /* in the kernel's syntax; "" = all */
    uint32_t    stacks;                   /* each event with its call stack */
    uint32_t    opened;                   /* number of opened tracepoints; written when the sources are opened */
};

/* The kernel's trace buffer that records a session's tracepoints before user space (below tracefs' instances), used
 * when a kernel session has the main buffer. The kernel command line names it, and the session finds it by this
 * name. */
enum { TRACEPOINT_INSTANCE = 24 };
static inline void tracepoint_instance(const struct guid *session, char out[TRACEPOINT_INSTANCE])
{
    snprintf(out, TRACEPOINT_INSTANCE, "autologger-%08x", (unsigned)session->data1);
}
#endif
