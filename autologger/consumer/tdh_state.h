/* tdh_state.h - what tdh.h knows in this process: one set of descriptions, under a lock; process_trace.c tells it what
 * it reads.
 * Threads: any. Not for: programs of ours, which have sets of their own (schema/set.h). */
#ifndef AUTOLOGGER_CONSUMER_TDH_STATE_H
#define AUTOLOGGER_CONSUMER_TDH_STATE_H
#include "autologger/schema/set.h"
#include "autologger/schema/text.h"

/* The set, locked; NULL (and not locked): no memory. */
struct schema_set *tdh_lock(void);
void               tdh_unlock(void);
/* ProcessTrace begins to read these files (they stay until tdh_reads_end): their metadata are looked for when an event
 * needs them. */
void tdh_reads(const char *const *paths, unsigned count);
void tdh_reads_end(void);
/* Reads all installed manifests into the set (publishers.h); else each is read when an event needs it. */
void tdh_installed(void);
/* An event is given: it may describe others, or be a piece of a manifest. */
void tdh_sees(const struct etl_event *event);
/* The seam to manifests: reads one into the set, of a file, or of bytes with `origin`. W_NOT_SUPPORTED: this build has
 * none. */
wstatus tdh_manifest_load(struct schema_set *set, const char *path, struct reason *why);
/* The same of a program or a compiled manifest; W_INVALID_DATA for XML. */
wstatus tdh_binary_load(struct schema_set *set, const char *path, struct reason *why);
/* A learn_manifest (schema/learn.h). */
void    tdh_manifest_learn(void *ctx, struct schema_set *set, const void *xml, size_t size);
wstatus tdh_manifest_parse(struct schema_set *set, const void *data, size_t size, const char *origin,
                           struct reason *why);
/* Copies the bytes to the caller's buffer and frees them: 0; W_INSUFFICIENT_BUFFER; W_NOT_ENOUGH_MEMORY where they were
 * not made. *size gets what is used or needed. */
uint32_t tdh_deliver(struct text *bytes, bool made, void *buffer, uint32_t *size);
#endif
