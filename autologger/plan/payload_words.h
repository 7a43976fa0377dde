/* payload_words.h - payload filters in words (wire/payload_filter.h): "Start: Size >= 4096 and Name contains 'a b', 17:
 * Status is not 0". An event by name or id, its predicates joined by `and` or by `or`; several events behind ','. A
 * text with blanks, commas or operators stands between single quotes; '' is a quote in it. Fields of events with a
 * manifest are found in the provider's manifest (publishers.h); without one an event's name means a TraceLogging event.
 * Threads: one. Not for: bytes to words (payload_describe). */
#ifndef AUTOLOGGER_PLAN_PAYLOAD_WORDS_H
#define AUTOLOGGER_PLAN_PAYLOAD_WORDS_H
#include "autologger/wire/payload_filter.h"

/* `key`: the path of the value's key, which has the provider's GUID. W_INVALID_PARAMETER with what is wrong;
 * W_NOT_ENOUGH_MEMORY. */
wstatus payload_words_parse(const char *key, const char *text, struct payload_bytes *out, struct reason *why);
#endif
