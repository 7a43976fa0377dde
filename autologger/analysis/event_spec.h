/* event_spec.h - a selection of events: PROVIDER/EVENT:OPCODE from a command line. PROVIDER is a name with * and ?, or
 * a {GUID}; EVENT a name with * and ?, or an id; OPCODE a number, or start, stop, info ... An omitted part (or "*")
 * matches any.
 * Threads: any, pure. Ownership: values. */
#ifndef AUTOLOGGER_ANALYSIS_EVENT_SPEC_H
#define AUTOLOGGER_ANALYSIS_EVENT_SPEC_H
#include "autologger/consumer/decoded.h"

enum { SPEC_ANY = -1 };
struct event_spec {
    char        provider[256], event[256]; /* patterns; "" is any */
    bool        by_guid;
    struct guid guid;
    int         id, opcode; /* SPEC_ANY */
};
/* False: not of this form. */
bool event_spec_parse(const char *text, struct event_spec *out);
bool event_spec_matches(const struct event_spec *s, const struct etl_event *e, const struct decoded *names);
#endif
