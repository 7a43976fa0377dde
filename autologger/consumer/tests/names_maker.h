/* names_maker.h - events that identify the file of an image, for tests: Image events, and the events of
 * wire/names.h. */
#ifndef AUTOLOGGER_CONSUMER_TESTS_NAMES_MAKER_H
#define AUTOLOGGER_CONSUMER_TESTS_NAMES_MAKER_H
#include "autologger/etl/tests/build.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>

#define MAKER_TRAITS "\x1a\0Autologger-Kernel-Names"
#define MAKER_BUILD_ID \
    "\x32\0\0BuildId\0TimeDateStamp\0\x14ImageCheckSum\0\x14" \
    "BuildId\0\x0e"
#define MAKER_BOOT "\x1b\0\0Boot\0BootId\0\x82\x23Release\0\x82\x23"
#define MAKER_SYMBOLS \
    "\x3a\0\0KernelSymbols\0Module\0\x82\x23Symbols\0\xd8\3" \
    "Address\0\x15Size\0\x08Name\0\x82\x23"
enum { MAKER_PID = 77 };

/* An image of process `pid`; 0: the kernel's. */
static inline void make_image_of(struct image *m, int64_t time, uint16_t hook, uint32_t pid, uint64_t base,
                                 uint64_t size, uint32_t stamp, uint32_t checksum, const char *nt_path)
{
    uint8_t       bytes[4096];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_u64(&w, base);
    wr_u64(&w, size);
    wr_u32(&w, pid);
    wr_u32(&w, checksum);
    wr_u32(&w, stamp);
    memset(bytes + w.pos, 0, 28);
    w.pos += 28;
    w.pos += utf8_to_utf16le(nt_path, strlen(nt_path), bytes + w.pos, sizeof bytes - w.pos - 2);
    wr_u16(&w, 0);
    image_kernel(m, time, hook, 3, MAKER_PID, bytes, w.pos);
}
static inline void make_image(struct image *m, int64_t time, uint16_t hook, uint64_t base, uint64_t size,
                              uint32_t stamp, uint32_t checksum, const char *nt_path)
{
    make_image_of(m, time, hook, MAKER_PID, base, size, stamp, checksum, nt_path);
}

/* An event of our own provider, whose GUID is the hash of its name. */
static inline void make_named(struct image *m, int64_t time, const char *schema, size_t schema_size, const void *body,
                              size_t size)
{
    struct guid provider = guid_from_name("Autologger-Kernel-Names");
    uint32_t    at       = m->pos;
    image_tracelogging(m, time, MAKER_TRAITS, sizeof MAKER_TRAITS, schema, (uint16_t)schema_size, body, size);
    memcpy(image_last(m) + at + offsetof(struct etl_event_header, provider), &provider, sizeof provider);
}

static inline void make_build_id(struct image *m, int64_t time, const uint8_t id[20])
{
    uint8_t       bytes[64];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_bytes(&w, id, 8);
    wr_u16(&w, 20);
    wr_bytes(&w, id, 20);
    make_named(m, time, MAKER_BUILD_ID, sizeof MAKER_BUILD_ID - 1, bytes, w.pos);
}

/* "/usr/lib/x" as Image events have it */
static inline const char *make_nt_path(const char *path, char *out, size_t size)
{
    snprintf(out, size, "\\Device\\HarddiskVolume1%s", path);
    for (char *p = out; *p; p++)
        *p = *p == '/' ? '\\' : *p;
    return out;
}
#endif
