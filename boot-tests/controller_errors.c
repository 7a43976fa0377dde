/* controller_errors.c - every error that the pages of a controller's functions name. A part of trace_controller. */
#include "boot-tests/trace_controller.h"

#include <stdio.h>
#include <string.h>

/* ---- StartTrace's errors, as a table ---- */

static void start_errors(void)
{
    static const struct {
        const char *what;
        ULONG       size, flags, mode;
        const char *file;
        ULONG       name_offset, wanted;
    } row[] = {
        {"size 0", 0, WNODE_FLAG_TRACED_GUID, 0, "a.etl", 632, ERROR_BAD_LENGTH},
        {"size of the fixed part less 1", 119, WNODE_FLAG_TRACED_GUID, 0, "a.etl", 632, ERROR_BAD_LENGTH},
        {"no WNODE_FLAG_TRACED_GUID", 1144, 0, 0, "a.etl", 632, ERROR_INVALID_PARAMETER},
        {"name's offset in the fixed part", 1144, WNODE_FLAG_TRACED_GUID, 0, "a.etl", 64, ERROR_INVALID_PARAMETER},
        {"name's offset outside", 1144, WNODE_FLAG_TRACED_GUID, 0, "a.etl", 5000, ERROR_INVALID_PARAMETER},
        {"no room for the name", 1144, WNODE_FLAG_TRACED_GUID, 0, "a.etl", 1141, ERROR_BAD_LENGTH},
        {"neither file nor mode", 1144, WNODE_FLAG_TRACED_GUID, 0, NULL, 632, ERROR_BAD_PATHNAME},
        {"sequential without a file", 1144, WNODE_FLAG_TRACED_GUID, 1, NULL, 632, ERROR_INVALID_PARAMETER},
        {"sequential and circular", 1144, WNODE_FLAG_TRACED_GUID, 3, "a.etl", 632, ERROR_INVALID_PARAMETER},
        {"circular and append", 1144, WNODE_FLAG_TRACED_GUID, 6, "a.etl", 632, ERROR_INVALID_PARAMETER},
        {"newfile and circular", 1144, WNODE_FLAG_TRACED_GUID, 10, "a%d.etl", 632, ERROR_INVALID_PARAMETER},
        {"nonstoppable", 1144, WNODE_FLAG_TRACED_GUID, EVENT_TRACE_NONSTOPPABLE_MODE, "a.etl", 632,
         ERROR_INVALID_PARAMETER},
        {"private and real time", 1144, WNODE_FLAG_TRACED_GUID,
         EVENT_TRACE_PRIVATE_LOGGER_MODE | EVENT_TRACE_REAL_TIME_MODE, NULL, 632, ERROR_INVALID_PARAMETER},
        {"circular without a size", 1144, WNODE_FLAG_TRACED_GUID, 2, "a.etl", 632, ERROR_INVALID_PARAMETER},
        {"preallocate without a size", 1144, WNODE_FLAG_TRACED_GUID, EVENT_TRACE_FILE_MODE_PREALLOCATE, "a.etl", 632,
         ERROR_INVALID_PARAMETER},
        {"newfile without a size", 1144, WNODE_FLAG_TRACED_GUID, EVENT_TRACE_FILE_MODE_NEWFILE, "a%d.etl", 632,
         ERROR_INVALID_PARAMETER},
        {"buffering with a file", 1144, WNODE_FLAG_TRACED_GUID, EVENT_TRACE_BUFFERING_MODE, "a.etl", 632,
         ERROR_INVALID_PARAMETER},
        {"buffering and sequential", 1144, WNODE_FLAG_TRACED_GUID, EVENT_TRACE_BUFFERING_MODE | 1, NULL, 632,
         ERROR_INVALID_PARAMETER},
        {"buffering and circular", 1144, WNODE_FLAG_TRACED_GUID, EVENT_TRACE_BUFFERING_MODE | 2, NULL, 632,
         ERROR_INVALID_PARAMETER},
        {"both sequences", 1144, WNODE_FLAG_TRACED_GUID, 0xC000, "a.etl", 632, ERROR_INVALID_PARAMETER},
        {"relog", 1144, WNODE_FLAG_TRACED_GUID, 0x10000, "a.etl", 632, ERROR_INVALID_PARAMETER},
        {"compressed without buffering", 1144, WNODE_FLAG_TRACED_GUID, 0x04000000, "a.etl", 632,
         ERROR_INVALID_PARAMETER},
        {"both hybrids", 1144, WNODE_FLAG_TRACED_GUID, 0x00C00000, "a.etl", 632, ERROR_INVALID_PARAMETER},
        {"paged kernel events", 1144, WNODE_FLAG_TRACED_GUID,
         EVENT_TRACE_USE_PAGED_MEMORY | EVENT_TRACE_SYSTEM_LOGGER_MODE, "a.etl", 632, ERROR_INVALID_PARAMETER},
        {"a name that leaves the folder", 1144, WNODE_FLAG_TRACED_GUID, 0, "../a.etl", 632, 123},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct block b       = fresh(row[i].file, row[i].mode);
        TRACEHANDLE  handle  = 77;
        b.p.Wnode.BufferSize = row[i].size;
        b.p.Wnode.Flags      = row[i].flags;
        b.p.LoggerNameOffset = row[i].name_offset;
        expect(row[i].what, StartTraceA(&handle, "wrong", &b.p), row[i].wanted);
        expect_true("the handle is 0 then", handle == 0);
    }
    struct block b = fresh("a.etl", 0);
    TRACEHANDLE  handle;
    expect("no handle", StartTraceA(NULL, "wrong", &b.p), ERROR_INVALID_PARAMETER);
    expect("no name", StartTraceA(&handle, NULL, &b.p), ERROR_INVALID_PARAMETER);
    expect("empty name", StartTraceA(&handle, "", &b.p), ERROR_INVALID_PARAMETER);
    expect("no properties", StartTraceA(&handle, "wrong", NULL), ERROR_INVALID_PARAMETER);
    b.p.Wnode.Guid = (GUID)AUTOLOGGER_SYSTEM_TRACE_CONTROL_GUID;
    expect("the kernel's GUID with another name", StartTraceA(&handle, "wrong", &b.p), ERROR_INVALID_PARAMETER);
}

/* ---- errors of the others ---- */

/* CTL-19: each control code of a session that does not run. */
static void missing(void)
{
    static const struct {
        const char *what;
        ULONG       code;
    } row[] = {
        {"QUERY of nobody", EVENT_TRACE_CONTROL_QUERY},
        {"STOP of nobody", EVENT_TRACE_CONTROL_STOP},
        {"UPDATE of nobody", EVENT_TRACE_CONTROL_UPDATE},
        {"FLUSH of nobody", EVENT_TRACE_CONTROL_FLUSH},
        {"INCREMENT_FILE of nobody", EVENT_TRACE_CONTROL_INCREMENT_FILE},
        {"CONVERT_TO_REALTIME of nobody", EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct block b = fresh("nobody.etl", 0);
        expect(row[i].what, ControlTraceA(0, "nobody", &b.p, row[i].code), ERROR_WMI_INSTANCE_NOT_FOUND);
    }
}

static void other_errors(void)
{
    struct block            b = fresh("errors.etl", 0), q = fresh("", 0);
    TRACEHANDLE             handle;
    EVENT_FILTER_DESCRIPTOR filter = {.Type = 0x80000200};
    ENABLE_TRACE_PARAMETERS e      = {.Version = 2, .EnableFilterDesc = &filter, .FilterDescCount = 1};
    ULONG                   total = 0, n = 0;
    PEVENT_TRACE_PROPERTIES all[65] = {&q.p};
    expect("start W", StartTraceW(&handle, u"errors", &b.p), ERROR_SUCCESS);
    expect("neither name nor handle", ControlTraceA(0, NULL, &q.p, 0), ERROR_INVALID_PARAMETER);
    expect("no properties", ControlTraceA(handle, NULL, NULL, 0), ERROR_INVALID_PARAMETER);
    q.p.Wnode.BufferSize = 100;
    expect("too small", ControlTraceA(handle, NULL, &q.p, 0), ERROR_BAD_LENGTH);
    q = fresh("", 0);
    expect("no such session", ControlTraceA(0, "nobody", &q.p, 0), ERROR_WMI_INSTANCE_NOT_FOUND);
    expect("another's handle", ControlTraceA(handle ^ 0x10000, NULL, &q.p, 0), ERROR_WMI_INSTANCE_NOT_FOUND);
    missing();
    expect("query all, none", QueryAllTracesA(all, 0, &total), ERROR_INVALID_PARAMETER);
    expect("query all, too many", QueryAllTracesA(all, 65, &total), ERROR_INVALID_PARAMETER);
    expect("query all", QueryAllTracesA(all, 1, &total), ERROR_SUCCESS);
    expect_true("one session", total == 1 && strcmp(q.name, "errors") == 0);
    TRACEHANDLE  second;
    struct block more = fresh(NULL, EVENT_TRACE_REAL_TIME_MODE);
    expect("real time without a file", StartTraceA(&second, "live", &more.p), ERROR_SUCCESS);
    expect_true("flush timer of 1 s", more.p.FlushTimer == 1);
    expect("query all, one place", QueryAllTracesA(all, 1, &total), 234);
    expect_true("both are counted", total == 2);
    expect("enable nobody", EnableTraceEx2(handle, NULL, 1, 0, 0, 0, 0, NULL), ERROR_INVALID_PARAMETER);
    expect("enable with handle 0", EnableTraceEx2(0, &controller_provider, 1, 0, 0, 0, 0, NULL),
           ERROR_INVALID_PARAMETER);
    expect("unknown code", EnableTraceEx2(handle, &controller_provider, 3, 0, 0, 0, 0, NULL), ERROR_INVALID_PARAMETER);
    expect("a filter without data", EnableTraceEx2(handle, &controller_provider, 1, 0, 0, 0, 0, &e),
           ERROR_INVALID_PARAMETER);
    filter.Type = 0x80000001;
    expect("a filter of the system", EnableTraceEx2(handle, &controller_provider, 1, 0, 0, 0, 0, &e),
           ERROR_NOT_SUPPORTED);
    e = (ENABLE_TRACE_PARAMETERS){.Version = 7};
    expect("parameters of version 7", EnableTraceEx2(handle, &controller_provider, 1, 0, 0, 0, 0, &e),
           ERROR_INVALID_PARAMETER);
    expect("not enabled", EnableTraceEx2(handle, &controller_provider, 0, 0, 0, 0, 0, NULL), ERROR_WMI_GUID_NOT_FOUND);
    expect("EnableTraceEx", EnableTraceEx(&controller_provider, NULL, handle, 1, 4, 0x40, 0, 0x10, NULL),
           ERROR_SUCCESS);
    expect("EnableTrace", EnableTrace(0, 0, 0, &controller_provider, handle), ERROR_SUCCESS);
    expect("max loggers", TraceQueryInformation(0, TraceMaxLoggersQuery, &total, sizeof total, &n), ERROR_SUCCESS);
    expect_true("64 of them", total == 64 && n == 4);
    expect("flags of a session of programs",
           TraceSetInformation(handle, TraceSystemTraceEnableFlagsInfo, (ULONG[8]){1}, 32), ERROR_INVALID_PARAMETER);
    expect("wrong length", TraceSetInformation(handle, TraceSystemTraceEnableFlagsInfo, (ULONG[8]){1}, 31),
           ERROR_BAD_LENGTH);
    expect("unknown class", TraceSetInformation(handle, (TRACE_INFO_CLASS)18, &n, 4), ERROR_NOT_SUPPORTED);
    q = fresh("", 0);
    expect("stop live", StopTraceA(second, NULL, &q.p), ERROR_SUCCESS);
    q = fresh("", 0);
    expect("stop W", StopTraceW(0, u"errors", &q.p), ERROR_SUCCESS);
    expect_true("wide name", ((PCWSTR)(const void *)q.name)[0] == u'e' && ((PCWSTR)(const void *)q.name)[5] == u's');
}

void controller_errors(void)
{
    start_errors();
    other_errors();
}
