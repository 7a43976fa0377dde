/* lttng_events.h - the tracepoints of autologger-bench-lttng; their form is LTTng's. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER contoso_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tools/writers/lttng_events.h"
#if !defined(TOOLS_WRITERS_LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TOOLS_WRITERS_LTTNG_EVENTS_H
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(contoso_bench, number, LTTNG_UST_TP_ARGS(uint64_t, number),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, number, number)))
LTTNG_UST_TRACEPOINT_EVENT(contoso_bench, text, LTTNG_UST_TP_ARGS(int, number, const char *, text),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, number, number)
                                                   lttng_ust_field_string(text, text)))
LTTNG_UST_TRACEPOINT_EVENT(contoso_bench, bytes, LTTNG_UST_TP_ARGS(const uint8_t *, head, const uint8_t *, body),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_array(uint8_t, head, head, 64)
                                                   lttng_ust_field_array(uint8_t, body, body, 256)))
LTTNG_UST_TRACEPOINT_EVENT(contoso_bench, step, LTTNG_UST_TP_ARGS(int, number, const char *, what, const void *, where),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, number, number)
                                                   lttng_ust_field_string(what, what)
                                                       lttng_ust_field_integer_hex(uintptr_t, where, (uintptr_t)where)))
LTTNG_UST_TRACEPOINT_EVENT(contoso_bench, off, LTTNG_UST_TP_ARGS(int, value),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, value, value)))
#endif
#include <lttng/tracepoint-event.h>
