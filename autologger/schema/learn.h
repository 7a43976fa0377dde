/* learn.h - goes through files for the descriptions that are in them, and may stand behind the events that need them:
 * those that merges put there (EventMetadata events), and manifests that providers write themselves (chunks.h).
 * Threads: as the set. Ownership: the paths are borrowed as long as the set may search. */
#ifndef AUTOLOGGER_SCHEMA_LEARN_H
#define AUTOLOGGER_SCHEMA_LEARN_H
#include "autologger/schema/set.h"

/* Puts the providers of a manifest (XML) into the set as SCHEMA_EMBEDDED; what is wrong with it is nobody's to hear. */
typedef void learn_manifest(void *ctx, struct schema_set *set, const void *xml, size_t size);
/* What events say of others, one event after another. Zeros at first, but for manifest and ctx. */
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
/* A schema_set_searcher; ctx: struct learn_files. Files that can't be read are left out: whoever reads their events
 * says so. */
void learn_search(void *ctx, struct schema_set *set);
#endif
