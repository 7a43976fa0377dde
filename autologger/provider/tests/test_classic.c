/* Proves: API-27 API-28 ENB-14: providers of the older API against a daemon in a thread: registration, the callback's
 * handle with level and flags, D-79: each record says whose it is; one session at a time, events, instances and
 * messages with the headers of the older kinds byte for byte, and every error. */
#include "autologger/include/evntrace.h"
#include "autologger/provider/tests/fakedaemon.h"
#include "autologger/ring/classic.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct fakedaemon daemon_;
static const GUID        control_id = {0x44444444, 1, 2, {3}}, first_id = {0x55555555, 1, 2, {3}},
                  second_id = {0x66666666, 1, 2, {3}};

static struct called {
    unsigned         count;
    WMIDPREQUESTCODE code;
    TRACEHANDLE      handle;
    ULONG            size;
    WNODE_HEADER     buffer;
    void            *context;
} called;
static ULONG WINAPI on_request(WMIDPREQUESTCODE code, PVOID context, ULONG *size, PVOID buffer)
{
    called.code    = code;
    called.context = context;
    called.size    = *size;
    called.handle  = GetTraceLoggerHandle(buffer);
    memcpy(&called.buffer, buffer, sizeof called.buffer);
    __atomic_add_fetch(&called.count, 1, __ATOMIC_RELEASE);
    return ERROR_SUCCESS;
}

static TRACEHANDLE             registration;
static TRACE_GUID_REGISTRATION classes[2];
static int                     setup(void **state)
{
    (void)state;
    memset(&called, 0, sizeof called);
    classes[0] = (TRACE_GUID_REGISTRATION){&first_id, NULL};
    classes[1] = (TRACE_GUID_REGISTRATION){&second_id, NULL};
    fakedaemon_start(&daemon_);
    fakedaemon_session(&daemon_, 0, 65536, 32);
    fakedaemon_session(&daemon_, 1, 65536, 32);
    assert_int_equal(RegisterTraceGuids(on_request, &called, &control_id, 2, classes, NULL, NULL, &registration), 0);
    assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1));
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    assert_int_equal(UnregisterTraceGuids(registration), 0);
    fakedaemon_stop(&daemon_);
    return 0;
}

/* Converts the next event of session `s` to its form in a file. */
static uint32_t next(unsigned s, uint8_t out[65536])
{
    const struct stream_record *r = fakedaemon_next(&daemon_, s);
    assert_non_null(r);
    assert_true(classic_is(r->data));
    struct guid control;
    memcpy(&control, &control_id, sizeof control);
    assert_int_equal(classic_slot(r->data), fake_slot(&daemon_, &control));
    return classic_unwrap(r->data, r->size, out);
}

static void test_callback(void **state)
{
    (void)state;
    assert_int_equal(called.count, 0);
    fakedaemon_enable(&daemon_, 0, &control_id, 4, 0xF0000000A5, 0, 0);
    assert_int_equal(called.count, 1);
    assert_int_equal(called.code, WMI_ENABLE_EVENTS);
    assert_ptr_equal(called.context, &called);
    assert_int_equal(called.size, sizeof(WNODE_HEADER));
    assert_int_equal(called.buffer.Flags, WNODE_FLAG_TRACED_GUID);
    assert_memory_equal(&called.buffer.Guid, &control_id, 16);
    assert_int_equal(GetTraceEnableLevel(called.handle), 4);
    assert_int_equal(GetTraceEnableFlags(called.handle), 0xA5); /* the low half of the keywords */
    assert_true(GetTraceLoggerHandle(NULL) == (TRACEHANDLE)-1);
    TRACEHANDLE first = called.handle;
    fakedaemon_enable(&daemon_, 1, &control_id, 2, 1, 0, 0); /* the last session that enables gets the provider */
    assert_int_equal(called.count, 2);
    assert_true(called.handle != first);
    fakedaemon_disable(&daemon_, 0, &control_id); /* session 0, which no longer has the provider */
    assert_int_equal(called.count, 2);
    EVENT_TRACE_HEADER e = {.Size = sizeof e, .Flags = WNODE_FLAG_TRACED_GUID, .Guid = first_id};
    assert_int_equal(TraceEvent(first, &e), ERROR_INVALID_HANDLE);
    assert_int_equal(TraceEvent(called.handle, &e), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 1), 1);
    fakedaemon_disable(&daemon_, 1, &control_id);
    assert_int_equal(called.count, 3);
    assert_int_equal(called.code, WMI_DISABLE_EVENTS);
    assert_int_equal(TraceEvent(called.handle, &e), ERROR_INVALID_HANDLE);
}

struct event {
    EVENT_TRACE_HEADER header;
    uint8_t            data[24];
};
static void test_event(void **state)
{
    static uint8_t         out[65536];
    struct etl_full_header h;
    struct event           e = {.header = {.Size = sizeof e, .Flags = WNODE_FLAG_TRACED_GUID, .Guid = first_id}};
    (void)state;
    fakedaemon_enable(&daemon_, 0, &control_id, 4, 1, 0, 0);
    e.header.Class.Type    = EVENT_TRACE_TYPE_START;
    e.header.Class.Level   = 5; /* the provider filters by itself */
    e.header.Class.Version = 0x1234;
    memcpy(e.data, "0123456789ABCDEFGHIJKLMN", 24);
    assert_int_equal(TraceEvent(called.handle, &e.header), 0);
    assert_int_equal(next(0, out), 48 + 24);
    memcpy(&h, out, sizeof h);
    assert_int_equal(h.size, 72);
    assert_int_equal(h.header_type, ETL_FULL64);
    assert_int_equal(h.marker, ETL_MARKER);
    assert_int_equal(h.type, 1);
    assert_int_equal(h.level, 5);
    assert_int_equal(h.version, 0x1234);
    assert_int_equal(h.process_id, getpid());
    assert_int_equal(h.thread_id, gettid());
    assert_memory_equal(&h.guid, &first_id, 16);
    assert_true(h.time > 0 && h.kernel_time == 0 && h.user_time == 0);
    assert_memory_equal(out + 48, e.data, 24);
    /* the header points to data elsewhere */
    struct {
        EVENT_TRACE_HEADER header;
        MOF_FIELD          field[2];
    } mof              = {.header = {.Size  = sizeof mof,
                                     .Flags = WNODE_FLAG_TRACED_GUID | WNODE_FLAG_USE_MOF_PTR | WNODE_FLAG_USE_GUID_PTR},
                          .field  = {{(uintptr_t) "abc", 4, 0}, {(uintptr_t)&e.data[10], 6, 0}}};
    mof.header.GuidPtr = (uintptr_t)&second_id;
    assert_int_equal(TraceEvent(called.handle, &mof.header), 0);
    assert_int_equal(next(0, out), 48 + 10);
    assert_memory_equal(out + 0x18, &second_id, 16);
    assert_memory_equal(out + 48, "abc\0ABCDEF", 10);
}

static void test_instance(void **state)
{
    static uint8_t out[65536];
    struct {
        EVENT_INSTANCE_HEADER header;
        uint32_t              number;
    } e = {.header = {.Size = sizeof(EVENT_INSTANCE_HEADER) + 4, .Flags = WNODE_FLAG_TRACED_GUID}, .number = 0xABCDEF};
    EVENT_INSTANCE_INFO a, b, bad = {NULL, 1};
    (void)state;
    assert_int_equal(CreateTraceInstanceId(classes[0].RegHandle, &a), 0);
    assert_int_equal(CreateTraceInstanceId(classes[1].RegHandle, &b), 0);
    assert_int_equal(CreateTraceInstanceId(classes[1].RegHandle, &b), 0);
    assert_int_equal(a.InstanceId, 1);
    assert_int_equal(b.InstanceId, 2);
    assert_int_equal(CreateTraceInstanceId(NULL, &a), ERROR_INVALID_PARAMETER);
    assert_int_equal(CreateTraceInstanceId((HANDLE)((uintptr_t)classes[1].RegHandle + (1 << 16)), &a),
                     ERROR_INVALID_PARAMETER);
    assert_int_equal(CreateTraceInstanceId(classes[0].RegHandle, NULL), ERROR_INVALID_PARAMETER);
    fakedaemon_enable(&daemon_, 0, &control_id, 4, 1, 0, 0);
    assert_int_equal(TraceEventInstance(called.handle, &e.header, &a, &b), 0);
    assert_int_equal(next(0, out), 0x48 + 4);
    assert_int_equal(out[2], ETL_INSTANCE64);
    assert_memory_equal(out + 0x18, &first_id, 16);
    assert_memory_equal(out + 0x30, "\1\0\0\0\2\0\0\0", 8);
    assert_memory_equal(out + 0x38, &second_id, 16);
    assert_memory_equal(out + 0x48, "\xEF\xCD\xAB\0", 4);
    assert_int_equal(TraceEventInstance(called.handle, &e.header, &b, NULL), 0);
    assert_int_equal(next(0, out), 0x48 + 4);
    assert_memory_equal(out + 0x30, "\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
    assert_int_equal(TraceEventInstance(called.handle, &e.header, NULL, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(TraceEventInstance(called.handle, &e.header, &a, &bad), ERROR_INVALID_PARAMETER);
    assert_int_equal(TraceEventInstance(called.handle, NULL, &a, NULL), ERROR_INVALID_PARAMETER);
}

static void test_message(void **state)
{
    static uint8_t out[65536];
    const ULONG    component = 0x01020304;
    uint32_t       n         = 7;
    uint64_t       time;
    (void)state;
    fakedaemon_enable(&daemon_, 0, &control_id, 4, 1, 0, 0);
    assert_int_equal(
        TraceMessage(called.handle,
                     TRACE_MESSAGE_SEQUENCE | TRACE_MESSAGE_GUID | TRACE_MESSAGE_TIMESTAMP | TRACE_MESSAGE_SYSTEMINFO,
                     &first_id, 10, &n, sizeof n, "text", (size_t)5, NULL),
        0);
    assert_int_equal(next(0, out), 8 + 4 + 16 + 8 + 8 + 9);
    assert_memory_equal(out, "\x35\0\0\x90\x0A\0\xAB\0\0\0\0\0", 12);
    assert_memory_equal(out + 12, &first_id, 16);
    memcpy(&time, out + 28, sizeof time);
    assert_true(time > 0);
    const uint32_t ids[2] = {(uint32_t)gettid(), (uint32_t)getpid()};
    assert_memory_equal(out + 36, ids, 8);
    assert_memory_equal(out + 44, "\7\0\0\0text\0", 9);
    assert_int_equal(
        TraceMessage(called.handle, TRACE_MESSAGE_COMPONENTID, (LPCGUID)(const void *)&component, 11, NULL), 0);
    assert_int_equal(next(0, out), 12);
    assert_memory_equal(out, "\x0C\0\0\x90\x0B\0\x84\0\4\3\2\1", 12);
    assert_int_equal(TraceMessage(called.handle, TRACE_MESSAGE_GUID, NULL, 11, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(TraceMessage(called.handle, 0, NULL, 11, out, (size_t)70000, NULL), ERROR_ARITHMETIC_OVERFLOW);
    assert_int_equal(TraceMessage(called.handle, 0, NULL, 11, out, (size_t)65500, NULL), ERROR_ARITHMETIC_OVERFLOW);
    assert_int_equal(TraceMessage(0, 0, NULL, 11, NULL), 0); /* number 0 of session 0: only the number counts */
    assert_int_equal(TraceMessage(1, 0, NULL, 11, NULL), ERROR_INVALID_HANDLE);
}

static void test_errors(void **state)
{
    struct event e = {.header = {.Size = sizeof e, .Flags = WNODE_FLAG_TRACED_GUID, .Guid = first_id}};
    TRACEHANDLE  h;
    (void)state;
    assert_int_equal(RegisterTraceGuids(NULL, NULL, &control_id, 0, NULL, NULL, NULL, &h), ERROR_INVALID_PARAMETER);
    assert_int_equal(RegisterTraceGuids(on_request, NULL, NULL, 0, NULL, NULL, NULL, &h), ERROR_INVALID_PARAMETER);
    assert_int_equal(RegisterTraceGuids(on_request, NULL, &control_id, 1, NULL, NULL, NULL, &h),
                     ERROR_INVALID_PARAMETER);
    assert_int_equal(RegisterTraceGuids(on_request, NULL, &control_id, 0, NULL, NULL, NULL, NULL),
                     ERROR_INVALID_PARAMETER);
    assert_int_equal(RegisterTraceGuidsW(on_request, NULL, &control_id, 0, NULL, NULL, NULL, &h), 0);
    assert_int_equal(UnregisterTraceGuids(h), 0);
    assert_int_equal(UnregisterTraceGuids(h), ERROR_INVALID_HANDLE);
    fakedaemon_enable(&daemon_, 0, &control_id, 4, 1, 0, 0);
    assert_int_equal(TraceEvent(called.handle, NULL), ERROR_INVALID_PARAMETER);
    e.header.Size = 47;
    assert_int_equal(TraceEvent(called.handle, &e.header), ERROR_BAD_LENGTH);
    e.header.Size  = sizeof e;
    e.header.Flags = 0;
    assert_int_equal(TraceEvent(called.handle, &e.header), ERROR_INVALID_FLAG_NUMBER);
    e.header.Flags = WNODE_FLAG_TRACED_GUID | 1;
    assert_int_equal(TraceEvent(called.handle, &e.header), ERROR_INVALID_FLAG_NUMBER);
    e.header.Flags = WNODE_FLAG_TRACED_GUID | WNODE_FLAG_USE_TIMESTAMP;
    assert_int_equal(TraceEvent(called.handle, &e.header), ERROR_NOT_SUPPORTED);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 0);
    for (unsigned i = 0; i < 2000; i++) { /* memory of a registration is reused */
        assert_int_equal(RegisterTraceGuids(on_request, NULL, &second_id, 2, classes, NULL, NULL, &h), 0);
        assert_int_equal(UnregisterTraceGuids(h), 0);
    }
    EVENT_INSTANCE_INFO info;
    /* of a removed registration */
    assert_int_equal(CreateTraceInstanceId(classes[0].RegHandle, &info), ERROR_INVALID_PARAMETER);
}

/* Data of a hostile program in a stream: unknown kinds are refused, sizes are the record's. */
static void test_unwrap(void **state)
{
    struct etl_event_header h = {.size = 80, .header_type = ETL_EVENT64, .marker = ETL_MARKER, .flags = SHM_CLASSIC};
    uint8_t                 in[80], out[80];
    (void)state;
    for (unsigned kind = 0; kind < 65536; kind += kind < 10 ? 1 : 977)
        for (unsigned task = 0; task < 65536; task += 31) {
            h.event_property = (uint16_t)kind;
            h.task           = (uint16_t)task;
            memcpy(in, &h, sizeof h);
            uint32_t size = classic_unwrap(in, sizeof in, out);
            assert_true(kind >= 1 && kind <= 3 ? size >= 8 && size <= sizeof out : size == 0);
        }
}

int main(void)
{
    fakedaemon_init(&daemon_);
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {T(test_callback), T(test_event),  T(test_instance),
                                       T(test_message),  T(test_errors), cmocka_unit_test(test_unwrap)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    fakedaemon_finish(&daemon_);
    return failed;
}
