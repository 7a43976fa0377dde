/* A program with WPP macros, in two sources (wpp_second.c is the other), whose headers autologger wpp makes. Waits for a line of input before it writes, and prints which flags are wanted. */
#include <windows.h>
#include <evntrace.h>
#include <stdio.h>
#include <wpp_trace.h>
#include <wpp_program.tmh>

#define CHECKED(condition, message) \
    do { \
        if (condition) \
            message; \
    } while (0)

#ifdef __cplusplus
extern "C"
#endif
    void
    other_source(void);

static void everything(void)
{
    static const GUID guid       = {0x12345678, 0x9abc, 0xdef0, {1, 2, 3, 4, 5, 6, 7, 8}};
    static WCHAR      letters[3] = {'w', 0xE4, 'x'}, pair[3] = {0xD83D, 0xDE00, 0}, text[4] = {'a', 0x20AC, 'b', 0};
    UNICODE_STRING    counted = {4, 6, letters};
    ULONG             status  = 0xC0000001;
    ULONG64           wide    = 0x123456789ABCDEF0ULL;

    TraceEvents(TRACE_LEVEL_ERROR, FLAG_INIT, "%!FUNC! %!STATUS! %!GUID! %!bool!", status, &guid, TRUE);
    TraceEvents(TRACE_LEVEL_ERROR, FLAG_INIT, "%s %hs %S %ws %ls %wZ|%-5d|%05u|%+d|%6x", "narrow", "h", pair, text,
                text, &counted, -7, 42u, 3, 0xABu);
    TraceEvents(TRACE_LEVEL_ERROR, FLAG_INIT, "%I64x %llu %lu %I32d %.2f %c %p", wide, 1ULL << 40, (ULONG)7, -1, 2.5,
                'z', (void *)0x1234);
    TraceEvents(TRACE_LEVEL_ERROR, FLAG_INIT, "%.3s|%8.2s|%s", "abcdef", "xyz", (const char *)NULL);
    TraceEvents(TRACE_LEVEL_ERROR, FLAG_INIT, "100%% %d, then %!IPADDR! and %d", 1, 0x0100007F, 2);
    TraceEvents(TRACE_LEVEL_ERROR, FLAG_INIT, "plain");
}

int main(void)
{
    char   line[16];
    int    i;
    STRING none = {0, 0, NULL};
    WPP_INIT_TRACING(L"program");
    if (!fgets(line, sizeof line, stdin))
        return 1;
    printf("%d %d %d\n", WPP_LEVEL_ENABLED(FLAG_INIT) != 0, WPP_LEVEL_ENABLED(FLAG_IO) != 0,
           WPP_LEVEL_ENABLED(FLAG_OTHER) != 0);
    everything();
    for (i = 0; i < 3; i++)
        TraceEvents(TRACE_LEVEL_WARNING + i, FLAG_IO, "level %!LEVEL!, number %d, [%Z]", i, &none);
    DoTraceMessage(FLAG_PNP, "a flag that no session wants");
    if (i == 3)
        DoTraceMessage(FLAG_INIT, "values: %d %u %hd %hhu %ld %lu %lx %lld %c", -2147483647 - 1, 4294967295u, (short)-2,
                       (unsigned char)200, -3L, 0xFFFFFFFFFFUL, (LONG)-1, -4LL, 'q');
    else
        i = 4;
    CHECKED(i == 3, DoTraceMessage(FLAG_INIT, "inside a macro, %!irql! %!dump! %!HEXDUMP! %!flags!", (UCHAR)2, 1,
                                   AutologgerWppBytes("\x01\xfe", 2), 5));
    other_source();
    WPP_CLEANUP();
    DoTraceMessage(FLAG_INIT, "after the end");
    WPP_INIT_TRACING(NULL);
    DoTraceMessage(FLAG_INIT, "begun anew");
    WPP_CLEANUP(NULL);
    return 0;
}
