/* classic.c - RegisterTraceGuids, TraceEvent and TraceMessage. See classic.h, and ring/classic.h for how such events
 * get into a file. */
#include "autologger/provider/classic.h"

#include "autologger/ring/classic.h"
#include "autologger/ring/fastpath.h"

#include <stdlib.h>
#include <string.h>

enum { INTERNAL = 1, MESSAGE_PIECES = 128, CLASS_SHIFT = 16, CLASSES = 0x8000 };
enum {
    KNOWN_FLAGS = WNODE_FLAG_TRACED_GUID | WNODE_FLAG_USE_GUID_PTR | WNODE_FLAG_USE_MOF_PTR | WNODE_FLAG_USE_TIMESTAMP
};

static struct classic *unused; /* lock held */

/* ---- handles: {logger id : 16, level : 8, 1 : 8, flags : 32}, as the SDK's; a class's handle is its registration's,
 * with the class's number in the bits that registrations leave free ---- */
TRACEHANDLE GetTraceLoggerHandle(PVOID Buffer)
{
    const WNODE_HEADER *w = Buffer;
    return w ? w->HistoricalContext : (TRACEHANDLE)-1;
}
UCHAR           GetTraceEnableLevel(TRACEHANDLE TraceHandle) { return (UCHAR)(TraceHandle >> 16); }
ULONG           GetTraceEnableFlags(TRACEHANDLE TraceHandle) { return (ULONG)(TraceHandle >> 32); }
static uint64_t classic_handle_of(uint32_t session, uint8_t level, uint64_t any)
{
    return session | (uint64_t)level << 16 | (uint64_t)INTERNAL << 24 | any << 32;
}

static struct classic_class *classic_class_of(HANDLE handle)
{
    const uint64_t       h = (uintptr_t)handle, number = h >> CLASS_SHIFT & (CLASSES - 1);
    struct registration *r = &al_table[registration_index(h)];
    struct classic      *c = __atomic_load_n(&r->classic, __ATOMIC_ACQUIRE);
    if (!h || !c || __atomic_load_n(&r->handle, __ATOMIC_ACQUIRE) != (h & ~((uint64_t)(CLASSES - 1) << CLASS_SHIFT)) ||
        number >= c->count)
        return NULL;
    return &c->class[number];
}

/* ---- registrations ---- */
static struct classic *classic_take(unsigned classes)
{
    for (struct classic **at = &unused; *at; at = &(*at)->next)
        if ((*at)->room >= classes) {
            struct classic *c = *at;
            *at               = c->next;
            return c;
        }
    struct classic *c = calloc(1, sizeof *c + classes * sizeof c->class[0]);
    if (c)
        c->room = classes;
    return c;
}
void classic_release(struct classic *c)
{
    c->next = unused;
    unused  = c;
}

ULONG RegisterTraceGuidsA(WMIDPREQUEST RequestAddress, PVOID RequestContext, LPCGUID ControlGuid, ULONG GuidCount,
                          PTRACE_GUID_REGISTRATION TraceGuidReg, LPCSTR MofImagePath, LPCSTR MofResourceName,
                          PTRACEHANDLE RegistrationHandle)
{
    (void)MofImagePath, (void)MofResourceName;
    if (!RequestAddress || !ControlGuid || !RegistrationHandle || (GuidCount && !TraceGuidReg) || GuidCount > CLASSES)
        return ERROR_INVALID_PARAMETER;
    for (ULONG i = 0; i < GuidCount; i++)
        if (!TraceGuidReg[i].Guid)
            return ERROR_INVALID_PARAMETER;
    *RegistrationHandle = 0;
    process_fork_check();
    process_lock();
    struct classic *c = classic_take(GuidCount);
    process_unlock();
    if (!c)
        return ERROR_NOT_ENOUGH_MEMORY;
    c->callback = RequestAddress;
    c->context  = RequestContext;
    c->handle   = 0;
    c->count    = GuidCount;
    for (ULONG i = 0; i < GuidCount; i++) {
        memcpy(&c->class[i].guid, TraceGuidReg[i].Guid, sizeof c->class[i].guid);
        c->class[i].instances = 0;
    }
    ULONG status = registration_add(ControlGuid, NULL, NULL, NULL, c, RegistrationHandle);
    if (status != ERROR_SUCCESS) {
        process_lock();
        classic_release(c);
        process_unlock();
    }
    for (ULONG i = 0; i < GuidCount && status == ERROR_SUCCESS; i++)
        TraceGuidReg[i].RegHandle = (HANDLE)(uintptr_t)(*RegistrationHandle | (uint64_t)i << CLASS_SHIFT);
    return status;
}
ULONG RegisterTraceGuidsW(WMIDPREQUEST RequestAddress, PVOID RequestContext, LPCGUID ControlGuid, ULONG GuidCount,
                          PTRACE_GUID_REGISTRATION TraceGuidReg, LPCWSTR MofImagePath, LPCWSTR MofResourceName,
                          PTRACEHANDLE RegistrationHandle)
{
    (void)MofImagePath, (void)MofResourceName;
    return RegisterTraceGuidsA(RequestAddress, RequestContext, ControlGuid, GuidCount, TraceGuidReg, NULL, NULL,
                               RegistrationHandle);
}
ULONG UnregisterTraceGuids(TRACEHANDLE RegistrationHandle) { return EventUnregister(RegistrationHandle); }

bool classic_change(struct registration *r, uint32_t code, uint32_t entry, uint8_t level, uint64_t any,
                    WNODE_HEADER *buffer)
{
    struct classic *c = r->classic;
    if (code == EVENT_CONTROL_CODE_ENABLE_PROVIDER && r->slot && entry < SHM_PROVIDER_SESSIONS) {
        c->entry   = entry;
        c->session = r->slot->enable[entry].session;
        __atomic_store_n(&c->handle, classic_handle_of(c->session, level, any), __ATOMIC_RELEASE);
    } else if (code != EVENT_CONTROL_CODE_DISABLE_PROVIDER || !c->handle || c->entry != entry) {
        /* another session has taken the provider; only newer providers are asked for their state */
        return false;
    }
    memset(buffer, 0, sizeof *buffer);
    buffer->BufferSize        = sizeof *buffer;
    buffer->HistoricalContext = c->handle;
    buffer->Flags             = WNODE_FLAG_TRACED_GUID;
    memcpy(&buffer->Guid, &r->guid, sizeof buffer->Guid);
    if (code == EVENT_CONTROL_CODE_DISABLE_PROVIDER)
        __atomic_store_n(&c->handle, 0, __ATOMIC_RELEASE);
    return true;
}

/* ---- writing ---- */

/* The classic registration that the handle's session enables, and its entry. Only the session in the handle counts: the
 * provider may hold an older handle. NULL: there is none. */
static const struct registration *enabled_in(TRACEHANDLE handle, const struct shm_enable **enable)
{
    const uint32_t session = (uint16_t)handle;
    if (al_thread.stamp != __atomic_load_n(&al_near.near.stamp, __ATOMIC_RELAXED)) {
        process_fork_check();
        process_refresh_thread();
    }
    for (unsigned i = 1; i < __atomic_load_n(&al_used, __ATOMIC_RELAXED); i++) {
        const struct registration *r    = &al_table[i];
        const struct classic      *c    = __atomic_load_n(&r->classic, __ATOMIC_ACQUIRE);
        const struct shm_provider *slot = __atomic_load_n(&r->slot, __ATOMIC_ACQUIRE);
        if (!c || !slot || !__atomic_load_n(&c->handle, __ATOMIC_ACQUIRE) || c->session != session ||
            __atomic_load_n(&slot->generation, __ATOMIC_RELAXED) != r->slot_generation)
            continue;
        *enable = &slot->enable[c->entry % SHM_PROVIDER_SESSIONS];
        if ((*enable)->enabled && (*enable)->session == session)
            return r;
    }
    return NULL;
}

static ULONG classic_write_event(TRACEHANDLE handle, struct etl_event_header *h, const struct ring_piece *piece,
                                 unsigned count)
{
    const struct shm_enable   *enable;
    uint64_t                   total = 0;
    bool                       written;
    const struct registration *r = enabled_in(handle, &enable);

    if (!r)
        return ERROR_INVALID_HANDLE;
    const uint64_t          ticket = __atomic_load_n((const uint64_t *)(const void *)enable, __ATOMIC_ACQUIRE);
    const struct ring_view *view   = __atomic_load_n(&al_views[(uint16_t)handle % SHM_SESSIONS], __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < count; i++)
        total += piece[i].size;
    if (!view)
        return ERROR_INVALID_HANDLE;
    if (total > ETL_MAX_EVENT - sizeof *h)
        return ring_lost(view, enable, ticket, ERROR_ARITHMETIC_OVERFLOW);
    h->header_type = sizeof(void *) == 8 ? ETL_EVENT64 : ETL_EVENT32;
    h->marker      = ETL_MARKER;
    h->flags       = SHM_CLASSIC;
    h->thread_id   = al_thread.tid;
    h->process_id  = al_thread.pid;
    classic_slot_set(h, r->slot_number);
    return ring_write(view, enable, ticket, h, piece, count, (uint32_t)total, &written);
}

/* The pieces after the header of `head` bytes: data, or MOF_FIELDs that point to it. Returns their number; -1: wrong
 * size. */
static int pieces_of(const void *event, uint16_t size, uint16_t head, ULONG flags,
                     struct ring_piece piece[MAX_MOF_FIELDS])
{
    if (size < head)
        return -1;
    if (!(flags & WNODE_FLAG_USE_MOF_PTR)) {
        piece[0] = (struct ring_piece){(uintptr_t)event + head, (uint32_t)(size - head), 0};
        return 1;
    }
    const unsigned count = (unsigned)(size - head) / (unsigned)sizeof(MOF_FIELD);
    if (count > MAX_MOF_FIELDS)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        MOF_FIELD f;
        memcpy(&f, (const char *)event + head + i * sizeof f, sizeof f);
        piece[i] = (struct ring_piece){f.DataPtr, f.Length, 0};
    }
    return (int)count;
}
static ULONG flags_check(ULONG flags)
{
    if (!(flags & WNODE_FLAG_TRACED_GUID) || flags & ~(ULONG)KNOWN_FLAGS)
        return ERROR_INVALID_FLAG_NUMBER;
    return flags & WNODE_FLAG_USE_TIMESTAMP ? ERROR_NOT_SUPPORTED : ERROR_SUCCESS;
}

ULONG TraceEvent(TRACEHANDLE TraceHandle, PEVENT_TRACE_HEADER EventTrace)
{
    struct ring_piece       piece[MAX_MOF_FIELDS];
    struct etl_event_header h = {.event_property = CLASSIC_FULL};
    if (!EventTrace)
        return ERROR_INVALID_PARAMETER;
    const int count  = pieces_of(EventTrace, EventTrace->Size, sizeof *EventTrace, EventTrace->Flags, piece);
    ULONG     status = count < 0 ? ERROR_BAD_LENGTH : flags_check(EventTrace->Flags);
    if (status != ERROR_SUCCESS)
        return status;
    const void *guid =
        EventTrace->Flags & WNODE_FLAG_USE_GUID_PTR ? (const void *)(uintptr_t)EventTrace->GuidPtr : &EventTrace->Guid;
    if (!guid)
        return ERROR_INVALID_PARAMETER;
    memcpy(&h.provider, guid, sizeof h.provider);
    h.id     = EventTrace->Class.Version;
    h.level  = EventTrace->Class.Level;
    h.opcode = EventTrace->Class.Type;
    return classic_write_event(TraceHandle, &h, piece, (unsigned)count);
}

ULONG TraceEventInstance(TRACEHANDLE TraceHandle, PEVENT_INSTANCE_HEADER EventTrace, PEVENT_INSTANCE_INFO InstInfo,
                         PEVENT_INSTANCE_INFO ParentInstInfo)
{
    struct ring_piece       piece[MAX_MOF_FIELDS];
    struct etl_event_header h          = {.event_property = CLASSIC_INSTANCE};
    const struct classic_class *class  = InstInfo ? classic_class_of(InstInfo->RegHandle) : NULL;
    const struct classic_class *parent = ParentInstInfo ? classic_class_of(ParentInstInfo->RegHandle) : NULL;
    if (!EventTrace || !class || (ParentInstInfo && !parent))
        return ERROR_INVALID_PARAMETER;
    const int count  = pieces_of(EventTrace, EventTrace->Size, sizeof *EventTrace, EventTrace->Flags, piece);
    ULONG     status = count < 0 ? ERROR_BAD_LENGTH : flags_check(EventTrace->Flags);
    if (status != ERROR_SUCCESS)
        return status;
    h.provider = class->guid;
    h.id       = EventTrace->Class.Version;
    h.level    = EventTrace->Class.Level;
    h.opcode   = EventTrace->Class.Type;
    h.keyword  = InstInfo->InstanceId | (uint64_t)(parent ? ParentInstInfo->InstanceId : 0) << 32;
    if (parent)
        h.activity = parent->guid;
    return classic_write_event(TraceHandle, &h, piece, (unsigned)count);
}

ULONG CreateTraceInstanceId(HANDLE RegHandle, PEVENT_INSTANCE_INFO InstInfo)
{
    struct classic_class *class = classic_class_of(RegHandle);
    if (!class || !InstInfo)
        return ERROR_INVALID_PARAMETER;
    InstInfo->RegHandle  = RegHandle;
    InstInfo->InstanceId = __atomic_add_fetch(&class->instances, 1, __ATOMIC_RELAXED);
    return ERROR_SUCCESS;
}

ULONG TraceMessageVa(TRACEHANDLE LoggerHandle, ULONG MessageFlags, LPCGUID MessageGuid, USHORT MessageNumber,
                     va_list MessageArgList)
{
    struct ring_piece       piece[MESSAGE_PIECES];
    unsigned                count = 0;
    struct etl_event_header h     = {.event_property = CLASSIC_MESSAGE, .id = MessageNumber};

    if (MessageFlags & ~(ULONG)TRACE_MESSAGE_FLAG_MASK ||
        (MessageFlags & (TRACE_MESSAGE_GUID | TRACE_MESSAGE_COMPONENTID) && !MessageGuid))
        return ERROR_INVALID_PARAMETER;
    for (const void *data; (data = va_arg(MessageArgList, const void *));) {
        const size_t size = va_arg(MessageArgList, size_t);
        if (count == MESSAGE_PIECES)
            return ERROR_INVALID_PARAMETER;
        /* one that is too long alone makes the whole too long */
        piece[count++] =
            (struct ring_piece){(uintptr_t)data, (uint32_t)(size < ETL_MAX_EVENT ? size : ETL_MAX_EVENT), 0};
    }
    h.task = (uint16_t)((MessageFlags & ~(ULONG)(MESSAGE_POINTER32 | MESSAGE_POINTER64)) |
                        (sizeof(void *) == 8 ? MESSAGE_POINTER64 : MESSAGE_POINTER32));
    if (MessageFlags & TRACE_MESSAGE_COMPONENTID)
        memcpy(&h.keyword, MessageGuid, sizeof(ULONG));
    else if (MessageFlags & TRACE_MESSAGE_GUID)
        memcpy(&h.activity, MessageGuid, sizeof h.activity);
    return classic_write_event(LoggerHandle, &h, piece, count);
}

ULONG TraceMessage(TRACEHANDLE LoggerHandle, ULONG MessageFlags, LPCGUID MessageGuid, ULONG MessageNumber, ...)
{
    va_list list;
    va_start(list, MessageNumber);
    ULONG status = TraceMessageVa(LoggerHandle, MessageFlags, MessageGuid, (USHORT)MessageNumber, list);
    va_end(list);
    return status;
}
