/* trace_modes - LogFileMode as StartTrace takes it: one table of every combination that the pages of the modes name;
 * then as many sessions as there may be, at once, one provider in each that works; then one process that is provider,
 * controller and consumer. trace_modes, with a daemon at AUTOLOGGER_RUNTIME_DIR. Prints what failed. Exit codes: 0 all
 * as expected, 1 not. */
#include <evntcons.h>
#include <evntprov.h>
#include <evntrace.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned failed, made;

struct block {
    EVENT_TRACE_PROPERTIES p;
    char                   file[512], name[512];
};

static void expect(const char *what, uint64_t got, uint64_t wanted)
{
    made++;
    if (got == wanted)
        return;
    printf("%s: %llu, expected %llu\n", what, (unsigned long long)got, (unsigned long long)wanted);
    failed++;
}

static struct block fresh(const char *file, ULONG mode, ULONG size)
{
    struct block b = {.p = {.Wnode = {.BufferSize = sizeof b, .Flags = WNODE_FLAG_TRACED_GUID, .ClientContext = 1},
                            .LogFileMode      = mode,
                            .BufferSize       = 16,
                            .MaximumFileSize  = size,
                            .LoggerNameOffset = offsetof(struct block, name)}};
    if (file) {
        snprintf(b.file, sizeof b.file, "%s", file);
        b.p.LogFileNameOffset = offsetof(struct block, file);
    }
    return b;
}

enum {
    SEQ         = 1,
    CIRC        = 2,
    APPEND      = 4,
    NEWFILE     = 8,
    PRE         = 0x20,
    NONSTOP     = 0x40,
    SECURE      = 0x80,
    RT          = 0x100,
    BUF         = 0x400,
    PRIVATE     = 0x800,
    KB          = 0x2000,
    GLOBAL      = 0x4000,
    LOCAL       = 0x8000,
    RELOG       = 0x10000,
    IN_PROC     = 0x20000,
    PAGED       = 0x1000000,
    SYSTEM      = 0x2000000,
    COMPRESSED  = 0x4000000,
    INDEPENDENT = 0x8000000,
    NO_PER_CPU  = 0x10000000,
    STOP_HYBRID = 0x400000,
    KEEP_HYBRID = 0x800000,
    KD          = 0x80000
};

/* `mode`: LogFileMode of the running session. */
static const struct {
    const char *what, *file;
    ULONG       ask, size, wanted, mode;
} rows[] = {
    {"sequential + circular", "m.etl", SEQ | CIRC, 1, ERROR_INVALID_PARAMETER, 0},
    {"circular + append", "m.etl", CIRC | APPEND, 1, ERROR_INVALID_PARAMETER, 0},
    {"sequential", "m1.etl", SEQ, 1, 0, SEQ},
    {"a file and no mode", "m2.etl", 0, 1, 0, 0},
    {"circular", "m3.etl", CIRC, 1, 0, CIRC},
    {"append alone", "m4.etl", APPEND, 1, 0, SEQ | APPEND},
    {"newfile alone", "m5-%d.etl", NEWFILE, 1, 0, SEQ | NEWFILE},
    {"newfile + sequential", "m6-%d.etl", NEWFILE | SEQ, 1, 0, SEQ | NEWFILE},
    {"circular, no size", "m.etl", CIRC, 0, ERROR_INVALID_PARAMETER, 0},
    {"preallocate, no size", "m.etl", PRE, 0, ERROR_INVALID_PARAMETER, 0},
    {"preallocate", "m7.etl", PRE, 1, 0, PRE},
    {"preallocate + append", "m.etl", PRE | APPEND, 1, ERROR_INVALID_PARAMETER, 0},
    {"preallocate + newfile", "m-%d.etl", PRE | NEWFILE, 1, ERROR_INVALID_PARAMETER, 0},
    {"newfile, no name", NULL, NEWFILE | RT, 1, ERROR_INVALID_PARAMETER, 0},
    {"newfile, no size", "m-%d.etl", NEWFILE, 0, ERROR_INVALID_PARAMETER, 0},
    {"newfile + circular", "m-%d.etl", NEWFILE | CIRC, 1, ERROR_INVALID_PARAMETER, 0},
    {"newfile + append", "m-%d.etl", NEWFILE | APPEND, 1, ERROR_INVALID_PARAMETER, 0},
    {"newfile, system logger", "m-%d.etl", NEWFILE | SYSTEM, 1, ERROR_INVALID_PARAMETER, 0},
    {"newfile, no number in the name", "m.etl", NEWFILE, 1, ERROR_INVALID_NAME, 0},
    {"newfile, two numbers", "m-%d-%d.etl", NEWFILE, 1, ERROR_INVALID_NAME, 0},
    {"newfile, another mark", "m-%s.etl", NEWFILE, 1, ERROR_INVALID_NAME, 0},
    {"both sequences", "m.etl", GLOBAL | LOCAL, 1, ERROR_INVALID_PARAMETER, 0},
    {"global sequence", "m8.etl", GLOBAL, 1, 0, GLOBAL},
    {"local sequence", "m9.etl", LOCAL, 1, 0, LOCAL},
    {"neither name nor mode", NULL, 0, 0, ERROR_BAD_PATHNAME, 0},
    {"no name, and a mode that needs one", NULL, SEQ, 1, ERROR_INVALID_PARAMETER, 0},
    {"buffering", NULL, BUF, 0, 0, BUF},
    {"buffering + name", "m.etl", BUF, 1, ERROR_INVALID_PARAMETER, 0},
    {"buffering + sequential", NULL, BUF | SEQ, 1, ERROR_INVALID_PARAMETER, 0},
    {"buffering + circular", NULL, BUF | CIRC, 1, ERROR_INVALID_PARAMETER, 0},
    {"buffering + append", NULL, BUF | APPEND, 1, ERROR_INVALID_PARAMETER, 0},
    {"buffering + newfile", NULL, BUF | NEWFILE, 1, ERROR_INVALID_PARAMETER, 0},
    {"buffering + real time", NULL, BUF | RT, 0, 0, BUF},
    {"real time", NULL, RT, 0, 0, RT},
    {"real time + name", "m10.etl", RT, 1, 0, RT},
    {"real time + append", "m11.etl", RT | APPEND, 1, 0, RT | APPEND | SEQ},
    {"nonstoppable", "m.etl", NONSTOP | CIRC, 1, ERROR_INVALID_PARAMETER, 0},
    {"both hybrid modes", "m.etl", STOP_HYBRID | KEEP_HYBRID, 1, ERROR_INVALID_PARAMETER, 0},
    {"paged", "m12.etl", PAGED, 1, 0, PAGED},
    {"paged + system logger", "m.etl", PAGED | SYSTEM, 1, ERROR_INVALID_PARAMETER, 0},
    {"paged + debugger", "m13.etl", PAGED | KD, 1, 0, KD},
    {"compressed, not buffering", "m.etl", COMPRESSED, 1, ERROR_INVALID_PARAMETER, 0},
    {"compressed + buffering", NULL, COMPRESSED | BUF, 0, 0, COMPRESSED | BUF},
    {"relog", "m.etl", RELOG, 1, ERROR_INVALID_PARAMETER, 0},
    {"private + real time", NULL, PRIVATE | RT, 0, ERROR_INVALID_PARAMETER, 0},
    {"private", "m19.etl", PRIVATE, 1, 0, PRIVATE},
    {"private + circular", "m20.etl", PRIVATE | CIRC, 1, 0, PRIVATE | CIRC},
    {"private + newfile", "m21-%d.etl", PRIVATE | NEWFILE, 1, 0, SEQ | PRIVATE | NEWFILE},
    {"private + append", "m22.etl", PRIVATE | APPEND, 1, 0, SEQ | PRIVATE | APPEND},
    {"private, no file", NULL, PRIVATE, 1, ERROR_INVALID_PARAMETER, 0},
    {"private + set aside, of several processes", "m.etl", PRIVATE | PRE, 1, ERROR_INVALID_PARAMETER, 0},
    {"private + secure", "m.etl", PRIVATE | SECURE, 1, ERROR_INVALID_PARAMETER, 0},
    {"private + nonstoppable", "m.etl", PRIVATE | NONSTOP | CIRC, 1, ERROR_INVALID_PARAMETER, 0},
    {"private + system logger", "m.etl", PRIVATE | SYSTEM, 1, ERROR_INVALID_PARAMETER, 0},
    {"private + buffering", NULL, PRIVATE | BUF, 0, 0, PRIVATE | BUF},
    {"private, in this process", "own.etl", PRIVATE | IN_PROC, 1, 0, PRIVATE | IN_PROC},
    {"in this process, not private", "m.etl", IN_PROC, 1, ERROR_INVALID_PARAMETER, 0},
    {"private + set aside", "m.etl", PRIVATE | IN_PROC | PRE, 1, ERROR_INVALID_PARAMETER, 0},
    {"secure", "m14.etl", SECURE, 1, 0, SECURE},
    {"secure + real time", NULL, SECURE | RT, 0, 0, SECURE | RT},
    {"size in KB", "m15.etl", KB | CIRC, 512, 0, KB | CIRC},
    {"no buffers per processor", "m16.etl", NO_PER_CPU, 1, 0, NO_PER_CPU},
    {"independent", "m17.etl", INDEPENDENT, 1, 0, INDEPENDENT},
    {"ignored bits", "m18.etl", 0x200 | 0x1000 | 0x100000, 1, 0, 0x200 | 0x1000 | 0x100000},
};

static const GUID provider = {0x5eba5e02, 0x1111, 0x2222, {1, 2, 3, 4, 5, 6, 7, 8}};

static void modes(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct block b = fresh(rows[i].file, rows[i].ask, rows[i].size);
        TRACEHANDLE  h = 77;
        if (rows[i].ask & PRIVATE)
            b.p.Wnode.Guid = provider; /* the provider whose programs it is for */
        expect(rows[i].what, StartTraceA(&h, "modes", &b.p), rows[i].wanted);
        if (rows[i].wanted)
            expect("the handle of a session that did not start", h, 0);
        if (!h || rows[i].wanted)
            continue;
        struct block q = fresh("", 0, 0);
        expect("query", ControlTraceA(h, NULL, &q.p, EVENT_TRACE_CONTROL_QUERY), 0);
        expect(rows[i].what, q.p.LogFileMode, rows[i].mode);
        expect("stop", ControlTraceA(h, NULL, &q.p, EVENT_TRACE_CONTROL_STOP), 0);
    }
}

/* ---- as many as there may be ---- */

static ULONG write_numbered(REGHANDLE reg, ULONG n)
{
    const EVENT_DESCRIPTOR d = {.Id = 7, .Level = 4, .Keyword = 2};
    EVENT_DATA_DESCRIPTOR  data;
    EventDataDescCreate(&data, &n, sizeof n);
    return EventWrite(reg, &d, 1, &data);
}

static void all_places(void)
{
    enum { MOST = 64, IN_EIGHT = 8, EVENTS = 200 };
    TRACEHANDLE h[MOST] = {0};
    char        name[32];
    ULONG       limit = 0, length = 0;
    REGHANDLE   reg;
    expect("TraceMaxLoggersQuery", TraceQueryInformation(0, TraceMaxLoggersQuery, &limit, sizeof limit, &length), 0);
    expect("EtwMaxLoggers", limit, MOST);
    for (unsigned i = 0; i < MOST; i++) {
        snprintf(name, sizeof name, "place-%u", i);
        struct block b     = i < MOST - IN_EIGHT ? fresh(NULL, RT, 0) : fresh(name, SEQ, 1);
        b.p.MinimumBuffers = b.p.MaximumBuffers = 2;
        expect(name, StartTraceA(&h[i], name, &b.p), 0);
    }
    struct block more = fresh(NULL, RT, 0);
    TRACEHANDLE  none = 1;
    expect("one more than there are places", StartTraceA(&none, "one-too-many", &more.p), ERROR_NO_SYSTEM_RESOURCES);
    expect("its handle", none, 0);
    expect("EventRegister", EventRegister(&provider, NULL, NULL, &reg), 0);
    for (unsigned i = 0; i < IN_EIGHT; i++) /* the last eight: a provider is in eight sessions at most */
        expect("enable", EnableTraceEx2(h[MOST - 1 - i], &provider, 1, 5, 0, 0, 2000, NULL), 0);
    expect("a ninth", EnableTraceEx2(h[0], &provider, 1, 5, 0, 0, 2000, NULL), ERROR_NO_SYSTEM_RESOURCES);
    for (ULONG n = 0; n < EVENTS; n++)
        expect("EventWrite", write_numbered(reg, n), 0);
    for (unsigned i = 0; i < MOST; i++) {
        struct block q = fresh("", 0, 0);
        expect("stop", ControlTraceA(h[i], NULL, &q.p, EVENT_TRACE_CONTROL_STOP), 0);
        expect("lost", q.p.EventsLost, 0);
        expect("written, or not enabled", q.p.BuffersWritten > 1 || i < MOST - IN_EIGHT, 1);
    }
    EventUnregister(reg);
}

/* ---- events that are too large ---- */

/* Sizes include the event's header (80 bytes). Events up to the buffer less its header are written; larger ones fail
 * with ERROR_MORE_DATA; from 64 KB on the error is ERROR_ARITHMETIC_OVERFLOW. Both are counted as lost. */
static void sizes(void)
{
    /* clang-format off */
    static const struct { ULONG kb, total, wanted; } row[] = {
        {16, 8000, 0}, {16, 16384 - 72, 0}, {16, 16384 - 71, ERROR_MORE_DATA}, {16, 65535, ERROR_MORE_DATA},
         {16, 65536, ERROR_ARITHMETIC_OVERFLOW},
        {64, 65536 - 72, 0}, {64, 65536 - 71, ERROR_MORE_DATA}, {64, 65535, ERROR_MORE_DATA},
         {64, 65536, ERROR_ARITHMETIC_OVERFLOW},
        {128, 65536 - 71, 0}, {128, 65535, 0}, {128, 65536, ERROR_ARITHMETIC_OVERFLOW},
         {128, 100000, ERROR_ARITHMETIC_OVERFLOW},
    };
    /* clang-format on */
    static UCHAR           payload[100000];
    const EVENT_DESCRIPTOR d = {.Id = 7, .Level = 4};
    REGHANDLE              reg;
    char                   text[64];
    expect("EventRegister", EventRegister(&provider, NULL, NULL, &reg), 0);
    for (ULONG kb = 16; kb <= 128; kb *= kb == 16 ? 4 : 2) {
        struct block b = fresh("sizes.etl", SEQ, 10), q = fresh("", 0, 0);
        TRACEHANDLE  h;
        ULONG        lost = 0;
        b.p.BufferSize    = kb;
        expect("start", StartTraceA(&h, "sizes", &b.p), 0);
        expect("BufferSize", b.p.BufferSize, kb);
        expect("enable", EnableTraceEx2(h, &provider, 1, 5, 0, 0, 2000, NULL), 0);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
            EVENT_DATA_DESCRIPTOR data;
            if (row[i].kb != kb)
                continue;
            EventDataDescCreate(&data, payload, row[i].total - 80);
            snprintf(text, sizeof text, "%u bytes in %u KB", row[i].total, kb);
            expect(text, EventWrite(reg, &d, 1, &data), row[i].wanted);
            lost += row[i].wanted != 0;
        }
        expect("stop", ControlTraceA(h, NULL, &q.p, EVENT_TRACE_CONTROL_STOP), 0);
        expect("EventsLost", q.p.EventsLost, lost);
    }
    EventUnregister(reg);
}

/* ---- provider, controller and consumer in one ---- */

enum { ONE_EVENTS = 500 };
static ULONG cpu_of[ONE_EVENTS]; /* processor of each event */
static struct {
    unsigned    count, wrong;
    LONGLONG    last;
    pthread_t   thread;
    ULONG       status;
    TRACEHANDLE consumer;
} seen;

static VOID WINAPI on_event(PEVENT_RECORD r)
{
    ULONG n;
    if (memcmp(&r->EventHeader.ProviderId, &provider, sizeof provider) != 0)
        return;
    memcpy(&n, r->UserData, sizeof n);
    seen.wrong += r->UserDataLength != sizeof n || n != seen.count || r->EventHeader.ProcessId != (ULONG)getpid() ||
                  r->EventHeader.ThreadId != (ULONG)getpid() || r->EventHeader.TimeStamp.QuadPart < seen.last ||
                  r->EventHeader.TimeStamp.QuadPart == 0 || n >= ONE_EVENTS || GetEventProcessorIndex(r) != cpu_of[n] ||
                  r->EventHeader.KernelTime || r->EventHeader.UserTime || r->EventHeader.EventDescriptor.Id != 7 ||
                  r->EventHeader.EventDescriptor.Keyword != 2;
    seen.last = r->EventHeader.TimeStamp.QuadPart;
    seen.count++;
}

static void *consume(void *unused)
{
    (void)unused;
    seen.status = ProcessTrace(&seen.consumer, 1, NULL, NULL);
    return NULL;
}

/* Moves to another allowed processor, and returns its number. */
static ULONG move_on(const cpu_set_t *allowed, ULONG from)
{
    const ULONG most = (ULONG)sysconf(_SC_NPROCESSORS_CONF);
    for (ULONG i = 1; i <= most; i++) {
        const ULONG cpu = (from + i) % most;
        cpu_set_t   one;
        if (!CPU_ISSET(cpu, allowed))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        expect("a processor of its own", (uint64_t)sched_setaffinity(0, sizeof one, &one), 0);
        return cpu;
    }
    return from;
}

/* The header's fields that the system adds: thread, process, time, processor; its times are 0 (docs/DIFFERENCES.md). */
static void all_roles(void)
{
    EVENT_TRACE_LOGFILEA log = {.LoggerName          = (char *)"roles",
                                .ProcessTraceMode    = PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD,
                                .EventRecordCallback = on_event};
    struct block         b   = fresh(NULL, RT, 0);
    TRACEHANDLE          h;
    REGHANDLE            reg;
    b.p.BufferSize = 64;
    expect("start", StartTraceA(&h, "roles", &b.p), 0);
    seen.consumer = OpenTraceA(&log);
    expect("OpenTrace", seen.consumer != INVALID_PROCESSTRACE_HANDLE, 1);
    pthread_create(&seen.thread, NULL, consume, NULL);
    expect("EventRegister", EventRegister(&provider, NULL, NULL, &reg), 0);
    expect("enable", EnableTraceEx2(h, &provider, 1, 5, 0, 0, 2000, NULL), 0);
    cpu_set_t allowed;
    expect("sched_getaffinity", (uint64_t)sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (ULONG n = 0, cpu = 0; n < ONE_EVENTS; n++) {
        cpu = cpu_of[n] = n % 50 ? cpu : move_on(&allowed, cpu);
        expect("EventWrite", write_numbered(reg, n), 0);
    }
    expect("as before", (uint64_t)sched_setaffinity(0, sizeof allowed, &allowed), 0);
    struct block q = fresh("", 0, 0);
    expect("stop", ControlTraceA(h, NULL, &q.p, EVENT_TRACE_CONTROL_STOP), 0);
    pthread_join(seen.thread, NULL);
    expect("ProcessTrace", seen.status, 0);
    expect("events that came back", seen.count, ONE_EVENTS);
    expect("events with a wrong header", seen.wrong, 0);
    CloseTrace(seen.consumer);
    EventUnregister(reg);
}

/* ---- rights ---- */

static void rights(void)
{
    GUID  object = {0xacce5501, 1, 2, {3, 4, 5, 6, 7, 8, 9, 10}};
    BYTE  sid[16], descriptor[1024], other[4];
    ULONG size = sizeof descriptor, small = sizeof other;
    expect("EventAccessRemove, there is none", EventAccessRemove(&object), ERROR_FILE_NOT_FOUND);
    expect("the default", EventAccessQuery(&object, descriptor, &size), 0);
    AutologgerUnixSid(sid, FALSE, 1234);
    expect("NULL", EventAccessControl(NULL, EventSecuritySetDACL, sid, TRACELOG_LOG_EVENT, TRUE),
           ERROR_INVALID_PARAMETER);
    expect("no SID", EventAccessControl(&object, EventSecuritySetDACL, NULL, TRACELOG_LOG_EVENT, TRUE),
           ERROR_INVALID_PARAMETER);
    expect("no right", EventAccessControl(&object, EventSecuritySetDACL, sid, 0, TRUE), ERROR_INVALID_PARAMETER);
    expect("unknown operation", EventAccessControl(&object, EventSecurityMax, sid, 1, TRUE), ERROR_INVALID_PARAMETER);
    expect("SACL", EventAccessControl(&object, EventSecurityAddSACL, sid, 1, TRUE), ERROR_NOT_SUPPORTED);
    expect("set", EventAccessControl(&object, EventSecuritySetDACL, sid, TRACELOG_LOG_EVENT | WMIGUID_QUERY, TRUE), 0);
    AutologgerUnixSid(sid, TRUE, 77);
    expect("add", EventAccessControl(&object, EventSecurityAddDACL, sid, TRACELOG_REGISTER_GUIDS, FALSE), 0);
    expect("too small", EventAccessQuery(&object, other, &small), ERROR_MORE_DATA);
    size = small;
    expect("query", EventAccessQuery(&object, descriptor, &size), 0);
    expect("its size", size, small);
    /* head, owner S-1-5-18, list: 77 is refused 0x800, 1234 is given 0x201 */
    expect("self-relative, with an access list", descriptor[3] == 0x80 && descriptor[2] == 4, 1);
    expect("two entries", descriptor[36], 2);
    expect("the first refuses", descriptor[40], 1);
    expect("group 77", descriptor[60], 77);
    expect("remove", EventAccessRemove(&object), 0);
}

int main(void)
{
    modes();
    all_places();
    sizes();
    all_roles();
    rights();
    printf("%u of %u as expected\n", made - failed, made);
    return failed != 0;
}
