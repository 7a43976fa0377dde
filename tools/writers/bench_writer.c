/* autologger-bench-writer: events by this project's provider library, for `autologger bench write, latency and disk`.
 * See bench_writer.h. */
#include <TraceLoggingProvider.h>
#include <evntprov.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The second pair is registered, but never enabled. */
static const GUID bench_guid = {0x1d2c6e54, 0x3b7f, 0x5a10, {0x8e, 0x21, 0x6b, 0x65, 0x6e, 0x63, 0x68, 0x01}};
static const EVENT_DESCRIPTOR bench_event = {.Id = 1, .Channel = 11, .Level = 4, .Keyword = 1};
TRACELOGGING_DEFINE_PROVIDER(bench_typed, "Contoso-Bench-Typed",
                             (0x1d2c6e54, 0x3b7f, 0x5a10, 0x8e, 0x21, 0x6b, 0x65, 0x6e, 0x63, 0x68, 0x02));
TRACELOGGING_DEFINE_PROVIDER(bench_off, "Contoso-Bench-Off",
                             (0x1d2c6e54, 0x3b7f, 0x5a10, 0x8e, 0x21, 0x6b, 0x65, 0x6e, 0x63, 0x68, 0x03));
static const GUID bench_off_guid = {0x1d2c6e54, 0x3b7f, 0x5a10, {0x8e, 0x21, 0x6b, 0x65, 0x6e, 0x63, 0x68, 0x04}};
static REGHANDLE  bench_handle, bench_off_handle;

/* read anew for each event: its length is not known beforehand */
static const char *volatile bench_text = "thirty-one characters, no more!";
static uint8_t bench_bytes[320];

static inline int event_8(uint64_t i)
{
    EVENT_DATA_DESCRIPTOR d[1];
    EventDataDescCreate(&d[0], &i, sizeof i);
    return (int)EventWrite(bench_handle, &bench_event, 1, d);
}
static inline int event_36(uint64_t i)
{
    EVENT_DATA_DESCRIPTOR d[2];
    int                   number = (int)i;
    const char           *text   = bench_text;
    EventDataDescCreate(&d[0], &number, sizeof number);
    EventDataDescCreate(&d[1], text, (ULONG)strlen(text) + 1);
    return (int)EventWrite(bench_handle, &bench_event, 2, d);
}
static inline int event_320(uint64_t i)
{
    EVENT_DATA_DESCRIPTOR d[2];
    bench_bytes[0] = (uint8_t)i;
    EventDataDescCreate(&d[0], bench_bytes, 64);
    EventDataDescCreate(&d[1], bench_bytes + 64, 256);
    return (int)EventWrite(bench_handle, &bench_event, 2, d);
}
static inline void event_step(int number, const char *what, const void *where)
{
    TraceLoggingWrite(bench_typed, "Step", TraceLoggingLevel(4), TraceLoggingInt32(number, "number"),
                      TraceLoggingString(what, "what"), TraceLoggingPointer(where, "where"));
}
static bool events_wanted(void) { return EventProviderEnabled(bench_handle, 4, 1); }
static bool events_open(void)
{
    return EventRegister(&bench_guid, NULL, NULL, &bench_handle) == 0 &&
           EventRegister(&bench_off_guid, NULL, NULL, &bench_off_handle) == 0 &&
           TraceLoggingRegister(bench_typed) == 0 && TraceLoggingRegister(bench_off) == 0;
}
static const void *events_entry(void) { return (const void *)(uintptr_t)EventWrite; }

static __attribute__((noinline)) void disabled_call(int value)
{
    EVENT_DATA_DESCRIPTOR d[1];
    EventDataDescCreate(&d[0], &value, sizeof value);
    EventWrite(bench_off_handle, &bench_event, 1, d);
}
static __attribute__((noinline)) void disabled_macro(int value)
{
    TraceLoggingWrite(bench_off, "Off", TraceLoggingLevel(4), TraceLoggingKeyword(1),
                      TraceLoggingInt32(value, "value"));
}

#include "tools/writers/bench_writer.h"
