/* Real files of Windows by OpenTrace, ProcessTrace and tdh.h, as a program reads them: counts, first and last time, one order over all of
 * them, buffers, TraceLogging fields by name and value.
 * Proves: CON-01, CON-02, CON-03, CON-04, CON-05, TLG-01 and TLG-13 (decoded without a manifest), TLG-03, issue 5 "the files in data/etl decoded in full". */
#include "autologger/consumer/record_view.h"
#include "autologger/etl/reader.h"
#include "autologger/include/tdh.h"
#include "registry-sim/win32/utf16.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[4096];
static const struct row {
    const char *name;
    unsigned    events, described, buffers;
    uint64_t    first, last; /* FILETIME */
} rows[] = {
    {"lxcore_kernel.etl", 4, 4, 3, 132392018711387363, 132392018769038717},
    {"krabsetw_powershell.etl", 114, 2, 26, 133245763580175449, 133245764954389431},
    {"perfview_SelfDescribingSingleEvent.etl", 23, 19, 3, 132949636352722435, 132949636386377035},
    {"ShutdownPerfDiagLogger.etl", 17078, 17078, 49, 132273542277445790, 132273837516538124},
};
enum { FILES = sizeof rows / sizeof *rows };

struct seen {
    unsigned events, described, buffers, late, sized;
    int64_t  first, last;
    char     fields[4096]; /* of TraceLogging events: "provider/event name=value ..." lines */
};

static void add_text(struct seen *s, const WCHAR *text)
{
    size_t units = 0, n = strlen(s->fields);
    while (text && text[units])
        units++;
    utf16le_to_utf8(text, 2 * units, s->fields + n, sizeof s->fields - n);
}

/* All top-level values of a TraceLogging event, and members of structs that are no arrays, by TdhGetProperty and TdhFormatProperty. */
static void add_fields(struct seen *s, PEVENT_RECORD r, PTRACE_EVENT_INFO info)
{
    add_text(s, TEI_PROVIDER_NAME(info));
    strncat(s->fields, "/", sizeof s->fields - strlen(s->fields) - 1);
    add_text(s, TEI_EVENT_NAME(info));
    for (ULONG i = 0; i < info->TopLevelPropertyCount; i++) {
        PEVENT_PROPERTY_INFO top = &info->EventPropertyInfoArray[i];
        ULONG                n   = top->Flags & PropertyStruct ? top->structType.NumOfStructMembers : 1;
        for (ULONG j = 0; j < n; j++) {
            PEVENT_PROPERTY_INFO     p    = top->Flags & PropertyStruct ? &info->EventPropertyInfoArray[top->structType.StructStartIndex + j] : top;
            PROPERTY_DATA_DESCRIPTOR d[2] = {{(ULONGLONG)(uintptr_t)TEI_PROPERTY_NAME(info, top), 0xFFFFFFFF, 0},
                                             {(ULONGLONG)(uintptr_t)TEI_PROPERTY_NAME(info, p), 0xFFFFFFFF, 0}};
            BYTE   value[2048];
            WCHAR  text[2048];
            ULONG  size, bytes = sizeof text;
            USHORT used;
            assert_int_equal(TdhGetPropertySize(r, 0, NULL, p == top ? 1 : 2, d, &size), 0);
            assert_true(size <= sizeof value);
            assert_int_equal(TdhGetProperty(r, 0, NULL, p == top ? 1 : 2, d, size, value), 0);
            assert_int_equal(TdhFormatProperty(info, NULL, 8, p->nonStructType.InType, p->nonStructType.OutType, 0, (USHORT)size, value, &bytes, text, &used), 0);
            assert_int_equal(used, size);
            strncat(s->fields, " ", sizeof s->fields - strlen(s->fields) - 1);
            add_text(s, TEI_PROPERTY_NAME(info, p));
            strncat(s->fields, "=", sizeof s->fields - strlen(s->fields) - 1);
            add_text(s, text);
        }
    }
    strncat(s->fields, "\n", sizeof s->fields - strlen(s->fields) - 1);
}

static VOID on_event(PEVENT_RECORD r)
{
    static _Alignas(8) BYTE block[65536];
    struct seen      *s    = r->UserContext;
    PTRACE_EVENT_INFO info = (PTRACE_EVENT_INFO)block;
    ULONG             size = sizeof block;

    if (!s->events++)
        s->first = r->EventHeader.TimeStamp.QuadPart;
    s->late += r->EventHeader.TimeStamp.QuadPart < s->last;
    s->last = r->EventHeader.TimeStamp.QuadPart;
    TDHSTATUS st = TdhGetEventInformation(r, 0, NULL, info, &size);
    if (st) {
        assert_int_equal(st, ERROR_NOT_FOUND);
        s->sized += r->UserDataLength > 0; /* it comes all the same */
        return;
    }
    s->described++;
    if (info->DecodingSource == DecodingSourceTlg) {
        assert_int_equal(r->EventHeader.EventDescriptor.Channel, 11);
        add_fields(s, r, info);
    }
}

static ULONG on_buffer(PEVENT_TRACE_LOGFILEA l)
{
    ((struct seen *)l->Context)->buffers++;
    return TRUE;
}

static TRACEHANDLE open_one(const char *name, struct seen *s)
{
    static char          path[5000];
    EVENT_TRACE_LOGFILEA l = {.LogFileName = path, .Context = s, .BufferCallback = on_buffer};
    snprintf(path, sizeof path, "%s/etl/%s", folder, name);
    l.ProcessTraceMode    = PROCESS_TRACE_MODE_EVENT_RECORD;
    l.EventRecordCallback = on_event;
    TRACEHANDLE h         = OpenTraceA(&l);
    assert_true(h != INVALID_PROCESSTRACE_HANDLE);
    return h;
}

static void each_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        struct seen *s = calloc(1, sizeof *s);
        TRACEHANDLE  h = open_one(rows[i].name, s);
        assert_int_equal(ProcessTrace(&h, 1, NULL, NULL), 0);
        assert_int_equal(CloseTrace(h), 0);
        assert_int_equal(s->late, 0);
        if (s->events != rows[i].events || s->described != rows[i].described || s->buffers != rows[i].buffers || (uint64_t)s->first != rows[i].first ||
            (uint64_t)s->last != rows[i].last)
            fail_msg("%s: %u events, %u described, %u buffers, %lld to %lld", rows[i].name, s->events, s->described, s->buffers, (long long)s->first,
                     (long long)s->last);
        if (i == 0) {
            assert_non_null(strstr(s->fields, "Microsoft.Windows.Subsystem.LxCore/BreakPoint ErrorLevel=2 "));
            assert_non_null(strstr(s->fields, " LxPid=-1 LxTid=-1 LxNs=0x0 ") ?: strstr(s->fields, " LxPid=-1 LxTid=-1 LxNs=0 "));
            assert_non_null(strstr(s->fields, " Function=LxpInstanceStart Line=2659 Message=[0xc0000034] LxpInstanceInitialize\n"));
        } else if (i == 2) {
            assert_string_equal(s->fields, "MySource/TestEvent b=Hello c=World!\n");
        }
        free(s);
    }
}

/* 64 handles, every file 16 times: one order over all. */
static void all_together(void **state)
{
    struct seen *s        = calloc(1, sizeof *s);
    TRACEHANDLE  h[64];
    unsigned     expected = 0, buffers = 0;
    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        h[i] = open_one(rows[i % 3].name, s);
        expected += rows[i % 3].events;
        buffers += rows[i % 3].buffers;
    }
    assert_int_equal(ProcessTrace(h, 64, NULL, NULL), 0);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(CloseTrace(h[i]), 0);
    assert_int_equal(s->events, expected);
    assert_int_equal(s->buffers, buffers);
    assert_int_equal(s->late, 0);
    assert_true((uint64_t)s->first == rows[0].first && (uint64_t)s->last == rows[1].last);
    free(s);
}

int main(void)
{
    const char *data = getenv("AUTOLOGGER_DATA");
    snprintf(folder, sizeof folder, "%s", data ? data : AL_SOURCE_DIR "/../shared/data");
    if (access(folder, R_OK) != 0) {
        printf("skipped: no folder %s (set AUTOLOGGER_DATA)\n", folder);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_file), cmocka_unit_test(all_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
