/* tdh.c - the functions of tdh.h over schemas. See there. Threads: any; each call holds the lock of tdh_state.h. */
#include "autologger/include/tdh.h"

#include "autologger/consumer/tdh_describe.h"
#include "autologger/consumer/tdh_state.h"
#include "autologger/consumer/wide_text.h"
#include "autologger/schema/classic.h"
#include "autologger/schema/event_info.h"
#include "autologger/schema/walk.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
_Static_assert(sizeof(EVENT_PROPERTY_INFO) == 24 && sizeof(EVENT_MAP_ENTRY) == 8 &&
                   sizeof(PROPERTY_DATA_DESCRIPTOR) == 16,
               "properties");
_Static_assert(sizeof(TDH_CONTEXT) == 16, "contexts");
AT(TRACE_EVENT_INFO, DecodingSource, 48);
AT(TRACE_EVENT_INFO, EventNameOffset, 92);
AT(TRACE_EVENT_INFO, EventPropertyInfoArray, 112);
AT(EVENT_MAP_INFO, MapEntryArray, 16);
AT(EVENT_PROPERTY_INFO, count, 16);

enum { NAME_MAX_UNITS = 4096, WHOLE = 0xFFFFFFFF };

/* ---- descriptions of records ---- */

static void tdh_key_of(const EVENT_RECORD *r, struct schema_key *out)
{
    const EVENT_HEADER *h = &r->EventHeader;
    struct etl_event    e = {.kind = ETL_KIND_FULL, .opcode = h->EventDescriptor.Opcode};

    memcpy(&e.provider, &h->ProviderId, sizeof e.provider);
    *out = (struct schema_key){.provider    = e.provider,
                               .id          = h->EventDescriptor.Id,
                               .hook        = CLASSIC_NONE,
                               .version     = h->EventDescriptor.Version,
                               .opcode      = e.opcode,
                               .classic     = h->Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER,
                               .message     = h->Flags & EVENT_HEADER_FLAG_TRACE_MESSAGE,
                               .string_only = h->Flags & EVENT_HEADER_FLAG_STRING_ONLY};
    if (out->classic)
        out->hook = classic_hook(&e);
    for (unsigned i = 0; i < r->ExtendedDataCount; i++) {
        const EVENT_HEADER_EXTENDED_DATA_ITEM *x    = &r->ExtendedData[i];
        const void                            *data = (const void *)(uintptr_t)x->DataPtr;
        if (x->ExtType == EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL && !out->metadata) {
            out->metadata      = data;
            out->metadata_size = x->DataSize;
        } else if (x->ExtType == EVENT_HEADER_EXT_TYPE_PROV_TRAITS && !out->traits) {
            out->traits      = data;
            out->traits_size = x->DataSize;
        }
    }
    if (!out->metadata_size && !out->classic && !out->message && !out->string_only)
        schema_key_payload(out, h->EventDescriptor.Channel, r->UserData, r->UserDataLength);
}

static bool is_64bit(const EVENT_RECORD *r) { return !(r->EventHeader.Flags & EVENT_HEADER_FLAG_32_BIT_HEADER); }

TDHSTATUS tdh_describe(const EVENT_RECORD *r, ULONG count, const TDH_CONTEXT *context, const struct schema_event **out)
{
    struct schema_key  key;
    struct schema_set *set;

    if (!r)
        return ERROR_INVALID_PARAMETER;
    tdh_key_of(r, &key);
    if (!(set = tdh_lock()))
        return ERROR_NOT_ENOUGH_MEMORY;
    if (key.message)
        tdh_formats_load(set, &key.provider, count, context);
    if ((*out = schema_set_find(set, &key)))
        return ERROR_SUCCESS;
    tdh_unlock();
    return ERROR_NOT_FOUND;
}

TDHSTATUS tdh_deliver(struct text *bytes, bool made, void *buffer, ULONG *size)
{
    TDHSTATUS st = ERROR_SUCCESS;

    if (!made || bytes->failed)
        st = ERROR_NOT_ENOUGH_MEMORY;
    else if (*size < bytes->length || !buffer)
        st = ERROR_INSUFFICIENT_BUFFER;
    else if (bytes->length)
        memcpy(buffer, bytes->data, bytes->length);
    if (st != ERROR_NOT_ENOUGH_MEMORY)
        *size = (ULONG)bytes->length;
    text_finish(bytes);
    return st;
}

TDHSTATUS TdhGetEventInformation(PEVENT_RECORD r, ULONG contexts, PTDH_CONTEXT context, PTRACE_EVENT_INFO buffer,
                                 PULONG size)
{
    const struct schema_event *e;
    struct text                out = {0};

    if (!size)
        return ERROR_INVALID_PARAMETER;
    TDHSTATUS st = tdh_describe(r, contexts, context, &e);
    if (st)
        return st;
    const EVENT_DESCRIPTOR *d  = &r->EventHeader.EventDescriptor;
    struct event_info_of    of = {.id           = d->Id,
                                  .task         = d->Task,
                                  .version      = d->Version,
                                  .channel      = d->Channel,
                                  .level        = d->Level,
                                  .opcode       = d->Opcode,
                                  .keyword      = d->Keyword,
                                  .payload      = r->UserData,
                                  .payload_size = r->UserDataLength,
                                  .is_64bit     = is_64bit(r)};
    memcpy(&of.provider, &r->EventHeader.ProviderId, sizeof of.provider);
    bool made = event_info_build(e, &of, &out);
    tdh_unlock();
    return tdh_deliver(&out, made, buffer, size);
}

TDHSTATUS TdhGetEventMapInformation(PEVENT_RECORD r, LPWSTR map_name, PEVENT_MAP_INFO buffer, PULONG size)
{
    const struct schema_event *e;
    const struct schema_map   *map  = NULL;
    struct text                out  = {0};
    char                      *name = size ? utf8_of_wide(map_name, NAME_MAX_UNITS) : NULL;

    if (!name)
        return ERROR_INVALID_PARAMETER;
    TDHSTATUS st = tdh_describe(r, 0, NULL, &e);
    if (!st) {
        for (unsigned i = 0; i < e->field_count && !map; i++)
            if (e->fields[i].map && strcmp(e->fields[i].map->name, name) == 0)
                map = e->fields[i].map;
        bool made = map && map_info_build(map, &out);
        tdh_unlock();
        st = map ? tdh_deliver(&out, made, buffer, size) : ERROR_NOT_FOUND;
    }
    free(name);
    return st;
}

/* ---- properties ---- */

struct wanted {
    char       *names[WALK_DEPTH_MAX];
    uint32_t    index[WALK_DEPTH_MAX];
    unsigned    count;
    bool        found;
    struct text bytes;
};

static bool take_wanted(void *ctx, const struct walk_place *place, const struct value *v)
{
    struct wanted *w = ctx;

    for (unsigned i = 0; i < w->count; i++) {
        const struct walk_level *l = &place->levels[i];
        if (i > place->depth || strcmp(l->field->name, w->names[i]) != 0 ||
            (w->index[i] != WHOLE && w->index[i] != l->element))
            return true;
    }
    w->found = true;
    text_add(&w->bytes, v->stored, v->stored_size);
    return true;
}

/* Does such a property exist, as a whole? An array may have no elements. */
static bool exists(const struct schema_event *e, const struct wanted *w)
{
    unsigned first = 0, count = e->top_count;

    for (unsigned i = 0; i < w->count; i++) {
        const struct schema_field *f = NULL;
        for (unsigned j = first; j < first + count && !f; j++)
            if (strcmp(e->fields[j].name, w->names[i]) == 0)
                f = &e->fields[j];
        if (!f || w->index[i] != WHOLE || (i + 1 < w->count && !(f->flags & FIELD_STRUCT)))
            return false;
        first = f->first;
        count = f->members;
    }
    return true;
}

static TDHSTATUS get_property(PEVENT_RECORD r, ULONG contexts, const TDH_CONTEXT *context, ULONG count,
                              PPROPERTY_DATA_DESCRIPTOR data, struct wanted *w)
{
    const struct schema_event *e;
    uint32_t                   used;

    if (!r || !data || !count || count > WALK_DEPTH_MAX)
        return ERROR_INVALID_PARAMETER;
    for (; w->count < count; w->count++) {
        w->index[w->count] = data[w->count].ArrayIndex;
        if (!(w->names[w->count] = utf8_of_wide((const WCHAR *)(uintptr_t)data[w->count].PropertyName, NAME_MAX_UNITS)))
            return ERROR_INVALID_PARAMETER;
    }
    TDHSTATUS st = tdh_describe(r, contexts, context, &e);
    if (st)
        return st;
    enum decode_result result = walk_payload(e, r->UserData, r->UserDataLength, is_64bit(r), take_wanted, w, &used);
    if (!w->found)
        st = !exists(e, w) ? ERROR_NOT_FOUND : result == DECODE_OK ? ERROR_SUCCESS : ERROR_EVT_INVALID_EVENT_DATA;
    if (!st && w->bytes.failed)
        st = ERROR_NOT_ENOUGH_MEMORY;
    tdh_unlock();
    return st;
}

static void wanted_finish(struct wanted *w)
{
    for (unsigned i = 0; i < w->count; i++)
        free(w->names[i]);
    text_finish(&w->bytes);
}

TDHSTATUS TdhGetPropertySize(PEVENT_RECORD r, ULONG contexts, PTDH_CONTEXT context, ULONG count,
                             PPROPERTY_DATA_DESCRIPTOR data, PULONG size)
{
    struct wanted w = {.count = 0};

    TDHSTATUS st = size ? get_property(r, contexts, context, count, data, &w) : ERROR_INVALID_PARAMETER;
    if (!st)
        *size = (ULONG)w.bytes.length;
    wanted_finish(&w);
    return st;
}

TDHSTATUS TdhGetProperty(PEVENT_RECORD r, ULONG contexts, PTDH_CONTEXT context, ULONG count,
                         PPROPERTY_DATA_DESCRIPTOR data, ULONG size, PBYTE buffer)
{
    struct wanted w = {.count = 0};

    TDHSTATUS st = get_property(r, contexts, context, count, data, &w);
    if (!st && (w.bytes.length > size || (w.bytes.length && !buffer)))
        st = ERROR_INSUFFICIENT_BUFFER;
    if (!st && w.bytes.length)
        memcpy(buffer, w.bytes.data, w.bytes.length);
    wanted_finish(&w);
    return st;
}

/* ---- texts ---- */

/* The text of an entry, in the block that the caller got from us. */
static void add_entry(struct text *out, const EVENT_MAP_INFO *m, ULONG i)
{
    const WCHAR *text = EMI_MAP_OUTPUT(m, &m->MapEntryArray[i]);
    size_t       n    = 0;

    while (text && text[n])
        n++;
    text_utf16(out, text, n * sizeof *text);
}

static void map_value(const EVENT_MAP_INFO *m, uint64_t number, struct text *out)
{
    bool           bits  = m->Flag & (EVENTMAP_INFO_FLAG_MANIFEST_BITMAP | EVENTMAP_INFO_FLAG_WBEM_BITMAP);
    const uint64_t whole = number;
    size_t         start = out->length;

    for (ULONG i = 0; i < m->EntryCount; i++) {
        uint64_t v = m->MapEntryArray[i].Value;
        if (bits && v ? (number & v) != v : whole != v)
            continue;
        if (out->length > start)
            text_add(out, "|", 1);
        add_entry(out, m, i);
        if (!bits)
            return;
        number &= ~v;
    }
    if (bits && (number || out->length == start)) {
        if (out->length > start)
            text_add(out, "|", 1);
        text_hexnumber(out, number);
    } else if (!bits) {
        text_unsigned(out, number);
    }
}

/* Upper-case digits of hexadecimal numbers, as in tracerpt. */
static void tdh_upper(struct text *t)
{
    for (size_t i = 2; i < t->length; i++)
        if (t->data[i] >= 'a' && t->data[i] <= 'f')
            t->data[i] = (char)(t->data[i] - 'a' + 'A');
}

static TDHSTATUS give_text(struct text *t, PULONG size, PWCHAR buffer)
{
    size_t bytes = utf8_to_utf16le(text_get(t), t->length, NULL, 0);
    bool   fits  = buffer && *size >= bytes + sizeof *buffer;

    *size = (ULONG)(bytes + sizeof *buffer);
    if (!fits)
        return ERROR_INSUFFICIENT_BUFFER;
    utf8_to_utf16le(text_get(t), t->length, buffer, bytes);
    buffer[bytes / sizeof *buffer] = 0;
    return ERROR_SUCCESS;
}

TDHSTATUS TdhFormatProperty(PTRACE_EVENT_INFO info, PEVENT_MAP_INFO map, ULONG pointer_size, USHORT in, USHORT out,
                            USHORT length, USHORT data_size, PBYTE data, PULONG size, PWCHAR buffer, PUSHORT consumed)
{
    enum value_kind kind  = value_kind_of(in, out);
    struct cursor   c     = cur_make(data ? data : (PBYTE) "", data ? data_size : 0);
    bool            sized = length || in == TDH_INTYPE_BINARY;
    struct text     t     = {0};
    struct value    v;
    enum value_json json;

    (void)info;
    if (!size || !consumed || kind == VALUE_KINDS ||
        (pointer_size != 4 && pointer_size != 8 && (in == TDH_INTYPE_POINTER || in == TDH_INTYPE_SIZET)))
        return ERROR_INVALID_PARAMETER;
    if (!value_take(&c, kind, pointer_size != 4, sized ? length : VALUE_NO_LENGTH, &v))
        return ERROR_EVT_INVALID_EVENT_DATA;
    if (map)
        map_value(map, value_number(&v, kind), &t);
    else
        value_text(&v, kind, pointer_size != 4, &t, &json);
    if (!map && value_is_hex(kind))
        tdh_upper(&t);
    TDHSTATUS st = t.failed ? ERROR_NOT_ENOUGH_MEMORY : give_text(&t, size, buffer);
    if (!st)
        *consumed = (USHORT)v.stored_size;
    text_finish(&t);
    return st;
}

/* ---- manifests ---- */

TDHSTATUS TdhLoadManifest(PWSTR manifest)
{
    struct schema_set *set;
    struct reason      why;
    char              *path = utf8_of_wide(manifest, NAME_MAX_UNITS);

    if (!path)
        return ERROR_INVALID_PARAMETER;
    TDHSTATUS st = ERROR_NOT_ENOUGH_MEMORY;
    if ((set = tdh_lock())) {
        st = tdh_manifest_load(set, path, &why);
        tdh_unlock();
    }
    free(path);
    return st;
}

TDHSTATUS TdhLoadManifestFromBinary(PWSTR binary)
{
    struct schema_set *set;
    struct reason      why;
    char              *path = utf8_of_wide(binary, NAME_MAX_UNITS);

    if (!path)
        return ERROR_INVALID_PARAMETER;
    TDHSTATUS st = ERROR_NOT_ENOUGH_MEMORY;
    if ((set = tdh_lock())) {
        st = tdh_binary_load(set, path, &why);
        tdh_unlock();
    }
    free(path);
    return st;
}

TDHSTATUS TdhLoadManifestFromMemory(LPCVOID data, ULONG size)
{
    struct schema_set *set;
    struct reason      why;

    if (!data || !size)
        return ERROR_INVALID_PARAMETER;
    if (!(set = tdh_lock()))
        return ERROR_NOT_ENOUGH_MEMORY;
    TDHSTATUS st = tdh_manifest_parse(set, data, size, "(memory)", &why);
    tdh_unlock();
    return st;
}

TDHSTATUS TdhUnloadManifest(PWSTR manifest)
{
    struct schema_set *set;
    char              *path = utf8_of_wide(manifest, NAME_MAX_UNITS);

    if (!path)
        return ERROR_INVALID_PARAMETER;
    TDHSTATUS st = ERROR_NOT_ENOUGH_MEMORY;
    if ((set = tdh_lock())) {
        st = schema_set_remove(set, SCHEMA_MANIFEST, path) ? ERROR_SUCCESS : ERROR_NOT_FOUND;
        if (!st)
            tdh_formats_forget(path);
        tdh_unlock();
    }
    free(path);
    return st;
}
