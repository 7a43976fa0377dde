/* Proves: COR-04 COR-07 COR-09 COR-17 COR-19 COR-20 SES-09, D-03: one CPU's stream: layout, the pool, laps, fillers,
 * losses, hostile memory, adoption. Writers take every chunk of the pool before the first event finds no room. */
#include "autologger/ring/fastpath.h"
#include "autologger/ring/quiesce.h"
#include "autologger/ring/tests/fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

static void pin(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static const uint8_t zeros[8192];

static unsigned fallback; /* 1: run everything once more on the fallback stream */
/* The stream that this (pinned) thread writes to. */
static unsigned mine(struct fixture *f) { return fallback ? stream_set_count(f->set) - 1 : 0; }

static void test_memory(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(2, 16, 16, 5);
    struct stat          st;
    (void)state;
    fixture_init(&f, &c, -1);
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    assert_int_equal(fcntl(stream_set_data_fd(f.set), F_GET_SEALS), seals);
    assert_int_equal(fcntl(stream_set_control_fd(f.set), F_GET_SEALS), seals);
    assert_int_equal(fstat(stream_set_data_fd(f.set), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(st.st_blocks * 512 < 65536); /* pages are allocated by the first write */
    assert_int_equal(fstat(stream_set_control_fd(f.set), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(fcntl(stream_set_control_fd_readonly(f.set), F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, stream_set_control_fd_readonly(f.set), 0),
                     MAP_FAILED);
    assert_int_equal(stream_set_count(f.set), 3);
    assert_int_equal(stream_set_granted(f.set), 5);
    assert_int_equal(stream_set_busy(f.set), 0);
    fixture_finish(&f);
}

static void test_shift(void **state)
{
    (void)state;
    assert_int_equal(stream_chunk_shift(1024), 12);
    assert_int_equal(stream_chunk_shift(4096), 12);
    assert_int_equal(stream_chunk_shift(4096 + 72), 12);
    assert_int_equal(stream_chunk_shift(4096 + 73), 13);
    assert_int_equal(stream_chunk_shift(65536), 16);
    assert_int_equal(stream_chunk_shift(1024 * 1024), 16);
}

/* Many laps through tiny chunks with every size: events come out as they went in, in order, with rising times. */
static void test_laps(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(2, 12, 8, 2);
    uint8_t              payload[4096], out[8192];
    uint64_t             last = 0, written = 0, read = 0, refused = 0;
    (void)state;
    fixture_init(&f, &c, -1);
    for (unsigned lap = 0; lap < 3000; lap++) {
        uint32_t size = (lap * 37) % (4024 - 80 + 1);
        memset(payload, (int)lap, sizeof payload);
        wstatus st = fixture_write(&f, payload, size);
        /* interrupted between taking and linking a chunk */
        if (st == W_NOT_ENOUGH_MEMORY && stream_set_reclaim(f.set, quiesce_all_cpus)) {
            refused++;
            st = fixture_write(&f, payload, size);
        }
        assert_int_equal(st, 0);
        written++;
        stream_snapshot(f.set);
        struct stream_record r;
        if (lap % 3 == 0 && !fallback) { /* by stream_copy */
            struct stream_run run = stream_copy(f.set, mine(&f), out, sizeof out, UINT64_MAX);
            assert_int_equal(run.events, 1);
            assert_int_equal(run.bytes, (80 + size + 7) & ~7u);
            assert_int_equal(run.first_time, run.last_time);
            assert_true(run.last_time > last);
            last = run.last_time;
            for (uint32_t i = 0; i < size; i++)
                assert_int_equal(out[80 + i], (uint8_t)lap);
            stream_release(f.set, mine(&f), run.end);
            read++;
            continue;
        }
        assert_true(stream_peek(f.set, mine(&f), &r));
        assert_int_equal(r.size, 80 + size);
        assert_int_equal(r.cpu, 0);
        assert_true(r.time > last);
        last = r.time;
        assert_int_equal(r.data[2], ETL_EVENT64);
        for (uint32_t i = 0; i < size; i++)
            assert_int_equal(r.data[80 + i], (uint8_t)lap);
        for (uint32_t i = 80 + size; i < ((80 + size + 7) & ~7u); i++)
            assert_int_equal(r.data[i], 0); /* padding does not show former bytes */
        stream_pop(f.set, mine(&f));
        assert_false(stream_peek(f.set, mine(&f), &r));
        stream_release(f.set, mine(&f), stream_position(f.set, mine(&f)));
        read++;
    }
    struct stream_counters n;
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(written, read);
    assert_int_equal(n.events, read);
    assert_int_equal(n.lost, refused);
    assert_int_equal(n.corrupt + n.abandoned, 0);
    assert_true(stream_position(f.set, mine(&f)) > 100 * 4096);
    fixture_finish(&f);
}

/* Full: ERROR_NOT_ENOUGH_MEMORY and counted, after the pool's last chunk; room again after a release; the pool may grow
 * and shrink. An exact fit leaves no filler. */
static void test_full(void **state)
{
    struct fixture         f;
    struct stream_config   c = fixture_config(1, 12, 5, 2);
    struct stream_counters n;
    uint8_t                payload[4096] = {1};
    unsigned               in            = 0;
    (void)state;
    c.max_event = 4096;
    fixture_init(&f, &c, -1);
    while (fixture_write(&f, payload, 512 - 80) == 0)
        in++;
    assert_int_equal(in, 2 * 8); /* 8 records of 512 fill a chunk to the last byte */
    assert_int_equal(fixture_write(&f, payload, 512 - 80), W_NOT_ENOUGH_MEMORY);
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.lost, 2);
    stream_snapshot(f.set);
    assert_int_equal(stream_set_used(f.set), 2 * 4096);
    assert_int_equal(stream_set_busy(f.set), 2);
    struct stream_record r;
    for (unsigned i = 0; i < 8; i++) {
        assert_true(stream_peek(f.set, mine(&f), &r));
        stream_pop(f.set, mine(&f));
        assert_int_equal(fixture_write(&f, payload, 512 - 80), W_NOT_ENOUGH_MEMORY); /* R3 */
    }
    stream_release(f.set, mine(&f), stream_position(f.set, mine(&f)));
    assert_int_equal(stream_set_busy(f.set), 1);
    assert_int_equal(fixture_write(&f, payload, 4096 - 80), 0); /* a whole chunk */
    assert_int_equal(fixture_write(&f, payload, 0), W_NOT_ENOUGH_MEMORY);
    assert_int_equal(stream_set_pool(f.set, 9), 3); /* 5 in all, 2 in use */
    assert_int_equal(stream_set_granted(f.set), 5);
    assert_int_equal(stream_set_pool(f.set, 1), 1);
    assert_int_equal(stream_set_granted(f.set), 3);
    assert_int_equal(fixture_write(&f, payload, 100), 0);
    assert_int_equal(fixture_write(&f, payload, 4096 - 79), W_MORE_DATA);
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.lost, 2 + 8 + 1 + 1);
    fixture_finish(&f);
}

static uint64_t memory_of(const struct fixture *f)
{
    struct stat st;
    assert_int_equal(fstat(stream_set_data_fd(f->set), &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* R6: pages are allocated by the first write, and freed when the chunk leaves the pool for good. A stream without
 * records gives up its chunk. */
static void test_memory_goes(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(1, 16, 40, 20);
    struct stream_record r;
    static uint8_t       payload[60000];
    (void)state;
    fixture_init(&f, &c, -1);
    const uint64_t before = memory_of(&f);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(fixture_write(&f, payload, sizeof payload), 0);
    assert_true(memory_of(&f) >= before + 19 * 60000);
    assert_int_equal(fixture_write(&f, payload, sizeof payload), W_NOT_ENOUGH_MEMORY);
    stream_snapshot(f.set);
    assert_int_equal(stream_set_retire(f.set), 0); /* not all records were read */
    while (stream_peek(f.set, mine(&f), &r))
        stream_pop(f.set, mine(&f));
    stream_release(f.set, mine(&f), stream_position(f.set, mine(&f)));
    assert_int_equal(fixture_write(&f, payload, 100), 0);
    assert_int_equal(stream_set_retire(f.set), 0); /* the new record was not read */
    stream_snapshot(f.set);
    assert_true(stream_peek(f.set, mine(&f), &r));
    stream_pop(f.set, mine(&f));
    assert_int_equal(stream_set_retire(f.set), 1);
    assert_int_equal(stream_set_retire(f.set), 0);
    stream_snapshot(f.set);
    assert_false(stream_peek(f.set, mine(&f), &r));
    stream_release(f.set, mine(&f), stream_position(f.set, mine(&f)));
    assert_true(stream_set_idle(f.set));
    assert_int_equal(stream_set_busy(f.set), 0);
    assert_int_equal(stream_set_pool(f.set, 0), 0);
    assert_int_equal(stream_set_granted(f.set), 0);
    assert_true(memory_of(&f) <= before + 65536); /* tables and positions stay */
    assert_int_equal(fixture_write(&f, payload, 100), W_NOT_ENOUGH_MEMORY);
    assert_int_equal(stream_set_pool(f.set, 1), 1);
    assert_int_equal(fixture_write(&f, payload, 100), 0);
    struct stream_counters n;
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.corrupt, 0);
    fixture_finish(&f);
}

/* A writer died between taking a chunk and linking it: this chunk comes back, and no other. */
static void test_reclaim(void **state)
{
    struct fixture         f;
    struct stream_config   c = fixture_config(1, 12, 8, 4);
    struct stream_counters n;
    (void)state;
    fixture_init(&f, &c, -1);
    assert_int_equal(fixture_write(&f, zeros, 100), 0);
    stream_snapshot(f.set);
    assert_int_equal(stream_set_reclaim(f.set, quiesce_all_cpus), 0);
    __atomic_fetch_add(&f.view.data->pool_head, 2, __ATOMIC_SEQ_CST); /* a writer's first step */
    assert_int_equal(stream_set_busy(f.set), 3);
    assert_int_equal(stream_set_reclaim(f.set, quiesce_all_cpus), 2);
    /* in the fallback stream a stopped thread may have taken the chunk without a mark: it is not given to another
     * writer */
    assert_int_equal(stream_set_busy(f.set), 1);
    assert_int_equal(stream_set_granted(f.set), fallback ? 2 : 4);
    assert_int_equal(stream_set_reclaim(f.set, quiesce_all_cpus), 0);
    assert_int_equal(stream_set_pool(f.set, 9), fallback ? 5 : 7);
    unsigned written = 0;
    while (fixture_write(&f, zeros, 3900) == 0)
        written++;
    assert_int_equal(written, fallback ? 5 : 7);
    stream_snapshot(f.set);
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.corrupt, 0);
    assert_int_equal(n.lost, 1);
    fixture_finish(&f);
}

static void test_nothing_granted(void **state)
{
    struct fixture         f;
    struct stream_config   c = fixture_config(1, 12, 0, 2);
    struct stream_counters n;
    (void)state;
    fixture_init(&f, &c, -1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(fixture_write(&f, "x", 1), W_NOT_ENOUGH_MEMORY);
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.lost, 5);
    fixture_finish(&f);
}

static void test_closed(void **state)
{
    struct fixture         f;
    struct stream_config   c = fixture_config(1, 12, 8, 2);
    struct stream_counters n;
    (void)state;
    fixture_init(&f, &c, -1);
    stream_set_open(f.set, false);
    assert_int_equal(fixture_write(&f, "x", 1), 1000);
    assert_int_equal(fixture_write(&f, zeros, 5000), 1000); /* and no loss is counted */
    stream_set_open(f.set, true);
    assert_int_equal(fixture_write(&f, "x", 1), 0);
    uint64_t ticket           = fixture_ticket(&f);
    f.enable->generation      = 7;
    struct etl_event_header h = {.header_type = ETL_EVENT64, .marker = ETL_MARKER};
    bool                    written;
    assert_int_equal(ring_write(&f.view, f.enable, ticket, &h, NULL, 0, 0, &written), 0);
    assert_false(written);
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.lost, 0);
    fixture_finish(&f);
}

/* A writer signals once half of the pool is taken, and so does each one that takes another chunk, until a new mark is
 * set. */
static void test_wake(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(1, 12, 8, 4);
    uint64_t             n = 0;
    int                  e = eventfd(0, EFD_NONBLOCK);
    (void)state;
    fixture_init(&f, &c, e);
    for (int i = 0; i < 16; i++) /* 8 records of 512 in a chunk: the third chunk is taken at the 17th */
        assert_int_equal(fixture_write(&f, zeros, 512 - 80), 0);
    assert_int_equal(read(e, &n, sizeof n), -1);
    assert_int_equal(fixture_write(&f, zeros, 512 - 80), 0);
    assert_int_equal(read(e, &n, sizeof n), sizeof n);
    assert_int_equal(n, 1);
    struct stream_record r;
    stream_snapshot(f.set);
    while (stream_peek(f.set, mine(&f), &r))
        stream_pop(f.set, mine(&f));
    stream_release(f.set, mine(&f), stream_position(f.set, mine(&f)));
    assert_int_equal(stream_set_pool(f.set, 3), 3);
    for (int i = 0; i < 7; i++)
        assert_int_equal(fixture_write(&f, zeros, 512 - 80), 0);
    assert_int_equal(read(e, &n, sizeof n), -1);
    for (int i = 0; i < 10; i++)
        assert_int_equal(fixture_write(&f, zeros, 512 - 80), 0);
    assert_int_equal(read(e, &n, sizeof n), sizeof n);
    assert_int_equal(n, 1);
    close(e);
    fixture_finish(&f);
}

static bool signalled(int e)
{
    uint64_t n = 0;
    return read(e, &n, sizeof n) == sizeof n;
}

/* The thread that takes the chunk at the mark can be killed before it signals: then the next writer without room does
 * it. But once no more memory can be granted, or where none ever is, a refused event costs no system call. */
static void test_lost_wake(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(1, 12, 4, 2);
    int                  e = eventfd(0, EFD_NONBLOCK);
    (void)state;
    fixture_init(&f, &c, e);
    while (fixture_write(&f, zeros, 512 - 80) == 0)
        ;
    assert_true(signalled(e)); /* consumed, as if it had never been sent */
    assert_int_equal(fixture_write(&f, zeros, 512 - 80), W_NOT_ENOUGH_MEMORY);
    assert_true(signalled(e));
    stream_set_pool(f.set, 9);
    while (fixture_write(&f, zeros, 512 - 80) == 0)
        ;
    signalled(e);
    assert_int_equal(stream_set_pool(f.set, 9), 0);
    assert_int_equal(fixture_write(&f, zeros, 512 - 80), W_NOT_ENOUGH_MEMORY);
    assert_false(signalled(e));
    stream_set_want_signals(f.set);
    assert_int_equal(fixture_write(&f, zeros, 512 - 80), W_NOT_ENOUGH_MEMORY);
    assert_true(signalled(e));
    fixture_finish(&f);
    c = fixture_config(1, 12, 0, 2);
    fixture_init(&f, &c, e);
    assert_int_equal(fixture_write(&f, zeros, 8), W_NOT_ENOUGH_MEMORY);
    assert_false(signalled(e));
    fixture_finish(&f);
    close(e);
}

static void test_horizon(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(1, 12, 8, 4);
    uint8_t              out[4096 * 4];
    struct stream_record r;
    (void)state;
    fixture_init(&f, &c, -1);
    for (int i = 0; i < 30; i++)
        assert_int_equal(fixture_write(&f, out, 300), 0);
    stream_snapshot(f.set);
    for (int i = 0; i < 10; i++) {
        assert_true(stream_peek(f.set, 0, &r));
        stream_pop(f.set, 0);
    }
    assert_true(stream_peek(f.set, 0, &r));
    struct stream_run run = stream_copy(f.set, 0, out, sizeof out, r.time);
    assert_int_equal(run.events, 0); /* only records older than `before` */
    run = stream_copy(f.set, 0, out, 384 * 5 + 200, UINT64_MAX);
    assert_int_equal(run.events, 5); /* whole records only */
    run = stream_copy(f.set, 0, out, sizeof out, UINT64_MAX);
    assert_int_equal(run.events, 15);
    assert_int_equal(run.end, stream_position(f.set, 0));
    assert_false(stream_peek(f.set, 0, &r));
    fixture_finish(&f);
}

enum { COPY_PROVIDERS = 3 };
struct copied {
    uint64_t told[COPY_PROVIDERS], seen[COPY_PROVIDERS], number;
};
static void copied_told(void *ctx, const uint64_t guid[2], uint32_t count)
{
    struct copied *c = ctx;
    struct guid    g;
    memcpy(&g, guid, sizeof g);
    assert_uint_in_range(g.data1, 1, COPY_PROVIDERS);
    assert_true(count > 0);
    c->told[g.data1 - 1] += count;
}
/* Checks a copy and its counts: whole records one after another, with the sizes, providers and bytes of test_copy. */
static void copied_check(struct copied *c, const uint8_t *out, uint32_t bytes, uint32_t events)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < events; i++, c->number++) {
        struct etl_event_header h;
        assert_true(bytes - at >= sizeof h);
        memcpy(&h, out + at, sizeof h);
        assert_int_equal(h.size, sizeof h + c->number * 7919 % 9001);
        assert_int_equal(h.provider.data1, 1 + c->number / 5 % COPY_PROVIDERS);
        c->seen[h.provider.data1 - 1]++;
        for (uint32_t k = sizeof h; k < h.size; k++)
            assert_int_equal(out[at + k], (uint8_t)c->number);
        at += (h.size + 7u) & ~7u;
    }
    assert_int_equal(at, bytes);
}

/* Records of all sizes, across copy steps and the ends of chunks, into buffers of all sizes. */
static void test_copy(void **state)
{
    enum { EVENTS = 6000, ROOM = 100000 };
    struct fixture            f;
    struct stream_config      c     = fixture_config(1, 16, 10, 10);
    struct copied             seen  = {0};
    const struct stream_tally tally = {copied_told, &seen};
    static uint8_t            payload[9001], out[ROOM];
    uint64_t                  written = 0;
    (void)state;
    fixture_init(&f, &c, -1);
    for (unsigned round = 0; seen.number < EVENTS; round++) {
        for (wstatus st = 0; !st && written < EVENTS;) {
            const uint32_t          size  = (uint32_t)(written * 7919 % 9001);
            struct etl_event_header h     = {.header_type = ETL_EVENT64,
                                             .marker      = ETL_MARKER,
                                             .provider    = {.data1 = (uint32_t)(1 + written / 5 % COPY_PROVIDERS)}};
            struct ring_piece       piece = {(uintptr_t)payload, size, 0};
            bool                    done;
            memset(payload, (int)written, size);
            st = ring_write(&f.view, f.enable, fixture_ticket(&f), &h, &piece, size != 0, size, &done);
            written += done;
        }
        stream_snapshot(f.set);
        const uint32_t    room = 9088 + round * 4093 % (ROOM - 9088);
        struct stream_run run;
        do {
            run = stream_copy_chunk(f.set, 0, out, room, UINT64_MAX, &tally);
            copied_check(&seen, out, run.bytes, run.events);
        } while (run.more || run.events);
        assert_int_equal(seen.number, written);
        stream_release(f.set, 0, run.end);
    }
    for (unsigned i = 0; i < COPY_PROVIDERS; i++)
        assert_int_equal(seen.told[i], seen.seen[i]);
    struct stream_counters n;
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.events, EVENTS);
    assert_int_equal(n.corrupt + n.abandoned, 0);
    fixture_finish(&f);
}

/* A client writes nonsense: positions, sizes, types. The reader ends, counts, and stays within its memory. */
static void test_hostile(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(1, 12, 8, 2);
    struct stream_record r;
    uint8_t              out[8192];
    (void)state;
    fixture_init(&f, &c, -1);
    static const uint64_t bad_wpos[] = {UINT64_MAX, 1 << 20, 13, 9 * 4096, UINT64_MAX - 7};
    for (unsigned i = 0; i < sizeof bad_wpos / sizeof *bad_wpos; i++) {
        f.view.stream[0].wpos = bad_wpos[i];
        stream_snapshot(f.set);
        while (stream_peek(f.set, 0, &r))
            stream_pop(f.set, 0);
        assert_true(stream_position(f.set, 0) == 0);
    }
    struct stream_counters n;
    stream_counters(f.set, raw_now_ns(), &n);
    assert_true(n.corrupt >= 5);
    assert_int_equal(n.events, 0);
    fixture_finish(&f);

    static const uint32_t first_word[] = {0xC0130000u, 0xC013FFFFu, 0xC0130010u, 0xC0550060u, 0x90130060u, 0u};
    for (unsigned i = 0; i < sizeof first_word / sizeof *first_word; i++) {
        fixture_init(&f, &c, -1);
        assert_int_equal(fixture_write(&f, out, 64), 0);
        memcpy(ring_at(&f.view, 0, 144), &first_word[i], 4);
        f.view.stream[0].wpos = 144 + 2000;
        stream_snapshot(f.set);
        assert_true(stream_peek(f.set, 0, &r));
        stream_pop(f.set, 0);
        assert_false(stream_peek(f.set, 0, &r));
        stream_counters(f.set, raw_now_ns(), &n);
        assert_int_equal(n.corrupt, 1);
        fixture_finish(&f);
    }
}

/* The same with its tables and the pool's head. The reader takes no chunk that the daemon did not put into the pool,
 * and the daemon's own memory stays intact. */
static void test_hostile_pool(void **state)
{
    struct fixture         f;
    struct stream_config   c = fixture_config(2, 12, 8, 4);
    struct stream_counters n;
    struct stream_record   r;
    (void)state;
    fixture_init(&f, &c, -1);
    assert_int_equal(fixture_write(&f, "mine", 4), 0);
    const uint64_t   head = f.view.data->pool_head, entry = *ring_entry(&f.view, mine(&f), 0);
    const uint32_t   chunk = (uint32_t)entry;
    static const int bad[] = {0, 1, 2, 3};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        const uint64_t wrong[]                    = {shm_entry(0, chunk), shm_entry(0, 7) /* free */, shm_entry(0, 99),
                                                     shm_entry(5, chunk)};
        *ring_entry(&f.view, 1 - mine(&f) % 2, i) = i ? wrong[i] + ((uint64_t)i << 32) : wrong[i];
    }
    stream_snapshot(f.set);
    f.view.stream[1 - mine(&f) % 2].wpos = 4 * 4096;
    stream_snapshot(f.set);
    assert_false(stream_peek(f.set, 1 - mine(&f) % 2, &r));
    stream_release(f.set, 1 - mine(&f) % 2, stream_position(f.set, 1 - mine(&f) % 2));
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.corrupt, 4);
    assert_int_equal(stream_set_busy(f.set), 1);
    const uint64_t heads[] = {0, head - 1, 9, UINT32_MAX, UINT64_MAX};
    for (unsigned i = 0; i < sizeof heads / sizeof *heads; i++) {
        f.view.data->pool_head = heads[i];
        assert_true(stream_set_busy(f.set) <= 4);
        assert_true(stream_set_granted(f.set) <= 4);
        assert_true(stream_set_pool(f.set, 3) <= 3);
    }
    stream_counters(f.set, raw_now_ns(), &n);
    assert_int_equal(n.corrupt, 4 + 5);
    assert_true(stream_peek(f.set, mine(&f), &r));
    assert_memory_equal(r.data + 80, "mine", 4);
    stream_pop(f.set, mine(&f));
    assert_int_equal(stream_set_pool(f.set, 3), 3);
    assert_int_equal(fixture_write(&f, zeros, 3900), 0);
    stream_snapshot(f.set);
    assert_true(stream_peek(f.set, mine(&f), &r));
    fixture_finish(&f);
}

static void test_hostile_view(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(2, 12, 8, 2);
    struct reason        why;
    struct ring_view     v;
    (void)state;
    fixture_init(&f, &c, -1);
    uint8_t *control = malloc(f.control_size), *data = malloc(f.data_size);
    memcpy(control, f.control, f.control_size);
    memcpy(data, f.data, f.data_size);
    struct shm_control *sc = (void *)control;
    struct shm_data    *sd = (void *)data;
#define REFUSED(change, undo) \
    change; \
    assert_int_equal(ring_view_init(&v, control, f.control_size, data, f.data_size, -1, &why), W_INVALID_DATA); \
    undo
    REFUSED(sc->header.magic++, sc->header.magic--);
    REFUSED(sc->header.major++, sc->header.major--);
    REFUSED(sc->stream_count++, sc->stream_count--);
    REFUSED(sc->chunk_shift = 30, sc->chunk_shift = 12);
    REFUSED(sc->chunk_count = 9, sc->chunk_count = 8);
    REFUSED(sc->max_event = 5000, sc->max_event = 4024);
    const uint32_t pool = sc->pool_offset, table = sd->table_offset, mask = sd->table_mask, taker = sd->taker_offset;
    REFUSED(sc->pool_offset = (uint32_t)f.control_size - 28, sc->pool_offset = pool);
    REFUSED(sc->pool_offset++, sc->pool_offset = pool);
    REFUSED(sd->table_offset = UINT32_MAX - 7, sd->table_offset = table);
    REFUSED(sd->table_mask = 6, sd->table_mask = mask);
    REFUSED(sd->table_mask = UINT32_MAX, sd->table_mask = mask);
    REFUSED(sd->taker_offset = (uint32_t)sd->chunk_offset, sd->taker_offset = taker);
    REFUSED(sd->stream_count--, sd->stream_count++);
    assert_int_equal(ring_view_init(&v, control, 64, data, f.data_size, -1, &why), W_INVALID_DATA);
    assert_int_equal(ring_view_init(&v, control, f.control_size, data, 64, -1, &why), W_INVALID_DATA);
    assert_int_equal(ring_view_init(&v, control, f.control_size, data, f.data_size, -1, &why), 0);
    /* a table entry, or a chunk of the pool, beyond the memory is a loss, not a write */
    f.view = v;
    for (unsigned i = 0; i < 3; i++)
        *ring_entry(&v, i, 0) = shm_entry(0, 8);
    ((uint32_t *)(void *)(control + pool))[shm_pool_index(sd->pool_head)] = 8;
    assert_int_equal(fixture_write(&f, "x", 1), W_NOT_ENOUGH_MEMORY);
    free(control);
    free(data);
    fixture_finish(&f);
}

/* A program sets the pool's head to any value, and overwrites the whole header, before the daemon dies: the successor
 * adopts nevertheless, counts the damage, gives no chunk twice, and continues to read. */
static void adopt_scribbled(bool overwrite)
{
    struct stream_config c = fixture_config(1, 12, 8, 5);
    c.overwrite            = overwrite;
    for (uint32_t head = 0; head < 20; head++) {
        struct fixture       f;
        struct reason        why;
        struct stream_set   *next;
        struct stream_record r;
        uint8_t              payload[504] = {0};
        uint64_t             rpos[2]      = {0, 0};
        unsigned             found        = 0;
        fixture_init(&f, &c, -1);
        /* chunks are taken, read and returned: the pool holds the same chunks in another order */
        for (unsigned i = 0; i < 40; i++) {
            (void)fixture_write(&f, payload, sizeof payload);
            stream_snapshot(f.set);
            while (stream_peek(f.set, mine(&f), &r))
                stream_pop(f.set, mine(&f));
            stream_release(f.set, mine(&f), rpos[mine(&f)] = stream_position(f.set, mine(&f)));
            stream_set_pool(f.set, 2 + i % 4);
        }
        struct shm_data *d = f.view.data;
        if (head < 18)
            d->pool_head = UINT64_C(7) << 32 | head;
        else
            memset(d, head == 18 ? 0 : 0xFF, sizeof *d);
        assert_int_equal(
            stream_set_adopt(dup(stream_set_data_fd(f.set)), dup(stream_set_control_fd(f.set)), rpos, &next, &why), 0);
        stream_set_destroy(f.set);
        f.set                    = next;
        uint8_t         given[8] = {0};
        const uint32_t *pool     = (const uint32_t *)(const void *)((const char *)stream_set_control(f.set) +
                                                                stream_set_control(f.set)->pool_offset);
        stream_snapshot(f.set);
        (void)stream_set_pool(f.set, 8);
        for (uint32_t i = shm_pool_index(d->pool_head); i < 8; i++) {
            assert_true(pool[i] < 8 && !given[pool[i]]);
            given[pool[i]] = 1;
        }
        payload[0] = 77;
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(fixture_write(&f, payload, sizeof payload), 0);
        stream_snapshot(f.set);
        for (; stream_peek(f.set, mine(&f), &r); stream_pop(f.set, mine(&f)))
            found += r.data[80] == 77;
        assert_int_equal(found, 3);
        struct stream_counters n;
        stream_counters(f.set, raw_now_ns(), &n);
        /* a head beyond the pool is counted; one within it may be right */
        assert_true(n.corrupt || head <= c.chunk_count || head == 18);
        fixture_finish(&f);
    }
}

static void test_adopt_scribbled(void **state)
{
    (void)state;
    adopt_scribbled(false);
    adopt_scribbled(true);
}

static void test_adopt(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(1, 12, 8, 3);
    struct stream_record r;
    struct reason        why;
    struct stream_set   *next;
    (void)state;
    fixture_init(&f, &c, -1);
    uint8_t payload[504] = {0};
    for (; payload[0] < 10; payload[0]++)
        assert_int_equal(fixture_write(&f, payload, sizeof payload), 0);
    stream_snapshot(f.set);
    for (int i = 0; i < 9; i++) {
        assert_true(stream_peek(f.set, mine(&f), &r));
        stream_pop(f.set, mine(&f));
    }
    uint64_t rpos[2] = {0, 0};
    rpos[mine(&f)]   = stream_position(f.set, mine(&f));
    stream_release(f.set, mine(&f), rpos[mine(&f)]);
    int data = dup(stream_set_data_fd(f.set)), control = dup(stream_set_control_fd(f.set));
    rpos[0] += 4;
    assert_int_equal(stream_set_adopt(data, control, rpos, &next, &why), W_INVALID_DATA);
    rpos[0] -= 4;
    assert_int_equal(stream_set_adopt(data, control, rpos, &next, &why), 0);
    stream_set_destroy(f.set);
    f.set = next;
    stream_snapshot(f.set);
    assert_true(stream_peek(f.set, mine(&f), &r));
    assert_int_equal(r.data[80], 9);
    stream_pop(f.set, mine(&f));
    assert_false(stream_peek(f.set, mine(&f), &r));
    assert_int_equal(stream_set_granted(f.set), 3);
    assert_int_equal(stream_set_busy(f.set), 1);
    assert_int_equal(stream_set_pool(f.set, 99), 7);
    assert_int_equal(fixture_write(&f, zeros, 100), 0); /* the writer never noticed */
    fixture_finish(&f);
}

/* A predecessor died at any moment of moving chunks: each chunk is found once, or is free. */
static void test_adopt_between(void **state)
{
    enum { CHUNKS = 8 };
    struct stream_config c = fixture_config(1, 12, CHUNKS, 4);
    (void)state;
    for (unsigned moment = 0; moment < 4; moment++) {
        struct fixture     f;
        struct reason      why;
        struct stream_set *next;
        fixture_init(&f, &c, -1);
        uint8_t payload[504] = {0};
        for (unsigned i = 0; i < 10; i++) /* two chunks */
            assert_int_equal(fixture_write(&f, payload, sizeof payload), 0);
        struct shm_control *sc    = (struct shm_control *)(uintptr_t)stream_set_control(f.set);
        uint32_t           *pool  = (uint32_t *)(void *)((char *)sc + sc->pool_offset);
        uint8_t            *known = (uint8_t *)sc + sc->state_offset;
        const uint32_t      index = shm_pool_index(f.view.data->pool_head);
        if (moment == 1) { /* before it pushed a free chunk */
            pool[index - 1] = 7;
            known[7]        = SHM_CHUNK_POOL;
        } else if (moment == 2) { /* after it took a chunk back, before it noted that */
            f.view.data->pool_head++;
        } else if (moment == 3) { /* a writer died between taking and linking a chunk */
            f.view.data->pool_head++;
            if (fallback)
                f.view.taker[pool[index]] = 0x3FFFFFF; /* a thread that is gone */
        }
        const uint64_t rpos[2] = {0, 0};
        assert_int_equal(
            stream_set_adopt(dup(stream_set_data_fd(f.set)), dup(stream_set_control_fd(f.set)), rpos, &next, &why), 0);
        stream_set_destroy(f.set);
        f.set = next;
        stream_snapshot(f.set);
        assert_int_equal(stream_set_busy(f.set), 2);
        /* a chunk that a fallback writer may still hold is not reused */
        const unsigned left = fallback && (moment == 1 || moment == 2) ? CHUNKS - 3 : CHUNKS - 2;
        assert_int_equal(stream_set_pool(f.set, 99), left);
        struct stream_counters n;
        stream_counters(f.set, raw_now_ns(), &n);
        assert_int_equal(n.corrupt, 0);
        fixture_finish(&f);
    }
}

static int on_fallback(void **state)
{
    (void)state;
    fallback = 1;
    ring_force_fallback(true);
    return 0;
}
static int off_fallback(void **state)
{
    (void)state;
    fallback = 0;
    ring_force_fallback(false);
    return 0;
}

/* A count that grows faster than possible is ignored, and reported; possible growth counts, with a successor, too. */
static void test_false_counts(void **state)
{
    static const uint64_t  said[] = {UINT64_C(1) << 40, UINT32_MAX, UINT64_C(1) << 50, 0, UINT64_MAX / 2, 3};
    struct fixture         f;
    struct stream_config   c       = fixture_config(2, 12, 4, 2);
    const uint64_t         rpos[3] = {0};
    struct stream_counters n;
    struct reason          why;
    uint64_t               now, lost = 900;
    (void)state;
    fixture_init(&f, &c, -1);
    now                   = raw_now_ns();
    f.view.stream[0].lost = lost;
    assert_int_equal(stream_set_lost(f.set, now), lost);
    for (unsigned i = 0; i < sizeof said / sizeof *said; i++) {
        f.view.stream[i % 3].lost = said[i];
        stream_counters(f.set, now += 1000000, &n);
        assert_int_equal(n.lost, lost);
        assert_int_equal(n.falsified, i + 1);
        f.view.stream[i % 3].lost += 100000; /* possible within a millisecond */
        assert_int_equal(stream_set_lost(f.set, now += 1000000), lost += 100000);
    }
    f.view.stream[0].lost += 200000000; /* possible in 10 s without a look: the logger waits for its storage */
    assert_int_equal(stream_set_lost(f.set, now += UINT64_C(10000000000)), lost += 200000000);
    f.view.stream[0].lost += 200000000; /* the same again at once is not */
    assert_int_equal(stream_set_lost(f.set, now += 1000000), lost);
    struct stream_set *next;
    assert_int_equal(
        stream_set_adopt(dup(stream_set_data_fd(f.set)), dup(stream_set_control_fd(f.set)), rpos, &next, &why), 0);
    stream_set_destroy(f.set);
    f.set = next;
    f.view.stream[0].lost += UINT32_MAX; /* while neither daemon runs */
    assert_int_equal(stream_set_lost(f.set, now), lost);
    f.view.stream[0].lost++;
    assert_int_equal(stream_set_lost(f.set, now), lost + 1);
    fixture_finish(&f);
}

#define F(test) \
    static void test##_fallback(void **state) { test(state); }
F(test_laps)
F(test_full)
F(test_wake)
F(test_lost_wake)
F(test_adopt)
F(test_adopt_between)
F(test_memory_goes)
F(test_reclaim)
F(test_hostile_pool)
F(test_closed)

int main(void)
{
    pin();
#define FT(test) cmocka_unit_test_setup_teardown(test##_fallback, on_fallback, off_fallback)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_shift),
        cmocka_unit_test(test_laps),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_nothing_granted),
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_wake),
        cmocka_unit_test(test_lost_wake),
        cmocka_unit_test(test_horizon),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_hostile_view),
        cmocka_unit_test(test_false_counts),
        cmocka_unit_test(test_adopt),
        cmocka_unit_test(test_adopt_scribbled),
        cmocka_unit_test(test_adopt_between),
        cmocka_unit_test(test_memory_goes),
        cmocka_unit_test(test_reclaim),
        cmocka_unit_test(test_hostile_pool),
        FT(test_laps),
        FT(test_full),
        FT(test_wake),
        FT(test_lost_wake),
        FT(test_adopt),
        FT(test_adopt_between),
        FT(test_closed),
        FT(test_memory_goes),
        FT(test_reclaim),
        FT(test_hostile_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
