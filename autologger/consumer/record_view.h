/* record_view.h - an event of a reader as an EVENT_RECORD. Threads: one per view. Ownership: init/finish; what the
 * record points at lives as long as the event. */
#ifndef AUTOLOGGER_CONSUMER_RECORD_VIEW_H
#define AUTOLOGGER_CONSUMER_RECORD_VIEW_H
#include "autologger/etl/reader.h"
#include "autologger/include/evntcons.h"

enum { RECORD_ITEMS = 64 };
struct record_view {
    EVENT_RECORD                    record;
    EVENT_HEADER_EXTENDED_DATA_ITEM items[RECORD_ITEMS];
    EVENT_EXTENDED_ITEM_INSTANCE    instance; /* of an event with an instance */
};

/* Metadata at the beginning of the payload (schema/tracelogging.h) become extended items, and UserData begins behind
 * them. `raw`: the time stamp stays that of the session's clock. */
void record_view_set(struct record_view *v, const struct etl_event *e, bool raw, void *context);
/* The same for EventCallback: header, class or provider, payload. It has no place for parts of newer events (id,
 * keyword, items). */
void record_view_classic(EVENT_TRACE *t, const struct etl_event *e, bool raw);
/* The header of a file, as a consumer sees it. */
void record_view_header(const struct etl_file_header *h, TRACE_LOGFILE_HEADER *out);
#endif
