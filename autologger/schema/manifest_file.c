#include "autologger/schema/manifest_file.h"

#include "autologger/schema/manifest_model.h"
#include "autologger/schema/manifest_pack.h"
#include "autologger/schema/mof.h"
#include "autologger/schema/tmf.h"
#include "registry-sim/text/encoding.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool manifest_is_named(const char *path, const char *suffix)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, suffix) == 0;
}

/* A text in any encoding: MOF and TMF files of Windows are UTF-16 or its code page. */
static wstatus manifest_text_read(const struct file_bytes *f, const char *path, struct manifest_problems *problems,
                                  manifest_taker *take, void *ctx, struct reason *why)
{
    char            *text = NULL;
    size_t           size;
    enum encoding    was;
    struct manifest *m;
    wstatus          st = encoding_to_utf8(f->data, f->size, &text, &size, &was, why);

    if (st)
        return st;
    const bool xml = size && text[strspn(text, " \t\r\n")] == '<';
    if (tmf_is(text, size) || (!xml && manifest_is_named(path, ".tmf")))
        st = tmf_read(text, size, path, problems, &m, why);
    else if (mof_is(text, size) || (!xml && manifest_is_named(path, ".mof")))
        st = mof_read(text, size, path, problems, &m, why);
    else
        st = manifest_read(f->data, f->size, path, problems, &m, why);
    free(text);
    return st ? st : take(ctx, m, why);
}

wstatus manifest_file(const char *path, struct manifest_problems *problems, manifest_taker *take, void *ctx,
                      struct reason *why)
{
    struct file_bytes f;
    wstatus           st = file_bytes_read(path, &f, why);

    if (st)
        return st;
    if (f.elf || manifest_is_packed(f.data, f.size))
        st = manifest_bytes_read(&f, path, problems, take, ctx, why);
    else
        st = manifest_text_read(&f, path, problems, take, ctx, why);
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
