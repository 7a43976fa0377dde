/* trace_private FILE COUNT MODE - a program with a private session, as for Windows: starts it (PRIVATE_LOGGER,
 * PRIVATE_IN_PROC), enables a provider that other programs write too, writes COUNT events, and stops it, or (MODE
 * leave) exits without stopping it. MODE fill: starts COUNT sessions, which must all work, enables the provider in
 * each, and checks that one more is refused; goes on when standard input ends. Prints what it saw; exit 0: all as
 * expected. */
#include <evntprov.h>
#include <evntrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const GUID provider = {0x5ca1ab1e, 0x7e57, 0x0001, {0x80, 0, 0, 0, 0, 0, 0, 1}}; /* event_writer's */

struct block {
    EVENT_TRACE_PROPERTIES p;
    char                   name[256], file[1024];
};

static unsigned failed;
static void     expect(const char *what, ULONG got, ULONG wanted)
{
    if (got != wanted) {
        printf("%s: %u, not %u\n", what, (unsigned)got, (unsigned)wanted);
        failed++;
    }
}

static struct block fresh(const char *file, ULONG mode)
{
    struct block b = {.p = {.Wnode = {.BufferSize = sizeof b, .Flags = WNODE_FLAG_TRACED_GUID, .ClientContext = 1},
                            .LogFileMode       = mode,
                            .BufferSize        = 16,
                            .MaximumBuffers    = 64,
                            .LoggerNameOffset  = offsetof(struct block, name),
                            .LogFileNameOffset = offsetof(struct block, file)}};
    snprintf(b.file, sizeof b.file, "%s", file);
    memcpy(&b.p.Wnode.Guid, &provider, sizeof provider); /* a private session's GUID is its provider's */
    return b;
}

static void errors(const char *file)
{
    enum { OWN = EVENT_TRACE_PRIVATE_LOGGER_MODE | EVENT_TRACE_PRIVATE_IN_PROC };
    static const struct {
        const char *what;
        ULONG       mode, expected;
    } rows[] = {
        {"real time", OWN | EVENT_TRACE_REAL_TIME_MODE, ERROR_INVALID_PARAMETER},
        {"set aside", OWN | EVENT_TRACE_FILE_MODE_PREALLOCATE, ERROR_INVALID_PARAMETER},
        {"the kernel's", OWN | EVENT_TRACE_SYSTEM_LOGGER_MODE, ERROR_INVALID_PARAMETER},
        {"secure", OWN | EVENT_TRACE_SECURE_MODE, ERROR_INVALID_PARAMETER},
        {"in-process alone", EVENT_TRACE_PRIVATE_IN_PROC, ERROR_INVALID_PARAMETER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TRACEHANDLE  h;
        struct block b      = fresh(file, rows[i].mode);
        b.p.MaximumFileSize = 1;
        expect(rows[i].what, StartTraceA(&h, "wrong", &b.p), rows[i].expected);
    }
}

static void fill(const char *file, unsigned count, ULONG enabled)
{
    enum { OWN = EVENT_TRACE_PRIVATE_LOGGER_MODE | EVENT_TRACE_PRIVATE_IN_PROC };
    struct block b      = fresh(file, OWN);
    TRACEHANDLE  handle = 0;
    b.p.BufferSize      = 1024;
    expect("more memory than users have", StartTraceA(&handle, "large", &b.p), ERROR_NO_SYSTEM_RESOURCES);
    for (unsigned i = 0; i <= count; i++) {
        char path[1000], name[32];
        snprintf(path, sizeof path, "%s.%u", file, i);
        snprintf(name, sizeof name, "number-%u", i);
        b = fresh(path, OWN);
        expect(name, StartTraceA(&handle, name, &b.p), i < count ? ERROR_SUCCESS : ERROR_NO_SYSTEM_RESOURCES);
        if (i < count)
            expect("enable", EnableTraceEx2(handle, &provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 0, 0, 0, 5000, NULL),
                   enabled);
    }
    printf("%u\n", failed);
    fflush(stdout);
    (void)!getchar();
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 100;
    if (!strncmp(argv[3], "fill", 4)) {
        fill(argv[1], (unsigned)atoi(argv[2]),
             strcmp(argv[3], "fill-none") ? ERROR_SUCCESS : ERROR_NO_SYSTEM_RESOURCES);
        return failed ? 1 : 0;
    }
    const unsigned count = (unsigned)atoi(argv[2]);
    REGHANDLE      reg;
    TRACEHANDLE    handle;
    char           suffix[32];
    struct block   b = fresh(argv[1], EVENT_TRACE_PRIVATE_LOGGER_MODE | EVENT_TRACE_PRIVATE_IN_PROC), q = fresh("", 0);
    errors(argv[1]);
    expect("register", EventRegister(&provider, NULL, NULL, &reg), ERROR_SUCCESS);
    expect("start", StartTraceA(&handle, "mine", &b.p), ERROR_SUCCESS);
    snprintf(suffix, sizeof suffix, "_%d", (int)getpid());
    expect("the file's name ends with the pid",
           strlen(b.file) > strlen(suffix) && !strcmp(b.file + strlen(b.file) - strlen(suffix), suffix), 1);
    expect("a second one of that name", StartTraceA(&(TRACEHANDLE){0}, "mine", &q.p), ERROR_BAD_PATHNAME);
    expect("enable", EnableTraceEx2(handle, &provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 0, 0, 0, 5000, NULL),
           ERROR_SUCCESS);
    for (unsigned i = 0; i < count; i++) {
        EVENT_DATA_DESCRIPTOR  d;
        const EVENT_DESCRIPTOR event = {.Id = 77, .Level = 4};
        EventDataDescCreate(&d, &i, sizeof i);
        expect("write", EventWrite(reg, &event, 1, &d), ERROR_SUCCESS);
        if (i % 100 == 99)
            usleep(2000);
    }
    struct block            o      = fresh("", 0);
    PEVENT_TRACE_PROPERTIES all[2] = {&q.p, &o.p}; /* there is one other session at most */
    ULONG                   total  = 0;
    q                              = fresh("", 0);
    expect("query all", QueryAllTracesA(all, 2, &total), ERROR_SUCCESS);
    expect("it is not among all", total < 2 && !strstr(q.name, "mine"), 1);
    q = fresh("", 0);
    expect("query by name", ControlTraceA(0, "mine", &q.p, EVENT_TRACE_CONTROL_QUERY), ERROR_SUCCESS);
    expect("flush by handle", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_FLUSH), ERROR_SUCCESS);
    printf("%s\n", b.file);
    fflush(stdout);
    if (!strcmp(argv[3], "leave"))
        _exit(failed ? 1 : 0);
    q = fresh("", 0);
    expect("stop by name", ControlTraceA(0, "mine", &q.p, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    expect("nothing lost", q.p.EventsLost, 0);
    EventUnregister(reg);
    return failed ? 1 : 0;
}
