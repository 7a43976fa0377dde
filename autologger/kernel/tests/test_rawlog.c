/* A ring of raw records that becomes larger and smaller while it is written and read: nothing that is in it moves,
 * memory is taken and given back, a writer that is killed in the middle leaves what it had published. Proves: issue 4,
 * UPDATE of a running session. */
// timeout: 240
#include "autologger/kernel/source/rawlog.h"
#include "registry-sim/base/invariant.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { START = 256 << 10, MOST = 4 << 20 };
#ifdef AL_SANITIZED
enum { STEPS = 400, KILLS = 100 };
#else
enum { STEPS = 1500, KILLS = 300 };
#endif

static uint32_t seed = 1;
static uint32_t dice(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)seed * below) >> 32);
}

static uint64_t word_at(uint64_t pos) { return (pos + 1) * UINT64_C(0x9E3779B97F4A7C15); }

static void log_new(struct rawlog *log, uint64_t bytes, uint64_t most)
{
    static const struct raw_source source;
    struct reason                  why = {0};
    if (rawlog_init(log, bytes, most, 2, &source, 1, &why))
        fail_msg("%s", why.text);
}

static void write_words(struct rawlog *log, uint64_t words)
{
    for (; words; words--) {
        const uint64_t w = word_at(log->work->write_pos);
        rawlog_append(log, &w, sizeof w);
    }
}

/* Writes fewer than `below` words, as many as fit. */
static void write_some(struct rawlog *log, uint32_t below)
{
    const uint64_t room = rawlog_room(log) / 8, wish = dice(below);
    write_words(log, wish < room ? wish : room);
}

/* Does the reader see all words? Also in one copy, as it reads a chunk. */
static bool all_there(struct rawlog *log, uint64_t from)
{
    uint64_t horizon, until = rawlog_live(log, &horizon);
    for (uint64_t pos = from; pos < until; pos += 8) {
        uint64_t w;
        memcpy(&w, rawlog_seen(log, pos), sizeof w);
        if (w != word_at(pos))
            return false;
    }
    if (until > from && until - from <= log->seen_size) { /* mapped twice in a row */
        uint64_t last;
        memcpy(&last, rawlog_seen(log, from) + (until - from - 8), sizeof last);
        return last == word_at(until - 8);
    }
    return until == from;
}

static void successor_sees_the_same(const struct rawlog *log)
{
    struct rawlog next;
    struct reason why = {0};
    if (rawlog_attach(&next, dup(log->fd), &why))
        fail_msg("%s", why.text);
    assert_int_equal(next.size, log->size);
    assert_true(all_there(&next, next.header->free_pos));
    rawlog_finish(&next);
}

static void records_stay_where_they_are(void **state)
{
    struct rawlog log;
    unsigned      larger = 0, smaller = 0, refused = 0, shared = 0;
    (void)state;
    log_new(&log, START, MOST);
    assert_true(log.size == START && log.header->data_most == MOST);
    for (int step = 0; step < STEPS; step++) {
        const uint64_t size = log.size, free = log.header->free_pos;
        if (dice(3))
            write_some(&log, (uint32_t)(size / 8 + 200));
        else
            write_words(&log,
                        rawlog_room(&log) / 8); /* to the brim: the newest record lies in the piece of the oldest */
        rawlog_publish(&log);
        const bool unpublished = dice(2); /* R4 holds for unpublished records, too */
        if (unpublished)
            write_some(&log, 300);
        if (dice(2)) {
            struct reason  why;
            const uint64_t wish = START / 4 + dice(MOST), piece = log.header->piece_bytes;
            const bool     one =
                (log.work->write_pos - 1) / piece - free / piece == log.header->layouts[log.header->layout].count;
            const wstatus st = rawlog_resize(&log, wish, &why);
            shared += one && log.size > size;
            refused += st == W_BUSY;
            assert_true(st == 0 || (st == W_BUSY && wish < size && log.size == size && why.text[0]));
            larger += log.size > size;
            smaller += log.size < size;
            if (!st)
                assert_true(log.size >= (wish < MOST ? wish : MOST) && log.size < wish + log.header->piece_bytes &&
                            log.size <= MOST);
        }
        if (unpublished)
            rawlog_publish(&log);
        if (dice(2))
            assert_true(all_there(&log, free));
        if (step % 16 == 0)
            successor_sees_the_same(&log);
        const uint64_t used = rawlog_published(&log)->write_pos - free;
        if (dice(2))
            rawlog_free(&log, free + dice((uint32_t)(used / 8 + 1)) * 8);
        else if (dice(2))
            rawlog_free(&log, free + used - dice((uint32_t)(used / 64 + 1)) * 8);
        if (dice(8) == 0)
            rawlog_trim(&log);
    }
    print_message("larger %u, smaller %u, refused %u, with a piece for two %u\n", larger, smaller, refused, shared);
    assert_true(larger > STEPS / 50 && smaller > STEPS / 150 && refused > STEPS / 150 && shared > STEPS / 150);
    rawlog_finish(&log);
}

static uint64_t memory_of(const struct rawlog *log)
{
    struct stat st;
    assert_int_equal(fstat(log->fd, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

static void memory_comes_and_goes(void **state)
{
    struct rawlog log;
    struct reason why;
    (void)state;
    log_new(&log, START, MOST);
    const uint64_t head = log.header->header_bytes;
    for (int round = 0; round < 5; round++) {
        assert_int_equal(rawlog_resize(&log, MOST, &why), 0);
        write_words(&log, rawlog_room(&log) / 8);
        assert_int_equal(rawlog_room(&log), 0);
        rawlog_publish(&log);
        assert_true(all_there(&log, log.header->free_pos) && memory_of(&log) >= MOST);
        assert_int_equal(rawlog_resize(&log, START, &why), W_BUSY);
        rawlog_free(&log, log.work->write_pos - START / 4);
        assert_int_equal(rawlog_resize(&log, START, &why), 0);
        rawlog_trim(&log);
        assert_true(memory_of(&log) <= head + START);
        write_words(&log, rawlog_room(&log) / 8);
        rawlog_publish(&log);
        assert_true(all_there(&log, log.header->free_pos) && memory_of(&log) <= head + START && rawlog_room(&log) == 0);
    }
    rawlog_finish(&log);
    log_new(&log, START, 0); /* as in the early program, without a maximum */
    assert_int_equal(rawlog_resize(&log, MOST, &why), 0);
    assert_int_equal(log.size, START);
    rawlog_finish(&log);
}

/* ---- a writer, a reader, and a thread that changes the size ---- */

struct stand {
    struct rawlog   log;
    pthread_mutex_t lock; /* the drainer's */
    bool            stop;
    uint64_t        read;
    bool            wrong;
};

static void *read_on(void *ctx)
{
    struct stand *t    = ctx;
    uint64_t      free = 0, horizon;
    for (bool last = false; !last && !t->wrong;) {
        last                 = __atomic_load_n(&t->stop, __ATOMIC_ACQUIRE);
        const uint64_t until = rawlog_live(&t->log, &horizon);
        for (; t->read < until && !t->wrong; t->read += 8) {
            uint64_t w;
            memcpy(&w, rawlog_seen(&t->log, t->read), sizeof w);
            t->wrong = w != word_at(t->read);
            if (t->read - free > 100000) {
                rawlog_free(&t->log, t->read);
                free = t->read;
            }
        }
        if (free != t->read)
            rawlog_free(&t->log, t->read);
        free = t->read;
    }
    return NULL;
}

static void *resize_on(void *ctx)
{
    struct stand *t = ctx;
    struct reason why;
    for (uint32_t i = 0; !__atomic_load_n(&t->stop, __ATOMIC_ACQUIRE); i++) {
        pthread_mutex_lock(&t->lock);
        wstatus st = rawlog_resize(&t->log, START / 4 + i % 7 * (MOST / 7), &why);
        pthread_mutex_unlock(&t->lock);
        if (!st)
            rawlog_trim(&t->log);
        usleep(200);
    }
    return NULL;
}

static void reader_and_writer_go_on(void **state)
{
    struct stand t = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t    reader, resizer;
    (void)state;
    log_new(&t.log, START, MOST);
    assert_int_equal(pthread_create(&reader, NULL, read_on, &t), 0);
    assert_int_equal(pthread_create(&resizer, NULL, resize_on, &t), 0);
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&t.lock);
        write_some(&t.log, 4000);
        rawlog_publish(&t.log);
        pthread_mutex_unlock(&t.lock);
        if (i % 16 == 0)
            usleep(100);
    }
    __atomic_store_n(&t.stop, true, __ATOMIC_RELEASE);
    pthread_join(reader, NULL);
    pthread_join(resizer, NULL);
    assert_false(t.wrong);
    assert_int_equal(t.read, t.log.work->write_pos);
    assert_true(t.read > MOST);
    rawlog_finish(&t.log);
}

/* ---- killed ---- */

__attribute__((noreturn)) static void victim(struct rawlog *log)
{
    struct reason why;
    for (;;) {
        write_some(log, 3000);
        rawlog_publish(log);
        const uint64_t free = log->header->free_pos, used = rawlog_published(log)->write_pos - free;
        rawlog_free(log, free + dice((uint32_t)(used / 8 + 1)) * 8);
        if (rawlog_resize(log, START / 4 + dice(MOST), &why) == 0)
            rawlog_trim(log);
    }
}

static void who_is_killed_in_the_middle_has_lost_nothing(void **state)
{
    struct rawlog log;
    unsigned      sizes  = 0;
    uint64_t      before = 0;
    (void)state;
    log_new(&log, START, MOST);
    seed = (uint32_t)time(NULL);
    print_message("seed %u\n", seed);
    /* on a busy machine many are killed before their first step */
    for (int i = 0; i < KILLS || (sizes <= KILLS / 4 && i < 20 * KILLS); i++) {
        int  runs[2];
        char byte;
        assert_int_equal(pipe(runs), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct rawlog own;
            struct reason why;
            if (rawlog_attach(&own, dup(log.fd), &why) || write(runs[1], "x", 1) != 1)
                _exit(1);
            victim(&own);
        }
        close(runs[1]);
        assert_int_equal(read(runs[0], &byte, 1), 1);
        close(runs[0]);
        usleep(500 + dice(3000));
        int status;
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        struct rawlog next;
        struct reason why = {0};
        if (rawlog_attach(&next, dup(log.fd), &why))
            fail_msg("%s", why.text);
        assert_true(all_there(&next, next.header->free_pos));
        sizes += next.size != before;
        before = next.size;
        dice(2);
        rawlog_finish(&next);
    }
    assert_true(sizes > KILLS / 4);
    rawlog_finish(&log);
}

/* ---- damage ---- */

static void refused(const struct rawlog *log, const char *what)
{
    struct rawlog next;
    struct reason why = {0};
    if (rawlog_attach(&next, dup(log->fd), &why) != W_INVALID_DATA || !strstr(why.text, "damaged"))
        fail_msg("%s: %s", what, why.text);
    rawlog_finish(&next);
}

static void damaged_layouts_are_refused(void **state)
{
    struct rawlog log;
    struct reason why;
    (void)state;
    log_new(&log, START, MOST);
    assert_int_equal(rawlog_resize(&log, MOST / 2, &why), 0);
    successor_sees_the_same(&log);
    struct raw_header      *h    = log.header;
    const struct raw_header good = *h;
    struct raw_layout      *l    = &h->layouts[h->layout];
#define DAMAGE(what) \
    do { \
        what; \
        refused(&log, #what); \
        *h = good; \
    } while (0)
    DAMAGE(h->layout = 2);
    DAMAGE(l->count = 0);
    DAMAGE(l->count = RAW_PIECES + 1);
    DAMAGE(l->count = UINT32_MAX);
    DAMAGE(l->piece[3] = l->piece[7]);
    DAMAGE(l->piece[l->count - 1] = (uint16_t)(h->data_most / h->piece_bytes));
    DAMAGE(l->piece[0] = UINT16_MAX);
    DAMAGE(h->piece_bytes = 0);
    DAMAGE(h->piece_bytes = 8);
    DAMAGE(h->piece_bytes *= 3);
    DAMAGE(h->data_most += h->piece_bytes);
    DAMAGE(h->data_most = 0);
    DAMAGE(h->header_bytes += 8);
#undef DAMAGE
    successor_sees_the_same(&log);
    rawlog_finish(&log);
}

/* Any size: the list of pieces has a fixed length, so pieces become larger. */
static void sizes_from_small_to_large(void **state)
{
    static const struct {
        uint64_t bytes, most;
    } wish[] = {{0, 0},
                {1, 1},
                {65537, 65536},
                {8 << 20, 64 << 20},
                {UINT64_C(512) << 20, UINT64_C(512) << 20},
                {(UINT64_C(3) << 30) + 4096, UINT64_C(9) << 30}};
    (void)state;
    for (size_t i = 0; i < sizeof wish / sizeof *wish; i++) {
        struct rawlog log;
        struct reason why;
        log_new(&log, wish[i].bytes, wish[i].most);
        assert_true(log.size >= wish[i].bytes && log.size >= 65536 &&
                    log.size <= wish[i].bytes + 65536 + log.header->piece_bytes);
        assert_true(log.header->data_most / log.header->piece_bytes <= RAW_PIECES);
        assert_int_equal(rawlog_resize(&log, UINT64_MAX, &why), 0);
        assert_int_equal(log.size, log.header->data_most);
        assert_int_equal(rawlog_resize(&log, 0, &why), 0);
        assert_int_equal(log.size, log.header->piece_bytes);
        successor_sees_the_same(&log);
        rawlog_finish(&log);
    }
    struct rawlog                  log;
    static const struct raw_source source;
    assert_int_equal(rawlog_init(&log, UINT64_MAX, 0, 1, &source, 1, NULL), W_INVALID_PARAMETER);
    rawlog_finish(&log);
}

/* R2 is seen to fail: a reader that frees what was never published, or gives back what it freed. */
static void positions_only_grow(void **state)
{
    (void)state;
    struct rawlog log;
    log_new(&log, 1 << 20, 0);
    write_words(&log, 64);
    rawlog_publish(&log);
    invariant_count_only(true);
    rawlog_free(&log, log.header->free_pos + 64);
    assert_int_equal(invariant_count(), 0);
    const uint64_t freed = log.header->free_pos;
    rawlog_free(&log, log.header->live_pos + 8);
    assert_int_equal(invariant_count(), 1);
    assert_non_null(strstr(invariant_first(), "rawlog.c:"));
    rawlog_free(&log, freed - 8);
    assert_int_equal(invariant_count(), 2);
    invariant_count_only(true);
    rawlog_finish(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_only_grow),
        cmocka_unit_test(records_stay_where_they_are),
        cmocka_unit_test(memory_comes_and_goes),
        cmocka_unit_test(reader_and_writer_go_on),
        cmocka_unit_test(who_is_killed_in_the_middle_has_lost_nothing),
        cmocka_unit_test(damaged_layouts_are_refused),
        cmocka_unit_test(sizes_from_small_to_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
