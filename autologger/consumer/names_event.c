#include "autologger/consumer/names_event.h"

#include "autologger/schema/tracelogging.h"
#include "autologger/wire/names.h"

enum { CHANNEL_TRACELOGGING = 11, LEVEL_INFORMATION = 4 };

bool own_event_is(const struct etl_event *e, const char *provider_name, const char *name)
{
    struct tracelogging_names names;

    if (e->kind != ETL_KIND_EVENT || e->channel != CHANNEL_TRACELOGGING)
        return false;
    tracelogging_names(e, &names);
    if (!names.event || !names.provider || strcmp(names.event, name) != 0 || strcmp(names.provider, provider_name) != 0)
        return false;
    struct guid provider = guid_from_name(provider_name); /* last: it is a hash */
    return guid_equal(&e->provider, &provider);
}

bool names_event_is(const struct etl_event *e, const char *name) { return own_event_is(e, NAMES_PROVIDER, name); }

/* An extended item whose data begin with their own size. */
static void wr_item(struct writer *w, uint16_t type, const void *data, size_t size, bool more)
{
    static const uint8_t zeros[8];
    uint16_t             whole = (uint16_t)(size + 2);
    struct etl_ext_item  item  = {(uint16_t)(sizeof item + ((whole + 7u) & ~7u)), type, more, whole};

    wr_bytes(w, &item, sizeof item);
    wr_u16(w, whole);
    wr_bytes(w, data, size);
    wr_bytes(w, zeros, (8 - whole % 8u) % 8u);
}

void own_event_begin(struct writer *w, const char *provider, const void *schema, size_t size, int64_t time)
{
    struct etl_event_header h = {.header_type = ETL_EVENT64,
                                 .marker      = ETL_MARKER,
                                 .flags       = ETL_EVENT_EXTENDED,
                                 .time        = time,
                                 .provider    = guid_from_name(provider),
                                 .channel     = CHANNEL_TRACELOGGING,
                                 .level       = LEVEL_INFORMATION};
    wr_bytes(w, &h, sizeof h);
    wr_item(w, ETL_EXT_PROV_TRAITS, provider, strlen(provider) + 1, true);
    wr_item(w, ETL_EXT_SCHEMA_TL, schema, size, false);
}

void names_event_begin(struct writer *w, const void *schema, size_t size, int64_t time)
{
    own_event_begin(w, NAMES_PROVIDER, schema, size, time);
}

void own_event_text(struct writer *w, const char *text)
{
    wr_bytes(w, text, strlen(text));
    wr_u8(w, 0);
}

bool names_event_end(struct writer *w)
{
    uint16_t size = (uint16_t)w->pos;
    if (!wr_ok(w) || w->pos > ETL_MAX_EVENT)
        return false;
    memcpy(w->data, &size, sizeof size);
    return true;
}
