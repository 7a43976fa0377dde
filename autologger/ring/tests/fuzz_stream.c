/* A program that overwrites all the memory it may write: the reader's walk never leaves its copy, always ends, and
 * never believes more than it granted. An input is a list of writes into the data memfd, then the daemon reads; twice,
 * so that the second round meets what the first left behind. Proves: SEC-09 (streams), COR-18. */
#include "autologger/ring/stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CPUS = 2, SHIFT = 12, CHUNKS = 8 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One write: place (16 bits of position in one of six places that matter), length, bytes. */
static size_t scribble(uint8_t *memory, size_t memory_size, const uint8_t *p, size_t left)
{
    const struct shm_data *d = (const void *)memory;
    if (left < 5)
        return left;
    size_t place[6] = {0,
                       d->stream_offset % memory_size,
                       (size_t)(d->chunk_offset % memory_size),
                       memory_size / 2,
                       d->table_offset % memory_size,
                       offsetof(struct shm_data, pool_head)};
    size_t at       = (place[p[0] % 6] + (size_t)(p[1] | p[2] << 8)) % memory_size;
    size_t length   = p[3] + 1u < left - 4 ? p[3] + 1u : left - 4;
    if (length > memory_size - at)
        length = memory_size - at;
    memcpy(memory + at, p + 4, length);
    return 4 + length;
}

static void told(void *ctx, const uint64_t guid[2], uint32_t count)
{
    (void)guid;
    *(uint32_t *)ctx += count;
}

static wstatus visit_none(struct reason *why)
{
    (void)why;
    return W_SUCCESS;
}

static void read_all(struct stream_set *s)
{
    static uint8_t out[1 << SHIFT];
    uint64_t       taken = 0;

    stream_snapshot(s);
    for (unsigned i = 0; i < stream_set_count(s); i++) {
        struct stream_record r;
        if (i < CPUS) {
            uint32_t                  count = 0;
            const struct stream_tally tally = {told, &count};
            struct stream_run         run   = stream_copy_chunk(s, i, out, sizeof out, UINT64_MAX, &tally);
            if (run.bytes > sizeof out || count != run.events)
                abort();
            run = stream_copy(s, i, out, sizeof out, UINT64_MAX);
            if (run.bytes > sizeof out)
                abort();
        }
        while (stream_peek(s, i, &r)) {
            if (r.size > 65535 || ++taken > (CHUNKS << SHIFT))
                abort(); /* every record has at least one byte: there can't be more */
            uint8_t sum = 0;
            for (uint32_t k = 0; k < r.size; k++) /* reads all of the private copy: a sanitizer finds a bad read */
                sum = (uint8_t)(sum + r.data[k]);
            out[0] = sum;
            stream_pop(s, i);
        }
        (void)stream_fallback_blocked(s, now_ns());
        stream_release(s, i, stream_position(s, i));
    }
    (void)stream_set_reclaim(s, visit_none);
    (void)stream_set_retire(s);
    if (stream_set_granted(s) > CHUNKS || stream_set_busy(s) > CHUNKS || stream_set_pool(s, 3) > CHUNKS)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct stream_config c = {
        .cpus = CPUS, .chunk_shift = SHIFT, .chunk_count = CHUNKS, .pool = 5, .max_event = 4000, .clock_kind = 0};
    struct stream_set     *s = NULL;
    struct stream_counters n;

    if (stream_set_create(os_linux(), &c, &s, NULL) != W_SUCCESS)
        return 0;
    size_t   bytes  = (size_t)lseek(stream_set_data_fd(s), 0, SEEK_END);
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, stream_set_data_fd(s), 0);
    if (memory == MAP_FAILED)
        abort();
    stream_set_open(s, true);
    size_t half = size / 2;
    for (size_t at = 0; at < half;)
        at += scribble(memory, bytes, data + at, half - at);
    read_all(s);
    for (size_t at = half; at < size;)
        at += scribble(memory, bytes, data + at, size - at);
    stream_set_pool(s, 7);
    read_all(s);
    stream_set_open(s, false);
    read_all(s);
    stream_counters(s, 1, &n);
    munmap(memory, bytes);
    stream_set_destroy(s);
    return 0;
}
