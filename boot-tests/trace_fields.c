/* trace_fields - a program under test: prints what tdh.h reports for each event of one provider in a file, or in a
 * session, from the installed headers alone. trace_fields FILE|live:SESSION {GUID}: a line an event,
 * "PROVIDER|EVENT|ID|NAME:INTYPE=TEXT|..."; an event without a description is "?|ID|bytes". Exit: what ProcessTrace
 * returned, 250 where OpenTrace or the arguments failed. */
#include <evntcons.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tdh.h>

static GUID wanted;

/* ASCII alone: the test writes no other text. */
static void put(const WCHAR *text)
{
    for (; text && *text; text++)
        putchar(*text < 128 ? (char)*text : '?');
}

static ULONG field(PEVENT_RECORD r, PTRACE_EVENT_INFO info, ULONG i, ULONG at)
{
    const EVENT_PROPERTY_INFO *p = &info->EventPropertyInfoArray[i];
    WCHAR                      text[256];
    ULONG                      size     = sizeof text;
    USHORT                     consumed = 0;
    const ULONG                status =
        TdhFormatProperty(info, NULL, 8, p->nonStructType.InType, p->nonStructType.OutType, p->length,
                          (USHORT)(r->UserDataLength - at), (PBYTE)r->UserData + at, &size, text, &consumed);
    putchar('|');
    put(TEI_PROPERTY_NAME(info, p));
    printf(":%u=", p->nonStructType.InType);
    if (status)
        printf("error %u", status);
    else
        put(text);
    return at + consumed;
}

/* Offset of the first field in the payload: the sizes are counted back from its end. */
static ULONG fields_begin(PEVENT_RECORD r, PTRACE_EVENT_INFO info)
{
    ULONG total = 0;
    for (ULONG i = 0; i < info->TopLevelPropertyCount; i++) {
        PROPERTY_DATA_DESCRIPTOR d = {
            .PropertyName = (ULONGLONG)(uintptr_t)TEI_PROPERTY_NAME(info, &info->EventPropertyInfoArray[i]),
            .ArrayIndex   = UINT32_MAX};
        ULONG size = 0;
        if (TdhGetPropertySize(r, 0, NULL, 1, &d, &size) == ERROR_SUCCESS)
            total += size;
    }
    return total <= r->UserDataLength ? r->UserDataLength - total : 0;
}

static VOID on_event(PEVENT_RECORD r)
{
    static BYTE       block[16384] __attribute__((aligned(8)));
    PTRACE_EVENT_INFO info = (PTRACE_EVENT_INFO)(void *)block;
    ULONG             size = sizeof block;
    if (memcmp(&r->EventHeader.ProviderId, &wanted, sizeof wanted) != 0)
        return;
    if (TdhGetEventInformation(r, 0, NULL, info, &size) != ERROR_SUCCESS) {
        printf("?|%u|%u bytes\n", r->EventHeader.EventDescriptor.Id, r->UserDataLength);
        return;
    }
    put(TEI_PROVIDER_NAME(info));
    putchar('|');
    put(TEI_EVENT_NAME(info));
    printf("|%u", r->EventHeader.EventDescriptor.Id);
    ULONG at = fields_begin(r, info);
    for (ULONG i = 0; i < info->TopLevelPropertyCount; i++)
        at = field(r, info, i, at);
    putchar('\n');
}

static int parse(const char *text)
{
    unsigned d1, d2, d3, b[8];
    if (sscanf(text, "{%8x-%4x-%4x-%2x%2x-%2x%2x%2x%2x%2x%2x}", &d1, &d2, &d3, b, b + 1, b + 2, b + 3, b + 4, b + 5,
               b + 6, b + 7) != 11)
        return 0;
    wanted.Data1 = d1, wanted.Data2 = (uint16_t)d2, wanted.Data3 = (uint16_t)d3;
    for (int i = 0; i < 8; i++)
        wanted.Data4[i] = (uint8_t)b[i];
    return 1;
}

int main(int argc, char **argv)
{
    EVENT_TRACE_LOGFILEA log = {.ProcessTraceMode = PROCESS_TRACE_MODE_EVENT_RECORD, .EventRecordCallback = on_event};
    if (argc != 3 || !parse(argv[2]))
        return 250;
    log.LogFileName = argv[1];
    if (strncmp(argv[1], "live:", 5) == 0) {
        log.LogFileName = NULL;
        log.LoggerName  = argv[1] + 5;
        log.ProcessTraceMode |= PROCESS_TRACE_MODE_REAL_TIME;
    }
    TRACEHANDLE handle = OpenTraceA(&log);
    if (handle == INVALID_PROCESSTRACE_HANDLE) {
        printf("OpenTrace: %u\n", GetLastError());
        return 250;
    }
    const ULONG status = ProcessTrace(&handle, 1, NULL, NULL);
    CloseTrace(handle);
    return (int)status;
}
