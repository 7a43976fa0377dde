/* trace_realtime - a provider, a controller and a consumer of one real-time session in one program. `trace_realtime
 * SESSION [connects]`: starts the session, writes events, and checks when and in which order they arrive; two sessions
 * in one ProcessTrace; many consumers that connect and disconnect. Prints what failed, and the shortest time between
 * the write of an event and its arrival. Exit codes: 0 all as expected, 1 not. */
#include <evntcons.h>
#include <evntprov.h>
#include <evntrace.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 2000 };
static const GUID provider = {0x5eba5e01, 0x3333, 0x2222, {1, 2, 3, 4, 5, 6, 7, 8}};
static unsigned   failed, seen, misplaced, early;
static int64_t    smallest = INT64_MAX;
static unsigned   inside; /* events delivered during a write by the only writing thread: must be 0 */
static pthread_t  writer;

struct block {
    EVENT_TRACE_PROPERTIES p;
    char                   name[512];
};
static struct block fresh(void)
{
    return (struct block){
        .p = {.Wnode       = {.BufferSize = sizeof(struct block), .Flags = WNODE_FLAG_TRACED_GUID, .ClientContext = 2},
              .LogFileMode = EVENT_TRACE_REAL_TIME_MODE,
              .BufferSize  = 64,
              .FlushTimer  = 1,
              .LoggerNameOffset = offsetof(struct block, name)}};
}
static void expect(const char *what, ULONG got, ULONG wanted)
{
    if (got == wanted)
        return;
    printf("%s: %u, expected %u\n", what, got, wanted);
    failed++;
}
static int64_t now(void) /* FILETIME */
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return ((int64_t)t.tv_sec + 11644473600) * 10000000 + t.tv_nsec / 100;
}
static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static VOID on_event(PEVENT_RECORD r)
{
    uint32_t n;
    if (memcmp(&r->EventHeader.ProviderId, &provider, sizeof provider) != 0)
        return;
    memcpy(&n, r->UserData, sizeof n);
    inside += pthread_equal(pthread_self(), writer) != 0;
    misplaced += n != seen;
    const int64_t late = now() - r->EventHeader.TimeStamp.QuadPart;
    early += late < 0;
    smallest = late < smallest ? late : smallest;
    __atomic_add_fetch(&seen, 1, __ATOMIC_RELEASE);
}
static TRACEHANDLE open_session(const char *name)
{
    EVENT_TRACE_LOGFILEA l = {.LoggerName          = (char *)(uintptr_t)name,
                              .ProcessTraceMode    = PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD,
                              .EventRecordCallback = on_event};
    return OpenTraceA(&l);
}
static void *consume(void *handle) { return (void *)(uintptr_t)ProcessTrace(handle, 1, NULL, NULL); }

static void life(const char *name, TRACEHANDLE session)
{
    const EVENT_DESCRIPTOR d = {.Id = 1, .Level = 4};
    EVENT_DATA_DESCRIPTOR  data;
    TRACEHANDLE            consumer = open_session(name), two[2];
    REGHANDLE              h;
    pthread_t              thread;
    void                  *result;

    writer = pthread_self();
    expect("EnableTraceEx2", EnableTraceEx2(session, &provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, 0, NULL),
           0);
    expect("EventRegister", EventRegister(&provider, NULL, NULL, &h), 0);
    for (int i = 0; i < 500 && !EventProviderEnabled(h, 4, 0); i++)
        pause_ms(10);
    pthread_create(&thread, NULL, consume, &consumer);
    for (uint32_t n = 0; n < EVENTS; n++) {
        EventDataDescCreate(&data, &n, sizeof n);
        expect("EventWrite", EventWrite(h, &d, 1, &data), 0);
        if (n % 500 == 0)
            pause_ms(300);
    }
    for (int i = 0; i < 1000 && __atomic_load_n(&seen, __ATOMIC_ACQUIRE) < EVENTS; i++)
        pause_ms(10);
    expect("events that came", seen, EVENTS);
    expect("events out of order", misplaced, 0);
    expect("events given on the writer's thread", inside, 0);
    expect("CloseTrace while it is processed", CloseTrace(consumer), ERROR_CTX_CLOSE_PENDING);
    pthread_join(thread, &result);
    expect("ProcessTrace", (ULONG)(uintptr_t)result, 0);
    two[0] = open_session(name);
    two[1] = open_session(name);
    expect("two sessions in one call", ProcessTrace(two, 2, NULL, NULL), ERROR_WMI_ALREADY_ENABLED);
    CloseTrace(two[0]);
    CloseTrace(two[1]);
    EventUnregister(h);
    printf("%u events in order, the quickest %.1f ms after it was written (%u by a clock that went back)\n", seen,
           (double)smallest / 1e4, early);
}

/* Consumers that connect, take the available events, and disconnect. */
static void connects(const char *name, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        TRACEHANDLE h = open_session(name);
        pthread_t   thread;
        void       *result;
        if (h == INVALID_PROCESSTRACE_HANDLE) {
            expect("OpenTrace", GetLastError(), 0);
            return;
        }
        if (i % 10 == 0) { /* these connect; the others end before they ask for anything */
            pthread_create(&thread, NULL, consume, &h);
            pause_ms(2);
            CloseTrace(h);
            pthread_join(thread, &result);
            if ((ULONG)(uintptr_t)result != ERROR_INVALID_HANDLE) /* closed before it began */
                expect("ProcessTrace", (ULONG)(uintptr_t)result, 0);
        }
        CloseTrace(h);
    }
}

int main(int argc, char **argv)
{
    struct block b = fresh();
    TRACEHANDLE  session;
    if (argc < 2)
        return 100;
    if (argc > 2) {
        connects(argv[1], (unsigned)strtoul(argv[2], NULL, 10));
        return failed != 0;
    }
    expect("StartTrace", StartTraceA(&session, argv[1], &b.p), 0);
    life(argv[1], session);
    return failed != 0;
}
