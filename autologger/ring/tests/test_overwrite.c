/* Proves: COR-16, D-04: a set that overwrites refuses no event, keeps the newest without a hole, counts what was
 * overwritten, knows from what time on nothing is missing; a reader beside it, a successor, a hostile program. */
// timeout: 180
#include "autologger/ring/fastpath.h"
#include "autologger/ring/oldest.h"
#include "autologger/ring/quiesce.h"
#include "autologger/ring/tests/fixture.h"
#include "registry-sim/base/invariant.h"

#include <sched.h>

enum { CHUNK = 4096, SIZE = 200, MOST = 200000 };
#ifdef AL_SANITIZED
enum { HOSTILE_ROUNDS = 75 };
#else
enum { HOSTILE_ROUNDS = 300 };
#endif
static unsigned fallback;
static uint8_t  seen[MOST + 1];
static uint64_t time_of[MOST + 1];

static void pin(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void begin(struct fixture *f, unsigned chunks)
{
    struct stream_config c = fixture_config((unsigned)sysconf(_SC_NPROCESSORS_CONF), 12, chunks, chunks);
    c.overwrite            = true;
    memset(seen, 0, sizeof seen);
    fixture_init(f, &c, -1);
}

/* Writes numbers `from` to `to`, each in SIZE bytes that depend on it; none is refused. */
static void write_numbers(struct fixture *f, uint32_t from, uint32_t to)
{
    uint32_t payload[SIZE / 4];
    for (uint32_t n = from; n <= to; n++) {
        for (unsigned i = 0; i < SIZE / 4; i++)
            payload[i] = n + i;
        assert_int_equal(fixture_write(f, payload, SIZE - n % 7), 0);
    }
}

static void take_record(const uint8_t *data, uint32_t size, uint64_t time)
{
    uint32_t n, word;
    memcpy(&n, data + 80, sizeof n);
    assert_in_range(n, 1, MOST);
    assert_int_equal(size, 80 + SIZE - n % 7);
    assert_false(seen[n]);
    for (unsigned i = 0; i < SIZE / 4 - 2; i++) {
        memcpy(&word, data + 80 + 4 * i, sizeof word);
        assert_int_equal(word, n + i);
    }
    seen[n]    = 1;
    time_of[n] = time;
}

/* Reads the waiting records; `copied`: by stream_copy. Returns how many. */
static uint32_t read_all(struct stream_set *set, bool copied, bool release)
{
    static uint8_t out[64 * CHUNK];
    uint32_t       events = 0;
    stream_snapshot(set);
    for (unsigned i = 0; i < stream_set_count(set); i++) {
        struct stream_record r;
        if (copied) {
            const struct stream_run run = stream_copy(set, i, out, sizeof out, UINT64_MAX);
            for (uint32_t at = 0; at < run.bytes;) {
                struct etl_event_header h;
                memcpy(&h, out + at, sizeof h);
                take_record(out + at, h.size, (uint64_t)h.time);
                at += (h.size + 7u) & ~7u;
            }
            events += run.events;
        }
        for (; stream_peek(set, i, &r); events++) {
            take_record(r.data, r.size, r.time);
            stream_pop(set, i);
        }
        if (release)
            stream_release(set, i, stream_position(set, i));
    }
    return events;
}

static uint32_t seen_until(uint32_t last)
{
    uint32_t count = 0;
    for (uint32_t n = 1; n <= last; n++)
        count += seen[n];
    return count;
}

/* How often writers were interrupted within the section: each time may cost the set a chunk, taken but not linked. */
static unsigned interrupted(struct stream_set *set)
{
    struct stream_counters c;
    stream_counters(set, raw_now_ns(), &c);
    return (unsigned)c.aborts;
}

/* All events within the window are there, and the missing ones were counted. */
static void check_window(struct stream_set *set, uint32_t last)
{
    struct stream_counters c;
    const uint64_t         from  = stream_set_complete_from(set, UINT64_MAX);
    uint32_t               first = last + 1;
    stream_counters(set, raw_now_ns(), &c);
    assert_int_equal(c.lost + c.corrupt + c.abandoned, 0);
    assert_int_equal(seen_until(last) + stream_set_overwritten(set, raw_now_ns()), last);
    for (uint32_t n = last; n >= 1 && seen[n] && time_of[n] >= from; n--)
        first = n;
    assert_true(first <= last);
    for (uint32_t n = 1; n < first; n++)
        assert_true(!seen[n] || time_of[n] < from);
}

static void test_alone(void **state)
{
    struct fixture f;
    (void)state;
    pin(0);
    for (unsigned chunks = 2; chunks <= 9; chunks++) {
        begin(&f, chunks);
        write_numbers(&f, 1, 5000);
        assert_int_equal(stream_set_busy(f.set), chunks);
        const uint32_t read = read_all(f.set, chunks % 2, true);
        assert_true(read + interrupted(f.set) * (CHUNK / (80 + SIZE)) >= (chunks - 1) * (CHUNK / (80 + SIZE)));
        check_window(f.set, 5000);
        assert_true(stream_set_complete_from(f.set, UINT64_MAX) != 0);
        assert_true(stream_set_reclaim(f.set, quiesce_all_cpus) <= interrupted(f.set));
        /* all chunks return but the one in use */
        assert_true(stream_set_busy(f.set) <= 1 + interrupted(f.set));
        assert_int_equal(stream_set_granted(f.set), chunks);
        write_numbers(&f, 5001, 5010);
        assert_int_equal(read_all(f.set, false, true), 10);
        check_window(f.set, 5010);
        fixture_finish(&f);
    }
}

/* A reader at intervals: sometimes nothing is overwritten, sometimes much. */
static void test_beside_a_reader(void **state)
{
    struct fixture f;
    uint32_t       last = 0;
    (void)state;
    pin(0);
    begin(&f, 6);
    for (unsigned round = 0; round < 400; round++) {
        const uint32_t next = last + 1 + (round * 37) % 300;
        write_numbers(&f, last + 1, next);
        last = next;
        if (round % 7 == 3)
            assert_true(stream_set_reclaim(f.set, quiesce_all_cpus) <= interrupted(f.set));
        if (round % 5 == 4)
            stream_set_retire(f.set);
        read_all(f.set, round % 2, round % 3 != 0);
        if (round % 3 == 0)
            for (unsigned i = 0; i < stream_set_count(f.set); i++) /* later: the reader holds the chunks until then */
                stream_release(f.set, i, stream_position(f.set, i));
        check_window(f.set, last);
    }
    assert_true(stream_set_overwritten(f.set, raw_now_ns()) > 1000);
    assert_true(seen_until(last) > 10000);
    fixture_finish(&f);
}

/* One processor's writer takes a chunk of another processor: the oldest of all. */
static void test_two_processors(void **state)
{
    struct fixture f;
    (void)state;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    begin(&f, 8);
    pin(0);
    write_numbers(&f, 1, 1000);
    pin(1);
    write_numbers(&f, 1001, 1020);
    pin(0);
    write_numbers(&f, 1021, 1040);
    pin(1);
    write_numbers(&f, 1041, 1200);
    read_all(f.set, false, true);
    check_window(f.set, 1200);
    assert_true(seen_until(1200) >= 6 * (CHUNK / (80 + SIZE)));
    for (uint32_t n = 1121; n <= 1200; n++) /* 6 chunks of 14, or more */
        assert_true(seen[n]);
    fixture_finish(&f);
}

/* The reader holds chunks that are not released: writers overwrite the others. */
static void test_held(void **state)
{
    struct fixture f;
    (void)state;
    pin(0);
    begin(&f, 8);
    write_numbers(&f, 1, 20);
    assert_int_equal(read_all(f.set, false, false), 20);
    assert_int_equal(stream_set_holds(f.set), STREAM_HOLDS_FEW);
    write_numbers(&f, 21, 3000);
    stream_snapshot(f.set);
    const unsigned mine = fallback ? stream_set_count(f.set) - 1 : 0;
    assert_true(stream_position(f.set, mine) > stream_released(f.set, mine));
    read_all(f.set, false, false);
    assert_int_equal(stream_set_holds(f.set), STREAM_HOLDS_ALL);
    stream_release(f.set, mine, stream_position(f.set, mine));
    check_window(f.set, 3000);
    fixture_finish(&f);
}

/* A successor reads again what its predecessor had read but not released, and nothing that was released. */
static void test_adopted(void **state)
{
    (void)state;
    pin(0);
    for (unsigned step = 0; step < 12; step++) {
        struct fixture     f;
        struct stream_set *next;
        struct reason      why;
        begin(&f, 12); /* more chunks than the reader holds */
        const unsigned mine = fallback ? stream_set_count(f.set) - 1 : 0;
        write_numbers(&f, 1, 20 + step * 3);
        if (step % 2) /* released records are in a file for good */
            read_all(f.set, false, true);
        uint32_t last = 20 + step * 3 + step * 5;
        write_numbers(&f, 20 + step * 3 + 1, last);
        const uint64_t rpos_mine = stream_released(f.set, mine);
        uint8_t        before[1000];
        memcpy(before, seen, sizeof before);
        read_all(f.set, step % 3 == 0, false);
        if (step % 4 >= 2) {
            write_numbers(&f, last + 1, last + 300);
            last += 300;
        }
        uint64_t *rpos = calloc(stream_set_count(f.set), sizeof *rpos);
        rpos[mine]     = rpos_mine;
        assert_int_equal(
            stream_set_adopt(dup(stream_set_data_fd(f.set)), dup(stream_set_control_fd(f.set)), rpos, &next, &why), 0);
        free(rpos);
        memset(seen, 0, sizeof seen);
        memcpy(seen, before, sizeof before);
        read_all(next, step % 3 == 1, true);
        assert_int_equal(seen_until(last) + stream_set_overwritten(next, raw_now_ns()), last);
        write_numbers(&f, last + 1, last + 1000);
        last += 1000;
        read_all(next, false, true);
        check_window(next, last);
        if (!fallback)
            assert_true(stream_set_granted(next) <= 12 && stream_set_granted(next) + interrupted(next) >= 12);
        stream_set_destroy(next);
        fixture_finish(&f);
    }
}

/* A writer that overwrites a chunk knows its number of events and the last one's time without reading the records: here
 * the second record is destroyed. Events of all sizes, so that chunks end with gaps and without. */
static void test_counted_where_they_are_written(void **state)
{
    enum { EVENTS = 20000, CHUNKS = 6, LARGEST = 1500 };
    static uint32_t events[EVENTS];
    static uint64_t last[EVENTS];
    static uint8_t  payload[LARGEST];
    struct fixture  f;
    unsigned        looked = 0, exact = 0;
    (void)state;
    pin(0);
    begin(&f, CHUNKS);
    memset(events, 0, sizeof events);
    for (uint32_t n = 0, x = 1; n < EVENTS; n++, x = x * 1664525 + 1013904223) {
        const uint32_t   size = n % 3 ? (x >> 8) % LARGEST : 8 * (n % 5), aligned = (80 + size + 7) & ~7u;
        struct ring_step step;
        assert_int_equal(fixture_write(&f, payload, size), 0);
        const uint64_t end = f.view.stream[0].wpos, at = end - aligned;
        events[at / CHUNK]++;
        memcpy(&last[at / CHUNK], ring_at(&f.view, 0, at) + offsetof(struct etl_event_header, time), 8);
        exact += end % CHUNK == 0;
        if (at / CHUNK < CHUNKS || !ring_oldest(&f.view, &step))
            continue;
        uint8_t *first = f.view.chunks + (uint64_t)step.chunk * CHUNK;
        uint16_t bytes;
        memcpy(&bytes, first, sizeof bytes);
        if (events[step.n] > 1)
            memset(first + ((bytes + 7u) & ~7u), 0, 8);
        assert_true(ring_oldest(&f.view, &step));
        assert_int_equal(shm_oldest_events(step.to) - shm_oldest_events(step.from), events[step.n]);
        assert_int_equal(step.last, last[step.n]);
        looked++;
    }
    assert_true(looked > EVENTS / 2 && exact > 10);
    fixture_finish(&f);
}

/* A program writes nonsense into all memory that it may write: the reader ends, and takes no chunk twice. */
static void test_hostile(void **state)
{
    uint32_t x = 12345;
    (void)state;
    pin(0);
    const unsigned rounds = getenv("AL_FULL") ? 20000 : HOSTILE_ROUNDS;
    for (unsigned round = 0; round < rounds; round++) {
        struct fixture f;
        uint32_t       payload[SIZE / 4] = {1};
        begin(&f, 6);
        for (unsigned k = 0; k < 6; k++) {
            for (unsigned i = 0; i < 40; i++)
                (void)fixture_write(&f, payload, SIZE);
            x                        = x * 1664525 + 1013904223;
            struct shm_stream *st    = &f.view.stream[(x >> 8) % stream_set_count(f.set)];
            const uint64_t     value = x >> 30 == 0   ? (uint64_t)x << 32 | x
                                       : x >> 30 == 1 ? x % 64
                                       : x >> 30 == 2 ? (uint64_t)(x % 64) << 12
                                                      : UINT64_MAX - x % 64;
            switch (x >> 12 & 7) {
            case 0: st->oldest = value; break;
            case 1: st->wpos = value & ~UINT64_C(7); break;
            case 2: f.view.table[(x >> 14) % 16] = shm_entry((x >> 18) % 16, (x >> 22) % 8); break;
            case 3: st->tally = value; break;
            case 4: f.view.mark[(x >> 14) % 6] = value; break;
            default: f.view.data->pool_head = value; break;
            }
            struct stream_record r;
            stream_snapshot(f.set);
            for (unsigned i = 0; i < stream_set_count(f.set); i++) {
                for (unsigned n = 0; n < 100000 && stream_peek(f.set, i, &r); n++)
                    stream_pop(f.set, i);
                stream_release(f.set, i, stream_position(f.set, i));
            }
            stream_set_reclaim(f.set, quiesce_all_cpus);
            stream_set_pool(f.set, round % 7);
        }
        fixture_finish(&f);
    }
    assert_string_equal(invariant_first(), ""); /* a chunk was in the pool and free at once: in a release, too */
}

/* The same in a set that does not overwrite: a chunk named in a table without being taken comes back twice, and must
 * not be freed twice. */
static void test_named_not_taken(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(1, 12, 8, 8);
    (void)state;
    fixture_init(&f, &c, -1);
    for (uint64_t n = 0; n < 200; n++) {
        f.view.table[n & f.view.table_mask] = shm_entry(n, stream_set_control(f.set)->chunk_count - 1);
        f.view.stream[0].wpos               = (n + 1) * CHUNK;
        stream_snapshot(f.set);
        struct stream_record r;
        while (stream_peek(f.set, 0, &r))
            stream_pop(f.set, 0);
        stream_release(f.set, 0, stream_position(f.set, 0));
        stream_set_pool(f.set, 2);
        assert_true(stream_set_granted(f.set) <= 8);
        stream_set_pool(f.set, 8);
    }
    fixture_finish(&f);
}

static int with_fallback(void **state)
{
    (void)state;
    fallback = 1;
    ring_force_fallback(true);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),           cmocka_unit_test(test_beside_a_reader),
        cmocka_unit_test(test_two_processors),  cmocka_unit_test(test_held),
        cmocka_unit_test(test_adopted),         cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_named_not_taken), cmocka_unit_test(test_counted_where_they_are_written),
    };
    const struct CMUnitTest again[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_beside_a_reader),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_adopted),
    };
    const int failed = cmocka_run_group_tests_name("streams of processors", tests, NULL, NULL);
    return failed + cmocka_run_group_tests_name("the fallback stream", again, with_fallback, NULL);
}
