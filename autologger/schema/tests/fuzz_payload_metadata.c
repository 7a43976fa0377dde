/* Fuzz target: the input is the payload of an event of Channel 11. Where it begins with TraceLogging metadata, the
 * description and the walk stay within it, whatever its sizes say. */
#include "autologger/schema/event_info.h"
#include "autologger/schema/set.h"
#include "autologger/schema/tracelogging.h"
#include "autologger/schema/walk.h"

#include <stdlib.h>
#include <string.h>

static void take(void *self, const struct field *f)
{
    size_t *sum = self;
    *sum += strlen(f->path) + f->length + (unsigned char)f->text[0];
}

static void walk(const struct schema_event *e, const struct etl_event *event)
{
    size_t               sum  = 0;
    struct field_sink    sink = {.emit = take, .self = &sum};
    struct event_info_of of   = {
          .payload = event->payload, .payload_size = event->payload_size, .is_64bit = event->is_64bit};
    struct text        text = {0};
    uint32_t           used;
    enum decode_result r = walk_fields(e, event->payload, event->payload_size, event->is_64bit, &sink, &used);

    if (used > event->payload_size || used < e->prefix || (r == DECODE_OK && used != event->payload_size))
        abort();
    if (!event_info_build(e, &of, &text))
        abort();
    text_finish(&text);
    field_sink_finish(&sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct schema_set  *set; /* one set for all inputs, so that stored descriptions are tested as well */
    struct tracelogging_prefix prefix;
    uint8_t                   *payload = malloc(size ? size : 1); /* ASan sees any byte past it */

    if (!set)
        set = schema_set_new();
    if (size > UINT16_MAX)
        size = UINT16_MAX;
    memcpy(payload, data, size);
    struct etl_event event = {
        .kind = ETL_KIND_EVENT, .channel = TRACELOGGING_CHANNEL, .payload = payload, .payload_size = (uint32_t)size};
    bool                       is = tracelogging_in_payload(payload, size, &prefix);
    const struct schema_event *e  = schema_set_describe(set, &event);
    if (is && prefix.traits + (size_t)prefix.metadata > size)
        abort();
    if (e && (!is || e->prefix != (uint32_t)prefix.traits + prefix.metadata))
        abort();
    for (int wide = 0; e && wide < 2; wide++) {
        event.is_64bit = wide;
        walk(e, &event);
    }
    free(payload);
    return 0;
}
