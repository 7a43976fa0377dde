/* names_event.h - recognizes our own TraceLogging events (wire/names.h, wire/merged.h), and builds those that a merge
 * writes.
 * Threads: pure, any. Ownership: the caller's memory. */
#ifndef AUTOLOGGER_CONSUMER_NAMES_EVENT_H
#define AUTOLOGGER_CONSUMER_NAMES_EVENT_H
#include "autologger/etl/reader.h"
#include "registry-sim/base/cursor.h"

/* Is it this event of that provider of ours? */
bool own_event_is(const struct etl_event *event, const char *provider, const char *name);
/* Is it this event of NAMES_PROVIDER? */
bool names_event_is(const struct etl_event *event, const char *name);
/* Writes the head of such an event; the caller writes the payload behind it, and names_event_end sets the size.
 * `schema` is that of TraceLogging without its size: tags, name, fields. */
void own_event_begin(struct writer *w, const char *provider, const void *schema, size_t size, int64_t time);
void names_event_begin(struct writer *w, const void *schema, size_t size, int64_t time); /* of NAMES_PROVIDER */
/* A text and its NUL. */
void own_event_text(struct writer *w, const char *text);
/* False: it became too large. */
bool names_event_end(struct writer *w);
#endif
