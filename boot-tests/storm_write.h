/* storm_write.h - one numbered event of a writer that records its calls in the board. Async-signal-safe. */
#ifndef BOOT_TESTS_STORM_WRITE_H
#define BOOT_TESTS_STORM_WRITE_H
#include "boot-tests/numbered.h"
#include "boot-tests/storm_board.h"

#include <evntprov.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void storm_write(REGHANDLE provider, volatile struct storm_entry *e, uint32_t writer)
{
    EVENT_DESCRIPTOR d = {.Id = NUMBERED_EVENT_ID, .Level = 4, .Keyword = 1};
    struct numbered  n = {NUMBERED_MAGIC, writer, e->done, numbered_check(writer, e->done), numbered_fill(e->done)};
    uint8_t          fill[NUMBERED_FILL];
    EVENT_DATA_DESCRIPTOR data[2];

    for (uint32_t i = 0; i < n.fill; i++)
        fill[i] = numbered_byte(writer, n.number, i);
    EventDataDescCreate(&data[0], &n, sizeof n);
    EventDataDescCreate(&data[1], fill, n.fill);
    e->attempted++;
    if (EventWrite(provider, &d, 2, data) == 0)
        e->done++;
    else
        e->refused++;
}

/* A machine that is busy may take longer to answer than a registration waits: without this, calls would return 0
 * because nobody listens yet. */
static inline void storm_wait_enabled(REGHANDLE provider)
{
    const EVENT_DESCRIPTOR d = {.Id = NUMBERED_EVENT_ID, .Level = 4, .Keyword = 1};
    for (int i = 0; i < 100000 && !EventEnabled(provider, &d); i++)
        usleep(200);
}

/* Maps the board in a file; writers not 0: makes it anew. NULL: failed. */
static inline struct storm_board *storm_board_map(const char *path, uint64_t writers)
{
    struct stat st;
    int         fd   = open(path, writers ? O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDWR | O_CLOEXEC, 0644);
    size_t      size = sizeof(struct storm_board) + writers * sizeof(struct storm_entry);

    if (fd < 0 || (writers && ftruncate(fd, (off_t)size) < 0) || fstat(fd, &st) < 0) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    struct storm_board *b = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (b == MAP_FAILED)
        return NULL;
    if (writers)
        b->writers = writers;
    return b;
}
#endif
