/* manifest_model.h - a manifest as schemas (schema.h), in the texts of one culture. Threads: one per set. Ownership:
 * the set takes what is made; the manifest may go. Not for: other sources of schemas. */
#ifndef AUTOLOGGER_SCHEMA_MANIFEST_MODEL_H
#define AUTOLOGGER_SCHEMA_MANIFEST_MODEL_H
#include "autologger/schema/manifest.h"
#include "autologger/schema/set.h"

/* One provider; `culture` by manifest_culture_find. An event whose template is not
 * what a schema can be has its names alone: its payload stays bytes. NULL: W_NOT_ENOUGH_MEMORY. */
struct schema_provider *manifest_schema(const struct manifest *m, const struct manifest_provider *p, int culture,
                                        struct reason *why);
/* A learn_manifest (learn.h): the XML of a manifest that is in a trace. ctx: the culture, const char *. Of
 * al_manifest. */
void manifest_learn(void *ctx, struct schema_set *set, const void *xml, size_t size);
/* All of them, into the set. What was added before a failure stays. */
wstatus manifest_schemas(const struct manifest *m, int culture, enum schema_source source, struct schema_set *set,
                         struct reason *why);
#endif
