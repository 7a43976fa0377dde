/* describe.h - event descriptions for a verb that reads a trace: from manifests on the command line, installed
 * manifests and the trace itself, with the texts of one culture. Threads: one. Ownership: open/close; the set is the
 * struct's. Not for: their precedence (schema/set.h). */
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
    const char *const *traces;  /* the files to read; a merge puts descriptions into them */
    unsigned           trace_count;
    struct learn_files learn;
    struct schema_set *set;
    struct publishers  installed;
    char               folder[PUBLISHERS_PATH];
};
/* Reads the files and reports their mistakes on standard error. False: *code is the exit code. */
bool describe_open(struct describe *d, const char *verb, int *code);
/* Says on standard error which installed manifests could not be read. */
void describe_report(const struct describe *d, const char *verb);
void describe_close(struct describe *d);
#endif
