/* Any bytes as a source and its configuration: what is made of it is a sound TMF file with as many messages.
 * Proves: sources as bad input. */
#include "autologger/schema/tmf.h"
#include "autologger/wpp/wpp.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest_problems problems = {0}, own = {0};
    struct wpp_config       *c    = wpp_config_new();
    struct wpp_made          made = {0};
    struct manifest         *m;
    struct reason            why  = {0};
    char                    *text = malloc(size + 1);

    if (c && text) {
        memcpy(text, data, size);
        text[size] = 0;
        (void)wpp_config_scan(c, text, size, "f.h", &problems, &why);
        if (!wpp_make(c, "fuzz", "f.c", text, size, &problems, &made, &why)) {
            if (tmf_read(text_get(&made.format), made.format.length, "f", &own, &m, &why))
                abort(); /* made by us, and not readable */
            unsigned values = 0;
            for (unsigned i = 0; i < m->providers.at[0].templates.count; i++)
                values += m->providers.at[0].templates.at[i].fields.count;
            if (m->providers.at[0].events.count != made.messages || values != made.values)
                abort();
            manifest_free(m);
        }
    }
    wpp_made_finish(&made);
    wpp_config_free(c);
    free(text);
    return 0;
}
