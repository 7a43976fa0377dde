/* tdh_lists.c - the functions of tdh.h that list providers, and the declarations in a provider's manifest. See there.
 * Threads: any; each call holds the lock of tdh_state.h. */
#include "autologger/include/tdh.h"

#include "autologger/consumer/tdh_state.h"
#include "autologger/schema/classic.h"
#include "autologger/schema/event_info.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>

_Static_assert(sizeof(TRACE_PROVIDER_INFO) == 24 && offsetof(PROVIDER_ENUMERATION_INFO, TraceProviderInfoArray) == 8,
               "providers");
_Static_assert(sizeof(PROVIDER_FIELD_INFO) == 16 && offsetof(PROVIDER_FIELD_INFOARRAY, FieldInfoArray) == 8, "fields");
_Static_assert(offsetof(PROVIDER_EVENT_INFO, EventDescriptorsArray) == 8, "events");

/* Rows of one size, and behind them the texts that they name. Offsets in the rows count from the first text until
 * the caller adds list_base. */
struct tdh_lists_list {
    struct text rows, texts;
    ULONG       count;
};

/* Adds a text; returns its offset. */
static ULONG list_text(struct tdh_lists_list *l, const char *text)
{
    const ULONG  at = (ULONG)l->texts.length;
    const size_t n = strlen(text), bytes = utf8_to_utf16le(text, n, NULL, 0);
    uint8_t     *units = calloc(1, bytes + 2);

    if (!units) {
        l->texts.failed = true;
        return 0;
    }
    utf8_to_utf16le(text, n, units, bytes);
    text_add(&l->texts, units, bytes + 2);
    free(units);
    return at;
}

static void list_row(struct tdh_lists_list *l, const void *row, size_t size)
{
    text_add(&l->rows, row, size);
    l->count++;
}

/* The layout: two ULONGs, the rows, the texts. Offsets in the rows count from list_base. */
static ULONG     list_base(const struct tdh_lists_list *l) { return (ULONG)(2 * sizeof(ULONG) + l->rows.length); }
static TDHSTATUS list_deliver(struct tdh_lists_list *l, ULONG second, void *buffer, PULONG size)
{
    const ULONG head[2] = {l->count, second};
    struct text out     = {0};

    text_add(&out, head, sizeof head);
    if (l->rows.length)
        text_add(&out, text_get(&l->rows), l->rows.length);
    if (l->texts.length)
        text_add(&out, text_get(&l->texts), l->texts.length);
    out.failed |= l->rows.failed || l->texts.failed;
    text_finish(&l->rows);
    text_finish(&l->texts);
    return tdh_deliver(&out, true, buffer, size);
}

/* ---- providers ---- */

static void list_provider(struct tdh_lists_list *l, const struct schema_provider *p, ULONG source)
{
    TRACE_PROVIDER_INFO info = {.SchemaSource = source, .ProviderNameOffset = list_text(l, p->name)};

    memcpy(&info.ProviderGuid, &p->guid, sizeof info.ProviderGuid);
    list_row(l, &info, sizeof info);
}

static TDHSTATUS list_manifests(struct tdh_lists_list *l)
{
    const struct schema_provider *p;
    struct schema_set            *set;
    enum schema_source            source;

    tdh_installed();
    if (!(set = tdh_lock()))
        return ERROR_NOT_ENOUGH_MEMORY;
    for (size_t i = 0; (p = schema_set_provider(set, i, &source)); i++)
        list_provider(l, p, 0);
    tdh_unlock();
    return ERROR_SUCCESS;
}

static TDHSTATUS tdh_lists_providers(bool manifests, bool classes, PPROVIDER_ENUMERATION_INFO buffer, PULONG size)
{
    struct tdh_lists_list l  = {.count = 0};
    unsigned              n  = 0;
    TDHSTATUS             st = manifests ? list_manifests(&l) : ERROR_SUCCESS;

    if (st)
        return st;
    const struct schema_provider *const *class = classes ? classic_providers(&n) : NULL;
    for (unsigned i = 0; i < n; i++)
        if (class[i])
            list_provider(&l, class[i], 1);
    for (ULONG i = 0; i < l.count && !l.rows.failed; i++)
        ((TRACE_PROVIDER_INFO *)(void *)l.rows.data)[i].ProviderNameOffset += list_base(&l);
    return list_deliver(&l, 0, buffer, size);
}

TDHSTATUS TdhEnumerateProviders(PPROVIDER_ENUMERATION_INFO buffer, PULONG size)
{
    return size ? tdh_lists_providers(true, true, buffer, size) : ERROR_INVALID_PARAMETER;
}

TDHSTATUS TdhEnumerateProvidersForDecodingSource(DECODING_SOURCE filter, PPROVIDER_ENUMERATION_INFO buffer, ULONG size,
                                                 PULONG required)
{
    if (!required)
        return ERROR_INVALID_PARAMETER;
    if (filter != DecodingSourceXMLFile && filter != DecodingSourceWbem)
        return ERROR_NOT_SUPPORTED;
    *required = size;
    return tdh_lists_providers(filter == DecodingSourceXMLFile, filter == DecodingSourceWbem, buffer, required);
}

/* ---- one provider ---- */

/* Locks the set and finds the provider's manifest, or a file's description of it. 0: locked. */
static TDHSTATUS provider_find(LPGUID guid, const struct schema_provider **out)
{
    struct schema_key  key = {.hook = CLASSIC_NONE};
    struct schema_set *set;
    enum schema_source source;

    if (!guid)
        return ERROR_INVALID_PARAMETER;
    memcpy(&key.provider, guid, sizeof key.provider);
    if (!(set = tdh_lock()))
        return ERROR_NOT_ENOUGH_MEMORY;
    (void)schema_set_find(set, &key); /* reads the installed one */
    *out = NULL;
    for (size_t i = 0; schema_set_provider(set, i, &source); i++) { /* the last one counts, as in a search */
        const struct schema_provider *p = schema_set_provider(set, i, &source);
        if (guid_equal(&p->guid, &key.provider))
            *out = p;
    }
    if (*out)
        return ERROR_SUCCESS;
    tdh_unlock();
    return ERROR_NOT_FOUND;
}

/* The declared names of a type, and whether a value of them is asked for. */
static const struct schema_names *names_of(const struct schema_provider *p, EVENT_FIELD_TYPE type)
{
    switch (type) {
    case EventKeywordInformation: return &p->keywords;
    case EventLevelInformation: return &p->levels;
    case EventChannelInformation: return &p->channels;
    case EventTaskInformation: return &p->tasks;
    case EventOpcodeInformation: return &p->opcodes;
    default: return NULL;
    }
}

static ULONGLONG field_value(const struct schema_name *n, EVENT_FIELD_TYPE type)
{
    return type == EventOpcodeInformation ? (n->value & 0xFF) << 16 | (n->task & 0xFFFF) : n->value;
}

static bool field_asked(ULONGLONG value, EVENT_FIELD_TYPE type, const ULONGLONG *asked)
{
    if (!asked)
        return true;
    if (type == EventOpcodeInformation && !(value & 0xFFFF)) /* of all tasks */
        return value >> 16 == (*asked >> 16 & 0xFF);
    return type == EventKeywordInformation ? (value & *asked) != 0 : value == *asked;
}

static TDHSTATUS tdh_lists_fields(LPGUID guid, EVENT_FIELD_TYPE type, const ULONGLONG *asked,
                                  PPROVIDER_FIELD_INFOARRAY buffer, PULONG size)
{
    const struct schema_provider *p;
    struct tdh_lists_list         l = {.count = 0};

    if (!size)
        return ERROR_INVALID_PARAMETER;
    if ((unsigned)type >= EventInformationMax)
        return ERROR_NOT_SUPPORTED;
    TDHSTATUS st = provider_find(guid, &p);
    if (st)
        return st;
    const struct schema_names *names = names_of(p, type);
    for (unsigned i = 0; i < names->count; i++) {
        const struct schema_name *n     = &names->rows[i];
        const ULONGLONG           value = field_value(n, type);
        if (!n->name || !field_asked(value, type, asked))
            continue;
        /* 1 + the offset of a message; 0: none */
        PROVIDER_FIELD_INFO info = {.NameOffset = list_text(&l, n->name), .Value = value};
        info.DescriptionOffset   = n->message ? 1 + list_text(&l, n->message) : 0;
        list_row(&l, &info, sizeof info);
    }
    tdh_unlock();
    for (ULONG i = 0; i < l.count && !l.rows.failed; i++) {
        PROVIDER_FIELD_INFO *info = &((PROVIDER_FIELD_INFO *)(void *)l.rows.data)[i];
        info->NameOffset += list_base(&l);
        info->DescriptionOffset += info->DescriptionOffset ? list_base(&l) - 1 : 0;
    }
    if (l.count || l.rows.failed || l.texts.failed)
        return list_deliver(&l, (ULONG)type, buffer, size);
    return ERROR_NOT_FOUND;
}

TDHSTATUS TdhEnumerateProviderFieldInformation(LPGUID guid, EVENT_FIELD_TYPE type, PPROVIDER_FIELD_INFOARRAY buffer,
                                               PULONG size)
{
    return tdh_lists_fields(guid, type, NULL, buffer, size);
}

TDHSTATUS TdhQueryProviderFieldInformation(LPGUID guid, ULONGLONG value, EVENT_FIELD_TYPE type,
                                           PPROVIDER_FIELD_INFOARRAY buffer, PULONG size)
{
    return tdh_lists_fields(guid, type, &value, buffer, size);
}

TDHSTATUS TdhEnumerateManifestProviderEvents(LPGUID guid, PPROVIDER_EVENT_INFO buffer, PULONG size)
{
    const struct schema_provider *p;
    struct tdh_lists_list         l = {.count = 0};

    if (!size)
        return ERROR_INVALID_PARAMETER;
    TDHSTATUS st = provider_find(guid, &p);
    if (st)
        return st;
    for (unsigned i = 0; i < p->event_count; i++) {
        const struct schema_event *e = p->events[i];
        const EVENT_DESCRIPTOR     d = {.Id      = e->id,
                                        .Version = e->version,
                                        .Channel = e->channel,
                                        .Level   = e->level,
                                        .Opcode  = e->opcode,
                                        .Task    = e->task,
                                        .Keyword = e->keyword};
        list_row(&l, &d, sizeof d);
    }
    tdh_unlock();
    return l.count || l.rows.failed ? list_deliver(&l, 0, buffer, size) : ERROR_EMPTY;
}

TDHSTATUS TdhGetManifestEventInformation(LPGUID guid, PEVENT_DESCRIPTOR d, PTRACE_EVENT_INFO buffer, PULONG size)
{
    const struct schema_provider *p;
    struct text                   out = {0};

    if (!size || !d)
        return ERROR_INVALID_PARAMETER;
    TDHSTATUS st = provider_find(guid, &p);
    if (st)
        return st;
    const struct schema_event *e = NULL;
    for (unsigned i = 0; i < p->event_count && !e; i++)
        if (p->events[i]->id == d->Id && p->events[i]->version == d->Version)
            e = p->events[i];
    const bool made = e && event_info_build(e, NULL, &out);
    st              = !p->event_count ? ERROR_EMPTY : ERROR_NOT_FOUND;
    tdh_unlock();
    return e ? tdh_deliver(&out, made, buffer, size) : st;
}
