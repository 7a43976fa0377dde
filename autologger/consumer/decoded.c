#include "autologger/consumer/decoded.h"

#include "autologger/consumer/classic.h"
#include "autologger/consumer/tracelogging.h"

#include <stdio.h>

/* Copies a name from the file as valid UTF-8; too long ones are cut at a whole character. */
static void copy_name(char *out, size_t size, const char *name)
{
    size_t n = strlen(name), i = 0;

    while (i < n && (unsigned char)name[i] < 0x80)
        i++;
    if (i == n && n < size) {
        memcpy(out, name, n + 1);
        return;
    }
    struct text clean = {0};
    text_utf8(&clean, name, n);
    n = clean.length < size ? clean.length : size - 1;
    while (n > 0 && n < clean.length && ((unsigned char)clean.data[n] & 0xC0) == 0x80)
        n--;
    memcpy(out, text_get(&clean), n);
    out[n] = 0;
    text_finish(&clean);
}

void decoded_names(const struct etl_event *e, struct decoded *out)
{
    struct tracelogging_names names = {0};

    *out = (struct decoded){.hook = classic_hook(e)};
    if (out->hook != CLASSIC_NONE && (out->provider = classic_class(out->hook)) != NULL) {
        char full[sizeof out->event];
        classic_name(out->hook, full, sizeof full);
        snprintf(out->event, sizeof out->event, "%s", strchr(full, '/') + 1);
        out->by = DESCRIBED_CLASSIC;
        return;
    }
    if (e->kind == ETL_KIND_EVENT)
        tracelogging_names(e, &names);
    out->provider = names.provider && *names.provider ? names.provider : NULL;
    if (names.event) {
        copy_name(out->event, sizeof out->event, names.event);
        out->by = DESCRIBED_TRACELOGGING;
    } else if (e->kind == ETL_KIND_EVENT && e->flags & ETL_EVENT_STRING_ONLY) {
        snprintf(out->event, sizeof out->event, "String");
        out->by = DESCRIBED_STRING;
    } else {
        snprintf(out->event, sizeof out->event, "%u",
                 e->kind == ETL_KIND_EVENT || e->kind == ETL_KIND_MESSAGE ? e->id : e->opcode);
    }
}

enum decode_result decoded_fields(const struct etl_event *e, const struct decoded *names, struct field_sink *sink,
                                  uint32_t *used)
{
    *used = 0;
    switch (names->by) {
    case DESCRIBED_TRACELOGGING: return tracelogging_decode(e, sink, used);
    case DESCRIBED_CLASSIC: return classic_decode(e, sink, used);
    case DESCRIBED_STRING: return classic_layout("Message:w", e, sink, used);
    case DESCRIBED_NOT: break;
    }
    return e->payload_size ? DECODE_UNKNOWN : DECODE_OK; /* no payload: nothing is missing */
}

unsigned decoded_stack(const struct etl_event *e, uint64_t *frames, unsigned most)
{
    const uint8_t *data;
    uint32_t       size;
    unsigned       n = 0, width = 8;

    if (!etl_ext_find(e, ETL_EXT_STACK64, &data, &size)) {
        width = 4;
        if (!etl_ext_find(e, ETL_EXT_STACK32, &data, &size))
            return 0;
    }
    struct cursor c = cur_make(data, size);
    cur_u64(&c); /* MatchId */
    while (n < most && cur_left(&c) >= width)
        frames[n++] = width == 8 ? cur_u64(&c) : cur_u32(&c);
    return n;
}
