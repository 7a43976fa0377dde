/* Any bytes as a profile of Windows Performance Recorder: what is taken is INI that imports, whatever stood in the profile. */
#include "autologger/plan/plan.h"
#include "tools/files/wprp_source.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag_sink sink = {0};
    struct reason    why;
    char            *document = malloc(size + 1), *text = NULL;
    size_t           length;
    struct regstore *store = NULL;
    if (!document)
        return 0;
    memcpy(document, data, size);
    document[size] = 0;
    if (!wprp_convert_text(document, size, "fuzz.wprp", NULL, &text, &length, &sink, &why) &&
        !regstore_open_memory(&store, &why))
        ini_import(store, text, length, "fuzz.wprp", plan_vocabulary(), &sink, &why);
    regstore_close(store);
    free(text);
    free(document);
    return 0;
}
