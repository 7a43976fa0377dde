/* Fuzz target: the first two bytes give the size of traits and metadata, the rest is the payload: for any values the
 * walk ends, stays within the payload, and the description can be made a block. */
#include "autologger/schema/event_info.h"
#include "autologger/schema/message.h"
#include "autologger/schema/set.h"

#include <stdlib.h>
#include <string.h>

static void take(void *self, const struct field *f)
{
    size_t *sum = self;
    *sum += strlen(f->path) + f->length + (unsigned char)f->text[0];
}

static uint8_t *exact(const uint8_t *p, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1); /* ASan sees any byte past it */
    memcpy(copy, p, n);
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t traits_size    = data[0] < size - 2 ? data[0] : size - 2,
           metadata_size  = data[1] < size - 2 - traits_size ? data[1] : size - 2 - traits_size;
    size_t   payload_size = size - 2 - traits_size - metadata_size, sum = 0;
    uint8_t *traits = exact(data + 2, traits_size), *metadata = exact(data + 2 + traits_size, metadata_size);
    uint8_t *payload = exact(data + size - payload_size, payload_size);
    static struct schema_set *set; /* one set for all inputs, so that stored descriptions are tested as well */
    if (!set)
        set = schema_set_new();
    struct schema_key          key = {.hook          = 0xFFFF,
                                      .traits        = traits,
                                      .traits_size   = (uint32_t)traits_size,
                                      .metadata      = metadata,
                                      .metadata_size = (uint32_t)metadata_size};
    const struct schema_event *e   = schema_set_find(set, &key);

    for (int wide = 0; e && wide < 2; wide++) {
        struct field_sink  sink = {.emit = take, .self = &sum};
        struct text        text = {0};
        uint32_t           used;
        enum decode_result r = walk_fields(e, payload, payload_size, wide, &sink, &used);
        if (used > payload_size || (r == DECODE_OK && used != payload_size))
            abort();
        struct event_info_of of = {.payload = payload, .payload_size = (uint32_t)payload_size, .is_64bit = wide};
        if (!event_info_build(e, &of, &text))
            abort();
        text_cut(&text, 0);
        if (!message_text(e, payload, payload_size, wide, &text))
            abort();
        text_finish(&text);
        field_sink_finish(&sink);
    }
    free(traits);
    free(metadata);
    free(payload);
    return 0;
}
