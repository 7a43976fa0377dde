/* tdh_state.h - the state of tdh.h in this process: one set of descriptions, under a lock; process_trace.c reports the
 * files and events that it reads.
 * Threads: any. Not for: programs of ours, which have sets of their own (schema/set.h). */
#ifndef AUTOLOGGER_CONSUMER_TDH_STATE_H
#define AUTOLOGGER_CONSUMER_TDH_STATE_H
#include "autologger/schema/set.h"
#include "autologger/schema/text.h"

/* The set, locked; NULL (and not locked): no memory. */
struct schema_set *tdh_lock(void);
void               tdh_unlock(void);
/* ProcessTrace begins to read these files (the paths stay until tdh_reads_end): their metadata are searched when an
 * event needs them. */
void tdh_reads(const char *const *paths, unsigned count);
void tdh_reads_end(void);
/* Reads all installed manifests into the set (publishers.h); otherwise each is read when an event needs it. */
void tdh_installed(void);
/* Takes a delivered event: it may describe others, or be a piece of a manifest. */
void tdh_sees(const struct etl_event *event);
/* The seam to manifests: reads one into the set, from a file, or from bytes with `origin`. W_NOT_SUPPORTED: this build
 * has no manifests. */
wstatus tdh_manifest_load(struct schema_set *set, const char *path, struct reason *why);
/* The same for a program or a compiled manifest; W_INVALID_DATA for XML. */
wstatus tdh_binary_load(struct schema_set *set, const char *path, struct reason *why);
/* A learn_manifest (schema/learn.h). */
void    tdh_manifest_learn(void *ctx, struct schema_set *set, const void *xml, size_t size);
wstatus tdh_manifest_parse(struct schema_set *set, const void *data, size_t size, const char *origin,
                           struct reason *why);
/* Copies the bytes to the caller's buffer and frees them. 0; W_INSUFFICIENT_BUFFER; W_NOT_ENOUGH_MEMORY where the bytes
 * were not made. *size gets the bytes used or needed. */
uint32_t tdh_deliver(struct text *bytes, bool made, void *buffer, uint32_t *size);
#endif
