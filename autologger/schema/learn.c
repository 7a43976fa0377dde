#include "autologger/schema/learn.h"

#include "autologger/schema/chunks.h"

#include <stdlib.h>

static void look(const struct learn_files *files, const struct etl_event *e, struct chunks *chunks, struct schema_set *set)
{
    struct schema_key key;

    if (e->kind == ETL_KIND_FULL) {
        schema_key_of(e, &key);
        schema_set_learn(set, &key, e->payload, e->payload_size);
    } else if (files->manifest && chunks && chunks_see(chunks, e)) {
        files->manifest(files->ctx, set, text_get(&chunks->whole), chunks->whole.length);
    }
}

void learn_search(void *ctx, struct schema_set *set)
{
    const struct learn_files *files  = ctx;
    struct chunks            *chunks = calloc(1, sizeof *chunks);
    struct etl_reader        *r;
    struct etl_event          e;
    struct reason             why;

    for (unsigned i = 0; i < files->count; i++) {
        if (etl_reader_open(files->paths[i], &r, &why))
            continue;
        while (etl_next(r, &e))
            look(files, &e, chunks, set);
        etl_reader_close(r);
    }
    if (chunks)
        chunks_finish(chunks);
    free(chunks);
}
