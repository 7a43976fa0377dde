/* enable_trace.c - EnableTraceEx2 and its older forms, EnumerateTraceGuidsEx. */
#include "autologger/controller/filters.h"
#include "autologger/controller/named.h"

#include <stdlib.h>
#include <string.h>

static wstatus filters_of(const ENABLE_TRACE_PARAMETERS *e, struct filter_block **out)
{
    struct reason why;
    *out = NULL;
    if (!e)
        return W_SUCCESS;
    if (e->Version == ENABLE_TRACE_PARAMETERS_VERSION)
        return filters_from(e->EnableFilterDesc, e->EnableFilterDesc != NULL, out, &why);
    return e->Version == ENABLE_TRACE_PARAMETERS_VERSION_2
               ? filters_from(e->EnableFilterDesc, e->FilterDescCount, out, &why)
               : W_INVALID_PARAMETER;
}

ULONG EnableTraceEx2(TRACEHANDLE TraceHandle, LPCGUID ProviderId, ULONG ControlCode, UCHAR Level,
                     ULONGLONG MatchAnyKeyword, ULONGLONG MatchAllKeyword, ULONG Timeout,
                     PENABLE_TRACE_PARAMETERS EnableParameters)
{
    struct ctl_enable_request request = {.code     = ControlCode,
                                         .level    = Level,
                                         .any      = MatchAnyKeyword,
                                         .all      = MatchAllKeyword,
                                         .property = EnableParameters ? EnableParameters->EnableProperty : 0};
    struct control_client    *client  = NULL;
    struct filter_block      *filters = NULL;
    struct ctl_session_info   info;
    struct reason             why;
    if (!ProviderId || !TraceHandle || ControlCode > EVENT_CONTROL_CODE_CAPTURE_STATE)
        return W_INVALID_PARAMETER;
    wstatus st = filters_of(EnableParameters, &filters);
    memcpy(&request.provider, ProviderId, sizeof request.provider);
    st = st ? st : control_open(NULL, &client, &why);
    st = st ? st : session_named(client, NULL, TraceHandle, &info);
    st = st ? st : control_enable_filtered(client, &request, filters, info.name, Timeout, &why);
    control_close(client);
    free(filters);
    return st;
}

ULONG EnableTraceEx(LPCGUID ProviderId, LPCGUID SourceId, TRACEHANDLE TraceHandle, ULONG IsEnabled, UCHAR Level,
                    ULONGLONG MatchAnyKeyword, ULONGLONG MatchAllKeyword, ULONG EnableProperty,
                    struct _EVENT_FILTER_DESCRIPTOR *EnableFilterDesc)
{
    ENABLE_TRACE_PARAMETERS e = {.Version          = ENABLE_TRACE_PARAMETERS_VERSION,
                                 .EnableProperty   = EnableProperty,
                                 .EnableFilterDesc = EnableFilterDesc};
    if (IsEnabled > EVENT_CONTROL_CODE_ENABLE_PROVIDER)
        return W_INVALID_PARAMETER;
    if (SourceId)
        e.SourceId = *SourceId;
    return EnableTraceEx2(TraceHandle, ProviderId, IsEnabled, Level, MatchAnyKeyword, MatchAllKeyword, 0, &e);
}

/* For classic providers: the flags are the low half of the keywords. */
ULONG EnableTrace(ULONG Enable, ULONG EnableFlag, ULONG EnableLevel, LPCGUID ControlGuid, TRACEHANDLE TraceHandle)
{
    if (Enable > EVENT_CONTROL_CODE_ENABLE_PROVIDER || EnableLevel > UINT8_MAX)
        return W_INVALID_PARAMETER;
    return EnableTraceEx2(TraceHandle, ControlGuid, Enable, (UCHAR)EnableLevel, EnableFlag, 0, 0, NULL);
}

/* ---- EnumerateTraceGuidsEx ---- */

/* All provider GUIDs, or only groups. */
static wstatus guids(struct control_client *client, bool groups, uint8_t **out, ULONG *length)
{
    struct ctl_provider_row *rows  = NULL;
    unsigned                 count = 0;
    struct reason            why;
    wstatus                  st = control_providers(client, &rows, &count, &why);
    if (!st && !(*out = malloc(count * sizeof(GUID) + 1)))
        st = W_NOT_ENOUGH_MEMORY;
    *length = 0;
    for (unsigned i = 0; !st && i < count; i++)
        if (!groups || rows[i].group) {
            memcpy(*out + *length, &rows[i].guid, sizeof(GUID));
            *length += (ULONG)sizeof(GUID);
        }
    free(rows);
    return st;
}

/* Writes one program's part to `at`. Returns its size in bytes. */
static size_t instance_put(uint8_t *at, const struct ctl_provider_answer *a, ULONG pid, ULONG flags, bool last)
{
    const size_t size = sizeof(TRACE_PROVIDER_INSTANCE_INFO) + a->enable_count * sizeof(TRACE_ENABLE_INFO);
    TRACE_PROVIDER_INSTANCE_INFO info = {
        .NextOffset = last ? 0 : (ULONG)size, .EnableCount = a->enable_count, .Pid = pid, .Flags = flags};
    memcpy(at, &info, sizeof info);
    for (uint32_t i = 0; i < a->enable_count; i++) {
        const struct ctl_provider_enable *e  = &a->enable[i];
        TRACE_ENABLE_INFO                 ei = {.IsEnabled       = 1,
                                                .Level           = e->level,
                                                .LoggerId        = (USHORT)e->logger_id,
                                                .EnableProperty  = e->property,
                                                .MatchAnyKeyword = e->any,
                                                .MatchAllKeyword = e->all};
        memcpy(at + sizeof info + i * sizeof ei, &ei, sizeof ei);
    }
    return size;
}

static ULONG instance_flags(const struct ctl_provider_answer *a, uint32_t i)
{
    if (!a->program_count)
        return TRACE_PROVIDER_FLAG_PRE_ENABLE;
    return a->program[i].classic ? TRACE_PROVIDER_FLAG_LEGACY : 0;
}

/* W_WMI_GUID_NOT_FOUND: it is not a group. */
static wstatus group_check(struct control_client *client, const struct guid *id)
{
    uint8_t *all = NULL;
    ULONG    length, at = 0;
    wstatus  st = guids(client, true, &all, &length);
    while (!st && at < length && memcmp(all + at, id, sizeof *id) != 0)
        at += (ULONG)sizeof *id;
    free(all);
    return st ? st : at < length ? W_SUCCESS : W_WMI_GUID_NOT_FOUND;
}

static wstatus one_guid(struct control_client *client, bool group, const void *in, ULONG size, uint8_t **out,
                        ULONG *length)
{
    const struct ctl_provider_answer *a;
    struct guid                       id;
    struct reason                     why;
    if (!in || size < sizeof id)
        return W_INVALID_PARAMETER;
    memcpy(&id, in, sizeof id);
    wstatus st = group ? group_check(client, &id) : W_SUCCESS;
    st         = st ? st : control_provider(client, &id, &a, &why);
    if (st)
        return st;
    const uint32_t        programs = a->program_count ? a->program_count : 1;
    const TRACE_GUID_INFO head     = {.InstanceCount = programs};
    if (!(*out = malloc(sizeof head + programs * (sizeof(TRACE_PROVIDER_INSTANCE_INFO) +
                                                  CTL_PROVIDER_ENABLES * sizeof(TRACE_ENABLE_INFO)))))
        return W_NOT_ENOUGH_MEMORY;
    memcpy(*out, &head, sizeof head);
    size_t at = sizeof head;
    for (uint32_t i = 0; i < programs; i++)
        at += instance_put(*out + at, a, a->program_count ? a->program[i].pid : 0, instance_flags(a, i),
                           i + 1 == programs);
    *length = (ULONG)at;
    return W_SUCCESS;
}

ULONG EnumerateTraceGuidsEx(TRACE_QUERY_INFO_CLASS TraceQueryInfoClass, PVOID InBuffer, ULONG InBufferSize,
                            PVOID OutBuffer, ULONG OutBufferSize, PULONG ReturnLength)
{
    struct control_client *client = NULL;
    uint8_t               *out    = NULL;
    ULONG                  length = 0;
    struct reason          why;
    const bool groups = TraceQueryInfoClass == TraceGroupQueryList || TraceQueryInfoClass == TraceGroupQueryInfo;
    const bool list   = TraceQueryInfoClass == TraceGuidQueryList || TraceQueryInfoClass == TraceGroupQueryList;
    if (!list && TraceQueryInfoClass != TraceGuidQueryInfo && !groups)
        return W_NOT_SUPPORTED;
    if (!ReturnLength || (OutBufferSize && !OutBuffer))
        return W_INVALID_PARAMETER;
    wstatus st = control_open(NULL, &client, &why);
    if (!st)
        st = list ? guids(client, groups, &out, &length)
                  : one_guid(client, groups, InBuffer, InBufferSize, &out, &length);
    control_close(client);
    if (!st) {
        *ReturnLength = length;
        if (OutBufferSize < length)
            st = W_INSUFFICIENT_BUFFER;
        else if (length)
            memcpy(OutBuffer, out, length);
    }
    free(out);
    return st;
}

/* The first session that enables the provider, and its terms. */
static wstatus guid_properties(struct control_client *client, const struct guid *id, TRACE_GUID_PROPERTIES *out)
{
    const struct ctl_provider_answer *a;
    struct reason                     why;
    wstatus                           st = control_provider(client, id, &a, &why);
    memset(out, 0, sizeof *out);
    memcpy(&out->Guid, id, sizeof out->Guid);
    if (st)
        return st == W_WMI_GUID_NOT_FOUND ? W_SUCCESS : st; /* it has gone meanwhile */
    if (a->enable_count) {
        out->IsEnable    = TRUE;
        out->LoggerId    = a->enable[0].logger_id;
        out->EnableLevel = a->enable[0].level;
        out->EnableFlags = (ULONG)a->enable[0].any;
    }
    return W_SUCCESS;
}

ULONG EnumerateTraceGuids(PTRACE_GUID_PROPERTIES *GuidPropertiesArray, ULONG PropertyArrayCount, PULONG GuidCount)
{
    struct control_client   *client = NULL;
    struct ctl_provider_row *rows   = NULL;
    unsigned                 count  = 0;
    struct reason            why;
    if (!GuidPropertiesArray || !PropertyArrayCount || !GuidCount)
        return W_INVALID_PARAMETER;
    wstatus st = control_open(NULL, &client, &why);
    st         = st ? st : control_providers(client, &rows, &count, &why);
    for (unsigned i = 0; !st && i < count && i < PropertyArrayCount; i++)
        st = GuidPropertiesArray[i] ? guid_properties(client, &rows[i].guid, GuidPropertiesArray[i])
                                    : W_INVALID_PARAMETER;
    control_close(client);
    free(rows);
    if (st)
        return st;
    *GuidCount = count;
    return count > PropertyArrayCount ? W_MORE_DATA : W_SUCCESS;
}
