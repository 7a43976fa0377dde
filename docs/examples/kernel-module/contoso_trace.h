/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* contoso_trace.h - the events of the sample module. For a driver on Windows this would be the manifest.
 *
 * The group (TRACE_SYSTEM) and the name below give a session its pattern: Tracepoint = contoso:contoso_request. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM contoso

#if !defined(CONTOSO_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CONTOSO_TRACE_H

#include <linux/tracepoint.h>
#include <linux/version.h>

#ifndef CONTOSO_REQUEST
#define CONTOSO_REQUEST
struct contoso_request {
	u32 number;
	u64 bytes;
	int result;
	u8 tag[4];
	char queue[16];
};
int contoso_listen(void); /* the first session takes contoso_request */
void contoso_unlisten(void); /* the last one has left it */
#endif

TRACE_EVENT_FN(contoso_request,
	TP_PROTO(const struct contoso_request *request),
	TP_ARGS(request),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(u64, bytes)
		__field(int, result)
		__array(u8, tag, 4)
		__string(queue, request->queue)
	),
	TP_fast_assign(
		__entry->number = request->number;
		__entry->bytes = request->bytes;
		__entry->result = request->result;
		memcpy(__entry->tag, request->tag, sizeof(request->tag));
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
		__assign_str(queue, request->queue);
#else
		__assign_str(queue);
#endif
	),
	TP_printk("number=%u bytes=%llu result=%d queue=%s", __entry->number, __entry->bytes, __entry->result, __get_str(queue)),
	contoso_listen, contoso_unlisten
);

TRACE_EVENT(contoso_tick,
	TP_PROTO(u32 number, s64 now), /* nanoseconds of CLOCK_MONOTONIC */
	TP_ARGS(number, now),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(s64, now)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->now = now;
	),
	TP_printk("number=%u now=%lld", __entry->number, __entry->now)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE contoso_trace
#include <trace/define_trace.h>
