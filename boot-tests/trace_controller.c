/* trace_controller - a controller as one would be written for Windows: sessions, providers, and every error that the
 * pages of these functions name. Needs a daemon at AUTOLOGGER_RUNTIME_DIR; prints what failed. Exit codes: 0 all as
 * expected, 1 not. */
#include "boot-tests/trace_controller.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const GUID      controller_provider = {0x5eba5e01, 0x1111, 0x2222, {1, 2, 3, 4, 5, 6, 7, 8}};
static unsigned failed, made;

struct block fresh(const char *file, ULONG mode)
{
    struct block b = {.p = {.Wnode = {.BufferSize = sizeof b, .Flags = WNODE_FLAG_TRACED_GUID, .ClientContext = 1},
                            .LogFileMode       = mode,
                            .BufferSize        = 64,
                            .LogFileNameOffset = offsetof(struct block, file),
                            .LoggerNameOffset  = offsetof(struct block, name)}};
    if (file)
        snprintf(b.file, sizeof b.file, "%s", file);
    else
        b.p.LogFileNameOffset = 0;
    return b;
}

void expect(const char *what, ULONG got, ULONG wanted)
{
    made++;
    if (got == wanted)
        return;
    printf("%s: %u, expected %u\n", what, got, wanted);
    failed++;
}
void expect_true(const char *what, int holds) { expect(what, holds != 0, 1); }

/* ---- a session's life ---- */

static ULONG events_seen, callbacks;
static UCHAR told_level;
static ULONG told_code = 99;

static VOID WINAPI enabled(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
                           PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    (void)source, (void)any, (void)all, (void)filter, (void)context;
    told_code  = code;
    told_level = level;
    callbacks++;
}

/* ---- filters of the provider's own: with the session, and with one capture of the state ---- */

struct own_filter {
    EVENT_FILTER_HEADER header;
    char                words[16];
};
static struct own_filter got;
static ULONG             got_size, got_type, got_code;

static VOID WINAPI filtered(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
                            PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    (void)source, (void)level, (void)any, (void)all, (void)context;
    memset(&got, 0, sizeof got);
    got_code = code;
    got_size = filter ? filter->Size : 0;
    got_type = filter ? filter->Type : 0;
    if (filter && filter->Size <= sizeof got)
        memcpy(&got, (const void *)(uintptr_t)filter->Ptr, filter->Size);
}
static ULONG enable_with(TRACEHANDLE handle, ULONG code, const char *words)
{
    struct own_filter       f = {.header = {.Id = 1, .Size = sizeof f}};
    EVENT_FILTER_DESCRIPTOR d = {
        .Ptr = (ULONGLONG)(uintptr_t)&f, .Size = sizeof f, .Type = EVENT_FILTER_TYPE_SCHEMATIZED};
    ENABLE_TRACE_PARAMETERS e = {
        .Version = ENABLE_TRACE_PARAMETERS_VERSION_2, .EnableFilterDesc = &d, .FilterDescCount = 1};
    snprintf(f.words, sizeof f.words, "%s", words);
    return EnableTraceEx2(handle, &controller_provider, code, 5, 0, 0, 5000, &e);
}
static void own_filters(void)
{
    static const EVENT_DESCRIPTOR d      = {.Id = 3, .Level = 4};
    struct block                  b      = fresh("filters.etl", 0);
    TRACEHANDLE                   handle = 0;
    REGHANDLE                     reg    = 0;
    EventRegister(&controller_provider, filtered, NULL, &reg);
    expect("start", StartTraceA(&handle, "filters", &b.p), ERROR_SUCCESS);
    expect("enable with a filter", enable_with(handle, EVENT_CONTROL_CODE_ENABLE_PROVIDER, "always"), ERROR_SUCCESS);
    expect_true("it is told", got_code == 1 && got_type == EVENT_FILTER_TYPE_SCHEMATIZED && got_size == sizeof got &&
                                  strcmp(got.words, "always") == 0);
    expect_true("by a bit that names the session",
                got.header.Id == 1 && got.header.InstanceId && !(got.header.InstanceId & (got.header.InstanceId - 1)));
    expect("capture",
           EnableTraceEx2(handle, &controller_provider, EVENT_CONTROL_CODE_CAPTURE_STATE, 0, 0, 0, 5000, NULL),
           ERROR_SUCCESS);
    expect_true("with the session's filter", got_code == 2 && strcmp(got.words, "always") == 0);
    expect("capture with a filter", enable_with(handle, EVENT_CONTROL_CODE_CAPTURE_STATE, "this once"), ERROR_SUCCESS);
    expect_true("of its own", got_code == 2 && got_size == sizeof got && strcmp(got.words, "this once") == 0 &&
                                  got.header.InstanceId);
    expect("capture again",
           EnableTraceEx2(handle, &controller_provider, EVENT_CONTROL_CODE_CAPTURE_STATE, 0, 0, 0, 5000, NULL),
           ERROR_SUCCESS);
    expect_true("it was for once", strcmp(got.words, "always") == 0);
    expect("an event for all", EventWriteEx(reg, &d, 0, 0, NULL, NULL, 0, NULL), ERROR_SUCCESS);
    expect("an event for others", EventWriteEx(reg, &d, got.header.InstanceId, 0, NULL, NULL, 0, NULL), ERROR_SUCCESS);
    expect("an event for this one", EventWriteEx(reg, &d, ~got.header.InstanceId, 0, NULL, NULL, 0, NULL),
           ERROR_SUCCESS);
    EventUnregister(reg);
    b = fresh("filters.etl", 0);
    expect("stop", ControlTraceA(handle, NULL, &b.p, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
}

/* ENB-01: categories by keywords: events with any bit of one mask and all bits of another; by both functions. */
static void categories(void)
{
    static const ULONGLONG keyword[] = {0, 0x1, 0x2, 0x3, 0x4, 0x5, 0x8, 0x8000000000000001};
    static const struct {
        ULONGLONG any, all;
        unsigned  taken; /* bit per keyword */
    } row[]             = {{0, 0, 0xFF},     {0x1, 0, 0xAB},   {0x3, 0x1, 0xAB},
                           {0x3, 0x2, 0x0D}, {0x7, 0x5, 0x21}, {0x8000000000000000, 0, 0x81},
                           {0x10, 0, 0x01},  {0x3, 0x8, 0x01}};
    struct block b      = fresh("categories.etl", 0);
    TRACEHANDLE  handle = 0;
    REGHANDLE    reg    = 0;
    EventRegister(&controller_provider, NULL, NULL, &reg);
    expect("start", StartTraceA(&handle, "categories", &b.p), ERROR_SUCCESS);
    for (size_t i = 0; i < 2 * (sizeof row / sizeof *row); i++) {
        const size_t n = i / 2;
        expect("enable",
               i % 2 ? EnableTraceEx(&controller_provider, NULL, handle, 1, 4, row[n].any, row[n].all, 0, NULL)
                     : EnableTraceEx2(handle, &controller_provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 4, row[n].any,
                                      row[n].all, 5000, NULL),
               ERROR_SUCCESS);
        unsigned taken = 0;
        for (size_t k = 0; k < sizeof keyword / sizeof *keyword; k++) {
            const EVENT_DESCRIPTOR d = {.Id = (USHORT)(100 + 10 * n + k), .Level = 4, .Keyword = keyword[k]};
            taken |= (unsigned)EventEnabled(reg, &d) << k;
            expect("an event of a category", EventWrite(reg, &d, 0, NULL), ERROR_SUCCESS);
        }
        expect("categories", taken, row[n].taken);
    }
    EventUnregister(reg);
    b = fresh("categories.etl", 0);
    expect("stop", ControlTraceA(handle, NULL, &b.p, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
}

/* The result of EnumerateTraceGuidsEx for a GUID with one program and one session. */
struct only_one {
    TRACE_GUID_INFO              head;
    TRACE_PROVIDER_INSTANCE_INFO instance;
    TRACE_ENABLE_INFO            enable;
};

/* The provider is registered here, and enabled by `handle` with level 5. */
static void provider_lists(TRACEHANDLE handle)
{
    GUID            guids[64];
    ULONG           length = 0, found = 0;
    struct only_one one;
    expect("list, no room", EnumerateTraceGuidsEx(TraceGuidQueryList, NULL, 0, NULL, 0, &length),
           ERROR_INSUFFICIENT_BUFFER);
    expect("list", EnumerateTraceGuidsEx(TraceGuidQueryList, NULL, 0, guids, sizeof guids, &length), ERROR_SUCCESS);
    for (ULONG i = 0; i < length / sizeof *guids; i++)
        found += memcmp(&guids[i], &controller_provider, sizeof controller_provider) == 0;
    expect_true("the provider is in the list", found == 1);
    expect("of one",
           EnumerateTraceGuidsEx(TraceGuidQueryInfo, (GUID *)(uintptr_t)&controller_provider,
                                 sizeof controller_provider, &one, sizeof one, &length),
           ERROR_SUCCESS);
    expect_true("this program, this session, these terms",
                length == sizeof one && one.head.InstanceCount == 1 && one.instance.Pid == (ULONG)getpid() &&
                    one.instance.EnableCount == 1 && one.enable.IsEnabled && one.enable.Level == 5 &&
                    one.enable.LoggerId == (USHORT)handle);
    expect("of nobody",
           EnumerateTraceGuidsEx(TraceGuidQueryInfo, &(GUID){.Data1 = 1}, sizeof(GUID), &one, sizeof one, &length),
           ERROR_WMI_GUID_NOT_FOUND);
    expect("of what", EnumerateTraceGuidsEx(TraceGuidQueryInfo, NULL, 0, &one, sizeof one, &length),
           ERROR_INVALID_PARAMETER);
}

static void group_lists(TRACEHANDLE handle)
{
    GUID              guids[64];
    ULONG             length = 0;
    struct only_one   one;
    static const GUID group              = {0x5eba5e06, 0x1111, 0x2222, {1, 2, 3, 4, 5, 6, 7, 8}};
    static const GUID member             = {0x5eba5e07, 0x1111, 0x2222, {1, 2, 3, 4, 5, 6, 7, 8}};
    uint8_t           traits[2 + 7 + 19] = {sizeof traits, 0, 'M', 'e', 'm', 'b', 'e', 'r', 0, 19, 0, 1};
    REGHANDLE         of_group;
    memcpy(traits + 12, &group, sizeof group);
    expect(
        "a group of nobody",
        EnumerateTraceGuidsEx(TraceGroupQueryInfo, (GUID *)(uintptr_t)&group, sizeof group, &one, sizeof one, &length),
        ERROR_WMI_GUID_NOT_FOUND);
    expect("no group",
           EnumerateTraceGuidsEx(TraceGroupQueryInfo, (GUID *)(uintptr_t)&controller_provider,
                                 sizeof controller_provider, &one, sizeof one, &length),
           ERROR_WMI_GUID_NOT_FOUND);
    expect("no groups", EnumerateTraceGuidsEx(TraceGroupQueryList, NULL, 0, guids, sizeof guids, &length),
           ERROR_SUCCESS);
    expect_true("none", length == 0);
    expect("a member", EventRegister(&member, NULL, NULL, &of_group), ERROR_SUCCESS);
    expect("its group", EventSetInformation(of_group, EventProviderSetTraits, traits, sizeof traits), ERROR_SUCCESS);
    for (int i = 0; i < 500 && !length; i++, usleep(10000)) /* the library's thread sends it later */
        expect("groups", EnumerateTraceGuidsEx(TraceGroupQueryList, NULL, 0, guids, sizeof guids, &length),
               ERROR_SUCCESS);
    expect_true("the group alone is in the list", length == sizeof group && memcmp(guids, &group, sizeof group) == 0);
    expect("enable the group", EnableTraceEx2(handle, &group, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 4, 0, 0, 5000, NULL),
           ERROR_SUCCESS);
    expect(
        "the group",
        EnumerateTraceGuidsEx(TraceGroupQueryInfo, (GUID *)(uintptr_t)&group, sizeof group, &one, sizeof one, &length),
        ERROR_SUCCESS);
    expect_true("this program is in it, this session enables it",
                length == sizeof one && one.head.InstanceCount == 1 && one.instance.Pid == (ULONG)getpid() &&
                    one.instance.EnableCount == 1 && one.enable.Level == 4 && one.enable.LoggerId == (USHORT)handle);
    expect("no more of it", EnableTraceEx2(handle, &group, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0, 0, 0, 5000, NULL),
           ERROR_SUCCESS);
    EventUnregister(of_group);
}

static void life(void)
{
    static const EVENT_DESCRIPTOR info = {.Id = 1, .Level = 4}, error = {.Id = 2, .Level = 2};
    struct block                  b      = fresh("life.etl", 0), q;
    TRACEHANDLE                   handle = 0, other = 0;
    REGHANDLE                     reg = 0;
    EventRegister(&controller_provider, enabled, NULL, &reg);
    b.p.AgeLimit = 15;
    expect("start", StartTraceA(&handle, "life", &b.p), ERROR_SUCCESS);
    expect_true("AgeLimit is kept", b.p.AgeLimit == 15); /* D-12 */
    expect_true("a handle", handle != 0 && b.p.Wnode.HistoricalContext == handle);
    expect_true("the name is in its place", strcmp(b.name, "life") == 0);
    expect_true("what was given is told",
                b.p.BufferSize == 64 && b.p.MinimumBuffers >= 2 && b.p.MaximumBuffers >= b.p.MinimumBuffers);
    q = fresh("other.etl", 0);
    expect("the name again", StartTraceA(&other, "LIFE", &q.p), ERROR_ALREADY_EXISTS);
    q              = fresh("other.etl", 0);
    q.p.Wnode.Guid = b.p.Wnode.Guid;
    expect("the GUID again", StartTraceA(&other, "other", &q.p), ERROR_ALREADY_EXISTS);
    q = fresh("life.etl", 0);
    expect("the file again", StartTraceA(&other, "other", &q.p), 32);

    expect("event before", EventWrite(reg, &error, 0, NULL), ERROR_SUCCESS);
    expect("enable",
           EnableTraceEx2(handle, &controller_provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 3, 0, 0, 5000, NULL),
           ERROR_SUCCESS);
    expect_true("the callback ran before that returned", callbacks == 1 && told_code == 1 && told_level == 3);
    expect("error", EventWrite(reg, &error, 0, NULL), ERROR_SUCCESS);
    expect("info, not taken", EventWrite(reg, &info, 0, NULL), ERROR_SUCCESS);
    expect("more",
           EnableTraceEx2(handle, &controller_provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, 5000, NULL),
           ERROR_SUCCESS);
    expect_true("told again", callbacks == 2 && told_level == 5);
    expect("info, taken", EventWrite(reg, &info, 0, NULL), ERROR_SUCCESS);
    expect("state", EnableTraceEx2(handle, &controller_provider, EVENT_CONTROL_CODE_CAPTURE_STATE, 0, 0, 0, 5000, NULL),
           ERROR_SUCCESS);
    expect_true("asked for it", callbacks == 3 && told_code == 2);
    provider_lists(handle);
    group_lists(handle);
    expect("disable",
           EnableTraceEx2(handle, &controller_provider, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0, 0, 0, 5000, NULL),
           ERROR_SUCCESS);
    expect_true("told", callbacks == 4 && told_code == 0);
    expect("event after", EventWrite(reg, &error, 0, NULL), ERROR_SUCCESS);

    q = fresh("", 0);
    expect("query by handle", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_QUERY), ERROR_SUCCESS);
    expect_true("AgeLimit as it was set", q.p.AgeLimit == 15 && q.p.FlushThreshold == 15);
    expect_true("names", strcmp(q.name, "life") == 0 && strstr(q.file, "/life.etl"));
    expect("flush by name", ControlTraceA(0, "life", &q.p, EVENT_TRACE_CONTROL_FLUSH), ERROR_SUCCESS);
    expect_true("it was written", q.p.BuffersWritten >= 2);
    q.p.LogFileNameOffset = 0;
    q.p.MaximumBuffers    = 0;
    q.p.FlushTimer        = 3;
    expect("update of the flush timer", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_UPDATE), ERROR_SUCCESS);
    expect_true("it is in force", q.p.FlushTimer == 3);
    q.p.FlushTimer = 0;
    expect("update, nothing to change", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_UPDATE), ERROR_SUCCESS);
    expect("increment file, of a session with one",
           ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_INCREMENT_FILE), ERROR_INVALID_PARAMETER);
    q                    = fresh(NULL, 0);
    q.p.Wnode.BufferSize = offsetof(struct block, name) + 2;
    expect("stop without room for the name", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_STOP), 234);
    expect_true("final numbers", q.p.EventsLost == 0 && q.p.NumberOfBuffers > 0);
    q = fresh("", 0);
    expect("it is stopped all the same", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_QUERY),
           ERROR_WMI_INSTANCE_NOT_FOUND);
    EventUnregister(reg);
}

/* D-65: a caller has room only for the names that it passed: the mapped name of the file is longer. */
struct narrow {
    EVENT_TRACE_PROPERTIES p;
    char                   name[8], file[12];
};
static struct narrow narrow_block(void)
{
    struct narrow n = {.p = {.Wnode             = {.BufferSize = sizeof n, .Flags = WNODE_FLAG_TRACED_GUID},
                             .BufferSize        = 64,
                             .LoggerNameOffset  = offsetof(struct narrow, name),
                             .LogFileNameOffset = offsetof(struct narrow, file)}};
    snprintf(n.file, sizeof n.file, "narrow.etl");
    return n;
}
static void narrow_room(void)
{
    struct narrow           n = narrow_block(), q = narrow_block();
    struct block            wide = fresh(NULL, 0);
    TRACEHANDLE             handle;
    ULONG                   total  = 0;
    PEVENT_TRACE_PROPERTIES all[1] = {&q.p};
    expect("start with just enough room", StartTraceA(&handle, "narrow", &n.p), ERROR_SUCCESS);
    memset(q.name, 'x', sizeof q.name);
    memset(q.file, 'x', sizeof q.file);
    expect("query with just enough room", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_QUERY), ERROR_SUCCESS);
    expect_true("the names as they were given", strcmp(q.name, "narrow") == 0 && strcmp(q.file, "narrow.etl") == 0);
    memset(q.file, 'x', sizeof q.file);
    expect("query all with just enough room", QueryAllTracesA(all, 1, &total), ERROR_SUCCESS);
    expect_true("as given there", total == 1 && strcmp(q.file, "narrow.etl") == 0);
    q.p.Wnode.BufferSize = offsetof(struct narrow, file) + 10;
    expect("a byte less", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_QUERY), 234);
    wide.p.LoggerNameOffset  = 0;
    wide.p.LogFileNameOffset = offsetof(struct block, file);
    wide.p.Wnode.BufferSize  = offsetof(struct block, file) + 22; /* 10 characters and a NUL */
    expect("query W with just enough room", ControlTraceW(handle, NULL, &wide.p, EVENT_TRACE_CONTROL_QUERY),
           ERROR_SUCCESS);
    expect_true("in UTF-16", memcmp(wide.file, u"narrow.etl", 22) == 0);
    q = narrow_block();
    memset(q.file, 'x', sizeof q.file);
    expect("stop with just enough room", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    expect_true("the name of what was stopped", strcmp(q.file, "narrow.etl") == 0 && q.p.NumberOfBuffers > 0);
    struct block outside        = fresh("", 0);
    outside.p.LogFileNameOffset = 5000;
    all[0]                      = &outside.p;
    expect("query all, nothing runs", QueryAllTracesA(all, 1, &total), ERROR_SUCCESS);
}

/* ---- modes ---- */

static void write_to(TRACEHANDLE handle, unsigned events)
{
    static const EVENT_DESCRIPTOR d = {.Id = 9, .Level = 4};
    REGHANDLE                     reg;
    expect("register", EventRegister(&controller_provider, NULL, NULL, &reg), ERROR_SUCCESS);
    expect("enable",
           EnableTraceEx2(handle, &controller_provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, 5000, NULL),
           ERROR_SUCCESS);
    for (unsigned i = 0; i < events; i++)
        expect("an event", EventWrite(reg, &d, 0, NULL), ERROR_SUCCESS);
    EventUnregister(reg);
}

static void modes(void)
{
    struct block b = fresh(NULL, EVENT_TRACE_BUFFERING_MODE | EVENT_TRACE_REAL_TIME_MODE), q = fresh("ring.etl", 0);
    TRACEHANDLE  handle;
    expect("buffering; real time is dropped", StartTraceA(&handle, "ring", &b.p), ERROR_SUCCESS);
    expect_true("told so", b.p.LogFileMode == EVENT_TRACE_BUFFERING_MODE && b.p.MaximumBuffers == b.p.MinimumBuffers &&
                               b.p.FlushTimer == 0);
    write_to(handle, 5);
    expect("snapshot", FlushTraceA(handle, NULL, &q.p), ERROR_SUCCESS);
    q = fresh("ring-2.etl", 0);
    write_to(handle, 3); /* it goes on */
    expect("another", FlushTraceA(0, "ring", &q.p), ERROR_SUCCESS);
    expect_true("the session has no file all the same", q.p.LogFileMode == EVENT_TRACE_BUFFERING_MODE);
    q = fresh(NULL, 0);
    expect("snapshot without a name", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_FLUSH), ERROR_BAD_PATHNAME);
    expect("stop", StopTraceA(handle, NULL, &q.p), ERROR_SUCCESS);
    b                   = fresh("new.etl", EVENT_TRACE_FILE_MODE_NEWFILE);
    b.p.MaximumFileSize = 1;
    expect("newfile without %d", StartTraceA(&handle, "new", &b.p), ERROR_INVALID_NAME);
    b                   = fresh("new-%d-%d.etl", EVENT_TRACE_FILE_MODE_NEWFILE);
    b.p.MaximumFileSize = 1;
    expect("newfile with two", StartTraceA(&handle, "new", &b.p), ERROR_INVALID_NAME);
    b                   = fresh("new-%d.etl", EVENT_TRACE_FILE_MODE_NEWFILE);
    b.p.MaximumFileSize = 1;
    expect("newfile", StartTraceA(&handle, "new", &b.p), ERROR_SUCCESS);
    expect_true("the first", strstr(b.file, "/new-1.etl") != NULL);
    q = fresh("", 0);
    expect("the next", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_INCREMENT_FILE), ERROR_SUCCESS);
    expect("query", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_QUERY), ERROR_SUCCESS);
    expect_true("the second", strstr(q.file, "/new-2.etl") != NULL);
    expect("stop", StopTraceA(handle, NULL, &q.p), ERROR_SUCCESS);
    b                   = fresh("round.etl", EVENT_TRACE_FILE_MODE_CIRCULAR);
    b.p.MaximumFileSize = 1;
    expect("circular", StartTraceA(&handle, "round", &b.p), ERROR_SUCCESS);
    q = fresh("", 0);
    expect("stop", StopTraceA(handle, NULL, &q.p), ERROR_SUCCESS);
}

/* ---- the kernel's logger: as root ---- */

static void kernel(void)
{
    static const GUID thread  = {0x3d6fa8d1, 0xfe05, 0x11d0, {0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c}};
    struct block      b       = fresh("kernel.etl", 0);
    TRACEHANDLE       handle  = 0;
    CLASSIC_EVENT_ID  id      = {.EventGuid = thread, .Type = 36}, back[4];
    ULONG             mask[8] = {0}, n = 0;
    struct {
        struct block b;
        ULONG        flags[4];
    } more                    = {.b = b, .flags = {0x3, 0, 0, 0}};
    more.b.p.Wnode.BufferSize = sizeof more;
    more.b.p.EnableFlags      = EVENT_TRACE_FLAG_EXTENSION;
    expect("extended flags, none", StartTraceA(&handle, KERNEL_LOGGER_NAME, &more.b.p), ERROR_INVALID_PARAMETER);
    more.b.p.EnableFlags = EVENT_TRACE_FLAG_EXTENSION | 4u << 16 | 8; /* inside of the struct */
    expect("extended flags, elsewhere", StartTraceA(&handle, KERNEL_LOGGER_NAME, &more.b.p), ERROR_INVALID_PARAMETER);
    /* beyond the end */
    more.b.p.EnableFlags = EVENT_TRACE_FLAG_EXTENSION | 9u << 16 | (ULONG)offsetof(__typeof__(more), flags);
    expect("extended flags, too many", StartTraceA(&handle, KERNEL_LOGGER_NAME, &more.b.p), ERROR_INVALID_PARAMETER);
    more.flags[1]           = 0x4; /* a word of its own */
    more.b.p.EnableFlags    = EVENT_TRACE_FLAG_EXTENSION | 4u << 16 | (ULONG)offsetof(__typeof__(more), flags);
    more.b.p.MaximumBuffers = 64;
    expect("extended flags", StartTraceA(&handle, KERNEL_LOGGER_NAME, &more.b.p), ERROR_SUCCESS);
    expect("theirs", TraceQueryInformation(handle, TraceSystemTraceEnableFlagsInfo, mask, sizeof mask, &n),
           ERROR_SUCCESS);
    expect_true("all words", mask[0] == 3 && mask[1] == 4 && mask[2] == 0);
    struct block again  = fresh("again.etl", 0);
    again.p.EnableFlags = 0x1;
    expect("a second kernel logger", StartTraceA(&handle, KERNEL_LOGGER_NAME, &again.p), ERROR_ALREADY_EXISTS);
    again = fresh("", 0);
    expect("stop that", ControlTraceA(0, KERNEL_LOGGER_NAME, &again.p, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    b.p.EnableFlags    = 0x3; /* PROCESS, THREAD */
    b.p.MaximumBuffers = 64;
    expect("start the kernel's logger", StartTraceA(&handle, KERNEL_LOGGER_NAME, &b.p), ERROR_SUCCESS);
    expect("its flags", TraceQueryInformation(handle, TraceSystemTraceEnableFlagsInfo, mask, sizeof mask, &n),
           ERROR_SUCCESS);
    expect_true("as asked", mask[0] == 3 && n == 32);
    expect("stacks", TraceSetInformation(handle, TraceStackTracingInfo, &id, sizeof id), ERROR_SUCCESS);
    expect("asked back", TraceQueryInformation(handle, TraceStackTracingInfo, back, sizeof back, &n), ERROR_SUCCESS);
    expect_true("CSwitch",
                n == sizeof id && memcmp(&back[0].EventGuid, &thread, sizeof thread) == 0 && back[0].Type == 36);
    b.p.EnableFlags       = 0x13; /* and CSWITCH */
    b.p.LogFileNameOffset = 0;
    expect("update", ControlTraceA(handle, NULL, &b.p, EVENT_TRACE_CONTROL_UPDATE), ERROR_SUCCESS);
    expect_true("in force", b.p.EnableFlags == 0x13);
    expect("a stack that is not known",
           TraceSetInformation(handle, TraceStackTracingInfo, &(CLASSIC_EVENT_ID){.Type = 1}, sizeof id),
           ERROR_NOT_SUPPORTED);
    expect("no stacks", TraceSetInformation(handle, TraceStackTracingInfo, NULL, 0), ERROR_SUCCESS);
    b = fresh("", 0);
    expect("stop it", ControlTraceA(handle, NULL, &b.p, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    expect_true("nothing was lost", b.p.EventsLost == 0);
}

static VOID WINAPI record(PEVENT_RECORD r)
{
    events_seen += memcmp(&r->EventHeader.ProviderId, &controller_provider, sizeof controller_provider) == 0;
}

static void read_back(const char *path)
{
    EVENT_TRACE_LOGFILEA f = {.LogFileName         = (char *)(uintptr_t)path,
                              .ProcessTraceMode    = PROCESS_TRACE_MODE_EVENT_RECORD,
                              .EventRecordCallback = record};
    TRACEHANDLE          h = OpenTraceA(&f);
    expect("read", ProcessTrace(&h, 1, NULL, NULL), ERROR_SUCCESS);
    expect_true("the error once, the information once", events_seen == 2);
    CloseTrace(h);
}

int main(int argc, char **argv)
{
    controller_errors();
    own_filters();
    categories();
    life();
    narrow_room();
    modes();
    controller_updates();
    if (geteuid() == 0)
        kernel();
    if (argc > 1)
        read_back(argv[1]);
    printf("%u of %u as expected\n", made - failed, made);
    return failed ? 1 : 0;
}
