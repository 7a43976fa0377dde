/* The bytes of an event, piece by piece: each length from 0 to 700 in one piece and in three, by AVX, by SSE and by the
 * fallback stream. Each byte of a payload depends on its offset. The memory behind the record does not change.
 * Proves: COR-06. */
#include "autologger/ring/fastpath.h"
#include "autologger/ring/tests/fixture.h"

#include <sched.h>

enum { LONGEST = 700, BEHIND = 128, UNTOUCHED = 0xEE };

static uint8_t byte_of(uint32_t at) { return (uint8_t)(at * 7 + at / 256 + 1); }

struct way {
    bool avx, fallback;
};

/* Where the last event lies in the shared memory. */
static const uint8_t *last_event(struct fixture *f, unsigned stream, uint32_t aligned)
{
    return ring_at(&f->view, stream, __atomic_load_n(&f->view.stream[stream].wpos, __ATOMIC_ACQUIRE) - aligned);
}

static void write_once(struct fixture *f, unsigned stream, const uint8_t *payload, uint32_t size,
                       const struct ring_piece *pieces, unsigned count)
{
    struct etl_event_header h = {.header_type = ETL_EVENT64, .marker = ETL_MARKER, .thread_id = 1, .process_id = 2};
    const uint32_t          aligned = (80 + size + 7) & ~7u;
    const uint64_t          begin   = f->view.stream[stream].wpos & f->view.chunk_mask;
    bool                    written;
    struct stream_record    r;

    uint8_t *before = ring_at(&f->view, stream, f->view.stream[stream].wpos); /* NULL: a new chunk begins */
    if (before && stream != f->view.cpus)
        memset(before, UNTOUCHED, f->view.chunk_mask + 1 - begin);
    assert_int_equal(ring_write(&f->view, f->enable, fixture_ticket(f), &h, pieces, count, size, &written), 0);
    assert_true(written);
    const uint8_t *at = last_event(f, stream, aligned);
    assert_non_null(at);
    assert_memory_equal(at + 80, payload, size);
    for (uint32_t i = 80 + size; i < aligned; i++)
        assert_int_equal(at[i], 0);
    if (at == before && stream != f->view.cpus)
        for (uint32_t i = aligned; i < aligned + BEHIND && begin + i <= f->view.chunk_mask; i++)
            assert_int_equal(at[i], UNTOUCHED);
    stream_snapshot(f->set);
    assert_true(stream_peek(f->set, stream, &r));
    assert_int_equal(r.size, 80 + size);
    assert_memory_equal(r.data + 80, payload, size);
    stream_pop(f->set, stream);
    stream_release(f->set, stream, stream_position(f->set, stream));
}

static void every_length(struct way way)
{
    struct fixture       f;
    struct stream_config c = fixture_config(2, 12, 16, 4);
    uint8_t              payload[LONGEST + 1];

    fixture_init(&f, &c, -1);
    if (!way.avx)
        f.view.mode &= ~(uint64_t)RING_AVX;
    ring_force_fallback(way.fallback);
    const unsigned stream = way.fallback ? f.view.cpus : 0;
    for (uint32_t i = 0; i <= LONGEST; i++)
        payload[i] = byte_of(i);
    for (uint32_t size = 0; size <= LONGEST; size++) {
        const uint32_t          first = size / 5, second = (size - first) / 2;
        const struct ring_piece one[]   = {{(uintptr_t)payload, size, 0}};
        const struct ring_piece three[] = {{(uintptr_t)payload, first, 0},
                                           {(uintptr_t)payload + first, second, 0},
                                           {(uintptr_t)payload + first + second, size - first - second, 0}};
        write_once(&f, stream, payload, size, one, 1);
        write_once(&f, stream, payload, size, three, 3);
    }
    ring_force_fallback(false);
    fixture_finish(&f);
}

static void test_avx(void **state)
{
    (void)state;
    every_length((struct way){.avx = true});
}
static void test_sse(void **state)
{
    (void)state;
    every_length((struct way){.avx = false});
}
static void test_fallback(void **state)
{
    (void)state;
    every_length((struct way){.fallback = true});
}

int main(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_avx), cmocka_unit_test(test_sse),
                                       cmocka_unit_test(test_fallback)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
