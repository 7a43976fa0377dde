/* manifest_model.h - turns a manifest into schemas (schema.h), with the texts of one culture.
 * Threads: one per set. Ownership: the set takes the schemas; the manifest may be freed.
 * Not for: other sources of schemas. */
#ifndef AUTOLOGGER_SCHEMA_MANIFEST_MODEL_H
#define AUTOLOGGER_SCHEMA_MANIFEST_MODEL_H
#include "autologger/schema/manifest.h"
#include "autologger/schema/set.h"

/* One provider; `culture`: from manifest_culture_find. An event whose template makes no valid schema has its names
 * alone: its payload stays bytes. NULL: W_NOT_ENOUGH_MEMORY. */
struct schema_provider *manifest_schema(const struct manifest *m, const struct manifest_provider *p, int culture,
                                        struct reason *why);
/* A learn_manifest (learn.h) for the XML of a manifest in a trace. ctx: the culture, const char *. Part of
 * al_manifest. */
void manifest_learn(void *ctx, struct schema_set *set, const void *xml, size_t size);
/* Adds all providers to the set. Those added before a failure stay. */
wstatus manifest_schemas(const struct manifest *m, int culture, enum schema_source source, struct schema_set *set,
                         struct reason *why);
#endif
