/* OpenTrace, ProcessTrace and CloseTrace over files: order over files, times, buffers, errors, closing from a callback.
 * Proves: CON-02 (eight processors), CON-04, CON-01 (EventCallback of older consumers, too). The real-time half is
 * boot-tests/e2e/realtime.py. */
#include "autologger/consumer/record_view.h"
#include "autologger/etl/tests/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[32], path[2][64], damaged[64], text[64];

static void save(struct image *m, const char *to, size_t size)
{
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m->data, 1, size, f), size);
    fclose(f);
}

/* 500 events on two CPUs, 10 buffers; the times of both files interleave. */
static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/al-process-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    struct etl_file_info info = build_info(8192);
    for (int file = 0; file < 2; file++) {
        struct image m = image_start(&info);
        snprintf(path[file], sizeof path[file], "%s/%d.etl", folder, file);
        for (uint32_t b = 0; b < 10; b++) {
            image_buffer(&m, (uint16_t)(b % 2), 1 + b);
            for (uint32_t i = 0; i < 50; i++)
                image_event(&m, 2000000 + (b / 2) * 100000 + i * 1000 + (b % 2) * 10 + file, i);
        }
        save(&m, path[file], m.size);
        if (file) {
            snprintf(damaged, sizeof damaged, "%s/damaged.etl", folder);
            save(&m, damaged, m.size - 100);
        }
        image_free(&m);
    }
    snprintf(text, sizeof text, "%s/text", folder);
    FILE *f = fopen(text, "w");
    fputs("this is no trace", f);
    fclose(f);
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    unlink(path[0]), unlink(path[1]), unlink(damaged), unlink(text);
    return rmdir(folder);
}

struct seen {
    unsigned    events, headers, late, buffers, stop_after;
    int64_t     last, first;
    TRACEHANDLE close; /* in the callback, at the 10th event */
    ULONG       closed;
};

static VOID on_event(PEVENT_RECORD r)
{
    struct seen      *s         = r->UserContext;
    static const GUID header    = AUTOLOGGER_EVENT_TRACE_GUID;
    bool              is_header = r->EventHeader.Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER &&
                     memcmp(&r->EventHeader.ProviderId, &header, sizeof header) == 0;
    s->late += r->EventHeader.TimeStamp.QuadPart < s->last;
    s->last = r->EventHeader.TimeStamp.QuadPart;
    if (is_header) {
        s->headers++;
        return;
    }
    if (!s->events)
        s->first = s->last;
    s->events++;
    assert_non_null(r->UserData);
    assert_true(r->UserDataLength >= 4 && GetEventProcessorIndex(r) < 2);
    if (s->events == 10 && s->close)
        s->closed = CloseTrace(s->close);
}
static ULONG on_buffer(PEVENT_TRACE_LOGFILEA l)
{
    struct seen *s = l->Context;
    return ++s->buffers != s->stop_after;
}

static TRACEHANDLE open_file(const char *file, struct seen *s, ULONG mode)
{
    EVENT_TRACE_LOGFILEA l = {.LogFileName = (char *)file, .Context = s, .BufferCallback = on_buffer};
    l.ProcessTraceMode     = PROCESS_TRACE_MODE_EVENT_RECORD | mode;
    l.EventRecordCallback  = on_event;
    TRACEHANDLE h          = OpenTraceA(&l);
    if (h != INVALID_PROCESSTRACE_HANDLE)
        assert_int_equal(l.LogfileHeader.BufferSize, 8192);
    return h;
}

static void two_files_in_order(void **state)
{
    struct seen s = {0};
    (void)state;
    TRACEHANDLE h[2] = {open_file(path[0], &s, 0), open_file(path[1], &s, 0)};
    assert_int_equal(ProcessTrace(h, 2, NULL, NULL), 0);
    assert_int_equal(s.events, 1000);
    assert_int_equal(s.headers, 2);
    assert_int_equal(s.late, 0);
    assert_int_equal(s.buffers, 22);
    assert_int_equal(CloseTrace(h[0]), 0);
    assert_int_equal(CloseTrace(h[1]), 0);
    assert_int_equal(CloseTrace(h[1]), ERROR_INVALID_HANDLE);
    assert_int_equal(ProcessTrace(h, 1, NULL, NULL), ERROR_INVALID_HANDLE);
}

/* Both files have events from before their session. The headers do not delay these events, and all files stay in time
 * order. */
static struct {
    unsigned headers, count;
    int64_t  time[8];
} early;

static VOID on_early(PEVENT_RECORD r)
{
    if (r->EventHeader.EventDescriptor.Id != 7)
        early.headers++;
    else if (early.count < 8)
        early.time[early.count++] = r->EventHeader.TimeStamp.QuadPart - (int64_t)BUILD_START_TIME;
}

static void events_from_before_a_session_in_order(void **state)
{
    static const int64_t times[2][2] = {{-500000, 200000}, {-400000, -300000}},
                         wanted[]    = {-500000, -400000, -300000, 200000};
    static char name[2][64];
    TRACEHANDLE h[2];
    (void)state;
    early.headers = early.count = 0;
    for (int file = 0; file < 2; file++) {
        struct etl_file_info info = build_info(4096);
        info.start_raw -= file * 450000;
        info.start_time -= (uint64_t)file * 450000;
        struct image m = image_start(&info);
        image_buffer(&m, 0, 1);
        for (int i = 0; i < 2; i++)
            image_event(&m, 1000000 + times[file][i], 1);
        snprintf(name[file], sizeof name[file], "%s/early-%d.etl", folder, file);
        save(&m, name[file], m.size);
        image_free(&m);
        EVENT_TRACE_LOGFILEA l = {.LogFileName         = name[file],
                                  .ProcessTraceMode    = PROCESS_TRACE_MODE_EVENT_RECORD,
                                  .EventRecordCallback = on_early};
        h[file]                = OpenTraceA(&l);
    }
    assert_int_equal(ProcessTrace(h, 2, NULL, NULL), 0);
    assert_int_equal(early.headers, 2);
    assert_int_equal(early.count, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(early.time[i], wanted[i]);
    for (int file = 0; file < 2; file++) {
        CloseTrace(h[file]);
        unlink(name[file]);
    }
}

/* CON-02: eight processors whose buffers lie in the file in any order, with interleaved times: one event at a time,
 * none older than the one before, and each processor's events in the order written. */
enum { PROCESSORS = 8, BUFFERS_EACH = 5, EVENTS_EACH = 40 };
static struct {
    unsigned inside, at_once, late, wrong, next[PROCESSORS];
    int64_t  last;
} eight;

static VOID on_one_of_eight(PEVENT_RECORD r)
{
    if (r->EventHeader.EventDescriptor.Id != 7)
        return; /* the file's header */
    eight.at_once += eight.inside++ != 0;
    eight.late += r->EventHeader.TimeStamp.QuadPart < eight.last;
    eight.last         = r->EventHeader.TimeStamp.QuadPart;
    const ULONG    cpu = GetEventProcessorIndex(r);
    const uint32_t n   = *(const uint32_t *)r->UserData;
    assert_true(cpu < PROCESSORS);
    eight.wrong += n != eight.next[cpu]++;
    eight.inside--;
}

static void eight_processors_in_order(void **state)
{
    struct etl_file_info info = build_info(8192);
    EVENT_TRACE_LOGFILEA l    = {.ProcessTraceMode    = PROCESS_TRACE_MODE_EVENT_RECORD,
                                 .EventRecordCallback = on_one_of_eight};
    char                 file[64];
    (void)state;
    info.processors = PROCESSORS;
    struct image m  = image_start(&info);
    for (unsigned i = 0; i < PROCESSORS * BUFFERS_EACH; i++) {
        const unsigned cpu = i * 5 % PROCESSORS, buffer = i / PROCESSORS;
        image_buffer(&m, (uint16_t)cpu, 1 + i);
        for (uint32_t n = 0; n < EVENTS_EACH; n++)
            image_event(&m, 2000000 + (buffer * EVENTS_EACH + n) * 100 + cpu * 7, buffer * EVENTS_EACH + n);
    }
    snprintf(file, sizeof file, "%s/eight.etl", folder);
    save(&m, file, m.size);
    image_free(&m);
    l.LogFileName = file;
    TRACEHANDLE h = OpenTraceA(&l);
    assert_int_equal(ProcessTrace(&h, 1, NULL, NULL), 0);
    assert_int_equal(CloseTrace(h), 0);
    unlink(file);
    assert_int_equal(eight.at_once, 0);
    assert_int_equal(eight.late, 0);
    assert_int_equal(eight.wrong, 0);
    for (unsigned cpu = 0; cpu < PROCESSORS; cpu++)
        assert_int_equal(eight.next[cpu], BUFFERS_EACH * EVENTS_EACH);
}

static void wide_names_and_raw_times(void **state)
{
    struct seen          s = {0};
    WCHAR                name[64];
    EVENT_TRACE_LOGFILEW l = {.LogFileName = name, .Context = &s};
    (void)state;
    for (size_t i = 0; i <= strlen(path[0]); i++)
        name[i] = (WCHAR)path[0][i];
    l.ProcessTraceMode    = PROCESS_TRACE_MODE_EVENT_RECORD | PROCESS_TRACE_MODE_RAW_TIMESTAMP;
    l.EventRecordCallback = on_event;
    TRACEHANDLE h         = OpenTraceW(&l);
    assert_true(h != INVALID_PROCESSTRACE_HANDLE);
    assert_int_equal(ProcessTrace(&h, 1, NULL, NULL), 0);
    assert_int_equal(s.events, 500);
    assert_int_equal(s.first, 2000000);
    CloseTrace(h);
}

static void a_part_by_time(void **state)
{
    struct seen all = {0}, part = {0};
    (void)state;
    TRACEHANDLE h = open_file(path[0], &all, 0);
    ProcessTrace(&h, 1, NULL, NULL);
    CloseTrace(h);
    uint64_t from  = (uint64_t)(all.first + (all.last - all.first) / 2);
    FILETIME start = {(uint32_t)from, (uint32_t)(from >> 32)},
             end   = {(uint32_t)all.last, (uint32_t)((uint64_t)all.last >> 32)};
    h              = open_file(path[0], &part, 0);
    assert_int_equal(ProcessTrace(&h, 1, &end, &start), ERROR_INVALID_TIME);
    assert_int_equal(ProcessTrace(&h, 1, &start, &end), 0);
    assert_true(part.events > 100 && part.events < 400 && part.first >= (int64_t)from);
    CloseTrace(h);
}

static void whoever_has_enough_says_so(void **state)
{
    struct seen s = {.stop_after = 3}, closing = {0};
    (void)state;
    TRACEHANDLE h = open_file(path[0], &s, 0);
    assert_int_equal(ProcessTrace(&h, 1, NULL, NULL), ERROR_CANCELLED);
    assert_true(s.events < 500);
    assert_int_equal(s.buffers, 3);
    assert_int_equal(CloseTrace(h), 0);
    closing.close = h = open_file(path[0], &closing, 0);
    assert_int_equal(ProcessTrace(&h, 1, NULL, NULL), 0);
    assert_int_equal(closing.closed, ERROR_CTX_CLOSE_PENDING);
    assert_int_equal(closing.events, 10);
    assert_int_equal(CloseTrace(h), ERROR_INVALID_HANDLE); /* ProcessTrace closed it */
}

static void damage_is_said(void **state)
{
    struct seen s = {0};
    (void)state;
    TRACEHANDLE h = open_file(damaged, &s, 0);
    assert_int_equal(ProcessTrace(&h, 1, NULL, NULL), ERROR_INVALID_DATA);
    assert_true(s.events >= 450); /* the events before the damage were given */
    CloseTrace(h);
}

static void mistakes(void **state)
{
    struct seen          s        = {0};
    EVENT_TRACE_LOGFILEA l        = {.ProcessTraceMode = PROCESS_TRACE_MODE_EVENT_RECORD};
    TRACEHANDLE          many[65] = {0}, h;
    (void)state;
    assert_true(OpenTraceA(NULL) == INVALID_PROCESSTRACE_HANDLE);
    assert_int_equal(GetLastError(), ERROR_INVALID_PARAMETER);
    assert_true(OpenTraceA(&l) == INVALID_PROCESSTRACE_HANDLE);
    assert_int_equal(GetLastError(), ERROR_BAD_PATHNAME);
    assert_true(open_file("/nowhere/at-all.etl", &s, 0) == INVALID_PROCESSTRACE_HANDLE);
    assert_int_equal(GetLastError(), ERROR_FILE_NOT_FOUND);
    assert_true(open_file(text, &s, 0) == INVALID_PROCESSTRACE_HANDLE);
    assert_int_equal(GetLastError(), ERROR_INVALID_DATA);
    h = open_file(path[0], &s, 0);
    assert_int_equal(ProcessTrace(NULL, 1, NULL, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(ProcessTrace(&h, 0, NULL, NULL), ERROR_BAD_LENGTH);
    assert_int_equal(ProcessTrace(many, 65, NULL, NULL), ERROR_BAD_LENGTH);
    TRACEHANDLE wrong[2] = {h, INVALID_PROCESSTRACE_HANDLE}, twice[2] = {h, h};
    assert_int_equal(ProcessTrace(wrong, 2, NULL, NULL), ERROR_INVALID_HANDLE);
    assert_int_equal(ProcessTrace(twice, 2, NULL, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(ProcessTrace(&h, 1, NULL, NULL), 0); /* none of these calls has spoilt the handle */
    assert_int_equal(s.events, 500);
    CloseTrace(h);
}

/* Consumers from before Windows Vista: EVENT_TRACE, without a context of their own. */
static struct {
    unsigned events, headers, late, buffers;
    int64_t  last;
    uint32_t sum;
} classic;

static VOID on_classic(PEVENT_TRACE t)
{
    static const GUID header = AUTOLOGGER_EVENT_TRACE_GUID;
    classic.late += t->Header.TimeStamp.QuadPart < classic.last;
    classic.last = t->Header.TimeStamp.QuadPart;
    if (memcmp(&t->Header.Guid, &header, sizeof header) == 0) {
        classic.headers++;
        assert_true(t->MofLength >= sizeof(TRACE_LOGFILE_HEADER) && t->Header.Class.Type == 0);
        return;
    }
    assert_memory_equal(&t->Header.Guid, &build_provider, sizeof build_provider);
    assert_true(t->Header.ProcessId == 5678 && t->Header.ThreadId == 1234 && t->Header.Class.Level == 4);
    assert_true(t->MofLength == 4 && t->BufferContext.ProcessorIndex < 2 && t->BufferContext.LoggerId == 1);
    classic.sum += *(const uint32_t *)t->MofData;
    classic.events++;
}

static ULONG classic_buffer(PEVENT_TRACE_LOGFILEA l)
{
    classic.buffers++;
    /* the last event given; 4: the file's header */
    assert_true(l->CurrentEvent.Header.ProcessId == (classic.events ? 5678 : 4));
    return TRUE;
}

static void a_classic_consumer(void **state)
{
    EVENT_TRACE_LOGFILEA l    = {.LogFileName = path[0], .EventCallback = on_classic, .BufferCallback = classic_buffer};
    TRACEHANDLE          h    = OpenTraceA(&l);
    struct seen          seen = {0};
    (void)state;
    assert_true(h != INVALID_PROCESSTRACE_HANDLE);
    /* beside a consumer of the newer kind: each event goes to the callback of its own file */
    TRACEHANDLE both[2] = {h, open_file(path[1], &seen, 0)};
    assert_int_equal(ProcessTrace(both, 2, NULL, NULL), 0);
    assert_true(classic.events == 500 && classic.headers == 1 && classic.late == 0 && classic.buffers == 11);
    assert_int_equal(classic.sum, 10 * (49 * 50 / 2));
    assert_int_equal(seen.events, 500);
    assert_int_equal(CloseTrace(h) + CloseTrace(both[1]), 0);
    /* no callbacks: allowed */
    l.EventCallback  = NULL;
    l.BufferCallback = NULL;
    h                = OpenTraceA(&l);
    assert_int_equal(ProcessTrace(&h, 1, NULL, NULL), 0);
    assert_int_equal(CloseTrace(h), 0);
}

static void sessions_that_do_not_run(void **state)
{
    struct seen          s = {0};
    EVENT_TRACE_LOGFILEA l = {.LoggerName = (char *)"nobody"};
    (void)state;
    setenv("AUTOLOGGER_RUNTIME_DIR", folder, 1);
    l.ProcessTraceMode = PROCESS_TRACE_MODE_EVENT_RECORD | PROCESS_TRACE_MODE_REAL_TIME;
    TRACEHANDLE h[2] = {OpenTraceA(&l), OpenTraceA(&l)}, file = open_file(path[0], &s, 0), both[2] = {h[0], file};
    assert_true(h[0] != INVALID_PROCESSTRACE_HANDLE);
    assert_int_equal(ProcessTrace(h, 1, NULL, NULL), ERROR_WMI_INSTANCE_NOT_FOUND);
    assert_int_equal(ProcessTrace(h, 2, NULL, NULL), ERROR_WMI_ALREADY_ENABLED);
    assert_int_equal(ProcessTrace(both, 2, NULL, NULL), ERROR_NOT_SUPPORTED);
    assert_int_equal(CloseTrace(h[0]) + CloseTrace(h[1]) + CloseTrace(file), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_files_in_order),
        cmocka_unit_test(events_from_before_a_session_in_order),
        cmocka_unit_test(eight_processors_in_order),
        cmocka_unit_test(wide_names_and_raw_times),
        cmocka_unit_test(a_part_by_time),
        cmocka_unit_test(whoever_has_enough_says_so),
        cmocka_unit_test(damage_is_said),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(a_classic_consumer),
        cmocka_unit_test(sessions_that_do_not_run),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
