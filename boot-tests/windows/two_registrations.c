/* One provider registered twice by one process: with a callback, and with traits but none; then a provider of the older
 * API. Prints its lines as they come to be, and ends with its standard input. */
#include <windows.h>
#include <evntprov.h>
#include <evntrace.h>

#include <stdio.h>

static const GUID id      = {0x5ea7c0de, 0x000f, 0x4a5b, {0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}};
static const GUID classic = {0x5ea7c0de, 0x0010, 0x4a5b, {0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}};

static VOID NTAPI on_change(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
                            PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    (void)source, (void)code, (void)level, (void)any, (void)all, (void)filter, (void)context;
}
static ULONG WINAPI on_request(WMIDPREQUESTCODE code, PVOID context, ULONG *size, PVOID buffer)
{
    (void)code, (void)context, (void)size, (void)buffer;
    return ERROR_SUCCESS;
}

int main(void)
{
    static const char       traits[] = {14, 0, 'C', 'o', 'n', 't', 'o', 's', 'o', '.', 'T', 'w', 'o', 0};
    TRACE_GUID_REGISTRATION class_of = {&classic, NULL};
    REGHANDLE               first, second;
    TRACEHANDLE             older;
    char                    line[16];
    ULONG                   status = EventRegister(&id, on_change, NULL, &first);
    if (!status)
        status = EventRegister(&id, NULL, NULL, &second);
    if (!status)
        status = EventSetInformation(second, EventProviderSetTraits, (PVOID)traits, sizeof traits);
    if (!status)
        status = RegisterTraceGuidsA(on_request, NULL, &classic, 1, &class_of, NULL, NULL, &older);
    printf("registered %u\n", (unsigned)status);
    fflush(stdout);
    while (!status && fgets(line, sizeof line, stdin)) {
        status = EventUnregister(first); /* the other one stays */
        printf("one left %u\n", (unsigned)status);
        fflush(stdout);
    }
    return (int)status;
}
