/* decoded.h - an event with its names: which provider and which event it is, by whatever describes it (TraceLogging
 * metadata, the built-in kernel classes, a text event, else numbers). Threads: pure, any. Names live in the struct or
 * borrow from the event. Not for: layouts of their own (tracelogging, classic). */
#ifndef AUTOLOGGER_CONSUMER_DECODED_H
#define AUTOLOGGER_CONSUMER_DECODED_H
#include "autologger/consumer/value.h"
#include "autologger/etl/reader.h"

enum description { DESCRIBED_NOT, DESCRIBED_TRACELOGGING, DESCRIBED_CLASSIC, DESCRIBED_STRING };

struct decoded {
    enum description by;
    const char      *provider; /* UTF-8 but not checked; NULL when only its GUID is known */
    char             event[256]; /* UTF-8: "Start"; "7" (the id or opcode) where nothing gives a name */
    uint16_t         hook; /* CLASSIC_NONE when it is no kernel event */
};

void decoded_names(const struct etl_event *event, struct decoded *out);
/* Gives the fields to the sink; *used = payload bytes they account for. What can't be decoded is left over. */
enum decode_result decoded_fields(const struct etl_event *event, const struct decoded *names, struct field_sink *sink,
                                  uint32_t *used);
/* The stack in the extended items: addresses into frames[], at most `most`; the number. */
unsigned decoded_stack(const struct etl_event *event, uint64_t *frames, unsigned most);
#endif
