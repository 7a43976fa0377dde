/* Any bytes as a TMF or a MOF file: what is taken packs, unpacks and becomes schemas, and decodes a payload.
 * Proves: descriptions as bad input. */
#include "autologger/schema/manifest_model.h"
#include "autologger/schema/manifest_pack.h"
#include "autologger/schema/message.h"
#include "autologger/schema/mof.h"
#include "autologger/schema/tmf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(struct schema_set *set, const struct manifest *m, const uint8_t *data, size_t size)
{
    for (unsigned p = 0; p < m->providers.count && p < 4; p++)
        for (unsigned i = 0; i < m->providers.at[p].events.count && i < 4; i++) {
            const struct manifest_event *e   = &m->providers.at[p].events.at[i];
            const struct schema_key      key = {.provider = m->providers.at[p].guid,
                                                .id       = (uint16_t)e->item.value,
                                                .opcode   = e->opcode,
                                                .version  = e->version,
                                                .hook     = 0xFFFF,
                                                .classic  = m->kind == MANIFEST_CLASSES,
                                                .message  = m->kind == MANIFEST_MESSAGES};
            const struct schema_event   *s   = schema_set_find(set, &key);
            struct text                  out = {0};
            if (s)
                message_text(s, data, size, true, &out);
            text_finish(&out);
        }
}

static void use(struct manifest *m, const uint8_t *data, size_t size)
{
    struct schema_set *set = schema_set_new();
    struct manifest   *back;
    struct text        out = {0};
    struct reason      why = {0};
    size_t             used;

    if (set && manifest_schemas(m, -1, SCHEMA_MANIFEST, set, &why) == W_SUCCESS && manifest_pack_all(m, &out)) {
        decode(set, m, data, size);
        if (out.length < MANIFEST_FILE_MAX) {
            if (manifest_unpack(out.data, out.length, "x", &used, &back, &why))
                abort(); /* a text that was accepted is valid in the binary form */
            manifest_free(back);
        }
    }
    schema_set_free(set);
    text_finish(&out);
    manifest_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    for (unsigned forgiving = 0; forgiving < 2; forgiving++) {
        struct manifest_problems problems = {.forgiving = forgiving};
        struct manifest         *m;
        struct reason            why = {0};
        if (tmf_read(text, size, "fuzz.tmf", &problems, &m, &why) == W_SUCCESS)
            use(m, data, size);
        if (mof_read(text, size, "fuzz.mof", &problems, &m, &why) == W_SUCCESS)
            use(m, data, size);
    }
    (void)tmf_is(text, size);
    (void)mof_is(text, size);
    free(text);
    return 0;
}
