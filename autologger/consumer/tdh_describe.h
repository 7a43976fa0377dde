/* tdh_describe.h - the description of a record, for the files that implement tdh.h.
 * Threads: any; a found description is valid until tdh_unlock. */
#ifndef AUTOLOGGER_CONSUMER_TDH_DESCRIBE_H
#define AUTOLOGGER_CONSUMER_TDH_DESCRIBE_H
#include "autologger/consumer/tdh_state.h"
#include "autologger/include/tdh.h"

/* Locks the set of tdh_state.h and finds the description. ERROR_SUCCESS: locked; else not. ERROR_NOT_FOUND;
 * ERROR_INVALID_PARAMETER; ERROR_NOT_ENOUGH_MEMORY. */
TDHSTATUS tdh_describe(const EVENT_RECORD *record, ULONG count, const TDH_CONTEXT *context,
                       const struct schema_event **out);
/* Loads the TMF files that the contexts or $TRACE_FORMAT_SEARCH_PATH name, each once. Lock held. */
void tdh_formats_load(struct schema_set *set, const struct guid *message, ULONG count, const TDH_CONTEXT *context);
/* A file is unloaded: it is read again when a context names it. Lock held. */
void tdh_formats_forget(const char *path);
#endif
