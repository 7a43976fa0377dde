/* mof_parse.h - the classes of a MOF file as written: names, parents, qualifiers, properties. Shared by mof.c and
 * mof_parse.c alone.
 * Threads: one. Ownership: all in the pool. */
#ifndef AUTOLOGGER_SCHEMA_MOF_PARSE_H
#define AUTOLOGGER_SCHEMA_MOF_PARSE_H
#include "autologger/schema/manifest.h"

enum { MOF_CLASSES_MAX = 4096, MOF_QUALIFIERS_MAX = 64, MOF_VALUES_MAX = 1024, MOF_PROPERTIES_MAX = 512 };

/* Guid("{...}"), EventType{1, 2}: a name and its values; a word alone ("pointer") has none. */
struct mof_value {
    const char *text; /* of a string or a word; of a number its digits */
    uint64_t    number;
    bool        is_number;
};
struct mof_qualifier {
    const char *name;
    POOL_LIST(struct mof_value) values;
};
typedef POOL_LIST(struct mof_qualifier) mof_qualifiers;
struct mof_property {
    const char    *type, *name;
    mof_qualifiers qualifiers;
    bool           array;
    uint32_t       fixed; /* elements of an array; 0: not said */
    uint32_t       line;
};
struct mof_class {
    const char    *name, *parent; /* parent: "" when it has none */
    mof_qualifiers qualifiers;
    POOL_LIST(struct mof_property) properties;
    uint32_t line;
};
struct mof_file {
    struct pool              *pool;
    const char               *at, *end, *origin;
    uint32_t                  line;
    struct manifest_problems *problems;
    POOL_LIST(struct mof_class) classes;
};

/* Fills `f->classes`. False: a syntax error, which was reported. */
bool mof_parse(struct mof_file *f);
/* Reports "what" at a line. */
void mof_wrong(struct mof_file *f, bool error, uint32_t line, const char *advice, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* NULL: it has no such qualifier. Names are compared without case. */
const struct mof_qualifier *mof_qualifier_find(const mof_qualifiers *list, const char *name);
/* The first value as text; NULL: no such qualifier, or no value. */
const char *mof_qualifier_text(const mof_qualifiers *list, const char *name);
#endif
