/* learn.h - goes through files for the descriptions that merges put into them (EventMetadata events), which may stand behind the events
 * that need them. Threads: as the set. Ownership: the paths are borrowed as long as the set may search. */
#ifndef AUTOLOGGER_SCHEMA_LEARN_H
#define AUTOLOGGER_SCHEMA_LEARN_H
#include "autologger/schema/set.h"

struct learn_files {
    const char *const *paths;
    unsigned           count;
};
/* A schema_set_searcher; ctx: struct learn_files. Files that can't be read are left out: whoever reads their events says so. */
void learn_search(void *ctx, struct schema_set *set);
#endif
