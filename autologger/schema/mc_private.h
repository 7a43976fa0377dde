/* mc_private.h - shared by the files of the message compiler (mc.h); no other file includes it. */
#ifndef AUTOLOGGER_SCHEMA_MC_PRIVATE_H
#define AUTOLOGGER_SCHEMA_MC_PRIVATE_H
#include "autologger/schema/mc.h"

enum { MC_DESCRIPTORS_MAX = 128 };

/* The C names of a header. A constant may occur again. */
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
/* Adds the name; false: it exists, so the header must not define it again. Clashes are reported. */
bool mc_names_constant(struct mc_names *n, const char *text, uint64_t value, uint32_t line);
bool mc_names_object(struct mc_names *n, const char *text, uint32_t line);
void mc_names_finish(struct mc_names *n);
/* `t` may be NULL: no template, no payload. */
unsigned mc_descriptors(const struct manifest_template *t);
void     mc_template_name(const struct manifest_template *t, bool callout, struct text *out);
void     mc_template_function(const struct manifest_template *t, bool callout, struct text *out);
/* The common part of all headers: strings, the context of a provider, its control callback. */
void mc_common(struct text *out);
/* The names of the fields, as the arguments of the macro of an event: "url, status". */
void mc_arguments(const struct manifest_template *t, const char *event, struct text *out);
#endif
