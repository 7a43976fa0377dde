/* typed_event.c - see typed_event.h. The layout of the metadata is TraceLogging's: size u16, tags, name NUL, then for
 * each field its name NUL, in-type (bit 7: an out-type follows). */
#include "tools/live/typed_event.h"
#include "autologger/control/client.h"
#include "autologger/include/evntprov.h"
#include "autologger/plan/publishers.h"
#include "autologger/provider/event_told.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/win32/guid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    IN_ANSISTRING = 2,
    IN_INT64      = 9,
    IN_DOUBLE     = 12,
    IN_BOOL32     = 13,
    IN_HEXINT64   = 21,
    OUT_FOLLOWS   = 0x80,
    OUT_UTF8      = 35
};
enum { CHANNEL_TRACELOGGING = 11, WAIT_MS = 1000 };

static wstatus metadata_add(struct typed_event *e, const char *name, const uint8_t *types, size_t count,
                            struct reason *why)
{
    struct writer w = wr_make(e->metadata, sizeof e->metadata);
    w.pos           = e->metadata_size;
    wr_bytes(&w, name, strlen(name) + 1);
    wr_bytes(&w, types, count);
    if (!wr_ok(&w))
        return reason_set(why, W_INVALID_PARAMETER, "the names of the fields have more than %d bytes",
                          TYPED_EVENT_METADATA);
    e->metadata_size = w.pos;
    uint16_t size    = (uint16_t)w.pos;
    memcpy(e->metadata, &size, sizeof size);
    return W_SUCCESS;
}

static wstatus event_bytes_add(struct typed_event *e, const void *data, size_t size, struct reason *why)
{
    if (size > sizeof e->payload - e->payload_size)
        return reason_set(why, W_ARITHMETIC_OVERFLOW, "the values have more than %d bytes", TYPED_EVENT_PAYLOAD);
    memcpy(e->payload + e->payload_size, data, size);
    e->payload_size += size;
    return W_SUCCESS;
}

wstatus typed_event_init(struct typed_event *e, const char *name, struct reason *why)
{
    *e = (struct typed_event){0};
    if (!*name)
        return reason_set(why, W_INVALID_PARAMETER, "the event has no name");
    e->metadata_size = 3; /* size, then tags: none */
    return metadata_add(e, name, NULL, 0, why);
}

wstatus typed_event_add_text(struct typed_event *e, const char *key, const char *text, struct reason *why)
{
    static const uint8_t types[] = {IN_ANSISTRING | OUT_FOLLOWS, OUT_UTF8};
    wstatus              st      = metadata_add(e, key, types, sizeof types, why);
    return st ? st : event_bytes_add(e, text, strlen(text) + 1, why);
}

static wstatus add_number(struct typed_event *e, const char *key, uint8_t type, const void *data, size_t size,
                          struct reason *why)
{
    wstatus st = metadata_add(e, key, &type, 1, why);
    return st ? st : event_bytes_add(e, data, size, why);
}

/* An integer, decimal or hex. False: not one, or too large for 64 bits. */
static bool integer_parse(const char *text, uint8_t *type, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    bool        hex    = digits == text && !strncasecmp(text, "0x", 2);
    char       *end;
    if (hex)
        digits += 2;
    if (!*digits || strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") != strlen(digits))
        return false;
    errno = 0;
    *out  = hex ? (int64_t)strtoull(digits, &end, 16) : strtoll(text, &end, 10);
    *type = hex ? IN_HEXINT64 : IN_INT64;
    return errno == 0;
}

static bool real_parse(const char *text, double *out)
{
    char *end;
    if (!*text || strspn(text, "+-.0123456789eE") != strlen(text) || !strpbrk(text, "0123456789") ||
        !strpbrk(text, ".eE"))
        return false;
    *out = strtod(text, &end);
    return *end == 0;
}

wstatus typed_event_add(struct typed_event *e, const char *assignment, struct reason *why)
{
    const char *equals = strchr(assignment, '=');
    char        key[256];
    if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof key)
        return reason_set(why, W_INVALID_PARAMETER, "\"%s\" is no field. Do: write key=value", assignment);
    memcpy(key, assignment, (size_t)(equals - assignment));
    key[equals - assignment] = 0;
    const char *text         = equals + 1;
    uint8_t     type;
    int64_t     integer;
    double      real;
    uint32_t    truth = !strcmp(text, "true");
    if (integer_parse(text, &type, &integer))
        return add_number(e, key, type, &integer, sizeof integer, why);
    if (real_parse(text, &real))
        return add_number(e, key, IN_DOUBLE, &real, sizeof real, why);
    if (truth || !strcmp(text, "false"))
        return add_number(e, key, IN_BOOL32, &truth, sizeof truth, why);
    return typed_event_add_text(e, key, *text == '\'' ? text + 1 : text, why);
}

/* Provider traits: size, name. A name has the same GUID as in a configuration: that of its manifest, or its hash. */
static size_t traits_make(const char *provider, uint8_t *out, size_t capacity, GUID *id)
{
    struct guid   guid;
    bool          by_guid = guid_parse(provider, &guid);
    struct writer w       = wr_make(out, capacity);
    if (!by_guid)
        guid = plan_provider_guid(provider);
    memcpy(id, &guid, sizeof *id);
    wr_u16(&w, (uint16_t)(2 + strlen(provider) + 1));
    wr_bytes(&w, provider, strlen(provider) + 1);
    return wr_ok(&w) ? w.pos : 0;
}

/* True: a session wants it. Waits, because a daemon that has just started may need a moment to tell. */
static bool typed_event_wanted(REGHANDLE handle, const EVENT_DESCRIPTOR *d)
{
    for (unsigned waited = 0;; waited += 20) {
        if (EventEnabled(handle, d))
            return true;
        if (waited >= WAIT_MS)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

static wstatus daemon_there(const char *runtime_dir, struct reason *why)
{
    struct control_client *client = NULL;
    wstatus                st     = control_open(runtime_dir, &client, why);
    control_close(client);
    return st;
}

wstatus typed_provider_open(struct typed_provider *p, const char *provider, const char *runtime_dir, struct reason *why)
{
    GUID id;
    *p             = (struct typed_provider){0};
    p->traits_size = traits_make(provider, p->traits, sizeof p->traits, &id);
    if (!p->traits_size || !*provider)
        return reason_set(why, W_INVALID_PARAMETER, "the provider's name has 1 to 1,000 bytes");
    snprintf(p->name, sizeof p->name, "%s", provider);
    const char *dir = runtime_dir ? runtime_dir : control_runtime_dir();
    setenv("AUTOLOGGER_RUNTIME_DIR", dir, 1);
    wstatus st = daemon_there(dir, why);
    if (st)
        return st;
    REGHANDLE handle = 0;
    if ((st = EventRegister(&id, NULL, NULL, &handle)) == W_ACCESS_DENIED && geteuid()) {
        char guid[GUID_TEXT_SIZE];
        guid_format((const struct guid *)&id, guid);
        return reason_set(
            why, st,
            "uid %u may not register the provider \"%s\". Do: as root, autologger access '%s' --allow %u=register",
            (unsigned)geteuid(), provider, guid, (unsigned)geteuid());
    }
    if (st)
        return reason_set(why, st, "the provider \"%s\" could not be registered", provider);
    p->handle = handle;
    EventSetInformation(handle, EventProviderSetTraits, p->traits, (ULONG)p->traits_size);
    return W_SUCCESS;
}

wstatus typed_provider_write(const struct typed_provider *p, const struct typed_event *e, uint8_t level,
                             uint64_t keyword, struct reason *why)
{
    const EVENT_DESCRIPTOR d = {.Channel = CHANNEL_TRACELOGGING, .Level = level, .Keyword = keyword};
    EVENT_DATA_DESCRIPTOR  data[3];
    if (!typed_event_wanted(p->handle, &d))
        return reason_set(why, W_NOT_FOUND,
                          "no session takes events of \"%.200s\" (level %u, keyword 0x%llx). Do: name it in the "
                          "configuration, [Autologger/SESSION/PROVIDER], with a level that takes it",
                          p->name, level, (unsigned long long)keyword);
    EventDataDescCreate(&data[0], p->traits, (ULONG)p->traits_size);
    data[0].Type = EVENT_DATA_DESCRIPTOR_TYPE_PROVIDER_METADATA;
    EventDataDescCreate(&data[1], e->metadata, (ULONG)e->metadata_size);
    data[1].Type = EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA;
    EventDataDescCreate(&data[2], e->payload, (ULONG)e->payload_size);
    const ULONG   count  = e->payload_size ? 3 : 2;
    const bool    let_in = event_told_let_in(p->handle, &d, count, data);
    const wstatus st     = EventWrite(p->handle, &d, count, data);
    if (st)
        return reason_set(why, st, "the event could not be written: %s", wstatus_text(st));
    if (let_in)
        return W_SUCCESS;
    return reason_set(/* written to no session, and counted as filtered */
                      why, W_NOT_FOUND,
                      "a filter keeps this event out of every session that takes events of \"%.200s\". Do: autologger providers --registered",
                      p->name);
}

void typed_provider_close(struct typed_provider *p)
{
    if (p->handle)
        EventUnregister(p->handle);
    p->handle = 0;
}

wstatus typed_event_write(const struct typed_event *e, const struct typed_event_target *to, struct reason *why)
{
    struct typed_provider p;
    wstatus               st = typed_provider_open(&p, to->provider, to->runtime_dir, why);
    st                       = st ? st : typed_provider_write(&p, e, to->level, to->keyword, why);
    typed_provider_close(&p);
    return st;
}
