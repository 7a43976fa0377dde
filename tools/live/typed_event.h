/* typed_event.h - an event built at run time: its name and typed fields as TraceLogging metadata, its payload, and
 * writing it by the public provider API. The type of a field is the syntax of its value:
 *   -5, 80      Int64            0x1F        HexInt64           0.5, 1e3    Double
 *   true false  Boolean          else        a UTF-8 string     'text       a string whatever it looks like
 * Threads: one. Ownership: the caller's struct holds everything; nothing to free. */
#ifndef TOOLS_TYPED_EVENT_H
#define TOOLS_TYPED_EVENT_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

enum { TYPED_EVENT_METADATA = 16384, TYPED_EVENT_PAYLOAD = 49152 };

struct typed_event {
    uint8_t metadata[TYPED_EVENT_METADATA];
    size_t  metadata_size;
    uint8_t payload[TYPED_EVENT_PAYLOAD];
    size_t  payload_size;
};

/* W_INVALID_PARAMETER when the name is empty or too long. */
wstatus typed_event_init(struct typed_event *e, const char *name, struct reason *why);
/* "key=value". W_INVALID_PARAMETER with what is wrong. */
wstatus typed_event_add(struct typed_event *e, const char *assignment, struct reason *why);
/* A string field. */
wstatus typed_event_add_text(struct typed_event *e, const char *key, const char *text, struct reason *why);

/* A provider that writes several events. A name has the GUID of its manifest, else the name's hash. */
struct typed_provider {
    uint64_t handle;
    uint8_t  traits[1024];
    size_t   traits_size;
    char     name[256];
};
/* W_WMI_INSTANCE_NOT_FOUND: no daemon. `runtime_dir` NULL: the default. */
wstatus typed_provider_open(struct typed_provider *p, const char *provider, const char *runtime_dir,
                            struct reason *why);
/* W_NOT_FOUND: no session wants it (waits up to a second for one), or filters keep it out. */
wstatus typed_provider_write(const struct typed_provider *p, const struct typed_event *e, uint8_t level,
                             uint64_t keyword, struct reason *why);
void    typed_provider_close(struct typed_provider *p);

struct typed_event_target {
    const char *provider;    /* a name (GUID of its manifest, else the name's hash) or a {GUID} */
    const char *runtime_dir; /* NULL = the default */
    uint8_t     level;
    uint64_t    keyword;
};
/* Registers the provider, writes, unregisters. W_WMI_INSTANCE_NOT_FOUND: no daemon; W_NOT_FOUND: no session wants it,
 * or filters keep it out; else the status of the write. */
wstatus typed_event_write(const struct typed_event *e, const struct typed_event_target *to, struct reason *why);
#endif
