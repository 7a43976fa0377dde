/* A controller and a consumer in one program. It records the events of one provider while another program runs, and prints their names.
 *     cc -Iautologger/include docs/examples/record.c -Lbuild/release -lautologger-trace -lautologger -Wl,-rpath,$PWD/build/release -o record
 *     ./record FILE.etl {GUID} 'PROGRAM ARGUMENTS'
 * Exit codes: 0 fine, else the error of the function that is named. */
#include <evntcons.h>
#include <evntrace.h>
#include <tdh.h>

#include <stdio.h>
#include <stdlib.h>

static GUID provider;
static struct {
    EVENT_TRACE_PROPERTIES p;
    char                   session[64], file[1024];
} b = {.p = {.Wnode             = {.BufferSize = sizeof b, .Flags = WNODE_FLAG_TRACED_GUID, .ClientContext = 1},
             .LogFileMode       = EVENT_TRACE_FILE_MODE_SEQUENTIAL,
             .BufferSize        = 64,
             .LoggerNameOffset  = sizeof b.p,
             .LogFileNameOffset = sizeof b.p + sizeof b.session}};

static ULONG failed(const char *function, ULONG error)
{
    if (error != ERROR_SUCCESS)
        fprintf(stderr, "%s: error %u\n", function, error);
    return error;
}

static void print_name(const TRACE_EVENT_INFO *info, ULONG offset)
{
    const WCHAR *name = (const WCHAR *)(const void *)((const BYTE *)info + offset);
    while (offset && *name)
        putchar(*name < 0x80 ? (int)*name : '?'), name++;
}

static VOID WINAPI on_event(PEVENT_RECORD record)
{
    static BYTE       block[65536];
    TRACE_EVENT_INFO *info = (TRACE_EVENT_INFO *)(void *)block;
    ULONG             size = sizeof block;
    if (memcmp(&record->EventHeader.ProviderId, &provider, sizeof provider) != 0)
        return;
    if (TdhGetEventInformation(record, 0, NULL, info, &size) == ERROR_SUCCESS) {
        print_name(info, info->ProviderNameOffset);
        if (info->ProviderNameOffset)
            putchar('/');
        print_name(info, info->EventNameOffset);
        printf(" %u values\n", info->TopLevelPropertyCount);
    } else {
        printf("event %u, not described\n", record->EventHeader.EventDescriptor.Id);
    }
}

/* The controller's part: a session that takes all levels and keywords of the provider while the program runs. Then
 * b.file is where its file is. */
static ULONG record(const char *file, const char *command)
{
    TRACEHANDLE session;
    snprintf(b.file, sizeof b.file, "%s", file);
    if (failed("StartTrace", StartTraceA(&session, "record", &b.p)))
        return 1;
    ULONG error = failed("EnableTraceEx2", EnableTraceEx2(session, &provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER,
                                                          TRACE_LEVEL_VERBOSE, 0, 0, 1000, NULL));
    if (!error && system(command) != 0)
        fprintf(stderr, "%s: it failed\n", command);
    return failed("ControlTrace", ControlTraceA(session, NULL, &b.p, EVENT_TRACE_CONTROL_STOP)) || error;
}

/* The consumer's part reads that file. */
int main(int argc, char **argv)
{
    BYTE *d = provider.Data4;
    if (argc != 4 ||
        sscanf(argv[2], "{%8x-%4hx-%4hx-%2hhx%2hhx-%2hhx%2hhx%2hhx%2hhx%2hhx%2hhx}", &provider.Data1, &provider.Data2,
               &provider.Data3, &d[0], &d[1], &d[2], &d[3], &d[4], &d[5], &d[6], &d[7]) != 11) {
        fprintf(stderr, "usage: record FILE.etl {GUID} 'PROGRAM ARGUMENTS'\n");
        return 100;
    }
    if (record(argv[1], argv[3]))
        return 1;
    EVENT_TRACE_LOGFILEA log = {
        .LogFileName = b.file, .ProcessTraceMode = PROCESS_TRACE_MODE_EVENT_RECORD, .EventRecordCallback = on_event};
    TRACEHANDLE file = OpenTraceA(&log);
    if (file == INVALID_PROCESSTRACE_HANDLE)
        return (int)failed("OpenTrace", GetLastError());
    const ULONG error = failed("ProcessTrace", ProcessTrace(&file, 1, NULL, NULL));
    CloseTrace(file);
    return error != 0;
}
