/* fields.h - some fields of an event by their names, as text and as numbers: for analyses that know the fields' names.
 * Threads: one. Ownership: finish; texts live until the next fields_read. Not for: showing all fields
 * (consumer/dump.h). */
#ifndef AUTOLOGGER_ANALYSIS_FIELDS_H
#define AUTOLOGGER_ANALYSIS_FIELDS_H
#include "autologger/consumer/decoded.h"

enum { FIELDS_MOST = 16 };
struct fields {
    const char *const *wanted; /* names of fields (their last part), NULL at the end, FIELDS_MOST at most */
    struct text        value[FIELDS_MOST];
    bool               found[FIELDS_MOST];
    struct field_sink  sink;
};
/* Reads the event's fields; true when the first of `wanted` was found. */
bool fields_read(struct fields *f, const struct etl_event *e, const struct decoded *names, const char *const *wanted);
const char *fields_text(const struct fields *f, unsigned i);   /* "" if the event has no such field */
uint64_t    fields_number(const struct fields *f, unsigned i); /* decimal, negative, or 0x; 0 if it is no number */
bool        fields_failed(const struct fields *f);             /* no memory */
void        fields_finish(struct fields *f);
#endif
