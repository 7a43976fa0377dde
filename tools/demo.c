/* autologger-demo: a small program that does what programs do at a start (processor, disk, a child, waiting) and
 * reports it in events of two providers: Contoso-Demo (typed events, TraceLogging) and Contoso-Demo-Classic (event
 * descriptors). It counts its own event calls, independently of any session; --report FILE gets the counts, a line a
 * provider. */
#include <TraceLoggingProvider.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* The GUID is the hash of the name: configurations may name the provider alone. */
TRACELOGGING_DEFINE_PROVIDER(demo, "Contoso-Demo",
                             (0x3ace9e29, 0x7869, 0x56c5, 0xe4, 0x86, 0x5f, 0xa2, 0x9f, 0x6e, 0xac, 0xdf));
static const GUID classic_guid = {0x6f1c3b52, 0x0d2e, 0x4c55, {0x9f, 0x6e, 0x2b, 0x8f, 0x3f, 0x0a, 0x7d, 0x11}};

enum { ROUNDS = 200, ROUND_MS = 10, ENABLE_WAIT_MS = 1000, PRIMES_TO = 20000, BLOCK = 65536 };
enum { LEVEL = 4, CLASSIC_START = 1, CLASSIC_STEP = 2, CLASSIC_STOP = 3 };

/* Calls made while a session wanted the provider's events. */
struct demo_counted {
    uint64_t typed, classic, classic_failed;
};

static void demo_sleep_ms(long ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

/* One typed event, counted when a session wants it. */
#define DEMO_WRITE(count, ...) \
    do { \
        if (TraceLoggingProviderEnabled(demo, LEVEL, 0)) { \
            (count)->typed++; \
            TraceLoggingWrite(demo, __VA_ARGS__, TraceLoggingLevel(LEVEL)); \
        } \
    } while (0)

static void classic_write(REGHANDLE handle, struct demo_counted *count, USHORT id, uint32_t step, uint64_t value)
{
    EVENT_DESCRIPTOR      d = {.Id = id, .Level = LEVEL, .Keyword = 0};
    EVENT_DATA_DESCRIPTOR data[2];
    if (!EventEnabled(handle, &d))
        return;
    EventDataDescCreate(&data[0], &step, sizeof step);
    EventDataDescCreate(&data[1], &value, sizeof value);
    count->classic++;
    count->classic_failed += EventWrite(handle, &d, 2, data) != ERROR_SUCCESS;
}

/* Something for the processor: how many primes there are below `limit`. */
static uint32_t primes_below(uint32_t limit)
{
    uint32_t found = 0;
    for (uint32_t n = 2; n < limit; n++) {
        uint32_t d = 2;
        while (d * d <= n && n % d)
            d++;
        found += d * d > n;
    }
    return found;
}

/* Something for the disk: a block, written through. Bytes written, or -1. */
static ssize_t disk_work(int fd, unsigned round)
{
    static char block[BLOCK];
    memset(block, (int)('a' + round % 26), sizeof block);
    ssize_t n = pwrite(fd, block, sizeof block, (off_t)(round % 16) * BLOCK);
    return n < 0 || fsync(fd) < 0 ? -1 : n;
}

static int child_run(void)
{
    char *argv[] = {(char *)"true", (char *)"autologger-demo's child", NULL};
    pid_t pid;
    int   status = -1;
    if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0)
        waitpid(pid, &status, 0);
    return status;
}

/* A file without a name, in the folder of `report` (else in /tmp). */
static int scratch_open(const char *report)
{
    char        dir[4096] = "/tmp";
    const char *slash     = report ? strrchr(report, '/') : NULL;
    if (slash && (size_t)(slash - report) < sizeof dir)
        snprintf(dir, sizeof dir, "%.*s", (int)(slash - report), report);
    return open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static void demo_work(REGHANDLE classic, struct demo_counted *count, int scratch)
{
    DEMO_WRITE(count, "Start", TraceLoggingPid((UINT32)getpid(), "pid"), TraceLoggingUInt32(ROUNDS, "rounds"),
               TraceLoggingUtf8String("ein kleines Beispiel: gr\xC3\xBC\xC3\x9F dich", "greeting"));
    classic_write(classic, count, CLASSIC_START, 0, ROUNDS);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint32_t primes = primes_below(PRIMES_TO);
        DEMO_WRITE(count, "Computed", TraceLoggingUInt32(round, "round"), TraceLoggingUInt32(primes, "primes"));
        if (scratch >= 0 && round % 10 == 0) {
            ssize_t written = disk_work(scratch, round);
            DEMO_WRITE(count, "Saved", TraceLoggingUInt32(round, "round"), TraceLoggingInt64(written, "bytes"),
                       TraceLoggingBool(written == BLOCK, "whole"));
        }
        if (round == ROUNDS / 2) {
            int status = child_run();
            DEMO_WRITE(count, "ChildEnded", TraceLoggingInt32(status, "status"));
        }
        classic_write(classic, count, CLASSIC_STEP, round, primes);
        demo_sleep_ms(ROUND_MS);
    }
    DEMO_WRITE(count, "Stop", TraceLoggingFloat64((double)(ROUNDS * ROUND_MS) / 1000, "seconds"));
    classic_write(classic, count, CLASSIC_STOP, ROUNDS, 0);
}

static void guid_print(const GUID *g, FILE *to)
{
    fprintf(to, "{%08x-%04x-%04x-%02x%02x-", g->Data1, g->Data2, g->Data3, g->Data4[0], g->Data4[1]);
    for (int i = 2; i < 8; i++)
        fprintf(to, "%02x", g->Data4[i]);
    fputc('}', to);
}

static void report_print(const struct demo_counted *count, FILE *to)
{
    fputs("provider=", to);
    guid_print(&demo->ProviderId, to);
    fprintf(to, " attempted=%" PRIu64 " name=Contoso-Demo\n", count->typed);
    fputs("provider=", to);
    guid_print(&classic_guid, to);
    fprintf(to, " attempted=%" PRIu64 " succeeded=%" PRIu64 " failed=%" PRIu64 " name=Contoso-Demo-Classic\n",
            count->classic, count->classic - count->classic_failed, count->classic_failed);
}

static int report_write(const struct demo_counted *count, const char *path)
{
    FILE *to = path ? fopen(path, "w") : stdout;
    if (!to) {
        fprintf(stderr, "autologger-demo: %s: %s\n", path, strerror(errno));
        return 111;
    }
    report_print(count, to);
    int failed = fflush(to);
    if (path)
        failed |= fclose(to);
    return failed ? 111 : 0;
}

int main(int argc, char **argv)
{
    const char         *report  = argc == 3 && !strcmp(argv[1], "--report") ? argv[2] : NULL;
    REGHANDLE           classic = 0;
    struct demo_counted count   = {0};
    if (argc != 1 && !report) {
        fputs("Usage: autologger-demo [--report FILE]\n", stderr);
        return 100;
    }
    if (TraceLoggingRegister(demo) || EventRegister(&classic_guid, NULL, NULL, &classic)) {
        fputs("autologger-demo: its providers could not be registered\n", stderr);
        return 1;
    }
    for (long waited = 0; waited < ENABLE_WAIT_MS && !TraceLoggingProviderEnabled(demo, LEVEL, 0) &&
                          !EventProviderEnabled(classic, LEVEL, 0);
         waited += ROUND_MS)
        demo_sleep_ms(ROUND_MS);
    int scratch = scratch_open(report);
    demo_work(classic, &count, scratch);
    if (scratch >= 0)
        close(scratch);
    EventUnregister(classic);
    TraceLoggingUnregister(demo);
    return report_write(&count, report);
}
