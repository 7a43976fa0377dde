/* mc_private.h - shared by the files of the message compiler (mc.h); nobody else includes it. */
#ifndef AUTOLOGGER_SCHEMA_MC_PRIVATE_H
#define AUTOLOGGER_SCHEMA_MC_PRIVATE_H
#include "autologger/schema/mc.h"

enum { MC_DESCRIPTORS_MAX = 128 };
/* `t` may be NULL: no template, no payload. */
unsigned mc_descriptors(const struct manifest_template *t);
void     mc_template_name(const struct manifest_template *t, struct text *out);
void     mc_template_function(const struct manifest_template *t, struct text *out);
/* The names of the fields, as the arguments of the macro of an event: "url, status". */
void mc_arguments(const struct manifest_template *t, const char *event, struct text *out);
#endif
