/* bundle.h - one .tar of a boot, to be taken to another machine or sent to somebody: the trace files, the Status table
 * as text and JSON, the configuration, what the machine is and what `check` says about it.
 * The texts are the output of the command's own verbs, each run as a child process; tar(1) packs, so a trace is never
 * copied twice.
 * Invariants: B1 the archive appears whole or not at all, readable by its owner alone. B2 nothing else is left behind,
 * whatever fails.
 * B3 a missing part is listed with a reason, never silently left out.
 * Threads: one. Ownership: bundle_finish. Not for: choosing what was traced. */
#ifndef TOOLS_BUNDLE_H
#define TOOLS_BUNDLE_H
#include "autologger/boot/result.h"

#include <stdbool.h>

enum { BUNDLE_PATH = 1200, BUNDLE_PARTS = 96 };

struct bundle_part {
    char     name[128];    /* in the archive, below its one folder */
    char     what[160];    /* its source: a command or a file */
    char     without[200]; /* why it is not in the archive; "" = it is */
    bool     needed;       /* without it the bundle is incomplete */
    uint64_t bytes;
};
struct bundle {
    char               folder[64]; /* work folder, a mkdtemp; "" = none */
    struct bundle_part parts[BUNDLE_PARTS];
    unsigned           count;
};

/* Makes the work folder. */
wstatus bundle_init(struct bundle *b, struct reason *why);
void    bundle_finish(struct bundle *b); /* removes the work folder */
/* Runs `autologger WORDS...` with this program; standard output and error become the part `name`. `words` ends with
 * NULL. Exit codes up to `worst` are a result; a higher one, or no output at all, makes it a missing part. */
void bundle_command(struct bundle *b, const char *name, const char *const *words, int worst, bool needed);
/* A file of this machine becomes the part `name`; it is read when the archive is made. */
void bundle_file(struct bundle *b, const char *name, const char *path, bool needed);
/* The trace files of a boot: the merged one where there is one, else those of the sessions. Returns how many. */
unsigned bundle_traces(struct bundle *b, const struct result_list *rows);
/* Replaces what is private in all parts, with one redactor, so that a token means the same in each: traces are copied,
 * texts are changed in their place; what cannot be searched is left out. The caller closes `redact`. False: *code is
 * the exit code. */
struct redact_option;
bool bundle_redact(struct bundle *b, struct redact_option *redact, int *code);
/* Which kernel, which distribution, which hardware: "versions.txt". */
void bundle_versions(struct bundle *b, const char *version);
/* The number of needed parts that are missing. */
unsigned bundle_lacks(const struct bundle *b);
/* Writes contents.txt and the archive. A file at `path` is replaced. */
wstatus bundle_write(struct bundle *b, const char *path, struct reason *why);
#endif
