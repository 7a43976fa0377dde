/* tdh_manifests.c - the seam of tdh_state.h to manifests: XML, or metadata linked into a program's ELF file. */
#include "autologger/consumer/tdh_state.h"
#include "autologger/schema/manifest_file.h"
#include "autologger/schema/manifest_model.h"
#include "autologger/schema/manifest_pack.h"

#include <locale.h>
#include <string.h>

/* Adds all providers of a manifest or none, with texts in the language of this process. */
static wstatus tdh_manifests_add(struct schema_set *set, const struct manifest *m, const char *origin,
                                 struct reason *why)
{
    wstatus st = manifest_schemas(m, manifest_culture_find(m, setlocale(LC_MESSAGES, NULL)), SCHEMA_MANIFEST, set, why);
    if (st)
        schema_set_remove(set, SCHEMA_MANIFEST, origin);
    return st;
}

static wstatus tdh_manifests_take(void *ctx, struct manifest *m, struct reason *why)
{
    wstatus st = tdh_manifests_add(ctx, m, m->origin, why);
    manifest_free(m);
    return st;
}

wstatus tdh_manifest_load(struct schema_set *set, const char *path, struct reason *why)
{
    struct manifest_problems problems = {.forgiving = true};

    schema_set_remove(set, SCHEMA_MANIFEST, path); /* loaded again: its present contents count */
    return manifest_file(path, &problems, tdh_manifests_take, set, why);
}

wstatus tdh_binary_load(struct schema_set *set, const char *path, struct reason *why)
{
    struct manifest_problems problems = {.forgiving = true};
    struct file_bytes        f;
    wstatus                  st = file_bytes_read(path, &f, why);

    if (st)
        return st;
    schema_set_remove(set, SCHEMA_MANIFEST, path);
    if (f.elf || manifest_is_packed(f.data, f.size))
        st = manifest_bytes_read(&f, path, &problems, tdh_manifests_take, set, why);
    else
        st = reason_set(why, W_INVALID_DATA, "%s is neither an ELF file nor a compiled manifest", path);
    file_bytes_free(&f);
    return st;
}

void tdh_manifest_learn(void *ctx, struct schema_set *set, const void *xml, size_t size)
{
    (void)ctx;
    manifest_learn(setlocale(LC_MESSAGES, NULL), set, xml, size);
}

wstatus tdh_manifest_parse(struct schema_set *set, const void *data, size_t size, const char *origin,
                           struct reason *why)
{
    struct manifest_problems problems = {.forgiving = true};
    struct manifest         *m;
    wstatus                  st = manifest_read(data, size, origin, &problems, &m, why);

    if (!st) {
        st = tdh_manifests_add(set, m, origin, why);
        manifest_free(m);
    }
    return st;
}
