/* filter_controller - a controller and its provider as one would write them for Windows: every type of filter and
 * EnableProperty by EnableTraceEx2, and every error. Needs a daemon at AUTOLOGGER_RUNTIME_DIR.
 *   filter_controller errors SESSION         the table of refused calls
 *   filter_controller enable SESSION         enables: only ids 7 and 9, with the properties below
 *   filter_controller payload SESSION FILE   enables by predicates over the events of that manifest
 *   filter_controller write-payload COUNT    writes COUNT of these events, in pieces; prints how many pass
 *   filter_controller classic                a provider of the older API: prints whether it was enabled, and the result
 *                                            of TraceEvent
 *   filter_controller write                  writes ids 1 to 10 as the provider; prints its pid
 * Exit codes: 0 all as expected, 1 not. */
#include <evntcons.h>
#include <evntprov.h>
#include <evntrace.h>
#include <tdh.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const GUID provider = {0x5eba5e02, 0x1111, 0x2222, {1, 2, 3, 4, 5, 6, 7, 8}};
static unsigned   failed;

static TRACEHANDLE handle_of(const char *session)
{
    struct {
        EVENT_TRACE_PROPERTIES p;
        char                   file[1024], name[1024];
    } b = {.p = {.Wnode             = {.BufferSize = sizeof b, .Flags = WNODE_FLAG_TRACED_GUID},
                 .LogFileNameOffset = sizeof b.p,
                 .LoggerNameOffset  = sizeof b.p + 1024}};
    return ControlTraceA(0, session, &b.p, EVENT_TRACE_CONTROL_QUERY) == ERROR_SUCCESS ? b.p.Wnode.HistoricalContext
                                                                                       : 0;
}

static ULONG enable_of(const GUID *id, TRACEHANDLE h, ULONG property, EVENT_FILTER_DESCRIPTOR *filters, ULONG count)
{
    ENABLE_TRACE_PARAMETERS e = {.Version          = ENABLE_TRACE_PARAMETERS_VERSION_2,
                                 .EnableProperty   = property,
                                 .EnableFilterDesc = filters,
                                 .FilterDescCount  = count};
    return EnableTraceEx2(h, id, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 0, 0, 0, 5000, &e);
}
static ULONG enable(TRACEHANDLE h, ULONG property, EVENT_FILTER_DESCRIPTOR *filters, ULONG count)
{
    return enable_of(&provider, h, property, filters, count);
}

/* A list of ids as EVENT_FILTER_EVENT_ID. */
static ULONG ids_put(uint16_t *out, int in, unsigned count, unsigned first)
{
    out[0] = (uint16_t)in;
    out[1] = (uint16_t)count;
    for (unsigned i = 0; i < count; i++)
        out[2 + i] = (uint16_t)(first + 2 * i);
    return (ULONG)(4 + 2 * count);
}

static void errors(TRACEHANDLE h)
{
    static char     bytes[8192];
    static uint16_t ids[80];
    ULONG           pids[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const ULONG     most    = ids_put(ids, 1, 64, 0);
    for (size_t i = 0; i < sizeof bytes; i += 2)
        bytes[i] = 'a'; /* UTF-16 */
    const struct {
        const char *what;
        ULONG       type;
        const void *data;
        ULONG       size, wanted;
    } row[] = {
        {"none", EVENT_FILTER_TYPE_NONE, NULL, 0, 0},
        {"8 pids", EVENT_FILTER_TYPE_PID, pids, 32, 0},
        {"9 pids", EVENT_FILTER_TYPE_PID, pids, 36, 87},
        {"no pids", EVENT_FILTER_TYPE_PID, pids, 0, 87},
        {"half a pid", EVENT_FILTER_TYPE_PID, pids, 3, 87},
        {"64 ids", EVENT_FILTER_TYPE_EVENT_ID, ids, most, 0},
        {"64 ids, less than told", EVENT_FILTER_TYPE_EVENT_ID, ids, most - 2, 87},
        {"64 ids and a rest", EVENT_FILTER_TYPE_STACKWALK, ids, most + 2, 0},
        {"names of 1024 bytes", EVENT_FILTER_TYPE_EXECUTABLE_NAME, bytes, 1024, 0},
        {"names of 1026 bytes", EVENT_FILTER_TYPE_EXECUTABLE_NAME, bytes, 1026, 87},
        {"half a letter", EVENT_FILTER_TYPE_EXECUTABLE_NAME, bytes, 3, 87},
        {"no name", EVENT_FILTER_TYPE_PACKAGE_ID, bytes, 0, 87},
        {"a package", EVENT_FILTER_TYPE_PACKAGE_ID, bytes, 20, 0},
        {"an application", EVENT_FILTER_TYPE_PACKAGE_APP_ID, bytes, 20, 0},
        {"a container", EVENT_FILTER_TYPE_CONTAINER, bytes, 24, 0},
        {"the provider's own", EVENT_FILTER_TYPE_SCHEMATIZED, bytes, 1024, 0},
        {"more of it", EVENT_FILTER_TYPE_SCHEMATIZED, bytes, 1025, 87},
        {"names that are none", EVENT_FILTER_TYPE_EVENT_NAME, bytes, 40, 87},
        {"payload that is none", EVENT_FILTER_TYPE_PAYLOAD, bytes, 40, 87},
        {"more payload than there is room for", EVENT_FILTER_TYPE_PAYLOAD, bytes, 4097, 87},
        {"trace handle", EVENT_FILTER_TYPE_TRACEHANDLE, bytes, 8, 50},
        {"no data", EVENT_FILTER_TYPE_PID, NULL, 4, 87},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        EVENT_FILTER_DESCRIPTOR d = {
            .Ptr = (ULONGLONG)(uintptr_t)row[i].data, .Size = row[i].size, .Type = row[i].type};
        const ULONG st = enable(h, 0, &d, 1);
        if (st != row[i].wanted)
            failed++, printf("%s: %u, expected %u\n", row[i].what, st, row[i].wanted);
    }
    EVENT_FILTER_DESCRIPTOR twice[14] = {{(ULONGLONG)(uintptr_t)pids, 4, EVENT_FILTER_TYPE_PID},
                                         {(ULONGLONG)(uintptr_t)pids, 4, EVENT_FILTER_TYPE_PID}};
    const ULONG             got[]     = {enable(h, 0, twice, 2), enable(h, 0, twice, 14), enable(h, 0, NULL, 1),
                                         enable(h, 0x8, NULL, 0), enable(h, 0xFF7, NULL, 0)};
    static const ULONG      wanted[]  = {87, 87, 87, 50, 0};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (got[i] != wanted[i])
            failed++, printf("call %zu: %u, expected %u\n", i, got[i], wanted[i]);
    if (EnableTraceEx2(h, &provider, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0, 0, 0, 5000, NULL))
        failed++, puts("disable");
}

static void enable_some(TRACEHANDLE h)
{
    uint16_t                ids[4], stacks[3];
    const ULONG             id_size = ids_put(ids, 1, 2, 7), stack_size = ids_put(stacks, 1, 1, 9);
    WCHAR                   name[] = u"other;filter_controller";
    EVENT_FILTER_DESCRIPTOR d[]    = {{(ULONGLONG)(uintptr_t)ids, id_size, EVENT_FILTER_TYPE_EVENT_ID},
                                      {(ULONGLONG)(uintptr_t)stacks, stack_size, EVENT_FILTER_TYPE_STACKWALK},
                                      {(ULONGLONG)(uintptr_t)name, sizeof name, EVENT_FILTER_TYPE_EXECUTABLE_NAME}};
    if (enable(h,
               EVENT_ENABLE_PROPERTY_SID | EVENT_ENABLE_PROPERTY_TS_ID | EVENT_ENABLE_PROPERTY_STACK_TRACE |
                   EVENT_ENABLE_PROPERTY_PROCESS_START_KEY | EVENT_ENABLE_PROPERTY_EVENT_KEY,
               d, 3))
        failed++, puts("enable");
}

static void write_all(void)
{
    REGHANDLE h;
    if (EventRegister(&provider, NULL, NULL, &h))
        failed++;
    for (USHORT id = 1; id <= 10; id++) {
        EVENT_DESCRIPTOR d = {.Id = id, .Level = 4};
        if (EventWrite(h, &d, 0, NULL))
            failed++;
    }
    EventUnregister(h);
    printf("%d %d\n", getpid(), getsid(0));
}

/* ---- payload: event 17 of the manifest in filters.py: Path (UnicodeString), Size (UInt32), Id (GUID) ---- */

static const GUID described = {0x5eba5e03, 0x1111, 0x2222, {1, 2, 3, 4, 5, 6, 7, 8}};
static const GUID wanted_id = {1, 2, 3, {4, 5, 6, 7, 8, 9, 10, 11}};

static PVOID filter_made(BOOLEAN any, ULONG count, PAYLOAD_FILTER_PREDICATE *p)
{
    EVENT_DESCRIPTOR d  = {.Id = 17};
    PVOID            f  = NULL;
    const TDHSTATUS  st = TdhCreatePayloadFilter(&described, &d, any, count, p, &f);
    if (st)
        failed++, printf("TdhCreatePayloadFilter: %u\n", st);
    return f;
}

/* Event 17 passes with Size 100 to 200 and a Path with /etc in it, or with the Id; in no case with a Size below 7. */
static void enable_payload(TRACEHANDLE h, const char *manifest)
{
    static WCHAR size[] = u"Size", path[] = u"Path", id[] = u"Id", range[] = u"100,200", etc[] = u"/etc", by[] = u"7",
                 not_zero[]           = u"0";
    static WCHAR             guid[]   = u"{00000001-0002-0003-0405-060708090a0b}";
    PAYLOAD_FILTER_PREDICATE both[]   = {{size, PAYLOADFIELD_BETWEEN, range}, {path, PAYLOADFIELD_CONTAINS, etc}},
                             other[]  = {{id, PAYLOADFIELD_IS, guid}, {size, PAYLOADFIELD_LT, not_zero}},
                             always[] = {{size, PAYLOADFIELD_GE, by}};
    WCHAR  name[1024];
    size_t n = 0;
    for (; manifest[n] && n + 1 < sizeof name / sizeof *name; n++)
        name[n] = (WCHAR)manifest[n];
    name[n] = 0;
    if (TdhLoadManifest(name))
        failed++, puts("TdhLoadManifest");
    PVOID   f[]   = {filter_made(FALSE, 2, both), filter_made(TRUE, 2, other), filter_made(FALSE, 1, always)};
    BOOLEAN all[] = {FALSE, FALSE, TRUE};
    EVENT_FILTER_DESCRIPTOR d;
    if (TdhAggregatePayloadFilters(3, f, all, &d) || enable_of(&described, h, 0, &d, 1) ||
        TdhCleanupPayloadEventFilterDescriptor(&d))
        failed++, puts("payload filters");
    for (size_t i = 0; i < 3; i++)
        failed += TdhDeletePayloadFilter(&f[i]) != 0;
}

static void write_payload(unsigned count)
{
    static const char16_t *const paths[] = {u"/etc/passwd", u"/usr/bin", u"x/etc", u""};
    unsigned                     in      = 0;
    REGHANDLE                    h;
    if (EventRegister(&described, NULL, NULL, &h))
        failed++;
    for (unsigned i = 0; i < count; i++) {
        const char16_t *path = paths[i % 4];
        const ULONG     size = i % 300;
        const GUID      id   = i % 5 ? provider : wanted_id;
        /* no predicate names 18: it passes */
        EVENT_DESCRIPTOR      d = {.Id = (USHORT)(i % 10 == 9 ? 18 : 17), .Level = 4};
        EVENT_DATA_DESCRIPTOR data[4];
        ULONG                 units = 0;
        while (path[units])
            units++;
        /* half of the string, then the rest with its terminator: pieces need not be fields */
        EventDataDescCreate(&data[0], path, units);
        EventDataDescCreate(&data[1], (const char *)path + units, units + 2);
        EventDataDescCreate(&data[2], &size, sizeof size);
        EventDataDescCreate(&data[3], &id, sizeof id);
        if (EventWrite(h, &d, 4, data))
            failed++;
        in += d.Id == 18 || (size >= 7 && ((size >= 100 && size <= 200 && (i % 4 == 0 || i % 4 == 2)) || i % 5 == 0));
    }
    EventUnregister(h);
    printf("%u\n", in);
}

/* ---- the older API ---- */

static volatile TRACEHANDLE classic_handle;
static ULONG WINAPI         on_request(WMIDPREQUESTCODE code, PVOID context, ULONG *reserved, PVOID buffer)
{
    (void)context, (void)reserved;
    classic_handle = code == WMI_ENABLE_EVENTS ? GetTraceLoggerHandle(buffer) : 0;
    return ERROR_SUCCESS;
}
static void classic(void)
{
    static const GUID control       = {0x5eba5e04, 0x1111, 0x2222, {1, 2, 3, 4, 5, 6, 7, 8}},
                      class         = {0x5eba5e05, 0x1111, 0x2222, {1, 2, 3, 4, 5, 6, 7, 8}};
    TRACE_GUID_REGISTRATION classes = {&class, NULL};
    EVENT_TRACE_HEADER      e       = {.Size = sizeof e, .Flags = WNODE_FLAG_TRACED_GUID, .Guid = class};
    TRACEHANDLE             h;
    if (RegisterTraceGuids(on_request, NULL, &control, 1, &classes, NULL, NULL, &h))
        failed++;
    for (int i = 0; i < 100 && !classic_handle; i++)
        usleep(10000);
    printf("%d", classic_handle != 0);
    printf(" %u\n", TraceEvent(classic_handle, &e));
    UnregisterTraceGuids(h);
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "write-payload") == 0 && argc > 2) {
        write_payload((unsigned)atoi(argv[2]));
        return failed != 0;
    }
    TRACEHANDLE h = argc > 2 ? handle_of(argv[2]) : 0;
    if (argc > 2 && !h)
        return 1;
    if (strcmp(verb, "payload") == 0 && argc > 3)
        enable_payload(h, argv[3]);
    else if (strcmp(verb, "errors") == 0 && h)
        errors(h);
    else if (strcmp(verb, "enable") == 0 && h)
        enable_some(h);
    else if (strcmp(verb, "classic") == 0)
        classic();
    else if (strcmp(verb, "write") == 0)
        write_all();
    else
        return 1;
    return failed != 0;
}
