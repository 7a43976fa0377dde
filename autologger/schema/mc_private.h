/* mc_private.h - shared by the files of the message compiler (mc.h); nobody else includes it. */
#ifndef AUTOLOGGER_SCHEMA_MC_PRIVATE_H
#define AUTOLOGGER_SCHEMA_MC_PRIVATE_H
#include "autologger/schema/mc.h"

enum { MC_DESCRIPTORS_MAX = 128 };

/* The C names of a header. A constant may come again. */
struct mc_names {
    struct mc_name_row {
        char    *text;
        uint64_t value; /* of a constant */
        uint32_t line;
        bool     constant;
    } * at;
    unsigned                  count, room;
    unsigned                 *slots; /* an open table of indexes + 1; a power of two, at least twice `room` */
    bool                      failed;
    const char               *file;
    struct manifest_problems *problems;
};
/* Takes the name; false: it is there already, so the header must not define it again. What differs is told. */
bool mc_names_constant(struct mc_names *n, const char *text, uint64_t value, uint32_t line);
bool mc_names_object(struct mc_names *n, const char *text, uint32_t line);
void mc_names_finish(struct mc_names *n);
/* `t` may be NULL: no template, no payload. */
unsigned mc_descriptors(const struct manifest_template *t);
void     mc_template_name(const struct manifest_template *t, bool callout, struct text *out);
void     mc_template_function(const struct manifest_template *t, bool callout, struct text *out);
/* What all headers have in common: strings, the context of a provider, what changes it. */
void mc_common(struct text *out);
/* The names of the fields, as the arguments of the macro of an event: "url, status". */
void mc_arguments(const struct manifest_template *t, const char *event, struct text *out);
#endif
