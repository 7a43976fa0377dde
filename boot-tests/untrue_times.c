/* untrue_times - a program that writes its user's part of a session by hand: whole chunks of events with false times.
 * untrue_times PROVIDER_NUMBER TIME CHUNKS. TIME is a time of the session's clock (18446744073709551615: the latest
 * possible); or "-": each event is earlier than the one before; or "fill": touches all mapped memory, and writes no
 * events; or "counts": keeps storing changing counts of lost and overwritten events. Registers by the library, finds
 * the library's mappings, and writes past the library until CHUNKS were written or no chunk was free for 2 s. Prints
 * the number of events; holds its connection until standard input ends. */
#include "autologger/wire/etl.h"
#include "autologger/wire/shm.h"
#include "boot-tests/storm_write.h"

#include <evntprov.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SIZE = 256 };

static void *mapping(const char *name)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char  line[512];
    void *at = NULL;
    while (f && !at && fgets(line, sizeof line, f))
        if (strstr(line, name))
            at = (void *)(uintptr_t)strtoull(line, NULL, 16); /* NOLINT: an address as the kernel writes it */
    if (f)
        fclose(f);
    return at;
}

/* Signals every eventfd below descriptor 64: the library's is among them. */
static void wake(void)
{
    char path[64], target[64];
    for (int fd = 3; fd < 64; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const ssize_t n = readlink(path, target, sizeof target - 1);
        if (n > 0 && (target[n] = 0, strstr(target, "eventfd")))
            eventfd_write(fd, 1);
    }
}

struct place {
    const struct shm_control *control;
    struct shm_data          *data;
    const GUID               *provider;
    uint64_t                  time, written;
    bool                      back;
};

static void fill_chunk(struct place *p, uint8_t *at)
{
    const uint32_t bytes = 1u << p->control->chunk_shift;
    for (uint32_t i = 0; i + SIZE <= bytes; i += SIZE, p->written++) {
        struct etl_event_header h = {
            .size = SIZE, .header_type = ETL_EVENT64, .marker = ETL_MARKER, .thread_id = 1, .process_id = 1};
        h.time = (int64_t)(p->back ? p->time -= 1000 : p->time);
        memcpy(&h.provider, p->provider, sizeof h.provider);
        memset(at + i, 0x55, SIZE);
        memcpy(at + i, &h, sizeof h);
    }
}

/* Writes one more chunk of stream 0, taken as ring/writer.c takes it, without regard for this user's other programs.
 * False: the pool is empty. */
static bool write_chunk(struct place *p)
{
    struct shm_stream *st    = (struct shm_stream *)(void *)((uint8_t *)p->data + p->data->stream_offset);
    uint64_t          *table = (uint64_t *)(void *)((uint8_t *)p->data + p->data->table_offset);
    const uint32_t    *pool  = (const uint32_t *)(const void *)((const uint8_t *)p->control + p->control->pool_offset);
    const uint64_t     n     = st->wpos >> p->control->chunk_shift;
    uint64_t           head  = __atomic_load_n(&p->data->pool_head, __ATOMIC_ACQUIRE);
    if (shm_pool_index(head) >= p->control->chunk_count)
        return false;
    const uint32_t chunk = pool[shm_pool_index(head)];
    if (!__atomic_compare_exchange_n(&p->data->pool_head, &head, head + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return write_chunk(p);
    fill_chunk(p, (uint8_t *)p->data + p->data->chunk_offset + ((uint64_t)chunk << p->control->chunk_shift));
    __atomic_store_n(&table[n & p->data->table_mask], shm_entry(n, chunk), __ATOMIC_RELEASE);
    __atomic_store_n(&st->wpos, (n + 1) << p->control->chunk_shift, __ATOMIC_RELEASE);
    return true;
}

/* Runs until standard input ends. */
static void write_counts(struct place *p)
{
    struct shm_stream *st    = (struct shm_stream *)(void *)((uint8_t *)p->data + p->data->stream_offset);
    struct pollfd      input = {.fd = 0, .events = POLLIN};

    for (uint64_t turn = 0; poll(&input, 1, 1) == 0; turn++)
        for (uint32_t i = 0; i < p->data->stream_count; i++) {
            __atomic_store_n(&st[i].lost, turn * 7919 % 1024 << 33, __ATOMIC_RELAXED); /* each step is a large one */
            __atomic_store_n(&st[i].oldest, shm_oldest(turn, turn * 7919 % 64 << 33), __ATOMIC_RELAXED);
        }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 100;
    const GUID   id = NUMBERED_PROVIDER(strtoul(argv[1], NULL, 10));
    REGHANDLE    provider;
    struct place p = {.provider = &id, .back = strcmp(argv[2], "-") == 0};
    char         byte;

    if (EventRegister(&id, NULL, NULL, &provider) != 0)
        return 111;
    storm_wait_enabled(provider);
    p.control = mapping("memfd:autologger-control");
    p.data    = mapping("memfd:autologger-data");
    if (!p.control || !p.data)
        return 111;
    if (strcmp(argv[2], "fill") == 0) {
        const size_t size = (size_t)p.data->header.size;
        if (madvise(p.data, size, MADV_POPULATE_WRITE) < 0)
            return 111;
        printf("wrote %zu\n", size);
        fflush(stdout);
        while (read(0, &byte, 1) > 0)
            ;
        return 0;
    }
    if (strcmp(argv[2], "counts") == 0) {
        puts("wrote 0");
        fflush(stdout);
        write_counts(&p);
        return 0;
    }
    p.time          = p.back ? UINT64_MAX / 4 : strtoull(argv[2], NULL, 10);
    unsigned chunks = (unsigned)strtoul(argv[3], NULL, 10);
    for (unsigned waited = 0; chunks && waited < 200;) {
        if (write_chunk(&p)) {
            chunks--;
            waited = 0;
            continue;
        }
        wake();
        usleep(10000);
        waited++;
    }
    wake();
    printf("wrote %llu\n", (unsigned long long)p.written);
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    return 0;
}
