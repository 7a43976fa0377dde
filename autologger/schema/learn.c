#include "autologger/schema/learn.h"

#include "autologger/schema/chunks.h"

#include <stdlib.h>

static void take_manifest(struct learner *l, struct schema_set *set)
{
    const struct text *xml = &l->pieces->whole;

    if (xml->length > LEARN_XML_MAX - l->bytes)
        return;
    l->bytes += xml->length;
    l->manifest(l->ctx, set, text_get(xml), xml->length);
}

void learner_see(struct learner *l, struct schema_set *set, const struct etl_event *e)
{
    struct schema_key key;

    if (e->kind == ETL_KIND_FULL) {
        schema_key_of(e, &key);
        schema_set_learn(set, &key, e->payload, e->payload_size);
    } else if (chunks_is(e) && l->manifest) {
        if (!l->pieces)
            l->pieces = calloc(1, sizeof *l->pieces);
        if (l->pieces && chunks_see(l->pieces, e))
            take_manifest(l, set);
    }
}

void learner_finish(struct learner *l)
{
    if (l->pieces)
        chunks_finish(l->pieces);
    free(l->pieces);
    l->pieces = NULL;
}

void learn_search(void *ctx, struct schema_set *set)
{
    const struct learn_files *files   = ctx;
    struct learner            learner = {.manifest = files->manifest, .ctx = files->ctx};
    struct etl_reader        *r;
    struct etl_event          e;
    struct reason             why;

    for (unsigned i = 0; i < files->count; i++) {
        if (etl_reader_open(files->paths[i], &r, &why))
            continue;
        while (etl_next(r, &e))
            learner_see(&learner, set, &e);
        etl_reader_close(r);
    }
    learner_finish(&learner);
}
