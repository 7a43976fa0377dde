/* A controller of the kernel's events, as it is written for Windows: C99 and C++14. SystemTraceControlGuid comes from
 * evntrace.h by INITGUID, the classes whose stacks it asks for are defined here, once in each of the two ways that
 * Windows' documentation shows. kernel_controller FILE: starts the session, asks for stacks, reads the flags back,
 * stops. Exit: 0, or the number of the step that failed. */
#define INITGUID
#include <windows.h>
#include <evntrace.h>
#include <initguid.h>

#include <stdio.h>

DEFINE_GUID(ThreadGuid, 0x3d6fa8d1, 0xfe05, 0x11d0, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c);
static const GUID PerfInfoGuid = {0xce1dbfb4, 0x137e, 0x4da6, {0x87, 0xb0, 0x3f, 0x59, 0xaa, 0x10, 0x2c, 0xbc}};

static struct block {
    EVENT_TRACE_PROPERTIES p;
    CHAR                   name[1024], file[1024];
} block;

static int step(int number, const char *what, ULONG status, ULONG wanted)
{
    printf("%s: %u\n", what, (unsigned)status);
    return status == wanted ? 0 : number;
}

int main(int count, char **argument)
{
    const ULONG wanted =
        EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_THREAD | EVENT_TRACE_FLAG_IMAGE_LOAD | EVENT_TRACE_FLAG_CSWITCH;
    CLASSIC_EVENT_ID stack[] = {{PerfInfoGuid, 46, {0}}, {ThreadGuid, 36, {0}}};
    CLASSIC_EVENT_ID got[4];
    ULONG            mask[8] = {0}, length = 0;
    TRACEHANDLE      session = 0;
    int              failed;
    if (count != 2)
        return 100;
    block.p.Wnode.BufferSize    = sizeof block;
    block.p.Wnode.Guid          = SystemTraceControlGuid;
    block.p.Wnode.ClientContext = 1;
    block.p.Wnode.Flags         = WNODE_FLAG_TRACED_GUID;
    block.p.EnableFlags         = wanted;
    block.p.LogFileMode         = EVENT_TRACE_FILE_MODE_SEQUENTIAL;
    block.p.LoggerNameOffset    = FIELD_OFFSET(struct block, name);
    block.p.LogFileNameOffset   = FIELD_OFFSET(struct block, file);
    snprintf(block.file, sizeof block.file, "%s", argument[1]);
    if ((failed = step(1, "StartTrace", StartTraceA(&session, KERNEL_LOGGER_NAMEA, &block.p), ERROR_SUCCESS)))
        return failed;
    failed = step(2, "stacks", TraceSetInformation(session, TraceStackTracingInfo, stack, sizeof stack), ERROR_SUCCESS);
    if (!failed)
        failed = step(3, "query stacks",
                      TraceQueryInformation(session, TraceStackTracingInfo, got, sizeof got, &length), ERROR_SUCCESS);
    if (!failed && (length != sizeof stack || memcmp(got, stack, sizeof stack)))
        failed = 4;
    if (!failed)
        failed = step(5, "query flags",
                      TraceQueryInformation(session, TraceSystemTraceEnableFlagsInfo, mask, sizeof mask, &length),
                      ERROR_SUCCESS);
    if (!failed && (mask[0] != (wanted & ~EVENT_TRACE_FLAG_CSWITCH) || mask[1] != 0x4))
        failed = 6;
    if (step(7, "stop", ControlTraceA(session, NULL, &block.p, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS) && !failed)
        failed = 7;
    return failed;
}
