/* Proves: COR-03 COR-09 COR-10 COR-19 COR-21 COR-24 API-01 API-03 API-04 API-05 API-06 API-08 API-09 API-10 API-11
 * API-12 API-13 API-14 API-15 API-16 API-18 API-21 API-22 API-24 API-25 API-26 API-29 API-30: the provider library
 * against a daemon in a thread: registration, multicast, filters, callbacks, errors, fork, late and restarted
 * daemons. */
// timeout: 120
#include "autologger/include/evntprov.h"
#include "autologger/provider/tests/fakedaemon.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

/* API-18: the layout of Windows. */
_Static_assert(sizeof(EVENT_DESCRIPTOR) == 16 && offsetof(EVENT_DESCRIPTOR, Id) == 0 &&
                   sizeof((EVENT_DESCRIPTOR *)0)->Id == 2 && offsetof(EVENT_DESCRIPTOR, Version) == 2 &&
                   offsetof(EVENT_DESCRIPTOR, Channel) == 3 && offsetof(EVENT_DESCRIPTOR, Level) == 4 &&
                   offsetof(EVENT_DESCRIPTOR, Opcode) == 5 && offsetof(EVENT_DESCRIPTOR, Task) == 6 &&
                   sizeof((EVENT_DESCRIPTOR *)0)->Task == 2 && offsetof(EVENT_DESCRIPTOR, Keyword) == 8,
               "EVENT_DESCRIPTOR");

static struct fakedaemon daemon_;
static const GUID        provider_id = {0x11223344, 0x5566, 0x7788, {1, 2, 3, 4, 5, 6, 7, 8}};

static int setup(void **state)
{
    (void)state;
    fakedaemon_start(&daemon_);
    fakedaemon_session(&daemon_, 0, 65536, 32);
    fakedaemon_session(&daemon_, 1, 65536, 32);
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    fakedaemon_stop(&daemon_);
    return 0;
}
static EVENT_DESCRIPTOR event(UCHAR level, ULONGLONG keyword)
{
    EVENT_DESCRIPTOR d;
    EventDescCreate(&d, 7, 2, 9, level, 0x1234, 5, keyword);
    return d;
}
static ULONG write_number(REGHANDLE h, uint32_t number)
{
    EVENT_DATA_DESCRIPTOR data;
    EVENT_DESCRIPTOR      d = event(4, 0);
    EventDataDescCreate(&data, &number, sizeof number);
    ULONG status = EventWrite(h, &d, 1, &data);
    number       = 0; /* API-12: copied during the call */
    return status;
}

/* The daemon may have just started: waits until this process has sent it CTL_HELLO. */
static void expect_connected(void)
{
    if (daemon_.hellos == 0)
        assert_true(fakedaemon_wait(&daemon_, &daemon_.hellos, 1));
}

static void test_before_and_after(void **state)
{
    REGHANDLE                   h1, h2;
    const struct stream_record *r;
    (void)state;
    fakedaemon_enable(&daemon_, 0, &provider_id, 0, 0, 0, 0); /* enabled before it registers */
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, &h1), 0);
    expect_connected();
    if (!EventProviderEnabled(h1, 4, 0)) { /* the first registration still found the former test's daemon */
        assert_true(fakedaemon_wait(&daemon_, &daemon_.acks, 1));
    }
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, &h2), 0);
    assert_true(EventProviderEnabled(h2, 4, 0)); /* at once */
    assert_int_not_equal(h1, 0);
    assert_true(h1 != h2);
    EVENT_DESCRIPTOR d = event(4, 0x8000000000000001);
    assert_int_equal(EventWrite(h2, &d, 0, NULL), 0);
    assert_int_equal(write_number(h1, 42), 0);
    r = fakedaemon_next(&daemon_, 0);
    assert_non_null(r);
    struct etl_event_header h;
    memcpy(&h, r->data, sizeof h);
    assert_int_equal(h.size, 80);
    assert_int_equal(h.header_type, ETL_EVENT64);
    assert_int_equal(h.marker, ETL_MARKER);
    assert_int_equal(h.flags, 0);
    assert_int_equal(h.process_id, getpid());
    assert_int_equal(h.thread_id, gettid());
    assert_memory_equal(&h.provider, &provider_id, 16);
    assert_memory_equal(&h.id, &d, 16);
    assert_int_equal(h.kernel_time + h.user_time, 0);
    assert_true(guid_is_zero(&h.activity));
    r = fakedaemon_next(&daemon_, 0);
    assert_non_null(r);
    assert_int_equal(r->size, 84);
    assert_int_equal(r->data[80], 42);
    assert_null(fakedaemon_next(&daemon_, 0));
    /* a second session, after registering: one call reaches both, with the same payload */
    fakedaemon_enable(&daemon_, 1, &provider_id, 0, 0, 0, 0);
    assert_int_equal(write_number(h1, 43), 0);
    for (unsigned s = 0; s < 2; s++) {
        r = fakedaemon_next(&daemon_, s);
        assert_non_null(r);
        assert_int_equal(r->data[80], 43);
        assert_null(fakedaemon_next(&daemon_, s));
    }
    fakedaemon_disable(&daemon_, 0, &provider_id);
    assert_int_equal(write_number(h1, 44), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 1), 1);
    fakedaemon_disable(&daemon_, 1, &provider_id);
    assert_false(EventProviderEnabled(h1, 0, 0));
    struct stream_counters before[2], after; /* COR-21: an event that is written nowhere is not counted */
    for (unsigned s = 0; s < 2; s++)
        stream_counters(daemon_.session[s].set, raw_now_ns(), &before[s]);
    assert_int_equal(write_number(h1, 45), 0);
    for (unsigned s = 0; s < 2; s++) {
        assert_int_equal(fakedaemon_count(&daemon_, s), 0);
        stream_counters(daemon_.session[s].set, raw_now_ns(), &after);
        assert_memory_equal(&after, &before[s], sizeof after);
    }
    /* a stopped session and a new one at its index */
    fakedaemon_enable(&daemon_, 1, &provider_id, 0, 0, 0, 0);
    fakedaemon_detach(&daemon_, 1);
    assert_int_equal(write_number(h1, 46), 0);
    stream_set_destroy(daemon_.session[1].set);
    close(daemon_.session[1].eventfd);
    fakedaemon_session(&daemon_, 1, 65536, 32);
    fakedaemon_enable(&daemon_, 1, &provider_id, 0, 0, 0, 0);
    assert_int_equal(write_number(h1, 47), 0);
    r = fakedaemon_next(&daemon_, 1);
    assert_non_null(r);
    assert_int_equal(r->data[80], 47);
    assert_null(fakedaemon_next(&daemon_, 1));
    assert_int_equal(EventUnregister(h1), 0);
    assert_int_equal(write_number(h1, 48), ERROR_INVALID_HANDLE);
    assert_int_equal(EventUnregister(h1), ERROR_INVALID_HANDLE);
    assert_int_equal(write_number(h2, 49), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 1), 1);
    assert_int_equal(EventUnregister(h2), 0);
}

/* Which events a session takes: level x keyword x flags, by the rule of facts autologger-registry 5.1. */
static void test_truth_table(void **state)
{
    static const uint64_t kw[] = {0, 1, 2, 3, 0x8000000000000000, 0x8000000000000001};
    REGHANDLE             h;
    unsigned              checked = 0, passed = 0;
    (void)state;
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, &h), 0);
    assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1));
    for (unsigned level = 0; level <= 5; level++)
        for (unsigned any = 0; any < 6; any++)
            for (unsigned all = 0; all < 3; all++) {
                uint8_t flags = (uint8_t)(any == 3 ? SHM_ENABLE_IGNORE_KEYWORD_0 : 0);
                fakedaemon_enable(&daemon_, 0, &provider_id, (uint8_t)level, kw[any], kw[all], flags);
                for (unsigned el = 0; el <= 5; el++)
                    for (unsigned ek = 0; ek < 6; ek++) {
                        EVENT_DESCRIPTOR d    = event((UCHAR)el, kw[ek]);
                        bool             want = level == 0 || el <= level;
                        if (ek == 0)
                            want = want && !flags;
                        else if (kw[any] != 0)
                            want = want && (kw[ek] & kw[any]) && (kw[ek] & kw[all]) == kw[all];
                        assert_int_equal(EventEnabled(h, &d), want);
                        assert_int_equal(EventProviderEnabled(h, (UCHAR)el, kw[ek]), want);
                        assert_int_equal(EventWrite(h, &d, 0, NULL), 0);
                        assert_int_equal(fakedaemon_count(&daemon_, 0), want);
                        checked++;
                        passed += want;
                    }
            }
    assert_int_equal(checked, 6 * 6 * 3 * 36);
    assert_true(passed > 500 && passed < checked);
    assert_int_equal(EventUnregister(h), 0);
}

/* API-25: task, opcode, id, version and channel decide nothing, and reach the event unchanged. */
static void test_informational(void **state)
{
    static const USHORT tasks[]   = {0, 1, 0x8000, 0xFFFF};
    static const UCHAR  opcodes[] = {0, 1, 2, 10, 240, 255};
    REGHANDLE           h;
    (void)state;
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, &h), 0);
    assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1));
    fakedaemon_enable(&daemon_, 0, &provider_id, 3, 0x10, 0, 0);
    for (unsigned i = 0; i < 4 * 6 * 2; i++) {
        const bool       want = i % 2;
        EVENT_DESCRIPTOR d    = {.Id      = (USHORT)(i * 1400),
                                 .Version = (UCHAR)i,
                                 .Channel = (UCHAR)(255 - i),
                                 .Level   = want ? 3 : 4,
                                 .Opcode  = opcodes[i / 2 % 6],
                                 .Task    = tasks[i / 12],
                                 .Keyword = 0x10};
        assert_int_equal(EventEnabled(h, &d), want);
        assert_int_equal(EventWrite(h, &d, 0, NULL), 0);
        const struct stream_record *r = fakedaemon_next(&daemon_, 0);
        assert_int_equal(r != NULL, want);
        if (want)
            assert_memory_equal(r->data + 0x28, &d, sizeof d);
    }
    assert_int_equal(EventUnregister(h), 0);
}

struct called {
    unsigned  count;
    ULONG     code;
    UCHAR     level;
    ULONGLONG any, all;
    GUID      source;
    pthread_t thread;
    REGHANDLE handle; /* written from the callback */
};
static VOID on_enable(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
                      PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    struct called *c = context;
    assert_null(filter);
    c->code   = code;
    c->level  = level;
    c->any    = any;
    c->all    = all;
    c->source = *source;
    c->thread = pthread_self();
    if (c->handle && code == EVENT_CONTROL_CODE_ENABLE_PROVIDER)
        write_number(c->handle, 99); /* state at the beginning */
    __atomic_add_fetch(&c->count, 1, __ATOMIC_RELEASE);
}
static void test_callback(void **state)
{
    struct called c = {0};
    (void)state;
    REGHANDLE warm;
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, &warm), 0);
    expect_connected();
    fakedaemon_enable(&daemon_, 0, &provider_id, 4, 0x10, 0x30, 0);
    assert_int_equal(EventRegister(&provider_id, on_enable, &c, &c.handle), 0);
    assert_int_equal(c.count, 1); /* called during registration */
    assert_int_equal(c.code, EVENT_CONTROL_CODE_ENABLE_PROVIDER);
    assert_int_equal(c.level, 4);
    assert_int_equal(c.any, 0x10);
    assert_int_equal(c.all, 0x30);
    assert_memory_equal(&c.source, &daemon_.session[0].guid, 16);
    assert_false(pthread_equal(c.thread, pthread_self()));
    assert_int_equal(fakedaemon_count(&daemon_, 0), 1);
    fakedaemon_enable(&daemon_, 1, &provider_id, 2, 0, 0, 0);
    assert_int_equal(c.count, 2);
    fakedaemon_disable(&daemon_, 0, &provider_id);
    assert_int_equal(c.count, 3);
    fakedaemon_disable(&daemon_, 1, &provider_id);
    assert_int_equal(c.count, 4);
    assert_int_equal(c.code, EVENT_CONTROL_CODE_DISABLE_PROVIDER);
    assert_int_equal(EventUnregister(c.handle), 0);
    fakedaemon_enable(&daemon_, 0, &provider_id, 2, 0, 0, 0);
    assert_int_equal(c.count, 4);
    assert_int_equal(EventUnregister(warm), 0);
}

static void test_errors(void **state)
{
    static uint8_t        big[70000];
    EVENT_DATA_DESCRIPTOR data[MAX_EVENT_DATA_DESCRIPTORS + 1];
    EVENT_DESCRIPTOR      d = event(4, 0);
    REGHANDLE             h = 77;
    (void)state;
    assert_int_equal(EventRegister(NULL, NULL, NULL, &h), ERROR_INVALID_PARAMETER);
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, &h), 0);
    assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1));
    fakedaemon_session(&daemon_, 2, 4096, 8);
    fakedaemon_enable(&daemon_, 2, &provider_id, 0, 0, 0, 0);
    static const REGHANDLE bad[] = {0, 1, 8, 0x100000000, UINT64_MAX, 0xFFFFFFFF00000008};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(EventWrite(bad[i], &d, 0, NULL), ERROR_INVALID_HANDLE);
        assert_int_equal(EventUnregister(bad[i]), ERROR_INVALID_HANDLE);
        assert_false(EventEnabled(bad[i], &d));
    }
    assert_int_equal(EventWrite(h + (1ull << 32), &d, 0, NULL), ERROR_INVALID_HANDLE);
    assert_int_equal(EventWrite(h, NULL, 0, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(EventWrite(h, &d, 1, NULL), ERROR_INVALID_PARAMETER);
    for (unsigned i = 0; i <= MAX_EVENT_DATA_DESCRIPTORS; i++)
        EventDataDescCreate(&data[i], &big[i * 3], 3);
    for (unsigned i = 0; i < sizeof big; i++)
        big[i] = (uint8_t)i;
    assert_int_equal(EventWrite(h, &d, 129, data), ERROR_INVALID_PARAMETER);
    assert_int_equal(EventWrite(h, &d, 128, data), 0); /* the pieces are joined in order */
    const struct stream_record *r = fakedaemon_next(&daemon_, 2);
    assert_non_null(r);
    assert_int_equal(r->size, 80 + 384);
    assert_memory_equal(r->data + 80, big, 384);
    EventDataDescCreate(&data[0], big, 65536 - 80);
    assert_int_equal(EventWrite(h, &d, 1, data), ERROR_ARITHMETIC_OVERFLOW);
    EventDataDescCreate(&data[0], big, UINT32_MAX);
    EventDataDescCreate(&data[1], big, 100);
    assert_int_equal(EventWrite(h, &d, 2, data), ERROR_ARITHMETIC_OVERFLOW);
    EventDataDescCreate(&data[0], big, 4096 - 72 - 80 + 1);
    assert_int_equal(EventWrite(h, &d, 1, data), ERROR_MORE_DATA);
    EventDataDescCreate(&data[0], big, 4096 - 72 - 80);
    assert_int_equal(EventWrite(h, &d, 1, data), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 2), 1);
    /* full: ERROR_NOT_ENOUGH_MEMORY, counted; the other session still gets the event */
    fakedaemon_enable(&daemon_, 0, &provider_id, 0, 0, 0, 0);
    unsigned written = 0, lost = 0;
    for (int i = 0; i < 20; i++) {
        ULONG status = EventWrite(h, &d, 1, data);
        written += status == 0;
        lost += status == ERROR_NOT_ENOUGH_MEMORY;
    }
    struct stream_counters n;
    stream_counters(daemon_.session[2].set, raw_now_ns(), &n);
    assert_true(lost > 10);
    assert_int_equal(written + lost, 20);
    assert_int_equal(n.lost, lost + 3);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 20);
    assert_int_equal(fakedaemon_count(&daemon_, 2), written);
    assert_int_equal(EventWriteEx(h, &d, 0, 4, NULL, NULL, 0, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(EventWriteEx(h, &d, 0, 0, NULL, NULL, 0, NULL), 0);
    assert_int_equal(EventUnregister(h), 0);
}

/* Reports another thread's id before it sets its own. */
static void *own_id(void *found)
{
    GUID own = {7, 7, 7, {7}};
    EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_ID, found);
    EventActivityIdControl(EVENT_ACTIVITY_CTRL_SET_ID, &own);
    return NULL;
}
static void test_ids(void **state)
{
    static const GUID none;
    GUID              id = {0xA, 0xB, 0xC, {1}}, related = {0xD, 0xE, 0xF, {2}}, old, other = {1, 2, 3, {4}},
         theirs = {9, 9, 9, {9}};
    pthread_t                   thread;
    EVENT_DESCRIPTOR            d = event(4, 0);
    REGHANDLE                   h;
    const struct stream_record *r;
    (void)state;
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, &h), 0);
    assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1));
    fakedaemon_enable(&daemon_, 0, &provider_id, 0, 0, 0, 0);
    assert_int_equal(EventActivityIdControl(0, &id), ERROR_INVALID_PARAMETER);
    assert_int_equal(EventActivityIdControl(6, &id), ERROR_INVALID_PARAMETER);
    assert_int_equal(EventActivityIdControl(1, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(EventActivityIdControl(EVENT_ACTIVITY_CTRL_SET_ID, &id), 0);
    assert_int_equal(EventWrite(h, &d, 0, NULL), 0);
    r = fakedaemon_next(&daemon_, 0);
    assert_memory_equal(r->data + 0x40, &id, 16);
    old = other;
    assert_int_equal(EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_SET_ID, &old), 0);
    assert_memory_equal(&old, &id, 16);
    assert_int_equal(EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_ID, &old), 0);
    assert_memory_equal(&old, &other, 16);
    assert_int_equal(EventActivityIdControl(EVENT_ACTIVITY_CTRL_CREATE_SET_ID, &old), 0);
    assert_memory_equal(&old, &other, 16);
    assert_int_equal(EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_ID, &old), 0); /* the new id is set */
    assert_true(memcmp(&old, &other, 16) != 0 && memcmp(&old, &none, 16) != 0);
    assert_int_equal(pthread_create(&thread, NULL, own_id, &theirs), 0); /* the id belongs to this thread alone */
    pthread_join(thread, NULL);
    assert_memory_equal(&theirs, &none, 16);
    assert_int_equal(EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_ID, &theirs), 0);
    assert_memory_equal(&theirs, &old, 16);
    EVENT_DATA_DESCRIPTOR data;
    EventDataDescCreate(&data, "abc", 4);
    assert_int_equal(EventWriteTransfer(h, &d, &id, &related, 1, &data), 0);
    r = fakedaemon_next(&daemon_, 0);
    assert_int_equal(r->size, 80 + 24 + 4);
    assert_int_equal(r->data[4], ETL_EVENT_EXTENDED);
    assert_memory_equal(r->data + 0x40, &id, 16);
    static const uint8_t item[8] = {24, 0, 1, 0, 0, 0, 16, 0};
    assert_memory_equal(r->data + 80, item, 8);
    assert_memory_equal(r->data + 88, &related, 16);
    assert_memory_equal(r->data + 104, "abc", 4);
    assert_int_equal(EventWriteString(h, 3, 0x20, u"caf\u00e9"), 0);
    r = fakedaemon_next(&daemon_, 0);
    assert_int_equal(r->size, 80 + 10);
    assert_int_equal(r->data[4], ETL_EVENT_STRING_ONLY);
    assert_int_equal(r->data[0x2C], 3);
    assert_int_equal(r->data[0x30], 0x20);
    assert_memory_equal(r->data + 80, u"caf\u00e9", 10);
    memset(&id, 0, sizeof id);
    EventActivityIdControl(EVENT_ACTIVITY_CTRL_SET_ID, &id);
    assert_int_equal(EventUnregister(h), 0);
}

enum { ID_THREADS = 8, IDS = 100000 };
static GUID *ids;
static void *make_ids(void *arg)
{
    GUID *mine = ids + (uintptr_t)arg * IDS;
    for (int i = 0; i < IDS; i++)
        EventActivityIdControl(EVENT_ACTIVITY_CTRL_CREATE_ID, &mine[i]);
    return NULL;
}
static int  compare_ids(const void *a, const void *b) { return memcmp(a, b, sizeof(GUID)); }
static void test_unique_ids(void **state)
{
    pthread_t t[ID_THREADS];
    (void)state;
    ids = malloc(sizeof(GUID) * (ID_THREADS * IDS + 1));
    for (uintptr_t i = 0; i < ID_THREADS; i++)
        pthread_create(&t[i], NULL, make_ids, (void *)i);
    for (int i = 0; i < ID_THREADS; i++)
        pthread_join(t[i], NULL);
    GUID child_id;
    int  p[2];
    assert_int_equal(pipe(p), 0);
    if (fork() == 0) { /* a child does not repeat its parent's ids */
        EventActivityIdControl(EVENT_ACTIVITY_CTRL_CREATE_ID, &child_id);
        _exit(write(p[1], &child_id, sizeof child_id) != sizeof child_id);
    }
    assert_int_equal(read(p[0], &ids[ID_THREADS * IDS], sizeof *ids), sizeof *ids);
    wait(NULL);
    close(p[0]);
    close(p[1]);
    qsort(ids, ID_THREADS * IDS + 1, sizeof *ids, compare_ids);
    for (int i = 0; i < ID_THREADS * IDS; i++)
        if (compare_ids(&ids[i], &ids[i + 1]) == 0)
            fail_msg("id %d repeats", i);
    free(ids);
}

/* A child with everything inherited, also while other threads held the library's locks, writes as itself. */
static volatile int churn;
static void        *register_all_the_time(void *arg)
{
    (void)arg;
    while (!churn) {
        REGHANDLE h;
        EventRegister(&provider_id, NULL, NULL, &h);
        EventUnregister(h);
    }
    return NULL;
}
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_THREADS_AFTER_FORK /* ThreadSanitizer kills a child that starts a thread after a fork of a threaded parent */
#endif
#endif
static void test_fork(void **state)
{
#ifdef NO_THREADS_AFTER_FORK
    skip();
#endif
    REGHANDLE h;
    pthread_t t;
    int       status;
    (void)state;
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, &h), 0);
    assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1));
    fakedaemon_enable(&daemon_, 0, &provider_id, 0, 0, 0, 0);
    for (int round = 0; round < 20; round++) {
        churn = 0;
        pthread_create(&t, NULL, register_all_the_time, NULL);
        usleep(500);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(10);
            _exit(write_number(h, 5) != 0 ? 1 : !EventProviderEnabled(h, 4, 0) ? 2 : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        churn = 1;
        pthread_join(t, NULL);
        const struct stream_record *r = fakedaemon_next(&daemon_, 0);
        assert_non_null(r);
        uint32_t ids_of[2];
        memcpy(ids_of, r->data + 8, sizeof ids_of);
        assert_int_equal(ids_of[1], pid);
        assert_int_equal(ids_of[0], pid);
        assert_null(fakedaemon_next(&daemon_, 0));
        assert_int_equal(write_number(h, 6), 0); /* the parent goes on */
        r = fakedaemon_next(&daemon_, 0);
        assert_non_null(r);
        memcpy(ids_of, r->data + 8, sizeof ids_of);
        assert_int_equal(ids_of[1], getpid());
    }
    /* a child of a program whose provider was disabled can be enabled later */
    fakedaemon_disable(&daemon_, 0, &provider_id);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(10);
        for (int i = 0; i < 2000; i++) {
            write_number(h, 7);
            usleep(1000);
            if (EventProviderEnabled(h, 4, 0))
                _exit(write_number(h, 8) != 0);
        }
        _exit(2);
    }
    assert_true(fakedaemon_wait(&daemon_, &daemon_.hellos, 22));
    usleep(20000);
    fakedaemon_enable(&daemon_, 0, &provider_id, 0, 0, 0, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(fakedaemon_count(&daemon_, 0) >= 1);
    assert_int_equal(EventUnregister(h), 0);
}

/* The daemon ends and another one starts: registrations stay, attached memory is released. */
static void test_restart(void **state)
{
    struct called c = {0};
    (void)state;
    assert_int_equal(EventRegister(&provider_id, on_enable, &c, &c.handle), 0);
    assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1));
    for (int round = 0; round < 3; round++) {
        unsigned before = c.count;
        fakedaemon_enable(&daemon_, 0, &provider_id, 0, 0, 0, 0);
        assert_int_equal(c.count, before + 1);
        assert_int_equal(write_number(c.handle, 1), 0);
        assert_int_equal(fakedaemon_count(&daemon_, 0), 2);
        fakedaemon_stop(&daemon_);
        for (int i = 0; i < 2000 && EventProviderEnabled(c.handle, 0, 0); i++) {
            assert_int_equal(write_number(c.handle, 2), 0);
            usleep(1000);
        }
        assert_false(EventProviderEnabled(c.handle, 0, 0));
        assert_int_equal(write_number(c.handle, 3), 0);
        for (int i = 0; i < 2000 && __atomic_load_n(&c.count, __ATOMIC_ACQUIRE) < before + 2; i++)
            usleep(1000);
        assert_int_equal(c.count, before + 2); /* the callback reports the disabling */
        assert_int_equal(c.code, 0);
        setup(NULL);
        assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1)); /* without any call of the program */
    }
    assert_int_equal(EventUnregister(c.handle), 0);
}

static unsigned count_fds(void)
{
    DIR     *dir = opendir("/proc/self/fd");
    unsigned n   = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}
static void cycles(unsigned count)
{
    REGHANDLE h, first;
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(EventRegister(&provider_id, NULL, NULL, &h), 0);
        if (i == 0)
            first = h;
        assert_int_equal(EventUnregister(h), 0);
    }
    assert_int_equal(write_number(first, 1), ERROR_INVALID_HANDLE);
}
static void test_cycles(void **state)
{
    REGHANDLE h;
    (void)state;
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, &h), 0);
    expect_connected();
    assert_int_equal(EventUnregister(h), 0);
    cycles(100);
    unsigned            fds    = count_fds();
    const unsigned long before = fake_resident_kb();
    cycles(2000);
    assert_int_equal(count_fds(), fds);
    assert_true(fake_resident_kb() <= before + 256);
    REGHANDLE *many = malloc(1025 * sizeof *many);
    for (unsigned i = 0; i < 1024; i++)
        assert_int_equal(EventRegister(&provider_id, NULL, NULL, &many[i]), 0);
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, &many[1024]), ERROR_NO_SYSTEM_RESOURCES);
    fakedaemon_enable(&daemon_, 0, &provider_id, 0, 0, 0, 0);
    assert_int_equal(write_number(many[1023], 1), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 1);
    for (unsigned i = 0; i < 1024; i++)
        assert_int_equal(EventUnregister(many[i]), 0);
    free(many);
}

/* Without a daemon every call works and nothing waits; a later daemon gets the registrations. */
static void test_late_daemon(void **state)
{
    REGHANDLE h;
    (void)state;
    fakedaemon_stop(&daemon_);
    usleep(20000);
    cycles(1000);
    const unsigned long before = fake_resident_kb();
    cycles(getenv("AL_FULL") ? 1000000 : 100000);
    const unsigned long after = fake_resident_kb();
    assert_int_equal(EventRegister(&provider_id, NULL, NULL, &h), 0);
    assert_int_equal(write_number(h, 1), 0);
    setup(NULL);
    assert_true(after <= before + 256); /* with 100,000 calls, 3 bytes lost in each would show */
    assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1));
    fakedaemon_enable(&daemon_, 0, &provider_id, 0, 0, 0, 0);
    assert_int_equal(write_number(h, 2), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 1);
    assert_int_equal(EventUnregister(h), 0);
}

/* The program closes descriptors of the library: no descriptor of the program is written to or closed. */
static void test_closed_descriptors(void **state)
{
    REGHANDLE h;
    (void)state;
#ifdef NO_THREADS_AFTER_FORK
    skip();
#endif
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        assert_int_equal(EventRegister(&provider_id, NULL, NULL, &h), 0);
        close_range(3, ~0u, 0);
        int      mine[30];
        FILE    *f   = tmpfile();
        unsigned bad = 0;
        for (int i = 0; i < 30; i++)
            mine[i] = dup(fileno(f));
        for (int i = 0; i < 200; i++) {
            REGHANDLE other;
            EventRegister(&provider_id, NULL, NULL, &other);
            write_number(other, 1);
            EventUnregister(other);
        }
        for (int i = 0; i < 30; i++)
            bad += fcntl(mine[i], F_GETFD) < 0;
        struct stat st;
        bad += fstat(fileno(f), &st) < 0 || st.st_size != 0;
        _exit(bad != 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* The lines of S0 figure 3, with names from the test's own manifest header. */
static const GUID             MyProviderId          = {0xABCD, 1, 2, {3}};
static const EVENT_DESCRIPTOR MyEventDescriptor1[1] = {{1, 0, 0, 4, 0, 0, 1}},
                              MyEventDescriptor2[1] = {{2, 0, 0, 5, 0, 0, 2}};
static void test_figure_3(void **state)
{
    REGHANDLE             MyProvRegHandle;
    ULONG                 MyInteger      = 5, Status;
    WCHAR                 text[]         = u"text";
    PWCHAR                MyString       = text;
    ULONG                 MyStringLength = sizeof MyString;
    EVENT_DATA_DESCRIPTOR DataDescriptor[2];
    (void)state;
    Status = EventRegister(&MyProviderId, NULL, NULL, &MyProvRegHandle);
    assert_int_equal(Status, ERROR_SUCCESS);
    assert_true(fakedaemon_wait(&daemon_, &daemon_.registers, 1));
    fakedaemon_enable(&daemon_, 0, &MyProviderId, 4, 0, 0, 0);
    EventDataDescCreate(&DataDescriptor[0], &MyInteger, sizeof(ULONG));
    EventDataDescCreate(&DataDescriptor[1], &MyString, MyStringLength);
    Status = EventWrite(MyProvRegHandle, MyEventDescriptor1, 2, DataDescriptor);
    assert_int_equal(Status, ERROR_SUCCESS);
    if (EventEnabled(MyProvRegHandle, MyEventDescriptor2))
        Status = EventWrite(MyProvRegHandle, MyEventDescriptor2, 0, NULL);
    Status = EventUnregister(MyProvRegHandle);
    assert_int_equal(Status, ERROR_SUCCESS);
    const struct stream_record *r = fakedaemon_next(&daemon_, 0);
    assert_non_null(r); /* only the first event, with both of its parts */
    assert_memory_equal(r->data + 0x28, MyEventDescriptor1, sizeof *MyEventDescriptor1);
    assert_int_equal(r->size, 80 + sizeof(ULONG) + sizeof(PWCHAR));
    assert_memory_equal(r->data + 80, &MyInteger, sizeof MyInteger);
    assert_memory_equal(r->data + 84, &MyString, sizeof MyString);
    assert_null(fakedaemon_next(&daemon_, 0));
}

int main(void)
{
    fakedaemon_init(&daemon_);
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_before_and_after), T(test_truth_table), T(test_informational), T(test_callback),
        T(test_errors),           T(test_ids),         T(test_unique_ids),    T(test_fork),
        T(test_restart),          T(test_cycles),      T(test_late_daemon),   T(test_closed_descriptors),
        T(test_figure_3),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fakedaemon_finish(&daemon_);
    return failed;
}
