/* event_writer - a program under test: writes numbered events as fast as it can, or at a rate.
 * event_writer TALLY WRITER COUNT [RATE [PROVIDER [WAIT_MS]]]; RATE 0 = flat out. Exit 0 when all calls were made.
 * Registers first, then waits WAIT_MS (for sessions that are enabled later), and with EVENT_WRITER_ENABLED in the
 * environment until a session wants its events: a registration waits 250 ms at most, which a busy machine may exceed.
 * With EVENT_WRITER_WATCH it also says how long the longest call took, and how many calls blocked: took more than 10 ms
 * with a voluntary context switch of the thread (an involuntary one says nothing about the call). With
 * EVENT_WRITER_GROUP it joins the provider group {5ca1ab1e-7e57-0009-8000-000000000000}. With EVENT_WRITER_FIXED all
 * events have 200 bytes. */
#include "boot-tests/storm_write.h"

#include <evntprov.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct numbered_tally *tally_open(const char *path, uint64_t count)
{
    size_t size = sizeof(struct numbered_tally) + count / 8 + 1;
    int    fd   = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
        return NULL;
    struct numbered_tally *t = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (t == MAP_FAILED)
        return NULL;
    t->capacity = count;
    return t;
}

static int fixed; /* all events are of one size */

static ULONG write_one(REGHANDLE provider, uint32_t writer, uint64_t number)
{
    uint32_t              size = fixed ? (uint32_t)NUMBERED_FIXED : numbered_fill(number);
    struct numbered       n    = {NUMBERED_MAGIC, writer, number, numbered_check(writer, number), size};
    EVENT_DESCRIPTOR      d    = {.Id = NUMBERED_EVENT_ID, .Level = 4, .Keyword = 1};
    EVENT_DATA_DESCRIPTOR data[2];
    uint8_t               fill[NUMBERED_FILL];

    for (uint32_t i = 0; i < n.fill; i++)
        fill[i] = numbered_byte(writer, number, i);
    EventDataDescCreate(&data[0], &n, sizeof n);
    EventDataDescCreate(&data[1], fill, n.fill);
    return EventWrite(provider, &d, 2, data);
}

enum { BLOCKED_NS = 10000000 };
static struct {
    int                on;
    unsigned long long blocked, longest_ns;
    long               waits; /* voluntary context switches of this thread so far */
} watch;

static unsigned long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}
static long waits(void)
{
    struct rusage r = {0};
    getrusage(RUSAGE_THREAD, &r);
    return r.ru_nvcsw;
}

static ULONG write_watched(REGHANDLE provider, uint32_t writer, uint64_t number)
{
    if (!watch.on)
        return write_one(provider, writer, number);
    unsigned long long start  = now_ns();
    ULONG              result = write_one(provider, writer, number);
    unsigned long long took   = now_ns() - start;
    if (took > watch.longest_ns)
        watch.longest_ns = took;
    if (took > BLOCKED_NS) {
        long now = waits();
        watch.blocked += now != watch.waits;
        watch.waits = now;
    }
    return result;
}

static ULONG join_group(REGHANDLE provider)
{
    static const GUID group = {0x5ca1ab1e, 0x7e57, 9, {0x80}};
    struct __attribute__((packed)) {
        uint16_t size;
        char     name[9];
        uint16_t trait_size;
        uint8_t  type;
        GUID     group;
    } traits = {sizeof traits, "numbered", 19, 1, group};
    return EventSetInformation(provider, EventProviderSetTraits, &traits, sizeof traits);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "event_writer TALLY WRITER COUNT [RATE [PROVIDER [WAIT_MS]]]\n");
        return 100;
    }
    uint32_t               writer = (uint32_t)strtoul(argv[2], NULL, 10);
    uint64_t               count = strtoull(argv[3], NULL, 10), rate = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    const GUID             id   = NUMBERED_PROVIDER(argc > 5 ? strtoul(argv[5], NULL, 10) : 1);
    unsigned               wait = argc > 6 ? (unsigned)strtoul(argv[6], NULL, 10) : 0;
    REGHANDLE              provider;
    struct numbered_tally *t = tally_open(argv[1], count);

    const ULONG registered = EventRegister(&id, NULL, NULL, &provider);
    if (registered == ERROR_ACCESS_DENIED)
        return 105;
    if (!t || registered != 0 || (getenv("EVENT_WRITER_GROUP") && join_group(provider) != 0))
        return 111;
    usleep(wait * 1000);
    if (getenv("EVENT_WRITER_ENABLED"))
        storm_wait_enabled(provider);
    fixed       = getenv("EVENT_WRITER_FIXED") != NULL;
    watch.on    = getenv("EVENT_WRITER_WATCH") != NULL;
    watch.waits = waits();
    for (uint64_t number = 0; number < count; number++) {
        t->attempted++;
        if (write_watched(provider, writer, number) == 0) {
            t->bitmap[number / 8] = (uint8_t)(t->bitmap[number / 8] | 1u << number % 8);
            t->succeeded++;
        } else
            t->refused++;
        if (rate && number % 64 == 63) {
            uint64_t        ns = 64 * UINT64_C(1000000000) / rate;
            struct timespec s  = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
            nanosleep(&s, NULL);
            if (watch.on)
                watch.waits = waits();
        }
    }
    EventUnregister(provider);
    printf("attempted %llu succeeded %llu refused %llu\n", (unsigned long long)t->attempted,
           (unsigned long long)t->succeeded, (unsigned long long)t->refused);
    if (watch.on)
        printf("longest %llu ns blocked %llu\n", watch.longest_ns, watch.blocked);
    return 0;
}
