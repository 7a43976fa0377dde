#include "autologger/schema/manifest_file.h"

#include "autologger/schema/manifest_model.h"
#include "autologger/schema/manifest_pack.h"

wstatus manifest_file(const char *path, struct manifest_problems *problems, manifest_taker *take, void *ctx,
                      struct reason *why)
{
    struct file_bytes f;
    struct manifest  *m;
    wstatus           st = file_bytes_read(path, &f, why);

    if (st)
        return st;
    if (f.elf || manifest_is_packed(f.data, f.size))
        st = manifest_unpack_all(f.data, f.size, path, take, ctx, why);
    else if (!(st = manifest_read(f.data, f.size, path, problems, &m, why)))
        st = take(ctx, m, why);
    file_bytes_free(&f);
    return st;
}

void manifest_learn(void *ctx, struct schema_set *set, const void *xml, size_t size)
{
    struct manifest_problems problems = {.forgiving = true};
    struct manifest         *m;
    struct reason            why;

    if (manifest_read(xml, size, "manifest in the trace", &problems, &m, &why))
        return;
    manifest_schemas(m, manifest_culture_find(m, ctx), SCHEMA_EMBEDDED, set, &why);
    manifest_free(m);
}
