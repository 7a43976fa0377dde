/* trace_processes FILE [PID | NAME]... - a controller, as for Windows: a private session of several processes
 * (PRIVATE_LOGGER) of event_writer's provider, limited to the processes with these ids or executables if any are given.
 * Says "started"; then, for each line of standard input: "query" and "stop" print the session's numbers, "flush" and
 * "next" (INCREMENT_FILE) print the Status. Exit 0: all as expected; what was not is printed. */
#include <evntprov.h>
#include <evntrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const GUID provider = {0x5ca1ab1e, 0x7e57, 0x0001, {0x80, 0, 0, 0, 0, 0, 0, 1}}; /* event_writer's */
#define SESSION "each"

struct block {
    EVENT_TRACE_PROPERTIES_V2 p;
    char                      name[256], file[1024];
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
    struct block b = {.p = {.Wnode             = {.BufferSize    = sizeof b,
                                                  .Flags         = WNODE_FLAG_TRACED_GUID | WNODE_FLAG_VERSIONED_PROPERTIES,
                                                  .ClientContext = 1},
                            .LogFileMode       = mode,
                            .BufferSize        = 64,
                            .MaximumBuffers    = 32,
                            .VersionNumber     = 2,
                            .LoggerNameOffset  = offsetof(struct block, name),
                            .LogFileNameOffset = offsetof(struct block, file)}};
    snprintf(b.file, sizeof b.file, "%s", file);
    memcpy(&b.p.Wnode.Guid, &provider, sizeof provider);
    return b;
}

static PEVENT_TRACE_PROPERTIES plain(struct block *b) { return (PEVENT_TRACE_PROPERTIES)(void *)&b->p; }

static void errors(void)
{
    enum { EACH = EVENT_TRACE_PRIVATE_LOGGER_MODE };
    static const struct {
        const char *what;
        ULONG       mode, expected;
    } rows[] = {
        {"real time", EACH | EVENT_TRACE_REAL_TIME_MODE, ERROR_INVALID_PARAMETER},
        {"set aside", EACH | EVENT_TRACE_FILE_MODE_PREALLOCATE, ERROR_INVALID_PARAMETER},
        {"the kernel's", EACH | EVENT_TRACE_SYSTEM_LOGGER_MODE, ERROR_INVALID_PARAMETER},
        {"secure", EACH | EVENT_TRACE_SECURE_MODE, ERROR_INVALID_PARAMETER},
        {"never stopped", EACH | EVENT_TRACE_NONSTOPPABLE_MODE, ERROR_INVALID_PARAMETER},
    };
    TRACEHANDLE  h;
    struct block b;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        b                   = fresh("wrong.etl", rows[i].mode);
        b.p.MaximumFileSize = 1;
        expect(rows[i].what, StartTraceA(&h, "wrong", plain(&b)), rows[i].expected);
    }
    b = fresh("wrong.etl", EACH);
    memset(&b.p.Wnode.Guid, 0, sizeof b.p.Wnode.Guid);
    expect("no provider", StartTraceA(&h, "wrong", plain(&b)), ERROR_INVALID_PARAMETER);
    b                 = fresh("wrong.etl", EACH);
    b.p.VersionNumber = 3;
    expect("another version", StartTraceA(&h, "wrong", plain(&b)), ERROR_INVALID_PARAMETER);
    struct {
        UCHAR  in, reserved;
        USHORT count, id;
    } ids                       = {1, 0, 1, 5};
    ULONG                   pid = 1;
    EVENT_FILTER_DESCRIPTOR one = {.Ptr = (uintptr_t)&ids, .Size = sizeof ids, .Type = EVENT_FILTER_TYPE_EVENT_ID};
    b                           = fresh("wrong.etl", EACH);
    b.p.FilterDesc = &one, b.p.FilterDescCount = 1;
    expect("a filter of events", StartTraceA(&h, "wrong", plain(&b)), ERROR_NOT_SUPPORTED);
    one = (EVENT_FILTER_DESCRIPTOR){.Ptr = (uintptr_t)&pid, .Size = sizeof pid, .Type = EVENT_FILTER_TYPE_PID};
    b.p.LogFileMode = EVENT_TRACE_FILE_MODE_SEQUENTIAL;
    expect("an ordinary session of some processes", StartTraceA(&h, "wrong", plain(&b)), ERROR_INVALID_PARAMETER);
}

/* Arguments: all numbers, or all names. */
static ULONG chosen(int argc, char **argv, EVENT_FILTER_DESCRIPTOR out[2])
{
    static ULONG    pids[8];
    static char16_t names[256];
    ULONG           count = 0, length = 0;
    for (int i = 0; i < argc; i++)
        if (atoi(argv[i]) > 0) {
            pids[count++ % 8] = (ULONG)atoi(argv[i]);
        } else {
            if (length)
                names[length++] = u';';
            for (const char *c = argv[i]; *c; c++)
                names[length++] = (char16_t)*c;
        }
    ULONG n = 0;
    if (count)
        out[n++] = (EVENT_FILTER_DESCRIPTOR){
            .Ptr = (uintptr_t)pids, .Size = count * (ULONG)sizeof pids[0], .Type = EVENT_FILTER_TYPE_PID};
    if (length)
        out[n++] = (EVENT_FILTER_DESCRIPTOR){.Ptr  = (uintptr_t)names,
                                             .Size = length * (ULONG)sizeof names[0],
                                             .Type = EVENT_FILTER_TYPE_EXECUTABLE_NAME};
    return n;
}

static void numbers(const struct block *b)
{
    printf("buffers %u lost %u memory %u file %s\n", b->p.BuffersWritten, b->p.EventsLost, b->p.NumberOfBuffers,
           b->file);
}

static void not_among_all(void)
{
    static struct block     blocks[64];
    PEVENT_TRACE_PROPERTIES all[64];
    ULONG                   total = 0;
    for (unsigned i = 0; i < 64; i++) {
        blocks[i] = fresh("", 0);
        all[i]    = plain(&blocks[i]);
    }
    expect("query all", QueryAllTracesA(all, 64, &total), ERROR_SUCCESS);
    for (ULONG i = 0; i < total; i++)
        expect(blocks[i].name, strncmp(blocks[i].name, SESSION, strlen(SESSION)) == 0, 0);
}

static void command(TRACEHANDLE handle, const char *line)
{
    struct block b = fresh("", 0);
    if (!strcmp(line, "query")) {
        not_among_all();
        expect("query by name", ControlTraceA(0, SESSION, plain(&b), EVENT_TRACE_CONTROL_QUERY), ERROR_SUCCESS);
        expect("query by handle", ControlTraceA(handle, NULL, plain(&b), EVENT_TRACE_CONTROL_QUERY), ERROR_SUCCESS);
        expect("its Guid is the provider", memcmp(&b.p.Wnode.Guid, &provider, sizeof provider) != 0, 0);
        numbers(&b);
    } else if (!strcmp(line, "flush")) {
        printf("%u\n", (unsigned)ControlTraceA(handle, NULL, plain(&b), EVENT_TRACE_CONTROL_FLUSH));
    } else if (!strcmp(line, "next")) {
        printf("%u\n", (unsigned)ControlTraceA(handle, NULL, plain(&b), EVENT_TRACE_CONTROL_INCREMENT_FILE));
    } else if (!strcmp(line, "stop")) {
        b = fresh("other.etl", 0);
        expect("update", ControlTraceA(handle, NULL, plain(&b), EVENT_TRACE_CONTROL_UPDATE), ERROR_NOT_SUPPORTED);
        b = fresh("", 0);
        expect("stop by name", ControlTraceA(0, SESSION, plain(&b), EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
        numbers(&b);
        b = fresh("", 0);
        expect("it is gone", ControlTraceA(handle, NULL, plain(&b), EVENT_TRACE_CONTROL_QUERY),
               ERROR_WMI_INSTANCE_NOT_FOUND);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char                    line[64];
    TRACEHANDLE             handle;
    EVENT_FILTER_DESCRIPTOR filters[2];
    if (argc < 2)
        return 100;
    errors();
    const ULONG  newfile = strstr(argv[1], "%d") ? EVENT_TRACE_FILE_MODE_NEWFILE : 0;
    struct block b       = fresh(argv[1], EVENT_TRACE_PRIVATE_LOGGER_MODE | newfile);
    b.p.MaximumFileSize  = newfile ? 100 : 0;
    b.p.FilterDescCount  = chosen(argc - 2, argv + 2, filters);
    b.p.FilterDesc       = filters;
    expect("start", StartTraceA(&handle, SESSION, plain(&b)), ERROR_SUCCESS);
    b = fresh("b.etl", EVENT_TRACE_PRIVATE_LOGGER_MODE);
    expect("a second one of that name", StartTraceA(&(TRACEHANDLE){0}, SESSION, plain(&b)), ERROR_ALREADY_EXISTS);
    expect("enable", EnableTraceEx2(handle, &provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 4, 1, 0, 5000, NULL),
           ERROR_SUCCESS);
    printf("started\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        command(handle, line);
    }
    return failed ? 1 : 0;
}
