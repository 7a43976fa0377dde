/* A provider of the older kind, as it is written for Windows. */
#include <windows.h>
#include <wmistr.h>
#include <evntrace.h>
#include <stdio.h>

// {5EA7C0DE-0005-4A5B-8C6D-111111111111}
static const GUID ControlGuid = {0x5ea7c0de, 0x0005, 0x4a5b, {0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}};
// {5EA7C0DE-0105-4A5B-8C6D-111111111111}
static const GUID TransactionGuid = {0x5ea7c0de, 0x0105, 0x4a5b, {0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}};
static TRACE_GUID_REGISTRATION TraceGuidReg[] = {{(LPGUID)&TransactionGuid, NULL}};

typedef struct _USER_EVENT {
    EVENT_TRACE_HEADER Header;
    ULONG              Number;
    CHAR               Text[8];
} USER_EVENT, *PUSER_EVENT;

static TRACEHANDLE    g_SessionHandle;
static volatile BOOL  g_TraceOn;
static volatile LONG  g_Calls;
static volatile UCHAR g_EnableLevel;
static volatile ULONG g_EnableFlags;

static ULONG WINAPI ControlCallback(WMIDPREQUESTCODE RequestCode, PVOID RequestContext, ULONG *Reserved, PVOID Header)
{
    ULONG status = ERROR_SUCCESS;
    UNREFERENCED_PARAMETER(RequestContext);
    UNREFERENCED_PARAMETER(Reserved);
    switch (RequestCode) {
    case WMI_ENABLE_EVENTS:
        g_SessionHandle = GetTraceLoggerHandle(Header);
        g_EnableLevel   = GetTraceEnableLevel(g_SessionHandle);
        g_EnableFlags   = GetTraceEnableFlags(g_SessionHandle);
        g_TraceOn       = TRUE;
        InterlockedIncrement(&g_Calls);
        break;
    case WMI_DISABLE_EVENTS: g_TraceOn = FALSE; break;
    default: status = ERROR_INVALID_PARAMETER;
    }
    return status;
}

int main(void)
{
    ULONG               status;
    TRACEHANDLE         RegistrationHandle;
    USER_EVENT          Event;
    EVENT_INSTANCE_INFO Info;
    DWORD               waited;
    char                line[8];
    struct {
        EVENT_INSTANCE_HEADER Header;
        ULONG                 Number;
    } Instance;

    status = RegisterTraceGuids((WMIDPREQUEST)ControlCallback, NULL, &ControlGuid,
                                sizeof(TraceGuidReg) / sizeof(TRACE_GUID_REGISTRATION), TraceGuidReg, NULL, NULL,
                                &RegistrationHandle);
    if (ERROR_SUCCESS != status)
        return 1;
    for (waited = 0; !g_TraceOn && waited < 5000; waited += 10)
        Sleep(10);
    do {
        ZeroMemory(&Event, sizeof(Event));
        Event.Header.Size          = sizeof(Event);
        Event.Header.Flags         = WNODE_FLAG_TRACED_GUID;
        Event.Header.Guid          = TransactionGuid;
        Event.Header.Class.Type    = EVENT_TRACE_TYPE_START;
        Event.Header.Class.Version = 1;
        Event.Header.Class.Level   = TRACE_LEVEL_INFORMATION;
        Event.Number               = g_EnableFlags;
        memcpy(Event.Text, "classic", 8);
        status = g_TraceOn && g_EnableLevel >= TRACE_LEVEL_INFORMATION ? TraceEvent(g_SessionHandle, &Event.Header) : 1;
        if (ERROR_SUCCESS != status)
            break;
        ZeroMemory(&Instance, sizeof(Instance));
        Instance.Header.Size  = sizeof(EVENT_INSTANCE_HEADER) + sizeof(ULONG);
        Instance.Header.Flags = WNODE_FLAG_TRACED_GUID;
        Instance.Number       = 99;
        status                = CreateTraceInstanceId(TraceGuidReg[0].RegHandle, &Info);
        if (ERROR_SUCCESS == status)
            status = TraceEventInstance(g_SessionHandle, &Instance.Header, &Info, NULL);
        if (ERROR_SUCCESS == status)
            status =
                TraceMessage(g_SessionHandle, TRACE_MESSAGE_GUID | TRACE_MESSAGE_TIMESTAMP | TRACE_MESSAGE_SYSTEMINFO,
                             &TransactionGuid, 12, &Event.Number, sizeof(Event.Number), NULL);
        if (ERROR_SUCCESS != status)
            break;
        printf("%u\n", (unsigned)g_Calls);
        fflush(stdout);
    } while (fgets(line, sizeof(line), stdin)); /* once more for each line */
    UnregisterTraceGuids(RegistrationHandle);
    return (int)status;
}
