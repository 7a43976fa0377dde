/* A provider with WPP's messages: printf-like calls whose text is made when the trace is read.
 *     build/release/autologger wpp --output-dir build docs/examples/wpp.c
 *     cc -Iautologger/include -Ibuild docs/examples/wpp.c -Lbuild/release -lautologger -Wl,-rpath,$PWD/build/release -o wpp
 *     ./wpp [MESSAGES] */
#define WPP_CONTROL_GUIDS \
    WPP_DEFINE_CONTROL_GUID(SampleWpp, (c0e50004, 5a3b, 4f61, 8a11, 223344556604), \
                            WPP_DEFINE_BIT(REQUESTS) WPP_DEFINE_BIT(CACHE))
/* begin_wpp config
 * FUNC Trace(LEVEL, FLAGS, MSG, ...);
 * CUSTOM_TYPE(state, ItemListLong(New, Open, Closed));
 * end_wpp */
#include "wpp.tmh"

#include <stdlib.h>

static void serve(int number)
{
    DoTraceMessage(REQUESTS, "%!FUNC!: request %d for %s, state %!state!", number, "/index", 1u);
    Trace(TRACE_LEVEL_WARNING, CACHE, "%.1f %% of the cache is used", 12.5 * number);
}

int main(int argc, char **argv)
{
    const int messages = argc > 1 ? atoi(argv[1]) : 3;
    WPP_INIT_TRACING("wpp");
    for (int i = 0; i < messages; i++)
        serve(i);
    WPP_CLEANUP();
    return 0;
}
