/* manifest_build.h - shared by the steps of reading a manifest: manifest_build.c builds the document from the elements,
 * manifest_told.c reports mistakes, manifest_resolve.c resolves names, manifest_lint.c warns. No other file includes
 * it.
 * Threads: one per reading. */
#ifndef AUTOLOGGER_SCHEMA_MANIFEST_BUILD_H
#define AUTOLOGGER_SCHEMA_MANIFEST_BUILD_H
#include "autologger/schema/manifest.h"
#include "autologger/schema/schema.h"
#include "autologger/schema/xml_reader.h"

enum { FLAW_KINDS = 96 };
/* Stands for an invalid number: equal to no other, and to no value of a payload. */
#define MANIFEST_NO_NUMBER UINT64_MAX

struct builder {
    struct manifest          *m;
    struct manifest_problems *problems;
    const char               *file;
    const char               *text;                 /* the document, as UTF-8 */
    int                       stack[XML_DEPTH + 1]; /* rows of the grammar */
    unsigned                  depth, skipped;       /* skipped: levels inside a skipped element */
    char                      value[256];           /* text of the element, where it has a meaning */
    size_t                    value_length, inner;  /* inner: offset of the content of UserData */
    int                       task, map, field;     /* the open ones: indexes of their lists, or MANIFEST_NONE */
    const char               *setting;
    bool                      not_xml, no_manifest; /* reported; later mistakes are not */
    struct flaw {
        const char *format; /* its kind */
        unsigned    count;
        uint32_t    line; /* of the first */
        const char *advice;
        char        what[320];
    } flaws[FLAW_KINDS];
    unsigned flaw_kinds;
};

/* "FILE:LINE: what. Do: advice". Advice may be NULL. */
void manifest_error(struct builder *b, uint32_t line, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, also in a forgiving reading: the file is unusable. */
void manifest_fatal(struct builder *b, uint32_t line, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void manifest_warning(struct builder *b, uint32_t line, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports the noted flaws, each kind once. */
void               manifest_flaws_tell(struct builder *b);
static inline bool manifest_forgives(const struct builder *b) { return b->problems->forgiving; }
enum { GUESS_FAR = 3 }; /* letters that may differ */

/* First step: the elements of b->text, `length` bytes and a NUL. */
wstatus manifest_walk(struct builder *b, size_t length, struct reason *why);
/* The names of one list, for searching; an opcode of a task and a global one may share a name. */
struct name_row {
    const char *name;
    int         index;
};
struct name_index {
    struct name_row *rows; /* in order of names, then of indexes */
    unsigned         count;
};
/* All lists begin with a struct manifest_item but templates, which begin with their tid. */
struct name_index name_index_make(struct builder *b, const void *at, unsigned count, size_t stride);
/* The first row of that name; rows behind it may have it, too. NULL: none. */
const struct name_row *name_index_find(const struct name_index *n, const char *name);
/* ", did you mean X?", or "": the nearest name of the index and of the predefined words of a kind (-1: of none). */
struct name_guess {
    char text[160];
};
struct name_guess name_guess(const struct builder *b, const struct name_index *n, int words, const char *name);
struct provider_names {
    struct name_index channels, channel_names, levels, tasks, opcodes, keywords, maps, templates;
};

/* Second step: references, sizes, the rules of the grammar that need more than one element. */
void manifest_resolve(struct builder *b);
void manifest_resolve_events(struct builder *b, struct manifest_provider *p, const struct provider_names *names);
void manifest_resolve_template(struct builder *b, struct manifest_provider *p, const struct provider_names *names,
                               struct manifest_template *t);
/* Third step: warns of constructs that are allowed but cause trouble. */
void manifest_lint(struct builder *b);
#endif
