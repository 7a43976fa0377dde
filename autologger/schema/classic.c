#include "autologger/schema/classic.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct classic_row {
    uint16_t    hook;
    uint8_t     lowest, highest;
    const char *name, *layout;
};
static const struct classic_row classic_rows[] = {
#define K(hook, lowest, highest, name, layout) {hook, lowest, highest, name, layout},
#include "autologger/schema/classic.def"
#undef K
};
static const char *const classic_classes[] = {
#define C(name) name,
#include "autologger/schema/classes.def"
#undef C
};
static const struct {
    uint16_t    hook;
    const char *name;
    struct guid guid;
} extras[] = {
    {CLASSIC_IMAGE_ID, "ImageID", {0xb3e675d7, 0x2554, 0x4f18, {0x83, 0x0b, 0x27, 0x62, 0x73, 0x25, 0x60, 0xde}}},
    {CLASSIC_SYSTEM_CONFIG_EX,
     "SystemConfigEx",
     {0x9b79ee91, 0xb5fd, 0x41c0, {0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0}}},
    {CLASSIC_EVENT_METADATA,
     "EventMetadata",
     {0xbbccf6c1, 0x6cd1, 0x48c4, {0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71}}},
    {CLASSIC_RT_LOST, "RT_LostEvent", {0x6a399ae0, 0x4bc6, 0x4de9, {0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e}}},
};
/* The types of the kinds in layouts. */
static const struct {
    uint16_t kind, in, out, flags, length;
} classic_types[] = {
    {VALUE_I8, IN_INT8, OUT_BYTE, 0, 0},
    {VALUE_I16, IN_INT16, OUT_SHORT, 0, 0},
    {VALUE_I32, IN_INT32, OUT_INT, 0, 0},
    {VALUE_I64, IN_INT64, OUT_LONG, 0, 0},
    {VALUE_U8, IN_UINT8, OUT_UNSIGNEDBYTE, 0, 0},
    {VALUE_U16, IN_UINT16, OUT_UNSIGNEDSHORT, 0, 0},
    {VALUE_U32, IN_UINT32, OUT_UNSIGNEDINT, 0, 0},
    {VALUE_U64, IN_UINT64, OUT_UNSIGNEDLONG, 0, 0},
    {VALUE_X8, IN_UINT8, OUT_HEXINT8, 0, 0},
    {VALUE_X16, IN_UINT16, OUT_HEXINT16, 0, 0},
    {VALUE_X32, IN_UINT32, OUT_HEXINT32, 0, 0},
    {VALUE_X64, IN_UINT64, OUT_HEXINT64, 0, 0},
    {VALUE_F32, IN_FLOAT, OUT_FLOAT, 0, 0},
    {VALUE_F64, IN_DOUBLE, OUT_DOUBLE, 0, 0},
    {VALUE_BOOL8, IN_UINT8, OUT_BOOLEAN, 0, 0},
    {VALUE_BOOL32, IN_BOOLEAN, OUT_BOOLEAN, 0, 0},
    {VALUE_PORT, IN_UINT16, OUT_PORT, 0, 0},
    {VALUE_IPV4, IN_UINT32, OUT_IPV4, 0, 0},
    {VALUE_IPV6, IN_BINARY, OUT_IPV6, FIELD_FIXED_LENGTH, 16},
    {VALUE_GUID, IN_GUID, OUT_GUID, 0, 0},
    {VALUE_FILETIME, IN_FILETIME, OUT_DATETIME, 0, 0},
    {VALUE_POINTER, IN_POINTER, OUT_HEXINT64, 0, 0},
    {VALUE_UTF16, IN_UNICODESTRING, OUT_STRING, 0, 0},
    {VALUE_ANSI, IN_ANSISTRING, OUT_STRING, 0, 0},
    {VALUE_SID_BLOCK, IN_WBEMSID, OUT_STRING, 0, 0},
    {VALUE_ADDRESSES, IN_POINTER, OUT_HEXINT64, FIELD_TO_END, 0},
    {VALUE_BYTES, IN_BINARY, OUT_HEXBINARY, FIELD_TO_END, 0},
};
enum {
    CLASS_COUNT         = sizeof classic_classes / sizeof *classic_classes,
    EXTRA_COUNT         = sizeof extras / sizeof *extras,
    ROW_COUNT           = sizeof classic_rows / sizeof *classic_rows,
    IMAGE_LOAD_BY_CLASS = ETL_GROUP_IMAGE << 8 | (HOOK_IMAGE_LOAD & 0xFF)
};

uint16_t classic_hook_by_class(const struct etl_event *e)
{
    for (size_t i = 0; i < EXTRA_COUNT; i++)
        if (guid_equal(&e->provider, &extras[i].guid))
            return (uint16_t)(extras[i].hook | e->opcode);
    for (unsigned group = 0; group < CLASS_COUNT; group++) {
        struct guid g = etl_group_guid((uint16_t)(group << 8));
        if (guid_equal(&e->provider, &g)) {
            uint16_t hook = (uint16_t)(group << 8 | e->opcode);
            return hook == IMAGE_LOAD_BY_CLASS ? HOOK_IMAGE_LOAD : hook;
        }
    }
    return CLASSIC_NONE;
}

const char *classic_class(uint16_t hook)
{
    unsigned group = hook == HOOK_IMAGE_LOAD ? ETL_GROUP_IMAGE : hook >> 8;

    if (group < CLASS_COUNT)
        return classic_classes[group];
    for (size_t i = 0; i < EXTRA_COUNT; i++)
        if (extras[i].hook >> 8 == (int)group)
            return extras[i].name;
    return NULL;
}

static const struct classic_row *any_row(uint16_t hook);

bool classic_name(uint16_t hook, char *out, size_t size)
{
    const char *class_name = hook == CLASSIC_NONE ? NULL : classic_class(hook);

    if (!class_name)
        return false;
    const struct classic_row *row = any_row(hook);
    if (row)
        snprintf(out, size, "%s/%s", class_name, row->name);
    else
        snprintf(out, size, "%s/%u", class_name, hook & 0xFF);
    return true;
}

/* TRACE_LOGFILE_HEADER; the pointers and the time zone are useless to a reader */
static const char header[] =
    "BufferSize:u32 MajorVersion:u8 MinorVersion:u8 SubVersion:u8 SubMinorVersion:u8 ProviderVersion:u32 "
    "NumberOfProcessors:u32 EndTime:filetime TimerResolution:u32 MaximumFileSize:u32 LogFileMode:x32 "
    "BuffersWritten:u32 StartBuffers:u32 PointerSize:u32 EventsLost:u32 CpuSpeedInMHz:u32 LoggerName:p "
    "LogFileName:p -176 BootTime:filetime PerfFreq:u64 StartTime:filetime ReservedFlags:u32 BuffersLost:u32 "
    "?SessionName:w ?SessionFileName:w";

struct guid classic_guid(uint16_t hook)
{
    for (size_t i = 0; i < EXTRA_COUNT; i++)
        if (extras[i].hook >> 8 == hook >> 8)
            return extras[i].guid;
    return etl_group_guid(hook);
}

/* ---- schemas ---- */

/* One word of a layout: "Name:kind", "?Name:kind" (may be absent at the end), "-N" (bytes of no meaning). False: it is
 * malformed. */
static bool classic_make_field(struct schema_provider *p, const char *word, size_t length, struct schema_field *f)
{
    if (*word == '-') {
        f->in     = IN_BINARY;
        f->flags  = FIELD_FIXED_LENGTH | FIELD_HIDDEN;
        f->length = (uint16_t)atoi(word + 1);
        return true;
    }
    if (*word == '?') {
        f->flags |= FIELD_OPTIONAL;
        word++;
        length--;
    }
    const char *colon = memchr(word, ':', length);
    if (!colon || !(f->name = schema_text(p, word, (size_t)(colon - word))))
        return false;
    size_t          kind_length = (size_t)(word + length - colon - 1);
    enum value_kind kind        = value_kind_find(colon + 1, kind_length);
    if (kind == VALUE_KINDS && colon[1] == 'w') {
        f->in = IN_UNICODESTRING;
        f->flags |= FIELD_FIXED_LENGTH;
        f->length = (uint16_t)atoi(colon + 2);
        return true;
    }
    for (size_t i = 0; i < sizeof classic_types / sizeof *classic_types; i++)
        if (classic_types[i].kind == kind) {
            f->in  = classic_types[i].in;
            f->out = classic_types[i].out;
            f->flags |= classic_types[i].flags;
            f->length = classic_types[i].length;
            return true;
        }
    return false;
}

static struct schema_event *classic_make_event(struct schema_provider *p, const char *layout)
{
    unsigned n = 0;
    for (const char *word = layout; *word; word += strspn(word, " "), n++)
        word += strcspn(word, " ");
    struct schema_event *e = schema_event_new(p, n, n);
    n                      = 0;
    for (const char *word = layout; e && *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        if (!classic_make_field(p, word, length, &e->fields[n++]))
            return NULL;
        word += length;
    }
    return e;
}

/* Made once; events that could not be made stay NULL. */
static pthread_once_t          classic_once = PTHREAD_ONCE_INIT;
static struct schema_provider *schema_classic_providers[CLASS_COUNT + EXTRA_COUNT + 1];
static const char              chunk[] =
    "Format:u8 MajorVersion:u8 MinorVersion:u8 Magic:x8 TotalChunks:u16 ChunkNumber:u16 Data:rest";
static struct schema_event *events[ROW_COUNT], *string_event, *chunk_event;
static uint16_t             classic_first_row[0x10000]; /* by hook: the index of its first row, + 1 */

static struct schema_provider *classic_provider_of(uint16_t hook)
{
    unsigned place = hook == HOOK_IMAGE_LOAD ? ETL_GROUP_IMAGE : hook >> 8;
    for (size_t i = 0; place >= CLASS_COUNT && i < EXTRA_COUNT; i++)
        if (extras[i].hook >> 8 == (int)place)
            place = CLASS_COUNT + (unsigned)i;
    if (place >= CLASS_COUNT + EXTRA_COUNT)
        return NULL;
    if (!schema_classic_providers[place]) {
        struct guid guid                = classic_guid(hook);
        schema_classic_providers[place] = schema_provider_new(&guid, classic_class(hook));
    }
    return schema_classic_providers[place];
}

static void make_all(void)
{
    static const struct guid none;
    struct reason            why;

    for (unsigned i = ROW_COUNT; i-- > 0;) {
        struct schema_provider *p               = classic_provider_of(classic_rows[i].hook);
        const char             *layout          = classic_rows[i].hook == 0 ? header : classic_rows[i].layout;
        classic_first_row[classic_rows[i].hook] = (uint16_t)(i + 1);
        struct schema_event *e                  = p && layout ? classic_make_event(p, layout) : NULL;
        if (!e)
            continue;
        e->source     = SCHEMA_CLASSIC;
        e->opcode     = (uint8_t)classic_rows[i].hook;
        e->version    = classic_rows[i].highest == UINT8_MAX ? classic_rows[i].lowest : classic_rows[i].highest;
        e->class_guid = p->guid;
        e->name = e->opcode_name = classic_rows[i].name;
        if (!schema_event_finish(p, e, &why))
            events[i] = e;
    }
    struct schema_provider *p = schema_classic_providers[CLASS_COUNT + EXTRA_COUNT] = schema_provider_new(&none, "");
    struct schema_event    *e = p ? classic_make_event(p, "Message:w") : NULL;
    if (e && !schema_event_finish(p, e, &why)) {
        e->source    = SCHEMA_STRING;
        e->name      = "String";
        string_event = e;
    }
    if ((e = p ? classic_make_event(p, chunk) : NULL) && !schema_event_finish(p, e, &why)) {
        e->source   = SCHEMA_STRING;
        e->name     = "ManifestData"; /* as EventSource calls it */
        chunk_event = e;
    }
}

const struct schema_event *classic_string_schema(void)
{
    pthread_once(&classic_once, make_all);
    return string_event;
}

const struct schema_event *classic_chunk_schema(void)
{
    pthread_once(&classic_once, make_all);
    return chunk_event;
}

static const struct classic_row *any_row(uint16_t hook)
{
    pthread_once(&classic_once, make_all);
    return classic_first_row[hook] ? &classic_rows[classic_first_row[hook] - 1] : NULL;
}

/* The row that covers the version; NULL: none. */
static const struct classic_row *classic_find(uint16_t hook, uint8_t version)
{
    pthread_once(&classic_once, make_all);
    /* rows of one hook are adjacent */
    for (unsigned i = classic_first_row[hook]; i && i <= ROW_COUNT && classic_rows[i - 1].hook == hook; i++)
        if (version >= classic_rows[i - 1].lowest && version <= classic_rows[i - 1].highest)
            return &classic_rows[i - 1];
    return NULL;
}

const struct schema_event *classic_schema(uint16_t hook, uint8_t version)
{
    const struct classic_row *row = classic_find(hook, version);
    return row ? events[row - classic_rows] : NULL;
}

const struct schema_provider *const *classic_providers(unsigned *count)
{
    pthread_once(&classic_once, make_all);
    *count = CLASS_COUNT + EXTRA_COUNT;
    return (const struct schema_provider *const *)schema_classic_providers;
}

const char *classic_fields(uint16_t hook, uint8_t version)
{
    const struct classic_row *row = classic_find(hook, version);
    return row && hook == 0 ? header : row ? row->layout : NULL;
}

enum decode_result classic_decode(const struct etl_event *e, struct field_sink *sink, uint32_t *used)
{
    uint16_t                   hook   = classic_hook(e);
    const struct schema_event *schema = hook == CLASSIC_NONE ? NULL : classic_schema(hook, e->version);

    *used = 0;
    return schema ? walk_fields(schema, e->payload, e->payload_size, e->is_64bit, sink, used) : DECODE_UNKNOWN;
}
