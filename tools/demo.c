/* autologger-demo: a small program that does what programs do at a start (processor, disk, a child, waiting) and says so in
 * events of two providers: Contoso-Demo (typed events, TraceLogging) and Contoso-Demo-Classic (event descriptors).
 * It counts its own event calls, independently of any session; --report FILE gets the counts. */
#include <TraceLoggingProvider.h>
#include <evntprov.h>

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

TRACELOGGING_DEFINE_PROVIDER(demo_provider, "Contoso-Demo",
                             (0x87eab4cb, 0x0dbe, 0x5d5e, 0x3c, 0x5a, 0x5c, 0x8b, 0x41, 0x0c, 0x6b, 0x0d));
static const GUID classic_guid = {0x6f1c3b52, 0x0d2e, 0x4c55, {0x9f, 0x6e, 0x2b, 0x8f, 0x3f, 0x0a, 0x7d, 0x11}};

enum { EVENTS_A_SECOND = 500, SECONDS = 2, ENABLE_WAIT_MS = 2000 };

struct count {
    const char *name;
    GUID        guid;
    uint64_t    attempted, succeeded, failed;
};
static void count_call(struct count *c, ULONG status)
{
    c->attempted++;
    if (status == 0)
        c->succeeded++;
    else
        c->failed++;
}
