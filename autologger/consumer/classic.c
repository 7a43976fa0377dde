#include "autologger/consumer/classic.h"

#include <stdio.h>
#include <stdlib.h>

struct row {
    uint16_t    hook;
    uint8_t     lowest, highest;
    const char *name, *layout;
};
static const struct row rows[] = {
#define K(hook, lowest, highest, name, layout) {hook, lowest, highest, name, layout},
#include "autologger/consumer/classic.def"
#undef K
};
static const char *const classes[] = {
#define C(name) name,
#include "autologger/consumer/classes.def"
#undef C
};
static const struct {
    uint16_t    hook;
    const char *name;
    struct guid guid;
} extras[] = {
    {CLASSIC_IMAGE_ID, "ImageID", {0xb3e675d7, 0x2554, 0x4f18, {0x83, 0x0b, 0x27, 0x62, 0x73, 0x25, 0x60, 0xde}}},
    {CLASSIC_SYSTEM_CONFIG_EX, "SystemConfigEx",
     {0x9b79ee91, 0xb5fd, 0x41c0, {0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0}}},
    {CLASSIC_EVENT_METADATA, "EventMetadata",
     {0xbbccf6c1, 0x6cd1, 0x48c4, {0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71}}},
    {CLASSIC_RT_LOST, "RT_LostEvent", {0x6a399ae0, 0x4bc6, 0x4de9, {0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e}}},
};
enum { CLASS_COUNT = sizeof classes / sizeof *classes, EXTRA_COUNT = sizeof extras / sizeof *extras,
       IMAGE_LOAD = 0x030A, IMAGE_LOAD_BY_CLASS = 0x140A };

uint16_t classic_hook(const struct etl_event *e)
{
    if (e->kind == ETL_KIND_SYSTEM || e->kind == ETL_KIND_PERFINFO)
        return e->hook;
    if (e->kind != ETL_KIND_FULL && e->kind != ETL_KIND_INSTANCE)
        return CLASSIC_NONE;
    for (size_t i = 0; i < EXTRA_COUNT; i++)
        if (guid_equal(&e->provider, &extras[i].guid))
            return (uint16_t)(extras[i].hook | e->opcode);
    for (uint16_t group = 0; group < CLASS_COUNT; group++) {
        struct guid g = etl_group_guid((uint16_t)(group << 8));
        if (guid_equal(&e->provider, &g)) {
            uint16_t hook = (uint16_t)(group << 8 | e->opcode);
            return hook == IMAGE_LOAD_BY_CLASS ? IMAGE_LOAD : hook;
        }
    }
    return CLASSIC_NONE;
}

const char *classic_class(uint16_t hook)
{
    unsigned group = hook == IMAGE_LOAD ? ETL_GROUP_IMAGE : hook >> 8;

    if (group < CLASS_COUNT)
        return classes[group];
    for (size_t i = 0; i < EXTRA_COUNT; i++)
        if (extras[i].hook >> 8 == (int)group)
            return extras[i].name;
    return NULL;
}

/* The row for a version: the one that covers it, else the first of the hook if it is newer, else none. */
static const struct row *find(uint16_t hook, uint8_t version)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].hook == hook && version >= rows[i].lowest && version <= rows[i].highest)
            return &rows[i];
    return NULL;
}

bool classic_name(uint16_t hook, char *out, size_t size)
{
    const char *class_name = hook == CLASSIC_NONE ? NULL : classic_class(hook);

    if (!class_name)
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].hook == hook) {
            snprintf(out, size, "%s/%s", class_name, rows[i].name);
            return true;
        }
    snprintf(out, size, "%s/%u", class_name, hook & 0xFF);
    return true;
}

/* A fixed array of UTF-16 units; the text ends at its first NUL. */
static bool fixed_utf16(struct field_sink *sink, struct cursor *c, unsigned units)
{
    const uint8_t *p = cur_take(c, units * 2u);
    size_t         n = 0;

    if (!p)
        return false;
    while (n < units * 2u && (p[n] || p[n + 1]))
        n += 2;
    text_cut(&sink->value, 0);
    text_utf16(&sink->value, p, n);
    struct field f = {.path = text_get(&sink->path), .name = text_get(&sink->path), .text = text_get(&sink->value),
                      .length = sink->value.length, .json = JSON_STRING};
    sink->emit(sink->self, &f);
    return true;
}

/* One word of a layout: "Name:kind", "?Name:kind" (may be absent at the end), "-N". */
static bool decode_word(const char *word, size_t length, const struct etl_event *e, struct cursor *c,
                        struct field_sink *sink)
{
    if (*word == '-')
        return cur_take(c, (size_t)atoi(word + 1)) != NULL;
    if (*word == '?') {
        if (cur_left(c) == 0)
            return true;
        word++;
        length--;
    }
    const char *colon = memchr(word, ':', length);
    if (!colon)
        return false;
    size_t kind_length = (size_t)(word + length - colon - 1);
    text_cut(&sink->path, 0);
    text_add(&sink->path, word, (size_t)(colon - word));
    enum value_kind kind = value_kind_find(colon + 1, kind_length);
    if (kind == VALUE_KINDS && colon[1] == 'w')
        return fixed_utf16(sink, c, (unsigned)atoi(colon + 2));
    return kind != VALUE_KINDS && field_read(sink, c, kind, e->is_64bit);
}

/* TRACE_LOGFILE_HEADER; the pointers and the time zone are of no use to a person */
static const char header[] =
    "BufferSize:u32 MajorVersion:u8 MinorVersion:u8 SubVersion:u8 SubMinorVersion:u8 ProviderVersion:u32 "
    "NumberOfProcessors:u32 EndTime:filetime TimerResolution:u32 MaximumFileSize:u32 LogFileMode:x32 "
    "BuffersWritten:u32 StartBuffers:u32 PointerSize:u32 EventsLost:u32 CpuSpeedInMHz:u32 LoggerName:p "
    "LogFileName:p -176 BootTime:filetime PerfFreq:u64 StartTime:filetime ReservedFlags:u32 BuffersLost:u32 "
    "?SessionName:w ?SessionFileName:w";

const char *classic_fields(uint16_t hook, uint8_t version)
{
    const struct row *row = find(hook, version);
    return row && hook == 0 ? header : row ? row->layout : NULL;
}

struct guid classic_guid(uint16_t hook)
{
    for (size_t i = 0; i < EXTRA_COUNT; i++)
        if (extras[i].hook >> 8 == hook >> 8)
            return extras[i].guid;
    return etl_group_guid(hook);
}

enum decode_result classic_layout(const char *layout, const struct etl_event *e, struct field_sink *sink,
                                  uint32_t *used)
{
    struct cursor c  = cur_make(e->payload, e->payload_size);
    bool          ok = true;

    for (const char *word = layout; ok && *word;) {
        size_t length = strcspn(word, " "), before = c.pos;
        ok = decode_word(word, length, e, &c, sink);
        if (!ok)
            c.pos = before; /* bytes of a field that was not given stay undecoded */
        word += length + strspn(word + length, " ");
    }
    *used = (uint32_t)c.pos;
    return ok && c.pos == c.size ? DECODE_OK : DECODE_MISMATCH;
}

enum decode_result classic_decode(const struct etl_event *e, struct field_sink *sink, uint32_t *used)
{
    uint16_t    hook   = classic_hook(e);
    const char *layout = hook == CLASSIC_NONE ? NULL : classic_fields(hook, e->version);

    *used = 0;
    return layout ? classic_layout(layout, e, sink, used) : DECODE_UNKNOWN;
}
