/* A provider of the older API: events of a class, which a MOF file (classic.mof) describes.
 *     cc -Iautologger/include docs/examples/classic.c -Lbuild/release -lautologger -Wl,-rpath,$PWD/build/release -o classic
 *     ./classic [EVENTS] */
#include <evntrace.h>
#include <winerror.h>

#include <stdlib.h>
#include <string.h>

static const GUID control  = {0xc0e50005, 0x5a3b, 0x4f61, {0x8a, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x05}};
static const GUID transfer = {0xc0e50105, 0x5a3b, 0x4f61, {0x8a, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x05}};

static volatile TRACEHANDLE session; /* 0: no session has the provider */

static ULONG WINAPI changed(WMIDPREQUESTCODE code, PVOID context, ULONG *size, PVOID buffer)
{
    (void)context, (void)size;
    session = code == WMI_ENABLE_EVENTS ? GetTraceLoggerHandle(buffer) : 0;
    return ERROR_SUCCESS;
}

static void transferred(UCHAR type, ULONG number, ULONG bytes, USHORT way, const char *url)
{
    struct {
        EVENT_TRACE_HEADER header;
        MOF_FIELD          field[4];
    } event;
    memset(&event, 0, sizeof event);
    event.header.Size          = sizeof event;
    event.header.Flags         = WNODE_FLAG_TRACED_GUID | WNODE_FLAG_USE_MOF_PTR;
    event.header.Guid          = transfer;
    event.header.Class.Type    = type;
    event.header.Class.Version = 1;
    event.header.Class.Level   = TRACE_LEVEL_INFORMATION;
    event.field[0]             = (MOF_FIELD){(ULONG64)(size_t)&number, sizeof number, 0};
    event.field[1]             = (MOF_FIELD){(ULONG64)(size_t)&bytes, sizeof bytes, 0};
    event.field[2]             = (MOF_FIELD){(ULONG64)(size_t)&way, sizeof way, 0};
    event.field[3]             = (MOF_FIELD){(ULONG64)(size_t)url, (ULONG)strlen(url) + 1, 0};
    TraceEvent(session, &event.header);
}

int main(int argc, char **argv)
{
    const int events                = argc > 1 ? atoi(argv[1]) : 3;
    TRACE_GUID_REGISTRATION class[] = {{&transfer, NULL}};
    TRACEHANDLE handle              = 0;
    RegisterTraceGuids(changed, NULL, &control, 1, class, NULL, NULL, &handle);
    for (int i = 0; i < events && session; i++)
        transferred(i % 2 ? EVENT_TRACE_TYPE_END : EVENT_TRACE_TYPE_START, (ULONG)i, 4096, 1, "/index");
    UnregisterTraceGuids(handle);
    return 0;
}
