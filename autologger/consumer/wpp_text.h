/* wpp_text.h - an event as tracefmt shows it: a prefix, and the message. The prefix is FormatMessage's text in which %1
 * is the program (or the provider), %2 source file and line, %3 the thread, %4 the time (UTC), %5 and %6 kernel and user
 * time, %7 the message's number in its session, %8 the process, %9 the processor; %!FUNC!, %!FLAGS!, %!LEVEL! and
 * %!COMPNAME! are those of the message (Microsoft Learn, "Trace Message Prefix"). Also the properties of
 * TdhGetWppProperty, which are the same facts.
 * Threads: pure, any. Not for: texts of messages (schema/message.h). */
#ifndef AUTOLOGGER_CONSUMER_WPP_TEXT_H
#define AUTOLOGGER_CONSUMER_WPP_TEXT_H
#include "autologger/etl/reader.h"
#include "autologger/schema/schema.h"
#include "autologger/schema/text.h"

#define WPP_TEXT_PREFIX "[%9!d!]%8!04X!.%3!04X!::%4!s! [%1!s!]"
/* What a prefix names. */
struct wpp_facts {
    const struct schema_event *schema;   /* NULL: the event has no description */
    const char                *provider; /* shown when there is no description */
    uint32_t                   process_id, thread_id, kernel_time, user_time, sequence;
    uint16_t                   cpu;
    uint64_t                   filetime;
};
/* Adds the prefix. `format` NULL: $TRACE_FORMAT_PREFIX, or tracefmt's default. */
void wpp_text_prefix(const char *format, const struct wpp_facts *facts, struct text *out);
/* "11/28/2026-17:22:56.123": as tracefmt writes a time, but in UTC. */
void wpp_text_time(uint64_t filetime, struct text *out);
/* "driver" of the provider "driver:main.c". */
void wpp_text_module(const struct wpp_facts *facts, struct text *out);
#endif
