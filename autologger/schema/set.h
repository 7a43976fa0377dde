/* set.h - all descriptions of events, in one search order: the event itself (TraceLogging), manifests, metadata of the
 * file, the kernel's classes, the mark of a text event. Events without a description stay bytes, and the reader counts
 * them.
 * Threads: one per set. Ownership: new/free; a set owns its added providers. A found event of SCHEMA_SELF is valid
 * until the next find, all others as long as the set has their provider. Not for: payloads (walk.h). */
#ifndef AUTOLOGGER_SCHEMA_SET_H
#define AUTOLOGGER_SCHEMA_SET_H
#include "autologger/etl/reader.h"
#include "autologger/schema/schema.h"

struct schema_set;

struct schema_set *schema_set_new(void);                    /* NULL: out of memory */
void               schema_set_free(struct schema_set *set); /* NULL is fine */
/* Takes the provider and all its events, also on failure (W_NOT_ENOUGH_MEMORY). Within one source, later ones win over
 * earlier ones. */
wstatus schema_set_add(struct schema_set *set, enum schema_source source, struct schema_provider *p);
/* Removes all providers that were added with this source and `origin` (TdhUnloadManifest). Returns their number. */
unsigned schema_set_remove(struct schema_set *set, enum schema_source source, const char *origin);
/* Called once for each GUID without a manifest in the set, when an event needs one: it adds the manifests that it
 * finds, as SCHEMA_MANIFEST. So installed manifests are read on demand. */
typedef void schema_set_asker(void *ctx, struct schema_set *set, const struct guid *guid);
void         schema_set_ask(struct schema_set *set, schema_set_asker *ask, void *ctx);
/* Called once, at the first event that neither a manifest nor metadata describes: it may search the file for metadata
 * (learn.h). */
typedef void schema_set_searcher(void *ctx, struct schema_set *set);
void         schema_set_search(struct schema_set *set, schema_set_searcher *search, void *ctx);

/* The search key of an event. Zeros and NULL where the event has no such value. */
struct schema_key {
    struct guid provider;
    uint16_t    id;   /* not of classic events */
    uint16_t    hook; /* CLASSIC_NONE: no kernel class */
    uint8_t     version, opcode;
    bool        classic, message, string_only;
    bool        in_payload;        /* traits and metadata stand at the beginning of the payload, not in items */
    const void *traits, *metadata; /* data of items 12 and 11 */
    uint32_t    traits_size, metadata_size;
};
void schema_key_of(const struct etl_event *event, struct schema_key *out);
/* Completes the key of an event without an item 11 whose payload begins with its metadata (tracelogging_in_payload);
 * else changes nothing. */
void schema_key_payload(struct schema_key *key, uint8_t channel, const void *payload, size_t size);
/* Takes the description in an EventMetadata event of a merge, as SCHEMA_EMBEDDED. True: the event was one. Damaged
 * descriptions, and those beyond 64 MB, are left out. */
bool schema_set_learn(struct schema_set *set, const struct schema_key *key, const void *payload, size_t size);
/* The description of this event; NULL: there is none. */
const struct schema_event *schema_set_find(struct schema_set *set, const struct schema_key *key);
/* The same for an event as read: faster where many are alike. */
const struct schema_event *schema_set_describe(struct schema_set *set, const struct etl_event *event);
/* The added providers, in the order of adding; NULL at the end. */
const struct schema_provider *schema_set_provider(const struct schema_set *set, size_t i, enum schema_source *source);
#endif
