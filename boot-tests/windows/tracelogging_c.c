/* TraceLogging from C, as it is written for Windows. */
#include <Windows.h>
#include <TraceLoggingProvider.h>
#include <winmeta.h>

TRACELOGGING_DECLARE_PROVIDER(g_hProvider);

TRACELOGGING_DEFINE_PROVIDER(g_hProvider, "Contoso.Sample.C",
                             // {5EA7C0DE-0002-4A5B-8C6D-111111111111}
                             (0x5ea7c0de, 0x0002, 0x4a5b, 0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11));

int main(void)
{
    CHAR       sz[]     = "ansi";
    WCHAR      wsz[]    = L"wide";
    INT32      values[] = {1, 2, 3};
    SYSTEMTIME st;
    FILETIME   ft;
    DWORD      waited;

    TraceLoggingRegister(g_hProvider);
    for (waited = 0; !TraceLoggingProviderEnabled(g_hProvider, WINEVENT_LEVEL_VERBOSE, 0) && waited < 5000;
         waited += 10)
        Sleep(10);
    GetSystemTime(&st);
    GetSystemTimeAsFileTime(&ft);
    TraceLoggingWrite(g_hProvider, "Everyday", TraceLoggingLevel(WINEVENT_LEVEL_WARNING), TraceLoggingKeyword(0x1),
                      TraceLoggingDescription("what most programs write"), TraceLoggingString(sz, "ansi"),
                      TraceLoggingWideString(wsz, "wide", "a description"),
                      TraceLoggingInt32FixedArray(values, ARRAYSIZE(values), "fixed"),
                      TraceLoggingUInt32Array((UINT32 *)values, 2, "counted"), TraceLoggingStruct(2, "point"),
                      TraceLoggingInt32(10, "x"), TraceLoggingInt32(-20, "y"), TraceLoggingBoolean(TRUE, "yes"),
                      TraceLoggingHexUInt64(0xABCDEFull, "hex"), TraceLoggingSystemTime(st, "when"),
                      TraceLoggingFileTime(ft));
    TraceLoggingUnregister(g_hProvider);
    return 0;
}
