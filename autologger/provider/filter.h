/* filter.h - what a filter lets through (wire/filter.h), decided in the writing program: whether this program is in
 * scope, whether an event passes, whether it gets a call stack. Evaluated in the order of Windows: level and keywords,
 * program, id or name, payload, stack.
 * Invariants: F1 the daemon may reuse a filter's memory for another filter while it is read: no length in it is
 * trusted, and the caller compares the ticket afterwards. F2 P2 of process.h: no lock, allocation or system call,
 * except for the stack (user_stack.c).
 * Threads: any, signal handlers too; identity_read on the agent's, before there is a slot. Not for: making a filter. */
#ifndef AUTOLOGGER_PROVIDER_FILTER_H
#define AUTOLOGGER_PROVIDER_FILTER_H
#include "autologger/include/evntprov.h"
#include "autologger/wire/filter.h"

enum { IDENTITY_TEXT = 1024, IDENTITY_CONTAINER = 65 };
/* This program when its library began, or began anew after fork. */
struct filter_identity {
    uint32_t pid, terminal_session;         /* pid: as the daemon sees it */
    uint32_t own_pid;                       /* as the program sees it: differs in a process namespace of its own */
    uint64_t start_key;                     /* unique among the programs of this boot */
    uint8_t  sid[16], sid_size;             /* of its user */
    char     program[IDENTITY_TEXT];        /* path of the executable; "" = not known */
    char     cgroup[IDENTITY_TEXT];         /* as the program sees it: "/system.slice/web.service" */
    char     container[IDENTITY_CONTAINER]; /* 64 hex digits, or "" */
    uint8_t  container_id[16];              /* its first 16 bytes */
};
extern struct filter_identity al_identity;
void                          identity_read(void);
void                          identity_foreign(uint32_t pid); /* sets the pid that the daemon sees */
/* From texts of /proc, for identity_read and its test. */
void     identity_cgroup(struct filter_identity *out, const char *proc_cgroup);
uint64_t identity_start_key(const char *proc_stat, uint32_t pid);
/* The key of the next event that asks for one: the same in all sessions, unique in this boot. */
uint64_t identity_event_key(void);

/* A filter, in place. */
struct filter_view {
    const uint8_t *parts;
    uint32_t       size, property;
};
/* False: NULL or invalid. `room`: to the end of the memory that it lies in. */
bool           filter_view(const void *at, size_t room, struct filter_view *out);
const uint8_t *filter_view_part(const struct filter_view *f, uint32_t type, uint32_t *size);
/* The provider's own filter: SCHEMATIZED, or of a type that the provider itself knows. */
const uint8_t *filter_view_own(const struct filter_view *f, uint32_t *type, uint32_t *size);
bool           filter_in_scope(const struct filter_view *f, const struct filter_identity *who);
/* The parts of an event that filters look at. */
struct filter_event {
    PCEVENT_DESCRIPTOR           d;
    const char                  *name; /* of a TraceLogging event; NULL: it has an id */
    const EVENT_DATA_DESCRIPTOR *data;
    ULONG                        count;
    const uint8_t               *metadata; /* of a TraceLogging event */
    uint32_t                     metadata_size;
    bool                         typed; /* data descriptors have types: only those of type 0 are payload */
};
bool filter_passes(const struct filter_view *f, const struct filter_event *e);
bool filter_wants_stack(const struct filter_view *f, const struct filter_event *e);
/* The name in the metadata of a TraceLogging event; NULL: these bytes hold none. */
const char *filter_event_name(const void *metadata, size_t size);

enum { USER_STACK_MAX = 192 };
/* Return addresses from `caller` on, by frame pointers: `frame` is that of the function called from there. Reads by
 * system calls, so that an invalid frame can do no harm. In code without frame pointers the stack ends, or is wrong, as
 * in any profiler. */
unsigned user_stack(const void *frame, const void *caller, uint64_t out[USER_STACK_MAX]);
#endif
