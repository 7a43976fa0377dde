#include "autologger/consumer/tracelogging.h"

enum {
    IN_TYPE = 0x1F, KIND = 0x60, KIND_CONST = 0x20, KIND_VARIABLE = 0x40, KIND_CUSTOM = 0x60, MORE = 0x80,
    IN_STRUCT = 24, TRAIT_GROUP = 1, DEPTH_MAX = 16, STEPS_MAX = 100000,
    OUT_STRING = 2, OUT_BOOLEAN = 3, OUT_HEX = 4, OUT_PORT = 7, OUT_IPV4 = 8, OUT_IPV6 = 9, OUT_SOCKADDR = 10,
    OUT_WIN32 = 13, OUT_NTSTATUS = 14, OUT_HRESULT = 15, OUT_FILETIME = 16, OUT_SIGNED = 17, OUT_UNSIGNED = 18,
    OUT_POINTER = 37, OUT_UTC = 38
};

/* In-type -> kind; VALUE_KINDS where there is none. */
static const enum value_kind plain[IN_TYPE + 1] = {
    [0] = VALUE_KINDS,          [1] = VALUE_UTF16,         [2] = VALUE_ANSI,       [3] = VALUE_I8,
    [4] = VALUE_U8,             [5] = VALUE_I16,           [6] = VALUE_U16,        [7] = VALUE_I32,
    [8] = VALUE_U32,            [9] = VALUE_I64,           [10] = VALUE_U64,       [11] = VALUE_F32,
    [12] = VALUE_F64,           [13] = VALUE_BOOL32,       [14] = VALUE_BINARY,    [15] = VALUE_GUID,
    [16] = VALUE_POINTER,       [17] = VALUE_FILETIME,     [18] = VALUE_SYSTEMTIME, [19] = VALUE_SID,
    [20] = VALUE_X32,           [21] = VALUE_X64,          [22] = VALUE_COUNTED_UTF16, [23] = VALUE_COUNTED_ANSI,
    [24] = VALUE_KINDS,         [25] = VALUE_BINARY,       [26] = VALUE_KINDS,     [27] = VALUE_KINDS,
    [28] = VALUE_KINDS,         [29] = VALUE_KINDS,        [30] = VALUE_KINDS,     [31] = VALUE_KINDS,
};
/* (In-type, out-type) -> kind, where the out-type changes how it is shown. */
static const struct {
    uint8_t         in, out;
    enum value_kind kind;
} shown[] = {
    {3, OUT_STRING, VALUE_CHAR8},    {4, OUT_STRING, VALUE_CHAR8},     {5, OUT_STRING, VALUE_CHAR16},
    {6, OUT_STRING, VALUE_CHAR16},   {3, OUT_BOOLEAN, VALUE_BOOL8},    {4, OUT_BOOLEAN, VALUE_BOOL8},
    {7, OUT_BOOLEAN, VALUE_BOOL32},  {8, OUT_BOOLEAN, VALUE_BOOL32},   {3, OUT_HEX, VALUE_X8},
    {4, OUT_HEX, VALUE_X8},          {5, OUT_HEX, VALUE_X16},          {6, OUT_HEX, VALUE_X16},
    {7, OUT_HEX, VALUE_X32},         {8, OUT_HEX, VALUE_X32},          {9, OUT_HEX, VALUE_X64},
    {10, OUT_HEX, VALUE_X64},        {6, OUT_PORT, VALUE_PORT},        {8, OUT_IPV4, VALUE_IPV4},
    {14, OUT_IPV6, VALUE_BINARY_IPV6}, {25, OUT_IPV6, VALUE_BINARY_IPV6}, {14, OUT_SOCKADDR, VALUE_SOCKADDR},
    {25, OUT_SOCKADDR, VALUE_SOCKADDR}, {8, OUT_WIN32, VALUE_U32},     {20, OUT_WIN32, VALUE_X32},
    {8, OUT_NTSTATUS, VALUE_X32},    {7, OUT_HRESULT, VALUE_X32},      {9, OUT_FILETIME, VALUE_FILETIME},
    {10, OUT_FILETIME, VALUE_FILETIME}, {3, OUT_UNSIGNED, VALUE_U8},   {5, OUT_UNSIGNED, VALUE_U16},
    {7, OUT_UNSIGNED, VALUE_U32},    {9, OUT_UNSIGNED, VALUE_U64},     {4, OUT_SIGNED, VALUE_I8},
    {6, OUT_SIGNED, VALUE_I16},      {8, OUT_SIGNED, VALUE_I32},       {10, OUT_SIGNED, VALUE_I64},
    {8, OUT_POINTER, VALUE_X32},     {10, OUT_POINTER, VALUE_X64},     {20, OUT_BOOLEAN, VALUE_BOOL32},
};

struct field_type {
    const char *name;
    uint8_t     in, out, kind;
    uint16_t    count;
};
struct decoder {
    struct cursor      schema, payload;
    bool               is_64bit;
    struct field_sink *sink;
    unsigned           steps;
};

/* The data of an item that begins with its own size; false when there is none or it is cut. */
static bool sized_item(const struct etl_event *e, uint16_t type, struct cursor *c)
{
    const uint8_t *data;
    uint32_t       size;

    if (!etl_ext_find(e, type, &data, &size))
        return false;
    *c             = cur_make(data, size);
    uint16_t total = cur_u16(c);
    if (!cur_ok(c) || total < 3 || total > size)
        return false;
    c->size = total;
    return true;
}

static void skip_tags(struct cursor *c)
{
    while (cur_u8(c) & MORE)
        ;
}

static bool schema_start(const struct etl_event *e, struct cursor *c, const char **name)
{
    if (!sized_item(e, ETL_EXT_SCHEMA_TL, c))
        return false;
    skip_tags(c);
    *name = cur_zstring(c);
    return cur_ok(c);
}

void tracelogging_names(const struct etl_event *event, struct tracelogging_names *out)
{
    struct cursor c;

    *out = (struct tracelogging_names){0};
    if (sized_item(event, ETL_EXT_PROV_TRAITS, &c)) {
        out->provider = cur_zstring(&c);
        while (cur_left(&c) >= 3) {
            uint16_t size = cur_u16(&c);
            uint8_t  type = cur_u8(&c);
            if (size < 3 || size - 3u > cur_left(&c))
                break;
            const void *data = cur_take(&c, size - 3u);
            if (type == TRAIT_GROUP && size == 19) {
                out->has_group = true;
                memcpy(&out->group, data, sizeof out->group);
            }
        }
    }
    if (!schema_start(event, &c, &out->event))
        out->event = NULL;
}

static bool read_type(struct cursor *c, struct field_type *f)
{
    *f           = (struct field_type){.name = cur_zstring(c)};
    uint8_t meta = cur_u8(c), out = 0;

    f->in   = meta & IN_TYPE;
    f->kind = meta & KIND;
    if (meta & MORE)
        out = cur_u8(c);
    if (out & MORE)
        skip_tags(c);
    f->out = out & 0x7F;
    if (f->kind == KIND_CONST)
        f->count = cur_u16(c);
    if (f->kind == KIND_CUSTOM)
        cur_take(c, cur_u16(c));
    return cur_ok(c);
}

static enum value_kind kind_of(const struct field_type *f)
{
    if (f->kind == KIND_CUSTOM)
        return VALUE_BINARY;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (shown[i].in == f->in && shown[i].out == f->out)
            return shown[i].kind;
    return plain[f->in];
}

static bool decode_fields(struct decoder *d, unsigned members, bool skip, unsigned depth);

/* One value, or one round over the members of a struct. `skip`: the schema is walked, the payload isn't touched. */
static bool decode_one(struct decoder *d, const struct field_type *f, bool skip, unsigned depth)
{
    if (++d->steps > STEPS_MAX)
        return false;
    if (f->in == IN_STRUCT)
        return decode_fields(d, f->out, skip, depth + 1);
    return skip || field_read(d->sink, &d->payload, kind_of(f), d->is_64bit);
}

static bool decode_array(struct decoder *d, const struct field_type *f, bool skip, unsigned depth)
{
    uint16_t      count  = f->kind == KIND_VARIABLE && !skip ? cur_u16(&d->payload) : f->count;
    struct cursor schema = d->schema;
    size_t        path   = d->sink->path.length;

    if (!cur_ok(&d->payload))
        return false;
    if (skip || count == 0)
        return f->in != IN_STRUCT || decode_one(d, f, true, depth);
    for (unsigned i = 0; i < count; i++) {
        d->schema = schema;
        text_cut(&d->sink->path, path);
        text_printf(&d->sink->path, "[%u]", i);
        if (!decode_one(d, f, false, depth))
            return false;
    }
    return true;
}

/* `members` fields, or all to the end of the schema when it is 0. */
static bool decode_fields(struct decoder *d, unsigned members, bool skip, unsigned depth)
{
    size_t path = d->sink->path.length;

    if (depth > DEPTH_MAX || (depth > 0 && members == 0))
        return false;
    for (unsigned i = 0; depth > 0 ? i < members : cur_left(&d->schema) > 0; i++) {
        struct field_type f;
        if (++d->steps > STEPS_MAX || !read_type(&d->schema, &f) ||
            (f.in != IN_STRUCT && f.kind != KIND_CUSTOM && kind_of(&f) == VALUE_KINDS))
            return false;
        text_cut(&d->sink->path, path);
        if (path)
            text_add(&d->sink->path, ".", 1);
        text_utf8(&d->sink->path, f.name, strlen(f.name));
        bool array = f.kind == KIND_CONST || f.kind == KIND_VARIABLE;
        if (!(array ? decode_array(d, &f, skip, depth) : decode_one(d, &f, skip, depth)))
            return false;
    }
    text_cut(&d->sink->path, path);
    return true;
}

enum decode_result tracelogging_decode(const struct etl_event *event, struct field_sink *sink, uint32_t *used)
{
    struct decoder d = {.payload = cur_make(event->payload, event->payload_size), .is_64bit = event->is_64bit,
                        .sink = sink};
    const char    *name;

    *used = 0;
    if (!schema_start(event, &d.schema, &name))
        return DECODE_UNKNOWN;
    text_cut(&sink->path, 0);
    bool ok = decode_fields(&d, 0, false, 0);
    *used   = (uint32_t)d.payload.pos;
    return ok && d.payload.pos == d.payload.size ? DECODE_OK : DECODE_MISMATCH;
}
