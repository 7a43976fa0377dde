/* event_extras.h - the items that EnableProperty added to an event beside its stack: user, session, process and event
 * keys, container, as names and texts. Threads: any. Not for: stacks (decoded.h), related activities (the writers). */
#ifndef AUTOLOGGER_CONSUMER_EVENT_EXTRAS_H
#define AUTOLOGGER_CONSUMER_EVENT_EXTRAS_H
#include "autologger/etl/reader.h"

enum { EVENT_EXTRAS = 7, EVENT_EXTRA_TEXT = 192 };
struct event_extra {
    const char *name;   /* static: "userSid" */
    bool        number; /* the text is a number */
    char        text[EVENT_EXTRA_TEXT];
};
/* Returns their number. Damaged items are left out. */
unsigned event_extras(const struct etl_event *event, struct event_extra out[EVENT_EXTRAS]);
#endif
