/* bench_events.h - the tracepoint of LTTng-UST for `autologger bench read`; its form is LTTng's. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER contoso
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tools/ust/bench_events.h"
#if !defined(TOOLS_UST_BENCH_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TOOLS_UST_BENCH_EVENTS_H
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(contoso, request,
                           LTTNG_UST_TP_ARGS(uint32_t, number, uint64_t, bytes, int32_t, status, double, load,
                                             const char *, path),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, number, number)
                                                   lttng_ust_field_integer(uint64_t, bytes, bytes)
                                                       lttng_ust_field_integer(int32_t, status, status)
                                                           lttng_ust_field_float(double, load, load)
                                                               lttng_ust_field_string(path, path)))
#endif
#include <lttng/tracepoint-event.h>
