#include "autologger/consumer/decoded.h"

#include "autologger/schema/classic.h"
#include "autologger/schema/tracelogging.h"

#include <stdio.h>

static enum description described_by(const struct schema_event *schema)
{
    static const enum description of[] = {
        [SCHEMA_SELF] = DESCRIBED_TRACELOGGING, [SCHEMA_MANIFEST] = DESCRIBED_MANIFEST,
        [SCHEMA_EMBEDDED] = DESCRIBED_EMBEDDED, [SCHEMA_CLASSIC] = DESCRIBED_CLASSIC,
        [SCHEMA_STRING] = DESCRIBED_STRING,     [SCHEMA_NONE] = DESCRIBED_NOT};
    return of[schema->source];
}

static const char *number_name(struct decoded *out, unsigned number)
{
    snprintf(out->own, sizeof out->own, "%u", number);
    return out->own;
}

/* Names a kernel event by its class: some classes have names, but no layout. */
static void class_names(const struct etl_event *e, struct decoded *out)
{
    char full[sizeof out->own];

    out->provider = classic_class(out->hook);
    if (!out->provider)
        return;
    out->by = DESCRIBED_CLASSIC;
    if (out->schema) {
        out->event = out->schema->name;
        return;
    }
    classic_name(out->hook, full, sizeof full);
    snprintf(out->own, sizeof out->own, "%s", strchr(full, '/') + 1);
    out->event = out->own;
    (void)e;
}

/* "Task/Opcode", for a manifest's event without a name. */
static const char *task_name(const struct schema_event *s, struct decoded *out)
{
    if (s->task_name && s->opcode_name && s->opcode) {
        snprintf(out->own, sizeof out->own, "%s/%s", s->task_name, s->opcode_name);
        return out->own;
    }
    return s->task_name && *s->task_name ? s->task_name : NULL;
}

void decoded_names(struct schema_set *set, const struct etl_event *e, struct decoded *out)
{
    const struct schema_event *s = schema_set_describe(set, e);
    out->schema                  = s;
    out->hook                    = classic_hook(e);
    out->provider                = NULL;
    out->event                   = NULL;
    out->by                      = s ? described_by(s) : DESCRIBED_NOT;
    if (out->hook != CLASSIC_NONE && (!s || s->source == SCHEMA_CLASSIC))
        class_names(e, out);
    else if (s && s->source != SCHEMA_STRING) {
        out->provider = *s->provider->name ? s->provider->name : NULL;
        out->event    = s->name && *s->name ? s->name : task_name(s, out);
        if (s->source == SCHEMA_SELF)
            out->event = s->name;
    } else if (s) {
        out->event = s->name;
    }
    if (!out->event)
        out->event = number_name(out, e->kind == ETL_KIND_EVENT || e->kind == ETL_KIND_MESSAGE ? e->id : e->opcode);
}

enum decode_result decoded_fields(const struct etl_event *e, const struct decoded *names, struct field_sink *sink,
                                  uint32_t *used)
{
    *used = 0;
    if (names->schema)
        return walk_fields(names->schema, e->payload, e->payload_size, e->is_64bit, sink, used);
    return e->payload_size ? DECODE_UNKNOWN : DECODE_OK; /* no payload: nothing is missing */
}

unsigned decoded_stack(const struct etl_event *e, uint64_t *frames, unsigned most)
{
    const uint32_t stacks = UINT32_C(1) << ETL_EXT_STACK64 | UINT32_C(1) << ETL_EXT_STACK32;
    const uint8_t *data;
    uint32_t       size;
    unsigned       n = 0, width = 8;

    if (!e->ext || (e->ext_lacks & stacks) == stacks)
        return 0;

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
