/* dump.h - writes events as text lines, JSON lines, XML or CSV, in time order. No event that passes the filters is
 * dropped: what can't be decoded is written as hex and counted.
 * Text:  TIME cpu N pid N tid N [unit NAME] Provider/Event name=value ... [message=TEXT] [stack=A,B] [payload=HEX (n
 * bytes not decoded)]
 *        TIME: seconds since the file's start with 7 digits, or ISO with `iso`; "-" for an id that the header lacks.
 * JSON:  {time, raw, cpu, pid, tid, provider{guid,name}, id, version, level, opcode, task, keyword, channel, unit,
 *        activity, relatedActivity, event, fields{...}, message, decoded, stack[...], payload}; ids that the header
 *        lacks are null, absent things are left out; decoded is "ok", "unknown" or "mismatch"; payload is hex, not
 *        decoded.
 * The unit is that of the event's process (actors.h), "none" (JSON: "") for a process in no unit; it is left out where
 * the trace does not have it.
 * With names of frames: text has a line for each frame below its stack: "    module!function+0x12"; JSON has
 *        frames[{address, module, function, offset}], and path, build_id, state of those without a name.
 * XML:   tracerpt's format: in Events an Event with System, EventData (BinaryEventData where the payload has no
 *        description, ProcessingErrorData where it does not fit it), RenderingInfo, ExtendedTracingInfo. Unit and stack
 *        with names have no place in that format and follow in a namespace of our own. The schemas are in schema/.
 *        Characters that XML does not allow become U+FFFD.
 * WPP:   tracefmt's lines: a prefix by $TRACE_FORMAT_PREFIX, then the message (wpp_text.h); of other events their message,
 *        else name and fields as text lines have them.
 * CSV:   RFC 4180, tracerpt's columns; the last one has the fields as text lines have them.
 * Threads: one per reader. Not for: opening files (etl/reader). */
#ifndef AUTOLOGGER_CONSUMER_DUMP_H
#define AUTOLOGGER_CONSUMER_DUMP_H
#include "autologger/consumer/frames.h"
#include "autologger/etl/reader.h"

#include <stdio.h>

struct schema_set;
enum { DUMP_PROVIDERS_MAX = 16, DUMP_UNITS_MAX = 16 };
/* One of the two fields is set. A kernel class has the GUID of its class. */
struct dump_provider {
    const struct guid *guid;
    const char        *name; /* a TraceLogging name, a class name, or one that hashes to the GUID */
};
enum dump_format {
#define F(name, word, about) DUMP_##name,
#include "autologger/consumer/dump_formats.def"
#undef F
    DUMP_FORMATS
};
extern const char *const dump_format_words[DUMP_FORMATS];
/* All zeros: everything, as text. */
struct dump_options {
    enum dump_format     format;
    bool                 iso;
    struct dump_provider providers[DUMP_PROVIDERS_MAX + 1]; /* only these; ends at the first without both */
    bool                 by_process;
    uint32_t             process_id; /* with by_process; which events are about it: process_filter.h */
    /* only events about processes of these units, by glob, and about the units themselves; NULL ends them */
    const char *units[DUMP_UNITS_MAX + 1];
    /* an extended regular expression for "Provider/Event name=value ...": only events that match; NULL: all */
    const char        *match;
    uint64_t           from, to; /* FILETIME, inclusive; 0 = open */
    uint64_t           limit;    /* events at most; 0 = all */
    struct schema_set *schemas;  /* borrowed; NULL: only events that describe themselves, and the kernel's classes */
    const struct frame_namer *frames; /* names for the frames of stacks; NULL: addresses alone */
    /* gets each event before its names are known, filtered events too; may be NULL */
    void (*see)(void *ctx, const struct etl_event *e);
    void *see_ctx;
    void (*progress)(void *ctx, unsigned per_mille); /* may be NULL */
    void *progress_ctx;
};
struct dump_counts {
    uint64_t read, written;
    uint64_t unknown;                  /* written as hex: they have no description */
    uint64_t seen[DUMP_PROVIDERS_MAX]; /* events read of each of the providers asked for */
    bool     units_told;               /* the trace has the unit of some process */
    uint64_t mismatch;                 /* partly decoded: description and payload differ */
};

/* Writes the events that are still to come from `r` to `out`. W_INVALID_PARAMETER: the pattern is malformed;
 * W_DISK_FULL and others when `out` fails. */
wstatus dump_events(struct etl_reader *r, const struct dump_options *options, FILE *out, struct dump_counts *counts,
                    struct reason *why);
#endif
