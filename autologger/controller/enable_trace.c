/* enable_trace.c - EnableTraceEx2 and its older forms, EnumerateTraceGuidsEx. */
#include "autologger/controller/named.h"

#include <stdlib.h>
#include <string.h>

static wstatus parameters_check(const ENABLE_TRACE_PARAMETERS *e)
{
    if (!e)
        return W_SUCCESS;
    if (e->Version != ENABLE_TRACE_PARAMETERS_VERSION && e->Version != ENABLE_TRACE_PARAMETERS_VERSION_2)
        return W_INVALID_PARAMETER;
    if (e->FilterDescCount && !e->EnableFilterDesc)
        return W_INVALID_PARAMETER;
    return e->EnableFilterDesc ? W_NOT_SUPPORTED : W_SUCCESS; /* nothing is enabled without its filter */
}

ULONG EnableTraceEx2(TRACEHANDLE TraceHandle, LPCGUID ProviderId, ULONG ControlCode, UCHAR Level, ULONGLONG MatchAnyKeyword,
                     ULONGLONG MatchAllKeyword, ULONG Timeout, PENABLE_TRACE_PARAMETERS EnableParameters)
{
    struct ctl_enable_request request = {.code = ControlCode, .level = Level, .any = MatchAnyKeyword, .all = MatchAllKeyword,
                                         .property = EnableParameters ? EnableParameters->EnableProperty : 0};
    struct control_client    *client  = NULL;
    struct ctl_session_info   info;
    struct reason             why;
    if (!ProviderId || !TraceHandle || ControlCode > EVENT_CONTROL_CODE_CAPTURE_STATE)
        return W_INVALID_PARAMETER;
    wstatus st = parameters_check(EnableParameters);
    memcpy(&request.provider, ProviderId, sizeof request.provider);
    st = st ? st : control_open(NULL, &client, &why);
    st = st ? st : session_named(client, NULL, TraceHandle, &info);
    st = st ? st : control_enable(client, &request, info.name, Timeout, &why);
    control_close(client);
    return st;
}

ULONG EnableTraceEx(LPCGUID ProviderId, LPCGUID SourceId, TRACEHANDLE TraceHandle, ULONG IsEnabled, UCHAR Level, ULONGLONG MatchAnyKeyword,
                    ULONGLONG MatchAllKeyword, ULONG EnableProperty, struct _EVENT_FILTER_DESCRIPTOR *EnableFilterDesc)
{
    ENABLE_TRACE_PARAMETERS e = {.Version = ENABLE_TRACE_PARAMETERS_VERSION, .EnableProperty = EnableProperty, .EnableFilterDesc = EnableFilterDesc};
    if (IsEnabled > EVENT_CONTROL_CODE_ENABLE_PROVIDER)
        return W_INVALID_PARAMETER;
    if (SourceId)
        e.SourceId = *SourceId;
    return EnableTraceEx2(TraceHandle, ProviderId, IsEnabled, Level, MatchAnyKeyword, MatchAllKeyword, 0, &e);
}

/* Of classic providers: the flags are the low half of the keywords. */
ULONG EnableTrace(ULONG Enable, ULONG EnableFlag, ULONG EnableLevel, LPCGUID ControlGuid, TRACEHANDLE TraceHandle)
{
    if (Enable > EVENT_CONTROL_CODE_ENABLE_PROVIDER || EnableLevel > UINT8_MAX)
        return W_INVALID_PARAMETER;
    return EnableTraceEx2(TraceHandle, ControlGuid, Enable, (UCHAR)EnableLevel, EnableFlag, 0, 0, NULL);
}

ULONG EnumerateTraceGuidsEx(TRACE_QUERY_INFO_CLASS TraceQueryInfoClass, PVOID InBuffer, ULONG InBufferSize, PVOID OutBuffer, ULONG OutBufferSize,
                            PULONG ReturnLength)
{
    struct control_client   *client = NULL;
    struct ctl_provider_row *rows   = NULL;
    unsigned                 count  = 0;
    struct reason            why;
    (void)InBuffer, (void)InBufferSize;
    if (TraceQueryInfoClass != TraceGuidQueryList)
        return W_NOT_SUPPORTED;
    if (!ReturnLength || (OutBufferSize && !OutBuffer))
        return W_INVALID_PARAMETER;
    wstatus st = control_open(NULL, &client, &why);
    st         = st ? st : control_providers(client, &rows, &count, &why);
    control_close(client);
    if (st)
        return st;
    *ReturnLength = (ULONG)(count * sizeof(GUID));
    if (OutBufferSize < *ReturnLength)
        st = W_INSUFFICIENT_BUFFER;
    for (unsigned i = 0; !st && i < count; i++)
        memcpy((GUID *)OutBuffer + i, &rows[i].guid, sizeof(GUID));
    free(rows);
    return st;
}
