/* autologger-bench-lttng: the same events by LTTng-UST. Built where liblttng-ust-dev is (tools/bench-peers). See
 * bench_writer.h. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tools/writers/lttng_events.h"

#include <stdbool.h>

static const char *volatile bench_text = "thirty-one characters, no more!";
static uint8_t bench_bytes[320];

static inline int event_8(uint64_t i)
{
    lttng_ust_tracepoint(contoso_bench, number, i);
    return 0;
}
static inline int event_36(uint64_t i)
{
    lttng_ust_tracepoint(contoso_bench, text, (int)i, bench_text);
    return 0;
}
static inline int event_320(uint64_t i)
{
    bench_bytes[0] = (uint8_t)i;
    lttng_ust_tracepoint(contoso_bench, bytes, bench_bytes, bench_bytes + 64);
    return 0;
}
static inline void event_step(int number, const char *what, const void *where)
{
    lttng_ust_tracepoint(contoso_bench, step, number, what, where);
}
static bool        events_wanted(void) { return lttng_ust_tracepoint_enabled(contoso_bench, number); }
static bool        events_open(void) { return true; }
static const void *events_entry(void) { return NULL; }

static __attribute__((noinline)) void disabled_macro(int value) { lttng_ust_tracepoint(contoso_bench, off, value); }
static __attribute__((noinline)) void disabled_call(int value) { __asm__ volatile("" : : "r"(value)); }

#include "tools/writers/bench_writer.h"
