/* Payload filters as in shared memory, against an event of any description and payload: nothing is read behind its end,
 * and a valid filter can be said in words. The first two bytes divide the input into filter, description and
 * payload. */
#include "autologger/provider/payload.h"
#include "autologger/wire/payload_filter.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *copy_of(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1); /* aligned, and nothing behind it */
    if (copy && size)
        memcpy(copy, data, size);
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    const size_t left = size - 2, filter = left * data[0] / 255, meta = (left - filter) * data[1] / 255,
                 body = left - filter - meta;
    uint8_t *f = copy_of(data + 2, filter), *m = copy_of(data + 2 + filter, meta),
            *p = copy_of(data + 2 + filter + meta, body);
    char text[300];
    if (f && m && p) {
        const EVENT_DESCRIPTOR d = {.Id = f[filter ? filter - 1 : 0]};
        EVENT_DATA_DESCRIPTOR  pieces[2];
        EventDataDescCreate(&pieces[0], p, (ULONG)(body / 2));
        EventDataDescCreate(&pieces[1], p + body / 2, (ULONG)(body - body / 2));
        struct filter_event e = {.d = &d, .data = pieces, .count = 2};
        payload_passes(f, (uint32_t)filter, &e);
        e.metadata      = m;
        e.metadata_size = (uint32_t)meta;
        if ((e.name = filter_event_name(m, meta)))
            payload_passes(f, (uint32_t)filter, &e);
        if (payload_check(f, filter, NULL) == 0)
            payload_describe(f, filter, text, sizeof text);
    }
    free(f);
    free(m);
    free(p);
    return 0;
}
