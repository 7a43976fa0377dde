/* trace_consumer - a program under test: reads a real-time session with the consumer API, from the installed headers
 * alone. trace_consumer SESSION [STOP_AFTER]: prints "WRITER NUMBER" for each numbered event; "lost OPCODE" for losses;
 * "overfull" for a buffer that claims more than its size; "uncounted" where BuffersRead differs from the number of
 * buffer callbacks, or BufferSize from the session's; "buffers N" at the end. On SIGTERM another thread calls
 * CloseTrace; after STOP_AFTER buffers the buffer callback stops.
 * Exit: what ProcessTrace returned, 250 if OpenTrace failed (its error is printed). */
#include "boot-tests/numbered.h"

#include <evntcons.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static TRACEHANDLE handle;
static ULONG       stop_after, windows, filled;
static int64_t     last;
static atomic_bool closing; /* by the other thread, which then has a line to print */

static VOID on_event(PEVENT_RECORD r)
{
    static const GUID lost = AUTOLOGGER_RT_LOST_EVENT_GUID;
    struct numbered   n;
    if (memcmp(&r->EventHeader.ProviderId, &lost, sizeof lost) == 0)
        printf("lost %u\n", r->EventHeader.EventDescriptor.Opcode);
    if (r->EventHeader.EventDescriptor.Id != NUMBERED_EVENT_ID || r->UserDataLength < sizeof n)
        return;
    memcpy(&n, r->UserData, sizeof n);
    if (n.check != numbered_check(n.writer, n.number))
        printf("torn\n");
    if (r->EventHeader.TimeStamp.QuadPart < last)
        printf("late\n");
    last = r->EventHeader.TimeStamp.QuadPart;
    printf("%u %llu\n", n.writer, (unsigned long long)n.number);
}

static ULONG on_buffer(PEVENT_TRACE_LOGFILEA l)
{
    if (l->Filled > l->BufferSize)
        printf("overfull %u of %u\n", l->Filled, l->BufferSize);
    filled += l->Filled != 0; /* an empty buffer reports only losses */
    if (l->BuffersRead != filled || l->BufferSize == 0 || l->BufferSize != l->LogfileHeader.BufferSize)
        printf("uncounted %u of %u\n", l->BuffersRead, filled);
    fflush(stdout);
    return ++windows != stop_after;
}

static void *closer(void *set)
{
    int which;
    sigwait(set, &which);
    closing = true;
    printf("closed %u\n", CloseTrace(handle));
    return NULL;
}

int main(int argc, char **argv)
{
    EVENT_TRACE_LOGFILEA l = {.LoggerName = argv[1], .BufferCallback = on_buffer};
    pthread_t            thread;
    sigset_t             set;

    if (argc < 2)
        return 100;
    stop_after = argc > 2 ? (ULONG)strtoul(argv[2], NULL, 10) : 0;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    l.ProcessTraceMode    = PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD;
    l.EventRecordCallback = on_event;
    handle                = OpenTraceA(&l);
    if (handle == INVALID_PROCESSTRACE_HANDLE) {
        printf("error %u\n", GetLastError());
        return 250;
    }
    pthread_create(&thread, NULL, closer, &set);
    ULONG st = ProcessTrace(&handle, 1, NULL, NULL);
    if (closing)
        pthread_join(thread, NULL);
    CloseTrace(handle); /* fails when the other thread did */
    printf("buffers %u\n", filled);
    printf("end %u\n", st);
    return 0;
}
