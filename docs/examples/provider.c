/* A provider in C: typed events that need no manifest.
 *     cc -Iautologger/include docs/examples/provider.c -Lbuild/release -lautologger -Wl,-rpath,$PWD/build/release -o provider
 *     ./provider [EVENTS] */
#include <TraceLoggingProvider.h>

#include <stdlib.h>

TRACELOGGING_DEFINE_PROVIDER(g_provider, "Contoso-Sample-C",
                             (0xc0e50001, 0x5a3b, 0x4f61, 0x8a, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x01));

int main(int argc, char **argv)
{
    const int events = argc > 1 ? atoi(argv[1]) : 3;
    TraceLoggingRegister(g_provider);
    for (int i = 0; i < events; i++)
        TraceLoggingWrite(g_provider, "Request", TraceLoggingLevel(4), TraceLoggingKeyword(0x1),
                          TraceLoggingInt32(i, "number"), TraceLoggingString("/index", "url"));
    TraceLoggingUnregister(g_provider);
    return 0;
}
