/* tdh_payload.c - payload filters of tdh.h: predicates in texts, compiled with the event's description. See
 * wire/payload_filter.h. */
#include "autologger/include/tdh.h"

#include "autologger/consumer/tdh_state.h"
#include "autologger/consumer/wide_text.h"
#include "autologger/schema/classic.h"
#include "autologger/schema/payload_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(PAYLOAD_PREDICATES == MAX_PAYLOAD_PREDICATES && (int)PAYLOAD_MODULO == PAYLOADFIELD_MODULO &&
                   (int)PAYLOAD_CONTAINS == PAYLOADFIELD_CONTAINS && (int)PAYLOAD_IS_NOT == PAYLOADFIELD_ISNOT &&
                   FILTER_PAYLOAD_MAX == MAX_EVENT_FILTER_PAYLOAD_SIZE,
               "the SDK's");

#define MAGIC UINT32_C(0x46504C41) /* "ALPF" */
/* A program's payload filter: one entry, and the provider of its event. */
struct filter {
    uint32_t             magic;
    GUID                 provider;
    struct payload_bytes bytes;
};

static TDHSTATUS predicates(struct payload_clause *c, const PAYLOAD_FILTER_PREDICATE *p, ULONG count,
                            char *text[2 * PAYLOAD_PREDICATES])
{
    for (ULONG i = 0; i < count; i++) {
        char *field = text[2 * i] = utf8_of_wide(p[i].FieldName, PAYLOAD_TEXT),
             *value = text[2 * i + 1] = utf8_of_wide(p[i].Value, PAYLOAD_TEXT);
        if (!field || !value || p[i].CompareOp > UINT8_MAX)
            return ERROR_INVALID_PARAMETER;
        c->predicate[i] = (struct payload_asked){.field = field, .text = value, .op = (uint8_t)p[i].CompareOp};
    }
    c->predicates = count;
    return ERROR_SUCCESS;
}

/* Compiles with the event's description: its layout, then the bytes. */
static TDHSTATUS tdh_payload_compile(struct payload_clause *c, LPCGUID provider, PCEVENT_DESCRIPTOR d,
                                     struct payload_bytes *out)
{
    struct schema_key  key = {.hook = CLASSIC_NONE, .id = d->Id, .version = d->Version, .opcode = d->Opcode};
    struct reason      why = {0};
    char               id[16];
    struct schema_set *set = tdh_lock();
    if (!set)
        return ERROR_NOT_ENOUGH_MEMORY;
    memcpy(&key.provider, provider, sizeof key.provider);
    const struct schema_event *e  = schema_set_find(set, &key);
    TDHSTATUS                  st = e ? payload_layout(e, c, &why) : ERROR_NOT_FOUND;
    snprintf(id, sizeof id, "%u", d->Id);
    c->event = e && e->name && *e->name ? e->name : id;
    if (!st)
        st = payload_add(out, c, &why);
    tdh_unlock();
    return st;
}

TDHSTATUS TdhCreatePayloadFilter(LPCGUID provider, PCEVENT_DESCRIPTOR d, BOOLEAN any, ULONG count,
                                 PPAYLOAD_FILTER_PREDICATE p, PVOID *out)
{
    char *text[2 * PAYLOAD_PREDICATES] = {NULL};
    if (out)
        *out = NULL;
    if (!provider || !d || !p || !out || !count || count > PAYLOAD_PREDICATES)
        return ERROR_INVALID_PARAMETER;
    struct filter         *f  = calloc(1, sizeof *f);
    struct payload_clause *c  = calloc(1, sizeof *c);
    TDHSTATUS              st = f && c ? predicates(c, p, count, text) : ERROR_NOT_ENOUGH_MEMORY;
    if (!st) {
        c->flags = any ? PAYLOAD_ANY : 0;
        st       = tdh_payload_compile(c, provider, d, &f->bytes);
    }
    for (ULONG i = 0; i < 2 * PAYLOAD_PREDICATES; i++)
        free(text[i]);
    free(c);
    if (st) {
        free(f);
        return st;
    }
    f->magic    = MAGIC;
    f->provider = *provider;
    *out        = f;
    return ERROR_SUCCESS;
}

TDHSTATUS TdhDeletePayloadFilter(PVOID *filter)
{
    struct filter *f = filter ? *filter : NULL;
    if (!f || f->magic != MAGIC)
        return ERROR_INVALID_PARAMETER;
    f->magic = 0;
    free(f);
    *filter = NULL;
    return ERROR_SUCCESS;
}

TDHSTATUS TdhAggregatePayloadFilters(ULONG count, PVOID *filters, PBOOLEAN match_all, PEVENT_FILTER_DESCRIPTOR out)
{
    struct reason why;
    TDHSTATUS     st = ERROR_SUCCESS;
    if (!count || !filters || !out)
        return ERROR_INVALID_PARAMETER;
    memset(out, 0, sizeof *out);
    struct payload_bytes *bytes = calloc(1, sizeof *bytes);
    if (!bytes)
        return ERROR_NOT_ENOUGH_MEMORY;
    for (ULONG i = 0; i < count && !st; i++) {
        const struct filter *f = filters[i];
        if (!f || f->magic != MAGIC ||
            memcmp(&f->provider, &((const struct filter *)filters[0])->provider, sizeof f->provider) != 0)
            st = ERROR_INVALID_PARAMETER;
        else
            st = payload_append(bytes, (const void *)(f->bytes.at + sizeof(struct payload_head)),
                                match_all && match_all[i] ? PAYLOAD_ALL : 0, &why);
    }
    void *data = st ? NULL : malloc(bytes->size);
    if (!st && !data)
        st = ERROR_NOT_ENOUGH_MEMORY;
    if (data) {
        memcpy(data, bytes->at, bytes->size);
        *out = (EVENT_FILTER_DESCRIPTOR){
            .Ptr = (ULONGLONG)(uintptr_t)data, .Size = (ULONG)bytes->size, .Type = EVENT_FILTER_TYPE_PAYLOAD};
    }
    free(bytes);
    return st;
}

TDHSTATUS TdhCleanupPayloadEventFilterDescriptor(PEVENT_FILTER_DESCRIPTOR d)
{
    if (!d || (d->Ptr && d->Type != EVENT_FILTER_TYPE_PAYLOAD))
        return ERROR_INVALID_PARAMETER;
    free((void *)(uintptr_t)d->Ptr);
    memset(d, 0, sizeof *d);
    return ERROR_SUCCESS;
}
