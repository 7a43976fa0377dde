/* make_traces - writes the traces that tests read: make_traces FOLDER. It uses the product's writer, and writes the
 * same bytes each time.
 *   small.etl       three TraceLogging events in three buffers of 8 KB
 *   other.etl       the same of another boot
 *   programs.etl    four processors: TraceLogging with every kind of field, manifest and classic events, extended items
 *   kernel.etl      two processors of a kernel session: processes, threads, images, disks, switches, samples, stacks
 *   compressed.etl  TraceLogging events, XPRESS
 *   lossy.etl       a session that lost 1234 events and 2 buffers
 * tools/tests/made has the output of "autologger dump" for each. Exit codes: 0, 1 a file could not be written, 100 called
 * wrongly. */
#include "autologger/etl/writer.h"
#include "autologger/etl/xpress.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 72, CPUS_MAX = 4, BUFFER = 8192, RECORD_MAX = 2048 };
#define START_TIME UINT64_C(133500000000000000) /* 2024-01-17 21:20:00 */
#define START_RAW INT64_C(5000000000)
#define US INT64_C(1000)
#define MS (1000 * US)

struct make_traces_making {
    struct etl_writer *w;
    uint8_t            buffer[CPUS_MAX][BUFFER];
    uint32_t           filled[CPUS_MAX];
    int64_t            start, time; /* by the raw clock: of the session, of the last event */
};

static void make_traces_fail(const struct reason *why)
{
    fprintf(stderr, "make_traces: %s\n", why->text);
    exit(1);
}

static struct etl_file_info info_of(const char *name, uint32_t processors, uint32_t mode)
{
    return (struct etl_file_info){.logger_name   = name,
                                  .file_name     = "made.etl",
                                  .buffer_size   = BUFFER,
                                  .processors    = processors,
                                  .logger_id     = 3,
                                  .log_file_mode = mode,
                                  .clock_type    = 1,
                                  .perf_freq     = 1000000000,
                                  .cpu_mhz       = 2400,
                                  .boot_time     = START_TIME - 50000000,
                                  .start_time    = START_TIME,
                                  .start_raw     = START_RAW,
                                  .thread_id     = 4,
                                  .process_id    = 4};
}

static struct make_traces_making *make_traces_begin(const char *folder, const char *file,
                                                    const struct etl_file_info *info)
{
    struct make_traces_making *m = calloc(1, sizeof *m);
    struct reason              why;
    char                       path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (!m || etl_writer_create(os_linux(), path, info, 0, &m->w, &why))
        make_traces_fail(&why);
    for (unsigned i = 0; i < CPUS_MAX; i++)
        m->filled[i] = HEAD;
    m->start = m->time = info->start_raw;
    return m;
}

static void make_traces_put(struct make_traces_making *m, unsigned cpu)
{
    struct reason why;
    if (m->filled[cpu] > HEAD && etl_writer_put(m->w, m->buffer[cpu], m->filled[cpu], (uint16_t)cpu, m->time, &why))
        make_traces_fail(&why);
    m->filled[cpu] = HEAD;
}

static void make_traces_end(struct make_traces_making *m, uint64_t events_lost)
{
    struct reason why;
    for (unsigned i = 0; i < CPUS_MAX; i++)
        make_traces_put(m, i);
    if (etl_writer_finish(m->w, START_TIME + (uint64_t)(m->time - m->start) / 100, events_lost, false, &why))
        make_traces_fail(&why);
    etl_writer_destroy(m->w);
    free(m);
}

/* A record's header holds the record's size, at offset 0 or 4. */
static void record(struct make_traces_making *m, unsigned cpu, const void *bytes, size_t size)
{
    const uint32_t whole = (uint32_t)(size + 7) & ~7u;
    if (m->filled[cpu] + whole > BUFFER)
        make_traces_put(m, cpu);
    memset(m->buffer[cpu] + m->filled[cpu], 0, whole);
    memcpy(m->buffer[cpu] + m->filled[cpu], bytes, size);
    m->filled[cpu] += whole;
}

static void wide(struct writer *w, const char *text)
{
    uint8_t units[512];
    wr_bytes(w, units, utf8_to_utf16le(text, strlen(text), units, sizeof units));
    wr_u16(w, 0);
}
static void make_traces_narrow(struct writer *w, const char *text) { wr_bytes(w, text, strlen(text) + 1); }

/* -- events of programs ------------------------------------------------------------------------------------------- */

struct make_traces_source {
    unsigned cpu;
    uint32_t pid, tid;
};

static void make_traces_item(struct writer *w, uint16_t type, bool more, const void *data, size_t size)
{
    static const uint8_t zero[8];
    struct etl_ext_item  head = {(uint16_t)((sizeof head + size + 7) & ~(size_t)7), type, more, (uint16_t)size};
    wr_bytes(w, &head, sizeof head);
    wr_bytes(w, data, size);
    wr_bytes(w, zero, head.total - sizeof head - size);
}

static struct etl_event_header event_head(struct make_traces_making *m, struct make_traces_source from,
                                          const struct guid *provider)
{
    m->time += 10 * US;
    return (struct etl_event_header){.header_type = ETL_EVENT64,
                                     .marker      = ETL_MARKER,
                                     .thread_id   = from.tid,
                                     .process_id  = from.pid,
                                     .time        = m->time,
                                     .provider    = *provider,
                                     .level       = 4,
                                     .keyword     = 1};
}

static void make_traces_event(struct make_traces_making *m, struct make_traces_source from, struct etl_event_header *h,
                              const struct writer *rest)
{
    uint8_t       bytes[RECORD_MAX];
    struct writer w = wr_make(bytes, sizeof bytes);
    h->size         = (uint16_t)(sizeof *h + rest->pos);
    wr_bytes(&w, h, sizeof *h);
    wr_bytes(&w, rest->data, rest->pos);
    record(m, from.cpu, bytes, w.pos);
}

/* A TraceLogging event. `fields`: "name\0type..." as metadata has them after the event's name. */
static void tracelogging(struct make_traces_making *m, struct make_traces_source from, const char *provider,
                         const char *name, const void *fields, size_t fields_size, const struct writer *payload)
{
    uint8_t                 bytes[RECORD_MAX], part[512];
    struct writer           w = wr_make(bytes, sizeof bytes), p = wr_make(part, sizeof part);
    const struct guid       id = guid_from_name(provider);
    struct etl_event_header h  = event_head(m, from, &id);

    h.flags   = ETL_EVENT_EXTENDED;
    h.channel = 11;
    wr_u16(&p, (uint16_t)(2 + strlen(provider) + 1));
    make_traces_narrow(&p, provider);
    make_traces_item(&w, ETL_EXT_PROV_TRAITS, true, part, p.pos);
    p = wr_make(part, sizeof part);
    wr_u16(&p, (uint16_t)(3 + strlen(name) + 1 + fields_size));
    wr_u8(&p, 0);
    make_traces_narrow(&p, name);
    wr_bytes(&p, fields, fields_size);
    make_traces_item(&w, ETL_EXT_SCHEMA_TL, false, part, p.pos);
    wr_bytes(&w, payload->data, payload->pos);
    make_traces_event(m, from, &h, &w);
}

static void make_traces_request(struct make_traces_making *m, struct make_traces_source from, uint32_t number,
                                const char *path)
{
    static const char fields[] = "Number\0\x08Path\0\x02"; /* u32, ANSI string */
    uint8_t           bytes[256];
    struct writer     w = wr_make(bytes, sizeof bytes);
    wr_u32(&w, number);
    make_traces_narrow(&w, path);
    tracelogging(m, from, "Contoso-Made", "Request", fields, sizeof fields - 1, &w);
}

/* Every kind of field once. */
static void make_traces_kinds(struct make_traces_making *m, struct make_traces_source from, unsigned n)
{
    static const char fields[] = "i8\0\x03"
                                 "u8\0\x04"
                                 "i16\0\x05"
                                 "u16\0\x06"
                                 "i32\0\x07"
                                 "u32\0\x08"
                                 "i64\0\x09"
                                 "u64\0\x0a"
                                 "float\0\x0b"
                                 "double\0\x0c"
                                 "bool\0\x0d"
                                 "hex32\0\x14"
                                 "hex64\0\x15"
                                 "wide\0\x01"
                                 "utf8\0\x82\x23"
                                 "array\0\x48"
                                 "struct\0\x98\x02"
                                 "x\0\x07"
                                 "y\0\x07";
    uint8_t           bytes[512];
    struct writer     w = wr_make(bytes, sizeof bytes);
    const float       f = 1.5f * (float)(n + 1);
    const double      d = -0.25 * (n + 1);

    wr_u8(&w, (uint8_t) - (int)n), wr_u8(&w, (uint8_t)n), wr_u16(&w, (uint16_t)(-300 - (int)n)),
        wr_u16(&w, (uint16_t)(60000 + n));
    wr_u32(&w, (uint32_t)(-70000 - (int)n)), wr_u32(&w, 4000000000u + n),
        wr_u64(&w, (uint64_t)(-5000000000 - (int64_t)n));
    wr_u64(&w, UINT64_C(18000000000000000000) + n), wr_bytes(&w, &f, 4), wr_bytes(&w, &d, 8), wr_u32(&w, n % 2),
        wr_u32(&w, 0xBEEF0000u + n);
    wr_u64(&w, UINT64_C(0xFFFF800000000000) + n), wide(&w, n % 2 ? "\xc3\xa9t\xc3\xa9" : "winter"),
        make_traces_narrow(&w, n % 3 ? "\xe2\x82\xac" : "");
    wr_u16(&w, 3), wr_u32(&w, n), wr_u32(&w, n * n), wr_u32(&w, 7);
    wr_u32(&w, (uint32_t)-1), wr_u32(&w, n);
    tracelogging(m, from, "Contoso-Made", "Kinds", fields, sizeof fields - 1, &w);
}

/* An event that a manifest would describe, with the items that sessions add. */
static void make_traces_described(struct make_traces_making *m, struct make_traces_source from, uint16_t id, unsigned n)
{
    static const struct guid provider = {0xa5a5a5a5, 0x0001, 0x4002, {0x80, 1, 2, 3, 4, 5, 6, 7}};
    static const uint8_t     sid[12]  = {1, 1, 0, 0, 0, 0, 0, 5, 18};
    const struct guid        related  = {n, 1, 2, {3}};
    const uint64_t           stack[]  = {n, UINT64_C(0x7f0000001000), UINT64_C(0x7f0000002000) + n};
    uint8_t                  bytes[256];
    struct writer            w = wr_make(bytes, sizeof bytes);
    struct etl_event_header  h = event_head(m, from, &provider);

    h.id = id, h.version = 1, h.channel = 16, h.level = 3, h.opcode = (uint8_t)(1 + n % 2), h.task = 2,
    h.keyword  = UINT64_C(0x8000000000000002);
    h.flags    = ETL_EVENT_EXTENDED;
    h.activity = (struct guid){0xac710000 + n, 0, 1, {9}};
    make_traces_item(&w, ETL_EXT_RELATED_ACTIVITY, true, &related, sizeof related);
    make_traces_item(&w, ETL_EXT_SID, true, sid, sizeof sid);
    make_traces_item(&w, ETL_EXT_STACK64, false, stack, sizeof stack);
    wr_u32(&w, n);
    wide(&w, "described elsewhere");
    make_traces_event(m, from, &h, &w);
}

static void classic(struct make_traces_making *m, struct make_traces_source from, uint8_t type)
{
    struct etl_full_header h = {.size        = sizeof h + 12,
                                .header_type = ETL_FULL64,
                                .marker      = ETL_MARKER,
                                .type        = type,
                                .level       = 2,
                                .version     = 1,
                                .thread_id   = from.tid,
                                .process_id  = from.pid,
                                .time        = m->time += 10 * US,
                                .guid        = {0xc1a551c0, 0x0001, 0x4003, {0x80, 1, 2, 3, 4, 5, 6, 7}}};
    uint8_t                bytes[sizeof h + 12];
    memcpy(bytes, &h, sizeof h);
    for (unsigned i = 0; i < 12; i++)
        bytes[sizeof h + i] = (uint8_t)(type + i);
    record(m, from.cpu, bytes, sizeof bytes);
}

static void small(const char *folder, const char *file, int64_t start_raw)
{
    struct etl_file_info info    = info_of("made-small", 2, ETL_MODE_SEQUENTIAL);
    info.start_raw               = start_raw;
    struct make_traces_making *m = make_traces_begin(folder, file, &info);
    make_traces_request(m, (struct make_traces_source){0, 100, 101}, 1, "/index.html");
    make_traces_request(m, (struct make_traces_source){1, 200, 201}, 2, "/\xc3\xa9t\xc3\xa9");
    make_traces_request(m, (struct make_traces_source){1, 200, 202}, 3, "");
    make_traces_end(m, 0);
}

static void make_traces_programs(const char *folder, const char *file, uint64_t lost)
{
    const struct etl_file_info info = info_of("made-programs", CPUS_MAX, ETL_MODE_SEQUENTIAL);
    struct make_traces_making *m    = make_traces_begin(folder, file, &info);
    for (unsigned i = 0; i < 120; i++) {
        const struct make_traces_source from = {i * 7 % CPUS_MAX, 100 + i % 3 * 100, 101 + i % 5};
        char                            path[64];
        snprintf(path, sizeof path, "/page/%u", i * i);
        if (i % 4 == 1)
            make_traces_kinds(m, from, i);
        else if (i % 10 == 3)
            make_traces_described(m, from, (uint16_t)(i % 20 == 3 ? 11 : 12), i);
        else if (i % 10 == 6)
            classic(m, from, (uint8_t)(i % 3));
        else
            make_traces_request(m, from, i, path);
    }
    if (lost)
        etl_writer_add_lost(m->w, 2);
    make_traces_end(m, lost);
}

static void compressed(const char *folder)
{
    struct etl_file_info info    = info_of("made-compressed", 2, ETL_MODE_SEQUENTIAL | ETL_MODE_COMPRESSED);
    info.compress                = xpress_compress;
    info.compression             = ETL_XPRESS;
    struct make_traces_making *m = make_traces_begin(folder, "compressed.etl", &info);
    for (unsigned i = 0; i < 200; i++)
        make_traces_request(m, (struct make_traces_source){i % 2, 300, 301}, i, "/the/same/long/path/each/time");
    make_traces_end(m, 0);
}

/* -- events of the kernel ----------------------------------------------------------------------------------------- */

/* Without a thread: a PERFINFO header; with one: a SYSTEM header. */
static void make_traces_kernel_event(struct make_traces_making *m, unsigned cpu, uint16_t hook, uint8_t version,
                                     uint32_t pid, uint32_t tid, const struct writer *payload)
{
    uint8_t       bytes[RECORD_MAX];
    struct writer w = wr_make(bytes, sizeof bytes);
    m->time += 5 * US;
    struct etl_perfinfo_header p = {.version     = version,
                                    .header_type = ETL_PERFINFO64,
                                    .flags       = ETL_MARKER,
                                    .size        = (uint16_t)(sizeof p + payload->pos),
                                    .type        = (uint8_t)hook,
                                    .group       = (uint8_t)(hook >> 8),
                                    .time        = m->time};
    struct etl_system_header   s = {.version     = version,
                                    .header_type = ETL_SYSTEM64,
                                    .flags       = ETL_MARKER,
                                    .size        = (uint16_t)(sizeof s + payload->pos),
                                    .type        = (uint8_t)hook,
                                    .group       = (uint8_t)(hook >> 8),
                                    .thread_id   = tid,
                                    .process_id  = pid,
                                    .time        = m->time};
    wr_bytes(&w, tid ? (void *)&s : (void *)&p, tid ? sizeof s : sizeof p);
    wr_bytes(&w, payload->data, payload->pos);
    record(m, cpu, bytes, w.pos);
}

/* Hooks 0x0301 Start, 0x0302 End, 0x0303 DCStart */
static void make_traces_process(struct make_traces_making *m, unsigned cpu, uint16_t hook, uint32_t pid,
                                uint32_t parent, const char *name, const char *command)
{
    static const uint8_t user[28] = {[16] = 1, 1, 0, 0, 0, 0, 0, 5, 18}; /* TOKEN_USER, S-1-5-18 */
    uint8_t              bytes[512];
    struct writer        w = wr_make(bytes, sizeof bytes);
    wr_u64(&w, UINT64_C(0xffff888000000000) + pid * 64), wr_u32(&w, pid), wr_u32(&w, parent), wr_u32(&w, 0);
    wr_u32(&w, hook == 0x0302 ? 0 : 259), wr_u64(&w, 0x1000u * pid), wr_u32(&w, 0);
    if (pid % 2)
        wr_u64(&w, 1), wr_bytes(&w, user + 8, sizeof user - 8);
    else
        wr_u32(&w, 0);
    make_traces_narrow(&w, name), wide(&w, command), wide(&w, ""), wide(&w, "");
    make_traces_kernel_event(m, cpu, hook, 4, parent, parent, &w);
}

/* Hooks 0x0501 Start, 0x0502 End, 0x0503 DCStart */
static void thread(struct make_traces_making *m, unsigned cpu, uint16_t hook, uint32_t pid, uint32_t tid)
{
    uint8_t       bytes[128];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_u32(&w, pid), wr_u32(&w, tid);
    for (unsigned i = 0; i < 4; i++)
        wr_u64(&w, UINT64_C(0x7ffc00000000) + tid * 4096 + i);
    wr_u64(&w, 3), wr_u64(&w, UINT64_C(0x555500001000)), wr_u64(&w, 0), wr_u32(&w, 0), wr_u32(&w, 0x02050008);
    make_traces_kernel_event(m, cpu, hook, 3, pid, tid, &w);
}

static void image(struct make_traces_making *m, unsigned cpu, uint16_t hook, uint32_t pid, uint64_t base,
                  const char *path)
{
    static const uint8_t zero[28];
    uint8_t              bytes[512];
    struct writer        w = wr_make(bytes, sizeof bytes);
    wr_u64(&w, base), wr_u64(&w, 0x21000), wr_u32(&w, pid), wr_u32(&w, 0x1234), wr_u32(&w, 0x5678),
        wr_bytes(&w, zero, sizeof zero), wide(&w, path);
    make_traces_kernel_event(m, cpu, hook, 3, pid, pid, &w);
}

static void stack(struct make_traces_making *m, unsigned cpu, uint32_t pid, uint32_t tid, unsigned n)
{
    uint8_t       bytes[128];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_u64(&w, (uint64_t)m->time), wr_u32(&w, pid), wr_u32(&w, tid);
    for (unsigned i = 0; i < 2 + n % 4; i++)
        wr_u64(&w, (i < 2 ? UINT64_C(0xffffffff81000000) : UINT64_C(0x555500000000)) + n % 7 * 256 + i * 16);
    make_traces_kernel_event(m, cpu, 0x1820, 2, 0, 0, &w);
}

static void turn(struct make_traces_making *m, unsigned cpu, uint32_t *running, uint32_t next, uint32_t pid, unsigned n)
{
    uint8_t       bytes[64];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_u32(&w, next), wr_u8(&w, 1), wr_u8(&w, 0), wr_u16(&w, 0);
    make_traces_kernel_event(m, cpu, 0x0532, 2, 0, 0, &w); /* ReadyThread */
    w = wr_make(bytes, sizeof bytes);
    wr_u32(&w, next), wr_u32(&w, running[cpu]), wr_u8(&w, 8), wr_u8(&w, 9), wr_u8(&w, 1), wr_u8(&w, 0), wr_u8(&w, 6),
        wr_u8(&w, 1), wr_u8(&w, 5);
    wr_u8(&w, 0), wr_u32(&w, n), wr_u32(&w, 0);
    make_traces_kernel_event(m, cpu, 0x0524, 4, 0, 0, &w); /* CSwitch */
    stack(m, cpu, pid, next, n);
    running[cpu] = next;
    m->time += 400 * US;
    w = wr_make(bytes, sizeof bytes);
    wr_u64(&w, UINT64_C(0xffffffff81000000) + n % 7 * 256), wr_u32(&w, next), wr_u16(&w, 1), wr_u8(&w, 0), wr_u8(&w, 0);
    make_traces_kernel_event(m, cpu, 0x0F2E, 2, 0, 0, &w); /* SampledProfile */
    stack(m, cpu, pid, next, n + 1);
}

static void make_traces_disk(struct make_traces_making *m, unsigned cpu, uint32_t tid, unsigned n)
{
    uint8_t       bytes[64];
    struct writer w      = wr_make(bytes, sizeof bytes);
    const bool    writes = n % 3 == 0;
    wr_u64(&w, UINT64_C(0xffff888100000000) + n), wr_u32(&w, tid);
    make_traces_kernel_event(m, cpu, writes ? 0x010D : 0x010C, 3, 0, 0, &w);
    m->time += 200 * US;
    w = wr_make(bytes, sizeof bytes);
    wr_u32(&w, 0), wr_u32(&w, writes ? 0x60A00 : 0x60043), wr_u32(&w, 4096 * (1 + n % 16)), wr_u32(&w, 0),
        wr_u64(&w, UINT64_C(1048576) * n);
    wr_u64(&w, 0xF11E0000u + n % 5), wr_u64(&w, UINT64_C(0xffff888100000000) + n), wr_u64(&w, 205 * 1000),
        wr_u32(&w, tid);
    make_traces_kernel_event(m, cpu, writes ? 0x010B : 0x010A, 3, 0, 0, &w);
}

static void make_traces_kernel(const char *folder)
{
    const struct etl_file_info info = info_of("NT Kernel Logger", 2, ETL_MODE_SEQUENTIAL | ETL_MODE_SYSTEM_LOGGER);
    struct make_traces_making *m    = make_traces_begin(folder, "kernel.etl", &info);
    uint32_t                   running[2] = {0};
    char                       name[64], command[96];

    for (uint32_t pid = 1; pid <= 12; pid++) { /* processes from before the session */
        snprintf(name, sizeof name, pid == 1 ? "init" : "daemon-%u", pid);
        snprintf(command, sizeof command, "/usr/sbin/%s --flag %u", name, pid * 3);
        make_traces_process(m, 0, 0x0303, pid, pid == 1 ? 0 : 1, name, command);
        thread(m, 0, 0x0503, pid, pid);
        image(m, 0, 0x1403, pid, UINT64_C(0x555500000000), "\\Device\\HarddiskVolume1\\usr\\sbin\\daemon");
    }
    for (uint32_t i = 0; i < 150; i++) {
        const unsigned cpu = i % 2;
        const uint32_t pid = i % 5 == 0 ? 1 : 20 + i / 10;
        if (i % 10 == 0) {
            snprintf(name, sizeof name, "worker-%u", i / 10);
            snprintf(command, sizeof command, "/usr/bin/%s \"a b\" %u", name, i);
            make_traces_process(m, cpu, 0x0301, 20 + i / 10, 1, name, command);
            thread(m, cpu, 0x0501, 20 + i / 10, 20 + i / 10);
            image(m, cpu, 0x030A, 20 + i / 10, UINT64_C(0x555500000000), "\\Device\\HarddiskVolume1\\usr\\bin\\worker");
        }
        turn(m, cpu, running, pid, pid, i);
        if (i % 4 == 0)
            make_traces_disk(m, cpu, pid, i);
        if (i % 10 == 9)
            make_traces_process(m, cpu, 0x0302, 20 + i / 10, 1, "worker", "");
    }
    for (uint32_t pid = 6; pid <= 12; pid++)
        make_traces_process(m, 1, 0x0302, pid, 1, "daemon", "");
    make_traces_end(m, 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "make_traces FOLDER\n");
        return 100;
    }
    small(argv[1], "small.etl", START_RAW);
    small(argv[1], "other.etl", START_RAW + 60 * 1000 * MS);
    make_traces_programs(argv[1], "programs.etl", 0);
    make_traces_programs(argv[1], "lossy.etl", 1234);
    compressed(argv[1]);
    make_traces_kernel(argv[1]);
    return 0;
}
