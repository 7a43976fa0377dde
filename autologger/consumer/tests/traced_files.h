/* traced_files.h - traces by OpenTrace, ProcessTrace and tdh.h, as a program reads them: counts, first and last time,
 * one order over all of them, buffers, TraceLogging fields by name and value. */
#ifndef AUTOLOGGER_CONSUMER_TESTS_TRACED_FILES_H
#define AUTOLOGGER_CONSUMER_TESTS_TRACED_FILES_H
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

static char traced_folder[4096]; /* of the files */

struct row {
    const char *name;
    unsigned    events, described, buffers;
    uint64_t    first, last; /* FILETIME */
    const char *fields[4];   /* lines of its TraceLogging events */
};
struct seen {
    unsigned events, described, buffers, late, sized, uncounted;
    bool     alone; /* opened by itself */
    int64_t  first, last;
    char     fields[4096]; /* of TraceLogging events: "provider/event name=value ..." lines */
};

static inline void add_text(struct seen *s, const WCHAR *text)
{
    size_t units = 0, n = strlen(s->fields);
    while (text && text[units])
        units++;
    utf16le_to_utf8(text, 2 * units, s->fields + n, sizeof s->fields - n);
}

/* All top-level values of a TraceLogging event, and members of structs that are no arrays, by TdhGetProperty and
 * TdhFormatProperty. */
static inline void add_fields(struct seen *s, PEVENT_RECORD r, PTRACE_EVENT_INFO info)
{
    add_text(s, TEI_PROVIDER_NAME(info));
    strncat(s->fields, "/", sizeof s->fields - strlen(s->fields) - 1);
    add_text(s, TEI_EVENT_NAME(info));
    for (ULONG i = 0; i < info->TopLevelPropertyCount; i++) {
        PEVENT_PROPERTY_INFO top = &info->EventPropertyInfoArray[i];
        ULONG                n   = top->Flags & PropertyStruct ? top->structType.NumOfStructMembers : 1;
        for (ULONG j = 0; j < n; j++) {
            PEVENT_PROPERTY_INFO p =
                top->Flags & PropertyStruct ? &info->EventPropertyInfoArray[top->structType.StructStartIndex + j] : top;
            PROPERTY_DATA_DESCRIPTOR d[2] = {{(ULONGLONG)(uintptr_t)TEI_PROPERTY_NAME(info, top), 0xFFFFFFFF, 0},
                                             {(ULONGLONG)(uintptr_t)TEI_PROPERTY_NAME(info, p), 0xFFFFFFFF, 0}};
            BYTE                     value[2048];
            WCHAR                    text[2048];
            ULONG                    size, bytes = sizeof text;
            USHORT                   used;
            assert_int_equal(TdhGetPropertySize(r, 0, NULL, p == top ? 1 : 2, d, &size), 0);
            assert_true(size <= sizeof value);
            assert_int_equal(TdhGetProperty(r, 0, NULL, p == top ? 1 : 2, d, size, value), 0);
            strncat(s->fields, " ", sizeof s->fields - strlen(s->fields) - 1);
            add_text(s, TEI_PROPERTY_NAME(info, p));
            for (ULONG at = 0; at < size; at += used, bytes = sizeof text) { /* an array: value by value */
                assert_int_equal(TdhFormatProperty(info, NULL, 8, p->nonStructType.InType, p->nonStructType.OutType, 0,
                                                   (USHORT)(size - at), value + at, &bytes, text, &used),
                                 0);
                assert_true(used > 0 && used <= size - at);
                strncat(s->fields, at ? "," : "=", sizeof s->fields - strlen(s->fields) - 1);
                add_text(s, text);
            }
        }
    }
    strncat(s->fields, "\n", sizeof s->fields - strlen(s->fields) - 1);
}

static inline VOID on_event(PEVENT_RECORD r)
{
    static _Alignas(8) BYTE block[65536];
    struct seen            *s    = r->UserContext;
    PTRACE_EVENT_INFO       info = (PTRACE_EVENT_INFO)block;
    ULONG                   size = sizeof block;

    if (!s->events++)
        s->first = r->EventHeader.TimeStamp.QuadPart;
    s->late += r->EventHeader.TimeStamp.QuadPart < s->last;
    s->last      = r->EventHeader.TimeStamp.QuadPart;
    TDHSTATUS st = TdhGetEventInformation(r, 0, NULL, info, &size);
    if (st) {
        assert_int_equal(st, ERROR_NOT_FOUND);
        s->sized += r->UserDataLength > 0; /* an event without a description is delivered nevertheless */
        return;
    }
    s->described++;
    if (info->DecodingSource == DecodingSourceTlg) {
        assert_int_equal(r->EventHeader.EventDescriptor.Channel, 11);
        add_fields(s, r, info);
    }
}

static inline ULONG on_buffer(PEVENT_TRACE_LOGFILEA l)
{
    struct seen *s = l->Context;
    s->buffers++;
    s->uncounted += s->alone && (l->BuffersRead != s->buffers || l->BufferSize != l->LogfileHeader.BufferSize ||
                                 l->BufferSize < 1024 || l->EventsLost != l->LogfileHeader.EventsLost);
    return TRUE;
}

static inline TRACEHANDLE open_one(const char *name, struct seen *s)
{
    static char          path[5000];
    EVENT_TRACE_LOGFILEA l = {.LogFileName = path, .Context = s, .BufferCallback = on_buffer};
    snprintf(path, sizeof path, "%s/%s", traced_folder, name);
    l.ProcessTraceMode    = PROCESS_TRACE_MODE_EVENT_RECORD;
    l.EventRecordCallback = on_event;
    TRACEHANDLE h         = OpenTraceA(&l);
    assert_true(h != INVALID_PROCESSTRACE_HANDLE);
    return h;
}

static inline void traced_one(const struct row *row)
{
    struct seen *s = calloc(1, sizeof *s);
    s->alone       = true;
    TRACEHANDLE h  = open_one(row->name, s);
    assert_int_equal(ProcessTrace(&h, 1, NULL, NULL), 0);
    assert_int_equal(s->uncounted, 0); /* CON-03: each call says which buffer it is, and how large */
    assert_int_equal(CloseTrace(h), 0);
    assert_int_equal(s->late, 0);
    if (s->events != row->events || s->described != row->described || s->buffers != row->buffers ||
        (uint64_t)s->first != row->first || (uint64_t)s->last != row->last)
        fail_msg("%s: %u events, %u described, %u buffers, %lld to %lld", row->name, s->events, s->described,
                 s->buffers, (long long)s->first, (long long)s->last);
    for (size_t i = 0; i < 4 && row->fields[i]; i++)
        if (!strstr(s->fields, row->fields[i]))
            fail_msg("%s: no %s in\n%s", row->name, row->fields[i], s->fields);
    free(s);
}

/* 64 handles, each of `count` files several times: all events in one order. */
static inline void traced_together(const struct row *rows, size_t count)
{
    struct seen *s = calloc(1, sizeof *s);
    TRACEHANDLE  h[64];
    unsigned     expected = 0, buffers = 0;
    uint64_t     first = UINT64_MAX, last = 0;
    for (unsigned i = 0; i < 64; i++) {
        const struct row *row = &rows[i % count];
        h[i]                  = open_one(row->name, s);
        expected += row->events;
        buffers += row->buffers;
        first = row->first < first ? row->first : first;
        last  = row->last > last ? row->last : last;
    }
    assert_int_equal(ProcessTrace(h, 64, NULL, NULL), 0);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(CloseTrace(h[i]), 0);
    assert_int_equal(s->events, expected);
    assert_int_equal(s->buffers, buffers);
    assert_int_equal(s->late, 0);
    assert_true((uint64_t)s->first == first && (uint64_t)s->last == last);
    free(s);
}
#endif
