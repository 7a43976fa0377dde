/* Any bytes as the binary form of a manifest (with its checksum made right, else nothing would come through), and as an
 * ELF file.
 * Proves: the binary metadata as bad input. */
#include "autologger/schema/elf_section.h"
#include "autologger/schema/manifest_model.h"
#include "autologger/schema/manifest_pack.h"
#include "autologger/schema/walk.h"
#include "registry-sim/base/crc32.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *self, const struct field *f) { (void)self, (void)f; }

static void decode(struct schema_set *set, const uint8_t *data, size_t size)
{
    struct field_sink             sink = {.emit = ignore};
    enum schema_source            source;
    const struct schema_provider *p;
    uint32_t                      used;
    size = size > 512 ? 512 : size;
    for (size_t i = 0; (p = schema_set_provider(set, i, &source)); i++)
        for (unsigned k = 0; k < p->event_count; k++) {
            walk_fields(p->events[k], data, size, true, &sink, &used);
            if (used > size)
                abort();
        }
    field_sink_finish(&sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t           used;
    uint64_t         offset, length;
    struct manifest *m;
    struct reason    why  = {0};
    uint8_t         *copy = malloc(size + PACK_HEADER);

    struct elf_source file = elf_source_memory(data, size);
    if (elf_section_find(&file, MANIFEST_SECTION, &offset, &length) && (offset > size || length > size - offset))
        abort();
    if (!copy)
        return 0;
    uint32_t head[4] = {PACK_MAGIC, PACK_METADATA | PACK_VERSION << 16, (uint32_t)size + PACK_HEADER,
                        crc32_of(data, size)};
    memcpy(copy, head, sizeof head);
    memcpy(copy + sizeof head, data, size);
    if (manifest_unpack(copy, size + PACK_HEADER, "fuzz", &used, &m, &why) == W_SUCCESS) {
        struct schema_set *set = schema_set_new();
        if (set) {
            manifest_schemas(m, 0, SCHEMA_MANIFEST, set, &why);
            decode(set, data, size);
        }
        schema_set_free(set);
        manifest_free(m);
    }
    free(copy);
    return 0;
}
