/* Any bytes as an INF file: what is made of it is .reg text with a line of the file for each of its lines, and is
 * imported without a syntax error. Proves: configurations of Windows as bad input. */
#include "registry-sim/store/regstore.h"
#include "tools/files/inf_source.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char            *text = malloc(size + 1);
    struct inf_text  made;
    struct diag_sink sink = {0}, own = {0};
    struct regstore *store = NULL;
    struct reason    why   = {0};

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (!inf_convert_text(text, size, "fuzz.inf", &made, &sink, &why)) {
        size_t lines = 0;
        for (const char *p = made.text; *p; p++)
            lines += *p == '\n';
        if (lines != made.count)
            abort();
        if (!regstore_open_memory(&store, &why))
            (void)reg_import(store, made.text, made.size, "fuzz.inf", REG_IMPORT_LENIENT, &own, &why);
        regstore_close(store);
        inf_free(&made);
    } else if (!sink.errors && why.status != W_INVALID_DATA && why.status != W_NOT_ENOUGH_MEMORY) {
        abort();
    }
    free(text);
    return 0;
}
