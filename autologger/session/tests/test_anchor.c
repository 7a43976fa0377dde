/* The anchor of a session's times (D-05): its files start when the session started, whatever the daemon's age; their
 * dates follow the system's, also in the header of a file that is being written; and the clock, which gives elapsed
 * times, does not. */
#include "autologger/etl/header.h"
#include "autologger/session/anchor.h"
#include "autologger/session/realtime.h"
#include "autologger/session/tests/fixture.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/filetime.h"

#include <fcntl.h>
#include <glob.h>
#include <time.h>

enum { SECOND = 10000000 };
#define YEARS (UINT64_C(40) * 365 * 86400 * 1000000000)

static uint64_t behind; /* ns: how late the system's date is */
static uint64_t wrong_date(struct os *os)
{
    (void)os;
    return os_linux()->realtime_ns(os_linux()) - behind;
}

static uint64_t now(void) { return filetime_from_unix_ns(os_linux()->realtime_ns(os_linux())); }
static void     nap(unsigned ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static void header_of(const char *path, struct etl_file_header *out)
{
    struct etl_reader *r = NULL;
    assert_int_equal(etl_reader_open(path, &r, NULL), 0);
    *out = *etl_reader_header(r); /* pointers to names are not used */
    etl_reader_close(r);
}

static void near(uint64_t a, uint64_t b) /* allows 2 s for a busy machine */
{
    if ((a > b ? a - b : b - a) > 2 * SECOND)
        fail_msg("%llu is %lld s from %llu", (unsigned long long)a, (long long)(a - b) / SECOND, (unsigned long long)b);
}

static struct session *begin(struct fixture *f, struct os *os, struct plan_text *t, uint32_t clock_type)
{
    struct plan     p = plan_make(f, t, "anchored", 64, 2 * f->env.cpus, 8 * f->env.cpus);
    struct session *s = NULL;
    struct reason   why;
    p.clock_type = clock_type;
    f->env.os    = os;
    assert_int_equal(table_add(&f->table, &p, &s, &why), 0);
    assert_int_equal(session_start(s, &why), 0);
    session_fs_ready(s);
    assert_int_equal(session_flush(s), 0);
    return s;
}

/* The daemon is 1,000 s old. */
static void age(struct fixture *f)
{
    struct clock_anchor *a = &f->env.anchor;
    a->raw_ns -= UINT64_C(1000000000000);
    a->tsc -= 1000 * a->tsc_hz;
    a->filetime -= UINT64_C(1000) * SECOND;
}

static void starts_with_its_session(void **state)
{
    struct fixture         f;
    struct plan_text       t;
    struct etl_file_header h;
    (void)state;
    for (uint32_t type = 1; type <= 3; type++) {
        fixture_init(&f, true);
        age(&f);
        const uint64_t  boot = f.env.anchor.boot_filetime, start = now();
        struct session *s = begin(&f, os_linux(), &t, type);
        nap(200);
        session_stop(s);
        header_of(t.path, &h);
        near((uint64_t)h.raw.start_time, start);
        near((uint64_t)h.raw.boot_time, boot);
        assert_true(h.raw.end_time - h.raw.start_time >= SECOND / 5);
        fixture_finish(&f);
    }
}

/* Many virtual machines have no processor counter: the performance counter replaces it, and the file, the query and a
 * condition say so. */
static void says_which_clock_it_has(void **state)
{
    static const uint32_t   in_file[] = {0, 1, 2, 1};
    struct fixture          f;
    struct plan_text        t;
    struct etl_file_header  h;
    struct ctl_session_info info;
    (void)state;
    for (uint32_t type = 1; type <= 3; type++) {
        fixture_init(&f, true);
        f.env.machine =
            (struct clock_machine){.cpu_mhz = 2400, .why_not = "the kernel's clocksource is 'hpet', not tsc"};
        clock_anchor_take(&f.env.machine, &f.env.anchor);
        const uint64_t  start = now();
        struct session *s     = begin(&f, os_linux(), &t, type);
        session_info(s, &info);
        assert_int_equal(info.clock_type, in_file[type]);
        assert_int_equal(s->state->clock_type, type); /* the declared type stays: a session's profile contains it */
        unsigned told = 0;
        for (unsigned i = 0; i < s->conditions.count; i++)
            told += strcmp(s->conditions.items[i].item, "ClockType") == 0 &&
                    strstr(s->conditions.items[i].reason, "so QPC is used") &&
                    strstr(s->conditions.items[i].reason, "hpet");
        assert_int_equal(told, type == 3);
        nap(300);
        session_stop(s);
        header_of(t.path, &h);
        assert_int_equal(h.raw.clock_type, in_file[type]);
        near((uint64_t)h.raw.start_time, start);
        assert_true(h.raw.end_time - h.raw.start_time >= 3 * SECOND / 10 &&
                    h.raw.end_time - h.raw.start_time < 100 * SECOND);
        fixture_finish(&f);
    }
}

static void date_is_the_systems(void **state)
{
    struct fixture         f;
    struct plan_text       t;
    struct etl_file_header early, running, h;
    struct os              os = *os_linux();
    (void)state;
    os.realtime_ns = wrong_date;
    for (int told = 0; told < 2; told++) { /* 1: the daemon noticed the change; 0: nobody did before the end */
        fixture_init(&f, true);
        behind                = YEARS;
        const uint64_t  start = now(), boot = f.env.anchor.boot_filetime;
        struct session *s = begin(&f, &os, &t, 1);
        header_of(t.path, &early);
        near((uint64_t)early.raw.start_time, start - YEARS / 100);
        near((uint64_t)early.raw.boot_time, boot - YEARS / 100);
        nap(300);
        behind = 0;
        for (int tries = 0; told; tries++) { /* the file while it is written */
            session_date_set(s);
            nap(50);
            header_of(t.path, &running);
            if ((uint64_t)running.raw.start_time > start - SECOND)
                break;
            assert_true(tries < 100);
        }
        session_stop(s);
        header_of(t.path, &h);
        near((uint64_t)h.raw.start_time, start);
        near((uint64_t)h.raw.boot_time, boot);
        assert_int_equal(h.start_raw, early.start_raw);
        assert_int_equal(h.raw.perf_freq, early.raw.perf_freq);
        assert_int_equal(h.raw.start_time - h.raw.boot_time, early.raw.start_time - early.raw.boot_time);
        near((uint64_t)h.raw.end_time, now());
        fixture_finish(&f);
    }
}

/* A session whose clock is the system's date keeps the dates it read; one with another machine's clock keeps its
 * dates. */
static void others_stay(void **state)
{
    struct fixture         f;
    struct plan_text       t;
    struct etl_file_header h;
    struct os              os = *os_linux();
    (void)state;
    os.realtime_ns = wrong_date;
    for (int gone = 0; gone < 2; gone++) {
        fixture_init(&f, true);
        behind                = gone ? YEARS : 0;
        const uint64_t  start = now() - behind / 100;
        struct session *s     = begin(&f, &os, &t, gone ? 1 : 2);
        f.env.clock_gone      = gone;
        behind                = gone ? 0 : YEARS;
        session_stop(s);
        header_of(t.path, &h);
        near((uint64_t)h.raw.start_time, start);
        assert_true(gone || h.raw.start_time == h.start_raw);
        fixture_finish(&f);
    }
}

/* The same for the backup file of a real-time session, which gives later consumers their header. */
static void consumers_get_it(void **state)
{
    struct fixture   f;
    struct plan_text t;
    struct os        os = *os_linux();
    struct session  *s  = NULL;
    struct reason    why;
    struct program   w;
    unsigned         slot, entry;
    glob_t           found = {0};
    char             pattern[128];
    uint64_t         early, late;
    (void)state;
    os.realtime_ns = wrong_date;
    behind         = YEARS;
    fixture_init(&f, false);
    f.env.os                        = &os;
    f.env.log_dir                   = f.dir;
    f.env.realtime                  = &realtime_delivery;
    const uint64_t            start = now();
    const struct enable_terms all   = {0};
    struct plan               p     = plan_make(&f, &t, "anchored", 64, 2 * f.env.cpus, 8 * f.env.cpus);
    p.log_path                      = NULL;
    p.log_file_mode                 = ETL_MODE_REAL_TIME;
    p.flush_timer                   = 1;
    assert_int_equal(table_add(&f.table, &p, &s, &why), 0);
    assert_int_equal(session_enable(s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    assert_int_equal(session_start(s, &why), 0);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    session_fs_ready(s);
    assert_int_equal(program_write(&w, "event", 6), 0);
    logger_pass(s->logger, false, true);
    snprintf(pattern, sizeof pattern, "%s/RtBackup/*.etl", f.dir);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    int fd = open(found.gl_pathv[0], O_RDONLY);
    assert_int_equal(pread(fd, &early, sizeof early, HEADER_AT_BOOT_TIME + 16), sizeof early);
    behind = 0;
    session_anchor_stamp(s, NULL);
    assert_int_equal(pread(fd, &late, sizeof late, HEADER_AT_BOOT_TIME + 16), sizeof late);
    near(early, start - YEARS / 100);
    near(late, start);
    close(fd);
    globfree(&found);
    session_stop(s);
    fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(starts_with_its_session),
                                       cmocka_unit_test(says_which_clock_it_has), cmocka_unit_test(date_is_the_systems),
                                       cmocka_unit_test(others_stay), cmocka_unit_test(consumers_get_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
