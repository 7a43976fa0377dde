/* A consumer of a file, or of a real-time session as it runs: prints each event's provider, id and size, and counts them.
 *     cc -Iautologger/include docs/examples/consumer.c -Lbuild/release -lautologger-trace -Wl,-rpath,$PWD/build/release -o consumer
 *     ./consumer FILE.etl
 *     ./consumer --live SESSION      until the session ends
 * Exit codes: 0 fine, 1 an error, which is named, 100 called wrongly. */
#include <evntcons.h>
#include <evntrace.h>

#include <stdio.h>
#include <string.h>

static unsigned long events;

static VOID WINAPI on_event(PEVENT_RECORD record)
{
    const EVENT_HEADER *h = &record->EventHeader;
    printf("%08x event %u of process %u, %u bytes\n", (unsigned)h->ProviderId.Data1, h->EventDescriptor.Id,
           (unsigned)h->ProcessId, record->UserDataLength);
    fflush(stdout);
    events++;
}

int main(int argc, char **argv)
{
    const int            live = argc == 3 && strcmp(argv[1], "--live") == 0;
    EVENT_TRACE_LOGFILEA log  = {.ProcessTraceMode = PROCESS_TRACE_MODE_EVENT_RECORD, .EventRecordCallback = on_event};
    if (argc != 2 && !live) {
        fprintf(stderr, "consumer FILE.etl, or consumer --live SESSION\n");
        return 100;
    }
    if (live) {
        log.LoggerName = argv[2];
        log.ProcessTraceMode |= PROCESS_TRACE_MODE_REAL_TIME;
    } else {
        log.LogFileName = argv[1];
    }
    TRACEHANDLE trace = OpenTraceA(&log);
    if (trace == INVALID_PROCESSTRACE_HANDLE) {
        fprintf(stderr, "OpenTrace: error %u\n", (unsigned)GetLastError());
        return 1;
    }
    const ULONG error = ProcessTrace(&trace, 1, NULL, NULL);
    CloseTrace(trace);
    if (error != ERROR_SUCCESS && error != ERROR_CANCELLED) {
        fprintf(stderr, "ProcessTrace: error %u\n", (unsigned)error);
        return 1;
    }
    printf("%lu events\n", events);
    return 0;
}
