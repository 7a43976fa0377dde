/* learn.h - searches files for the descriptions in them, which may stand behind the events that need them:
 * EventMetadata events, which merges write, and manifests, which providers write (chunks.h).
 * Threads: as the set. Ownership: the paths are borrowed as long as the set may search. */
#ifndef AUTOLOGGER_SCHEMA_LEARN_H
#define AUTOLOGGER_SCHEMA_LEARN_H
#include "autologger/schema/set.h"

/* Puts the providers of a manifest (XML) into the set as SCHEMA_EMBEDDED; its mistakes are not reported. */
typedef void learn_manifest(void *ctx, struct schema_set *set, const void *xml, size_t size);
/* Collects descriptions from events, one by one. Zeros at first, but for manifest and ctx. */
enum { LEARN_XML_MAX = 64 * 1024 * 1024 }; /* of all manifests: a program may write new ones without end */
struct chunks;
struct learner {
    learn_manifest *manifest; /* NULL: this program reads no XML */
    void           *ctx;
    struct chunks  *pieces; /* from the first piece on */
    size_t          bytes;
};
void learner_see(struct learner *l, struct schema_set *set, const struct etl_event *e);
void learner_finish(struct learner *l);

struct learn_files {
    const char *const *paths;
    unsigned           count;
    learn_manifest    *manifest; /* NULL: this program reads no XML */
    void              *ctx;
};
/* A schema_set_searcher; ctx: struct learn_files. Files that can't be read are left out: the reader of their events
 * reports them. */
void learn_search(void *ctx, struct schema_set *set);
#endif
