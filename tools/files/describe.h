/* describe.h - what describes the events of a trace for a verb that reads one: manifests named on the command line,
 * installed ones, what is in the trace; in the texts of one culture. Threads: one. Ownership: open/close; the set is
 * the struct's. Not for: the order in which they count (schema/set.h). */
#ifndef TOOLS_DESCRIBE_H
#define TOOLS_DESCRIBE_H
#include "autologger/schema/learn.h"
#include "autologger/schema/publishers.h"
#include "autologger/schema/set.h"

enum { DESCRIBE_FILES_MAX = 32 };
struct describe {
    const char        *files[DESCRIBE_FILES_MAX]; /* --manifest */
    unsigned           file_count;
    const char        *culture; /* --culture, or NULL */
    const char        *store;   /* --store, or NULL: installed manifests are beside it */
    const char *const *traces;  /* the files that are read: a merge put descriptions into them */
    unsigned           trace_count;
    struct learn_files learn;
    struct schema_set *set;
    struct publishers  installed;
    char               folder[PUBLISHERS_PATH];
};
/* Reads the files. Mistakes in them are on standard error then; *code is the exit code of a failure. */
bool describe_open(struct describe *d, const char *verb, int *code);
/* Says on standard error which installed manifests could not be read. */
void describe_report(const struct describe *d, const char *verb);
void describe_close(struct describe *d);
#endif
