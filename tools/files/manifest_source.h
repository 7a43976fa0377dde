/* manifest_source.h - the manifests of a file on a command line (XML, binary form, program), with their problems on
 * standard error.
 * Threads: one. Ownership: manifest_source_finish frees what was read, also after a failure. */
#ifndef TOOLS_MANIFEST_SOURCE_H
#define TOOLS_MANIFEST_SOURCE_H
#include "autologger/schema/manifest_file.h"

enum { MANIFEST_SOURCE_MAX = 64 };
struct manifest_source {
    struct manifest *list[MANIFEST_SOURCE_MAX];
    unsigned         count, errors, warnings, flaws;
    bool             forgiving; /* read for decoding: flaws are printed once, as warnings (schema/manifest.h) */
    bool             quiet;     /* warnings are not printed */
    bool             silent;    /* nor flaws */
};
wstatus manifest_source_read(struct manifest_source *s, const char *path, struct reason *why);
void    manifest_source_finish(struct manifest_source *s);
/* For a compiler: makes `problems` print as `s` asks. */
void manifest_source_problems(struct manifest_source *s, struct manifest_problems *problems);
/* Prints why reading failed. Returns the exit code: VERB_FAILED after mistakes in the file. */
int manifest_source_failed(const struct manifest_source *s, const char *verb, wstatus st, const struct reason *why);
#endif
