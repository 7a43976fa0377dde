/* Proves: COR-04 COR-07 COR-09 COR-19 COR-20: one CPU's stream: layout, grants, laps, fillers, losses, hostile memory,
 * adoption. */
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

/* The stream that this (pinned) thread writes to. */
static unsigned fallback; /* 1: run everything once more on the fallback stream */
static unsigned mine(struct fixture *f) { return fallback ? stream_set_count(f->set) - 1 : 0; }

static void test_memory(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(2, 16, 16, 2);
    struct stat          st;
    (void)state;
    fixture_init(&f, &c, -1);
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    assert_int_equal(fcntl(stream_set_data_fd(f.set), F_GET_SEALS), seals);
    assert_int_equal(fcntl(stream_set_control_fd(f.set), F_GET_SEALS), seals);
    assert_int_equal(fstat(stream_set_data_fd(f.set), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(st.st_blocks * 512 >= 5 * 65536); /* 2 x 2 + 1 chunks are there before anybody writes */
    assert_int_equal(fstat(stream_set_control_fd(f.set), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(fcntl(stream_set_control_fd_readonly(f.set), F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, stream_set_control_fd_readonly(f.set), 0),
                     MAP_FAILED);
    assert_int_equal(stream_set_count(f.set), 3);
    assert_int_equal(stream_set_granted(f.set), 5);
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

/* Many laps through tiny chunks with every size; what comes out is what went in, in order, times never back. */
static void test_laps(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(2, 12, 8, 2);
    uint8_t              payload[4096], out[8192];
    uint64_t             last = 0, written = 0, read = 0;
    (void)state;
    fixture_init(&f, &c, -1);
    stream_set_grow(f.set, mine(&f), fallback);
    for (unsigned lap = 0; lap < 3000; lap++) {
        uint32_t size = (lap * 37) % (4024 - 80 + 1);
        memset(payload, (int)lap, sizeof payload);
        assert_int_equal(fixture_write(&f, payload, size), 0);
        written++;
        stream_snapshot(f.set);
        struct stream_record r;
        if (lap % 3 == 0 && !fallback) { /* the straight copy */
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
            assert_int_equal(r.data[i], 0); /* padding is not what lay there before */
        stream_pop(f.set, mine(&f));
        assert_false(stream_peek(f.set, mine(&f), &r));
        stream_release(f.set, mine(&f), stream_position(f.set, mine(&f)));
        read++;
    }
    struct stream_counters n;
    stream_counters(f.set, &n);
    assert_int_equal(written, read);
    assert_int_equal(n.events, read);
    assert_int_equal(n.lost + n.corrupt + n.abandoned, 0);
    assert_true(stream_position(f.set, mine(&f)) > 100 * 4096);
    fixture_finish(&f);
}

/* Full: 8 and counted; room again after a release; the grant may grow. Exact fit leaves no filler. */
static void test_full(void **state)
{
    struct fixture         f;
    struct stream_config   c = fixture_config(1, 12, 5, 2);
    struct stream_counters n;
    uint8_t                payload[4096] = {1};
    unsigned               in = 0, grant = fallback ? 1 : 2;
    (void)state;
    c.max_event = 4096;
    fixture_init(&f, &c, -1);
    while (fixture_write(&f, payload, 512 - 80) == 0)
        in++;
    assert_int_equal(in, grant * 8); /* 8 records of 512 fill a chunk to the last byte */
    assert_int_equal(fixture_write(&f, payload, 512 - 80), W_NOT_ENOUGH_MEMORY);
    stream_counters(f.set, &n);
    assert_int_equal(n.lost, 2);
    stream_snapshot(f.set);
    assert_true(stream_wants_more(f.set, mine(&f)));
    assert_int_equal(stream_set_used(f.set), grant * 4096);
    struct stream_record r;
    for (unsigned i = 0; i < 8; i++) {
        assert_true(stream_peek(f.set, mine(&f), &r));
        stream_pop(f.set, mine(&f));
        assert_int_equal(fixture_write(&f, payload, 512 - 80), W_NOT_ENOUGH_MEMORY); /* R3 */
    }
    stream_release(f.set, mine(&f), stream_position(f.set, mine(&f)));
    assert_int_equal(fixture_write(&f, payload, 4096 - 80), 0); /* a whole chunk */
    assert_int_equal(fixture_write(&f, payload, 0), W_NOT_ENOUGH_MEMORY);
    assert_int_equal(stream_set_grow(f.set, mine(&f), 9), 2); /* 5 in all, 3 were given */
    assert_int_equal(stream_set_granted(f.set), 5);
    assert_int_equal(fixture_write(&f, payload, 100), 0);
    assert_int_equal(fixture_write(&f, payload, 4096 - 79), W_MORE_DATA);
    stream_counters(f.set, &n);
    assert_int_equal(n.lost, 2 + 8 + 1 + 1);
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
    stream_counters(f.set, &n);
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
    assert_int_equal(fixture_write(&f, zeros, 5000), 1000); /* no loss is counted either */
    stream_set_open(f.set, true);
    assert_int_equal(fixture_write(&f, "x", 1), 0);
    uint64_t ticket       = fixture_ticket(&f);
    f.enable->generation  = 7;
    struct etl_event_header h = {.header_type = ETL_EVENT64, .marker = ETL_MARKER};
    bool                    written;
    assert_int_equal(ring_write(&f.view, f.enable, ticket, &h, NULL, 0, 0, &written), 0);
    assert_false(written);
    stream_counters(f.set, &n);
    assert_int_equal(n.lost, 0);
    fixture_finish(&f);
}

static void test_wake(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(1, 12, 8, 4);
    uint64_t             n = 0;
    int                  e = eventfd(0, EFD_NONBLOCK);
    (void)state;
    if (fallback)
        c.initial_chunks = 1;
    fixture_init(&f, &c, e);
    if (fallback)
        stream_set_grow(f.set, mine(&f), 3);
    for (int i = 0; i < 31; i++) /* 32 records are 4 chunks: the 16th crosses the half */
        assert_int_equal(fixture_write(&f, zeros, 512 - 80), 0);
    assert_int_equal(read(e, &n, sizeof n), sizeof n);
    assert_int_equal(n, 1);
    struct stream_record r;
    stream_snapshot(f.set);
    while (stream_peek(f.set, mine(&f), &r))
        stream_pop(f.set, mine(&f));
    stream_release(f.set, mine(&f), stream_position(f.set, mine(&f)));
    for (int i = 0; i < 20; i++)
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

/* The thread that crosses the mark can be killed before it signals: whoever then finds no room does it. But once all memory is
 * granted, or where there never is any, a refused event costs no system call. */
static void test_lost_wake(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(1, 12, 4, 2);
    int                  e = eventfd(0, EFD_NONBLOCK);
    (void)state;
    if (fallback)
        c.initial_chunks = 1;
    fixture_init(&f, &c, e);
    while (fixture_write(&f, zeros, 512 - 80) == 0)
        ;
    assert_true(signalled(e)); /* taken away: as if it had never come */
    assert_int_equal(fixture_write(&f, zeros, 512 - 80), W_NOT_ENOUGH_MEMORY);
    assert_true(signalled(e));
    while (stream_set_grow(f.set, mine(&f), 1) == 1)
        ;
    while (fixture_write(&f, zeros, 512 - 80) == 0)
        ;
    signalled(e);
    assert_int_equal(fixture_write(&f, zeros, 512 - 80), W_NOT_ENOUGH_MEMORY);
    assert_false(signalled(e));
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
    assert_int_equal(run.events, 0); /* older than, not equal */
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
    assert_in_range(g.data1, 1, COPY_PROVIDERS);
    assert_true(count > 0);
    c->told[g.data1 - 1] += count;
}
/* What was written and what is told of it: whole records one behind the other, with the sizes, providers and bytes of test_copy. */
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

/* Records of all sizes across the steps in which they are copied and the ends of chunks, into buffers of all sizes. */
static void test_copy(void **state)
{
    enum { EVENTS = 6000, ROOM = 100000 };
    struct fixture       f;
    struct stream_config c = fixture_config(1, 16, 10, 8);
    struct copied        seen = {0};
    const struct stream_tally tally = {copied_told, &seen};
    static uint8_t       payload[9001], out[ROOM];
    uint64_t             written = 0;
    (void)state;
    fixture_init(&f, &c, -1);
    for (unsigned round = 0; seen.number < EVENTS; round++) {
        for (wstatus st = 0; !st && written < EVENTS;) {
            const uint32_t          size = (uint32_t)(written * 7919 % 9001);
            struct etl_event_header h = {.header_type = ETL_EVENT64, .marker = ETL_MARKER, .provider = {.data1 = (uint32_t)(1 + written / 5 % COPY_PROVIDERS)}};
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
    stream_counters(f.set, &n);
    assert_int_equal(n.events, EVENTS);
    assert_int_equal(n.corrupt + n.abandoned, 0);
    fixture_finish(&f);
}

/* A client that writes nonsense: positions, sizes, types. The reader ends, counts, and stays inside. */
static void test_hostile(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(1, 12, 8, 2);
    struct stream_record r;
    uint8_t              out[8192];
    (void)state;
    fixture_init(&f, &c, -1);
    static const uint64_t bad_wpos[] = {UINT64_MAX, 1 << 20, 13, 8192 + 8, UINT64_MAX - 7};
    for (unsigned i = 0; i < sizeof bad_wpos / sizeof *bad_wpos; i++) {
        f.view.stream[0].wpos = bad_wpos[i];
        stream_snapshot(f.set);
        while (stream_peek(f.set, 0, &r))
            stream_pop(f.set, 0);
        assert_true(stream_position(f.set, 0) <= 8192);
    }
    struct stream_counters n;
    stream_counters(f.set, &n);
    assert_true(n.corrupt >= 5);
    assert_int_equal(n.events, 0);
    fixture_finish(&f);

    static const uint32_t first_word[] = {0xC0130000u, 0xC013FFFFu, 0xC0130010u, 0xC0550060u, 0x90130060u, 0u};
    for (unsigned i = 0; i < sizeof first_word / sizeof *first_word; i++) {
        fixture_init(&f, &c, -1);
        assert_int_equal(fixture_write(&f, out, 64), 0);
        memcpy(f.view.chunks + 144, &first_word[i], 4);
        f.view.stream[0].wpos = 144 + 2000;
        stream_snapshot(f.set);
        assert_true(stream_peek(f.set, 0, &r));
        stream_pop(f.set, 0);
        assert_false(stream_peek(f.set, 0, &r));
        stream_counters(f.set, &n);
        assert_int_equal(n.corrupt, 1);
        fixture_finish(&f);
    }
}

static void test_hostile_view(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(2, 12, 8, 2);
    struct reason        why;
    struct ring_view     v;
    (void)state;
    fixture_init(&f, &c, -1);
    uint8_t *control = malloc(f.control_size);
    memcpy(control, f.control, f.control_size);
    struct shm_control *sc = (void *)control;
#define REFUSED(change, undo)                                                                                      \
    change;                                                                                                        \
    assert_int_equal(ring_view_init(&v, control, f.control_size, f.data, f.data_size, -1, &why), W_INVALID_DATA);   \
    undo
    REFUSED(sc->header.magic++, sc->header.magic--);
    REFUSED(sc->header.major++, sc->header.major--);
    REFUSED(sc->stream_count++, sc->stream_count--);
    REFUSED(sc->chunk_shift = 30, sc->chunk_shift = 12);
    REFUSED(sc->chunk_count = 9, sc->chunk_count = 8);
    REFUSED(sc->max_event = 5000, sc->max_event = 4024);
    struct shm_stream_control *st = (void *)(control + sc->stream_offset);
    REFUSED(st[1].table_offset += 1 << 20, st[1].table_offset -= 1 << 20);
    REFUSED(st[1].table_mask = 6, st[1].table_mask = 7);
    assert_int_equal(ring_view_init(&v, control, 64, f.data, f.data_size, -1, &why), W_INVALID_DATA);
    assert_int_equal(ring_view_init(&v, control, f.control_size, f.data, 64, -1, &why), W_INVALID_DATA);
    assert_int_equal(ring_view_init(&v, control, f.control_size, f.data, f.data_size, -1, &why), 0);
    /* a table entry beyond the memory is a loss, not a write */
    uint32_t *table = (uint32_t *)(void *)(control + st[0].table_offset);
    table[0] = table[1] = 8;
    for (unsigned i = 0; i < 3; i++)
        ((uint32_t *)(void *)(control + st[i].table_offset))[0] = 8;
    f.view = v;
    assert_int_equal(fixture_write(&f, "x", 1), W_NOT_ENOUGH_MEMORY);
    free(control);
    fixture_finish(&f);
}

static void test_adopt(void **state)
{
    struct fixture       f;
    struct stream_config c = fixture_config(1, 12, 8, 2);
    struct stream_record r;
    struct reason        why;
    struct stream_set   *next;
    (void)state;
    fixture_init(&f, &c, -1);
    stream_set_grow(f.set, mine(&f), fallback);
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
    assert_int_equal(stream_set_granted(f.set), 3 + fallback);
    assert_int_equal(stream_set_grow(f.set, mine(&f), 99), 5 - fallback);
    assert_int_equal(fixture_write(&f, zeros, 100), 0); /* the writer never noticed */
    fixture_finish(&f);
}

/* A predecessor that took chunks back died between lowering the limit and seeing that a writer was beyond it already. */
static void test_adopt_below_a_writer(void **state)
{
    enum { EVENTS = 25 }; /* 7 in a chunk */
    struct fixture       f;
    struct stream_config c = fixture_config(1, 12, 16, 4);
    struct stream_record r;
    struct reason        why;
    struct stream_set   *next;
    (void)state;
    fixture_init(&f, &c, -1);
    if (fallback)
        stream_set_grow(f.set, mine(&f), 3);
    uint8_t payload[504] = {0};
    for (; payload[0] < EVENTS; payload[0]++)
        assert_int_equal(fixture_write(&f, payload, sizeof payload), 0);
    struct shm_stream_control *sc = (struct shm_stream_control *)(uintptr_t)(const void *)(stream_set_control(f.set) + 1) + mine(&f);
    assert_int_equal(sc->limit, 4 * 4096);
    sc->limit              = 3 * 4096;
    const uint64_t rpos[2] = {0, 0};
    assert_int_equal(stream_set_adopt(dup(stream_set_data_fd(f.set)), dup(stream_set_control_fd(f.set)), rpos, &next, &why), 0);
    stream_set_destroy(f.set);
    f.set = next;
    stream_snapshot(f.set);
    for (uint8_t i = 0; i < EVENTS; i++) {
        assert_true(stream_peek(f.set, mine(&f), &r));
        assert_int_equal(r.data[80], i);
        stream_pop(f.set, mine(&f));
    }
    struct stream_counters counters;
    stream_counters(f.set, &counters);
    assert_int_equal(counters.corrupt + counters.abandoned, 0);
    assert_int_equal(stream_set_granted(f.set), 4 + (fallback ? 4 : 1));
    assert_int_equal(fixture_write(&f, payload, 100), 0);
    fixture_finish(&f);
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

#define F(test)                                                                                                    \
    static void test##_fallback(void **state) { test(state); }
F(test_laps)
F(test_full)
F(test_wake)
F(test_lost_wake)
F(test_adopt)
F(test_adopt_below_a_writer)
F(test_closed)

int main(void)
{
    pin();
#define FT(test) cmocka_unit_test_setup_teardown(test##_fallback, on_fallback, off_fallback)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory), cmocka_unit_test(test_shift), cmocka_unit_test(test_laps),
        cmocka_unit_test(test_full), cmocka_unit_test(test_nothing_granted), cmocka_unit_test(test_closed),
        cmocka_unit_test(test_wake), cmocka_unit_test(test_lost_wake), cmocka_unit_test(test_horizon), cmocka_unit_test(test_copy), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_hostile_view), cmocka_unit_test(test_adopt), cmocka_unit_test(test_adopt_below_a_writer),
        FT(test_laps), FT(test_full), FT(test_wake), FT(test_lost_wake), FT(test_adopt), FT(test_adopt_below_a_writer), FT(test_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
