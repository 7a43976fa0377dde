/* A provider in a shared library: it registers when the library is loaded, and writes at once; the program knows
 * nothing of it. */
#include <windows.h>
#include <TraceLoggingProvider.h>

TRACELOGGING_DEFINE_PROVIDER(g_library, "Contoso.Library",
                             (0x5ea7c0de, 0x0006, 0x4a5b, 0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11));

static __attribute__((constructor)) void DllProcessAttach(void)
{
    DWORD waited;
    TraceLoggingRegister(g_library);
    for (waited = 0; !TraceLoggingProviderEnabled(g_library) && waited < 5000; waited += 10)
        Sleep(10);
    TraceLoggingWrite(g_library, "Loaded", TraceLoggingUInt32(GetCurrentProcessId(), "pid"));
}
static __attribute__((destructor)) void DllProcessDetach(void)
{
    TraceLoggingWrite(g_library, "Unloaded");
    TraceLoggingUnregister(g_library);
}
__declspec(dllexport) int Answer(void) { return 42; }
