#include "autologger/schema/learn.h"

void learn_search(void *ctx, struct schema_set *set)
{
    const struct learn_files *files = ctx;
    struct etl_reader        *r;
    struct etl_event          e;
    struct schema_key         key;
    struct reason             why;

    for (unsigned i = 0; i < files->count; i++) {
        if (etl_reader_open(files->paths[i], &r, &why))
            continue;
        while (etl_next(r, &e)) {
            if (e.kind != ETL_KIND_FULL)
                continue;
            schema_key_of(&e, &key);
            schema_set_learn(set, &key, e.payload, e.payload_size);
        }
        etl_reader_close(r);
    }
}
