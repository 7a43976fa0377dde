/* Any bytes as the XML of a manifest, read both ways: what is taken packs, unpacks and becomes schemas; the forgiving
 * way takes all that the strict one takes. Proves: manifests as bad input. */
#include "autologger/schema/manifest_model.h"
#include "autologger/schema/manifest_pack.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool take(const uint8_t *data, size_t size, bool forgiving)
{
    struct manifest_problems problems = {.forgiving = forgiving};
    struct manifest         *m, *back;
    struct reason            why = {0};
    struct text              out = {0};
    size_t                   used;

    wstatus st = manifest_read(data, size, "fuzz.man", &problems, &m, &why);
    if (st == W_INVALID_DATA && !problems.errors)
        abort(); /* refused without an error message */
    if (st)
        return false;
    struct schema_set *set = schema_set_new();
    if (set && manifest_schemas(m, 0, SCHEMA_MANIFEST, set, &why) == W_SUCCESS && manifest_pack_all(m, &out)) {
        if (manifest_unpack(out.data, out.length, "x", &used, &back, &why))
            abort(); /* XML that was accepted is valid in the binary form */
        manifest_free(back);
    }
    schema_set_free(set);
    text_finish(&out);
    manifest_free(m);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool strict = take(data, size, false), forgiving = take(data, size, true);
    if (strict && !forgiving)
        abort();
    return 0;
}
