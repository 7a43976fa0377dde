/* event_writer - a program under test: writes numbered events as fast as it can, or at a rate.
 * event_writer TALLY WRITER COUNT [RATE [PROVIDER [WAIT_MS]]]; RATE 0 = flat out. Exit 0 when all calls were made.
 * Registers first, then waits WAIT_MS (for sessions that are enabled later). */
#include "boot-tests/numbered.h"

#include <evntprov.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static ULONG write_one(REGHANDLE provider, uint32_t writer, uint64_t number)
{
    struct numbered       n = {NUMBERED_MAGIC, writer, number, numbered_check(writer, number), numbered_fill(number)};
    EVENT_DESCRIPTOR      d = {.Id = NUMBERED_EVENT_ID, .Level = 4, .Keyword = 1};
    EVENT_DATA_DESCRIPTOR data[2];
    uint8_t               fill[NUMBERED_FILL];

    for (uint32_t i = 0; i < n.fill; i++)
        fill[i] = numbered_byte(writer, number, i);
    EventDataDescCreate(&data[0], &n, sizeof n);
    EventDataDescCreate(&data[1], fill, n.fill);
    return EventWrite(provider, &d, 2, data);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "event_writer TALLY WRITER COUNT [RATE [PROVIDER [WAIT_MS]]]\n");
        return 100;
    }
    uint32_t  writer = (uint32_t)strtoul(argv[2], NULL, 10);
    uint64_t  count = strtoull(argv[3], NULL, 10), rate = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    const GUID id   = NUMBERED_PROVIDER(argc > 5 ? strtoul(argv[5], NULL, 10) : 1);
    unsigned  wait  = argc > 6 ? (unsigned)strtoul(argv[6], NULL, 10) : 0;
    REGHANDLE provider;
    struct numbered_tally *t = tally_open(argv[1], count);

    if (!t || EventRegister(&id, NULL, NULL, &provider) != 0)
        return 111;
    usleep(wait * 1000);
    for (uint64_t number = 0; number < count; number++) {
        t->attempted++;
        if (write_one(provider, writer, number) == 0) {
            t->bitmap[number / 8] = (uint8_t)(t->bitmap[number / 8] | 1u << number % 8);
            t->succeeded++;
        } else
            t->refused++;
        if (rate && number % 64 == 63) {
            struct timespec s = {0, (long)(64 * UINT64_C(1000000000) / rate)};
            nanosleep(&s, NULL);
        }
    }
    EventUnregister(provider);
    printf("attempted %llu succeeded %llu refused %llu\n", (unsigned long long)t->attempted, (unsigned long long)t->succeeded,
           (unsigned long long)t->refused);
    return 0;
}
