/* requests - a program under test: a front end that takes requests and hands each to a back end, a process of its own,
 * with an activity id each. Each request uses the processor and waits; its Stop event and standard output report its
 * usage by getrusage. requests COUNT. Exit 0 when all events were written. */
#include <TraceLoggingProvider.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TRACELOGGING_DEFINE_PROVIDER(front, "Contoso-Front",
                             (0x1c9c1f4c, 0x2f6e, 0x4c55, 0x9f, 0x6e, 0x2b, 0x8f, 0x3f, 0x0a, 0x7d, 0x21));
TRACELOGGING_DEFINE_PROVIDER(back, "Contoso-Back",
                             (0x1c9c1f4d, 0x2f6e, 0x4c55, 0x9f, 0x6e, 0x2b, 0x8f, 0x3f, 0x0a, 0x7d, 0x22));
enum { START = 1, STOP = 2 };

static unsigned long used_us(void)
{
    struct rusage r;
    getrusage(RUSAGE_THREAD, &r);
    return (unsigned long)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000ul +
           (unsigned long)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static void burn(unsigned long us)
{
    for (unsigned long end = used_us() + us; used_us() < end;)
        ;
}

static void wait_ms(long ms)
{
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

/* The back end reads activities from a pipe until it ends. */
static int back_end(int in)
{
    GUID          caller;
    unsigned long n = 0;
    TraceLoggingRegister(back);
    for (int i = 0; i < 200 && !TraceLoggingProviderEnabled(back, 4, 0); i++)
        wait_ms(10);
    while (read(in, &caller, sizeof caller) == sizeof caller) {
        GUID own;
        EventActivityIdControl(EVENT_ACTIVITY_CTRL_CREATE_ID, &own);
        TraceLoggingWriteActivity(back, "Query", &own, &caller, TraceLoggingOpcode(START), TraceLoggingLevel(4),
                                  TraceLoggingUInt32((UINT32)n++, "Number"));
        burn(1000);
        TraceLoggingWriteActivity(back, "Query", &own, NULL, TraceLoggingOpcode(STOP), TraceLoggingLevel(4));
    }
    TraceLoggingUnregister(back);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
    int      ends[2];
    int      status = 1;
    if (pipe(ends))
        return 111;
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(back_end(ends[0]));
    }
    close(ends[0]);
    TraceLoggingRegister(front);
    for (int i = 0; i < 200 && !TraceLoggingProviderEnabled(front, 4, 0); i++)
        wait_ms(10);
    for (unsigned i = 0; i < count; i++) {
        GUID id;
        EventActivityIdControl(EVENT_ACTIVITY_CTRL_CREATE_ID, &id);
        unsigned long before = used_us();
        TraceLoggingWriteActivity(front, "Request", &id, NULL, TraceLoggingOpcode(START), TraceLoggingLevel(4),
                                  TraceLoggingUInt32(i, "Number"));
        burn(2000 + i % 5 * 1000ul);
        if (write(ends[1], &id, sizeof id) != sizeof id)
            return 111;
        wait_ms(3);
        unsigned long us = used_us() - before;
        TraceLoggingWriteActivity(front, "Request", &id, NULL, TraceLoggingOpcode(STOP), TraceLoggingLevel(4),
                                  TraceLoggingUInt32(i, "Number"), TraceLoggingUInt64(us, "UsedUs"));
        printf("%u %lu\n", i, us);
    }
    TraceLoggingUnregister(front);
    close(ends[1]);
    waitpid(child, &status, 0);
    return status;
}
