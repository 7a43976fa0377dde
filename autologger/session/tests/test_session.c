/* Sessions as a whole: held in memory, written, merged over UIDs, full, refused, flushed by time.
 * Proves: LGT-03, LGT-04, ENB-08, SPC-06, SES-18, COR-17, COR-19, COR-20, COR-22, COR-23, SES-01, SES-22, REG-26,
 * REG-23. */
#include "autologger/session/tests/fixture.h"

#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

static struct session *add(struct fixture *f, struct plan_text *t, const char *name, uint32_t kb, uint32_t min,
                           uint32_t max, unsigned *slot, unsigned *entry)
{
    struct plan         plan = plan_make(f, t, name, kb, min, max);
    struct session     *s    = NULL;
    struct enable_terms all  = {0};
    struct reason       why  = {0};
    assert_int_equal(table_add(&f->table, &plan, &s, &why), 0);
    assert_int_equal(session_enable(s, &test_provider, "key", &all, slot, entry, &why), 0);
    assert_int_equal(session_start(s, &why), 0);
    return s;
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* A writer that is faster than the disk: it fills its stream while a buffer is written. */
static struct program *hurried;
static unsigned        in_a_hurry;
static ssize_t         hurrying_pwrite(struct os *os, int fd, const void *data, size_t size, uint64_t offset)
{
    static const uint8_t payload[1000];
    for (unsigned i = 0; size > 4096 && hurried && i < in_a_hurry; i++)
        program_write(hurried, payload, sizeof payload);
    return os_linux()->pwrite(os, fd, data, size, offset);
}

/* Whatever a writer does during a pass of the logger: afterwards it can wake the logger. Otherwise its events would be
 * lost for ever. */
static void a_writer_that_fills_its_stream_meanwhile_wakes_the_logger(void **state)
{
    static const uint8_t payload[1000];
    (void)state;
    for (in_a_hurry = 0; in_a_hurry < 400; in_a_hurry += 25) {
        struct fixture   f;
        struct plan_text t;
        struct program   w;
        struct os        os = *os_linux();
        unsigned         slot, entry;
        uint64_t         value = 0;
        fixture_init(&f, false);
        os.pwrite         = hurrying_pwrite;
        f.env.os          = &os;
        hurried           = NULL;
        struct session *s = add(&f, &t, "hurry", 64, 8, 8, &slot, &entry);
        session_fs_ready(s);
        program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
        for (unsigned i = 0; i < 150; i++)
            program_write(&w, payload, sizeof payload);
        hurried = &w;
        logger_pass(s->logger, false, false);
        hurried = NULL;
        while (read(s->uid[0].event_fd, &value, sizeof value) == sizeof value) /* former wake-ups */
            ;
        while (program_write(&w, payload, sizeof payload) == 0) /* until it is refused */
            ;
        assert_int_equal(read(s->uid[0].event_fd, &value, sizeof value), sizeof value);
        session_stop(s);
        fixture_finish(&f);
    }
}

static void held_until_the_file_system_is_ready(void **state)
{
    struct fixture   f;
    struct plan_text t;
    struct program   w;
    unsigned         slot, entry;
    (void)state;
    fixture_init(&f, true);
    struct session *s = add(&f, &t, "held", 64, 8, 64, &slot, &entry);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    for (int i = 0; i < 1400; i++)
        assert_int_equal(program_write(&w, &i, sizeof i), 0);
    usleep(50000);
    assert_false(exists(t.path));
    session_fs_ready(s);
    for (int i = 0; i < 1400; i++)
        assert_int_equal(program_write(&w, &i, sizeof i), 0);
    session_stop(s);
    struct ctl_session_info info;
    session_info(s, &info);
    struct found found = file_read(t.path);
    assert_int_equal(found.events, 2800);
    assert_int_equal(found.inversions + found.damage + found.lost, 0);
    assert_int_equal(info.events_written, 2800);
    struct session_provider provider;
    assert_true(session_provider(s, 0, &provider));
    assert_int_equal(provider.events, 2800); /* counts the events in the file */
    assert_string_equal(provider.key, "key");
    assert_false(provider.refused.by_level || provider.refused.by_keywords);
    assert_false(session_provider(s, 1, &provider));
    assert_int_equal(info.late_events, 0);
    assert_int_equal(info.state, SESSION_STOPPED);
    fixture_finish(&f);
}

/* Refused events are reported: the lowest level and all keywords of those refused, of this provider alone. */
static void what_is_kept_out_is_known(void **state)
{
    struct fixture          f;
    struct plan_text        t;
    struct program          w, other;
    unsigned                slot, entry;
    struct session_provider p;
    (void)state;
    fixture_init(&f, true);
    struct session *s = add(&f, &t, "picky", 64, 8, 64, &slot, &entry);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    program_attach(&other, s, 12345, slot, entry);
    struct shm_enable enable = {.enabled = 1, .level = 3, .any = 0x40};
    ring_refuse(&w.view, &enable, slot, 5, 0x1);
    ring_refuse(&w.view, &enable, slot, 4, 0x2);
    ring_refuse(&other.view, &enable, slot, 2, 0x8); /* the level passes, the keyword does not */
    ring_refuse(&w.view, &enable, slot, 2, 0x10);
    ring_refuse(&w.view, &enable, slot + SHM_REFUSALS, 4, 0xF00); /* the place is in use: not reported */
    assert_true(session_provider(s, 0, &p));
    assert_true(p.refused.by_level && p.refused.by_keywords);
    assert_int_equal(p.refused.level, 4);
    assert_int_equal(p.refused.keywords, 0x18);
    stream_refused_forget(s->uid[0].streams, slot);
    stream_refused_forget(s->uid[1].streams, slot);
    assert_true(session_provider(s, 0, &p));
    assert_false(p.refused.by_level || p.refused.by_keywords);
    session_stop(s);
    ring_refuse(&w.view, &enable, slot, 5, 0); /* the session is closed */
    assert_true(session_provider(s, 0, &p));
    assert_false(p.refused.by_level);
    fixture_finish(&f);
}

static void memory_full_is_refused_and_counted(void **state)
{
    struct fixture   f;
    struct plan_text t;
    struct program   w;
    unsigned         slot, entry;
    uint8_t          payload[1000] = {0};
    (void)state;
    fixture_init(&f, true);
    struct session *s = add(&f, &t, "full", 64, 4, 12, &slot, &entry);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    wstatus last = 0;
    for (int i = 0; i < 40000 && w.written <= 6 * 60; i++) {
        last = program_write(&w, payload, sizeof payload);
        if (i % 20 == 0)
            usleep(2000); /* lets the daemon grant memory: it grows before it refuses */
    }
    assert_true(w.written > 6 * 60); /* more than the minimum: it grew */
    for (int i = 0; i < 20000 && last != W_NOT_ENOUGH_MEMORY; i++)
        last = program_write(&w, payload, sizeof payload);
    assert_int_equal(last, W_NOT_ENOUGH_MEMORY);
    assert_true(w.refused > 0);
    session_fs_ready(s);
    session_stop(s);
    struct ctl_session_info info;
    session_info(s, &info);
    struct found found = file_read(t.path);
    assert_int_equal(found.events, w.written);
    assert_int_equal(found.lost, w.refused);
    assert_int_equal(info.lost_ring, w.refused);
    assert_int_equal(w.attempted, found.events + found.lost);
    fixture_finish(&f);
}

struct racer {
    struct program w;
    unsigned       cpu;
    uint32_t       count;
};
static void *race(void *ctx)
{
    struct racer *r = ctx;
    cpu_set_t     set;
    CPU_ZERO(&set);
    CPU_SET(r->cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    for (uint32_t i = 0; i < r->count; i++) {
        uint8_t payload[300] = {0};
        program_write(&r->w, payload, 8 + i % 290);
    }
    return NULL;
}

/* Two UIDs on one CPU, and one on each: merged by time within each CPU. */
static void uids_are_merged_in_time_order(void **state)
{
    struct fixture   f;
    struct plan_text t;
    struct racer     r[4];
    pthread_t        threads[4];
    unsigned         slot, entry;
    uint64_t         attempted = 0, written = 0, refused = 0;
    (void)state;
    fixture_init(&f, true);
    struct session *s = add(&f, &t, "uids", 64, 64, 1024, &slot, &entry);
    session_fs_ready(s);
    for (unsigned i = 0; i < 4; i++) {
        program_attach(&r[i].w, s, 1000 + i % 2, slot, entry);
        r[i].cpu   = i < 3 ? 0 : f.env.cpus - 1;
        r[i].count = 40000;
    }
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race, &r[i]), 0);
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        attempted += r[i].w.attempted;
        written += r[i].w.written;
        refused += r[i].w.refused;
    }
    session_stop(s);
    struct found found = file_read(t.path);
    assert_int_equal(attempted, 160000);
    assert_int_equal(found.events, written);
    assert_int_equal(found.lost, refused);
    assert_int_equal(written + refused, attempted);
    assert_int_equal(found.inversions, 0);
    fixture_finish(&f);
}

static void names_guids_and_files_are_unique(void **state)
{
    struct fixture   f;
    struct plan_text t, u;
    struct session  *s = NULL, *x = NULL;
    struct reason    why;
    (void)state;
    fixture_init(&f, true);
    struct plan a = plan_make(&f, &t, "Same", 64, 4, 8), b = plan_make(&f, &u, "sAME", 64, 4, 8);
    assert_int_equal(table_add(&f.table, &a, &s, &why), 0);
    assert_int_equal(table_add(&f.table, &b, &x, &why), W_ALREADY_EXISTS);
    assert_non_null(strstr(why.text, "Same"));
    strcpy(u.name, "other");
    b.guid = a.guid;
    assert_int_equal(table_add(&f.table, &b, &x, &why), W_ALREADY_EXISTS);
    assert_non_null(strstr(why.text, "Guid"));
    b.guid = guid_from_name("other");
    strcpy(u.path, t.path);
    assert_int_equal(table_add(&f.table, &b, &x, &why), W_SHARING_VIOLATION);
    fixture_finish(&f);
}

/* Eight sessions of kernel events, two of them with reserved names; other sessions do not count. */
static void system_loggers_have_eight_places(void **state)
{
    static struct fixture f;
    struct plan_text      t;
    struct session       *s = NULL, *last = NULL;
    struct reason         why = {0};
    (void)state;
    fixture_init(&f, false);
    f.env.kernel_later = true; /* no kernel is asked */
    for (int i = 0; i < 7; i++) {
        char name[16];
        snprintf(name, sizeof name, "other-%d", i);
        struct plan p = plan_make(&f, &t, name, 16, 8, 16);
        p.kernel      = true;
        wstatus st    = table_add(&f.table, &p, &s, &why);
        assert_int_equal(st, i < 6 ? W_SUCCESS : W_NO_SYSTEM_RESOURCES);
        last = st ? last : s;
    }
    assert_non_null(strstr(why.text, "6 sessions of kernel events run already"));
    static const char *const named[] = {"Circular Kernel Context Logger", "nt kernel logger"};
    for (int i = 0; i < 2; i++) { /* their places are reserved */
        struct plan p = plan_make(&f, &t, named[i], 16, 8, 16);
        p.kernel      = true;
        assert_int_equal(table_add(&f.table, &p, &s, &why), 0);
        assert_int_equal(table_add(&f.table, &p, &s, &why), W_ALREADY_EXISTS); /* the session exists */
    }
    struct plan user = plan_make(&f, &t, "user", 16, 8, 16);
    assert_int_equal(table_add(&f.table, &user, &s, &why), 0);
    table_remove(&f.table, last);
    struct plan again = plan_make(&f, &t, "again", 16, 8, 16);
    again.kernel      = true;
    assert_int_equal(table_add(&f.table, &again, &s, &why), 0);
    fixture_finish(&f);
}

static void names_and_keys_are_never_cut(void **state)
{
    struct fixture      f;
    struct session     *s = NULL;
    struct plan_text    t;
    struct enable_terms all = {0};
    struct reason       why;
    unsigned            slot, entry;
    char                name[STATE_NAME + 1], key[STATE_KEY + 1], provider[STATE_KEY + 1];

    (void)state;
    fixture_init(&f, true);
    struct plan plan = plan_make(&f, &t, "bound", 64, 2, 4);
    memset(name, 'n', sizeof name);
    memset(key, 'k', sizeof key);
    memset(provider, 'p', sizeof provider);
    name[STATE_NAME] = key[STATE_KEY] = provider[STATE_KEY] = 0;
    plan.name                                               = name;
    plan.key                                                = key;
    assert_int_equal(table_add(&f.table, &plan, &s, &why), W_FILENAME_EXCED_RANGE);
    assert_non_null(strstr(why.text, "256 bytes, more than 255"));
    name[STATE_NAME - 1] = 0;
    assert_int_equal(table_add(&f.table, &plan, &s, &why), W_FILENAME_EXCED_RANGE);
    assert_non_null(strstr(why.text, "1024 bytes, more than 1023"));
    key[STATE_KEY - 1] = 0;
    assert_int_equal(table_add(&f.table, &plan, &s, &why), W_SUCCESS);
    assert_string_equal(s->state->name, name);
    assert_string_equal(s->state->key, key);
    assert_int_equal(session_enable(s, &test_provider, provider, &all, &slot, &entry, &why), W_FILENAME_EXCED_RANGE);
    provider[STATE_KEY - 1] = 0;
    assert_int_equal(session_enable(s, &test_provider, provider, &all, &slot, &entry, &why), W_SUCCESS);
    struct session_provider p;
    assert_true(session_provider(s, 0, &p));
    assert_string_equal(p.key, provider);
    fixture_finish(&f);
}

static void a_provider_is_in_eight_sessions_at_most(void **state)
{
    struct fixture      f;
    struct plan_text    t[9];
    struct session     *s;
    unsigned            slot, entry;
    struct reason       why;
    struct enable_terms all = {0};
    (void)state;
    fixture_init(&f, true);
    for (int i = 0; i < 9; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        struct plan p = plan_make(&f, &t[i], name, 64, 4, 8);
        assert_int_equal(table_add(&f.table, &p, &s, &why), 0);
        assert_int_equal(session_enable(s, &test_provider, "k", &all, &slot, &entry, &why),
                         i < 8 ? 0 : W_NO_SYSTEM_RESOURCES);
    }
    fixture_finish(&f);
}

static void a_file_that_cannot_be_opened_is_a_status(void **state)
{
    struct fixture   f;
    struct plan_text t;
    struct program   w;
    unsigned         slot, entry;
    struct reason    why = {0};
    (void)state;
    fixture_init(&f, true);
    struct plan         plan = plan_make(&f, &t, "dir", 64, 4, 16);
    struct session     *s    = NULL;
    struct enable_terms all  = {0};
    char                folder[128];
    snprintf(folder, sizeof folder, "%s/new", f.dir);
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(mkdir(t.path, 0755), 0);
    assert_int_equal(table_add(&f.table, &plan, &s, &why), 0);
    assert_int_equal(session_enable(s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    session_fs_ready(s);
    assert_int_equal(session_start(s, &why), 0);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    for (int i = 0; i < 100; i++)
        program_write(&w, &i, sizeof i);
    session_stop(s);
    struct ctl_session_info info;
    session_info(s, &info);
    assert_int_not_equal(session_file_status(s, &why), 0);
    assert_true(strlen(why.text) > 10);
    assert_int_equal(info.state, SESSION_FAILED);
    assert_int_equal(info.lost_file, w.written); /* attempted = written + lost, also without a file */
    fixture_finish(&f);
}

static void links_below_the_log_folder_are_refused(void **state)
{
    struct fixture   f;
    struct plan_text t;
    unsigned         slot, entry;
    struct reason    why;
    char             link[128];
    (void)state;
    fixture_init(&f, true);
    f.env.log_dir = f.dir;
    snprintf(link, sizeof link, "%s/new", f.dir);
    assert_int_equal(symlink("/tmp", link), 0);
    struct session *s = add(&f, &t, "linked", 64, 4, 16, &slot, &entry);
    session_fs_ready(s);
    session_stop(s);
    assert_int_equal(session_file_status(s, &why), W_BAD_PATHNAME);
    assert_non_null(strstr(why.text, "link"));
    assert_false(exists("/tmp/linked.etl"));
    fixture_finish(&f);
}

/* The smallest plan: two buffers a CPU. */
static void the_smallest_session_starts(void **state)
{
    static const uint32_t sizes[] = {4, 8, 64, 1024};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct fixture   f;
        struct plan_text t;
        unsigned         slot, entry;
        fixture_init(&f, true);
        struct session *s = add(&f, &t, "small", sizes[i], 2 * f.env.cpus, 2 * f.env.cpus, &slot, &entry);
        assert_true(s->uid[0].admitted);
        session_fs_ready(s);
        session_stop(s);
        fixture_finish(&f);
    }
}

/* A file that reaches its limit is completed, and its header has the loss. */
static void a_full_log_file_is_made_whole(void **state)
{
    struct fixture      f;
    struct plan_text    t;
    struct program      w;
    unsigned            slot, entry;
    struct session     *s   = NULL;
    struct enable_terms all = {0};
    struct reason       why;
    uint8_t             payload[1000] = {0};
    (void)state;
    fixture_init(&f, true);
    struct plan plan   = plan_make(&f, &t, "limit", 64, 64, 256);
    plan.max_file_size = 1;
    assert_int_equal(table_add(&f.table, &plan, &s, &why), 0);
    assert_int_equal(session_enable(s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    session_fs_ready(s);
    assert_int_equal(session_start(s, &why), 0);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    for (int i = 0; i < 2000; i++) {
        program_write(&w, payload, sizeof payload);
        if (i % 100 == 0)
            usleep(2000);
    }
    session_stop(s);
    struct found found = file_read(t.path);
    assert_int_equal(session_file_status(s, &why), W_LOG_FILE_FULL);
    assert_true(found.events > 500 && found.lost > 500);
    assert_int_equal(found.events + found.lost, w.attempted);
    fixture_finish(&f);
}

static void the_flush_timer_writes_what_is_there(void **state)
{
    struct fixture      f;
    struct plan_text    t;
    struct program      w;
    unsigned            slot, entry;
    struct session     *s   = NULL;
    struct enable_terms all = {0};
    struct reason       why;
    (void)state;
    fixture_init(&f, true);
    struct plan plan   = plan_make(&f, &t, "timer", 64, 4, 16);
    plan.flush_timer   = 100;
    plan.log_file_mode = ETL_MODE_SEQUENTIAL | ETL_MODE_MS_FLUSH_TIMER;
    assert_int_equal(table_add(&f.table, &plan, &s, &why), 0);
    assert_int_equal(session_enable(s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    session_fs_ready(s);
    assert_int_equal(session_start(s, &why), 0);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    for (int i = 0; i < 10; i++)
        assert_int_equal(program_write(&w, &i, sizeof i), 0);
    struct ctl_session_info info;
    for (int ms = 0; ms < 2000; ms += 20) {
        usleep(20000);
        session_info(s, &info);
        if (info.events_written == 10)
            break;
    }
    assert_int_equal(info.events_written, 10);
    struct found found = file_read(t.path); /* readable while the session runs */
    assert_int_equal(found.events, 10);
    session_stop(s);
    fixture_finish(&f);
}

static long wakeups(int tid)
{
    char path[64], line[128];
    long n = -1;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1)
            break;
    if (file)
        fclose(file);
    return n;
}

/* FlushTimer of a running session: waiting events are written once it is set, and no longer after it is cleared. */
static void the_flush_timer_changes(void **state)
{
    struct fixture        f;
    struct plan_text      t;
    struct program        w;
    unsigned              slot, entry;
    struct session       *s     = NULL;
    struct enable_terms   all   = {0};
    struct condition_list found = {0};
    struct reason         why;
    int                   i = 1;
    (void)state;
    fixture_init(&f, true);
    struct plan plan   = plan_make(&f, &t, "timer", 64, 4, 16);
    plan.log_file_mode = ETL_MODE_SEQUENTIAL | ETL_MODE_MS_FLUSH_TIMER;
    assert_int_equal(table_add(&f.table, &plan, &s, &why), 0);
    assert_int_equal(session_enable(s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    session_fs_ready(s);
    assert_int_equal(session_start(s, &why), 0);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    assert_int_equal(program_write(&w, &i, sizeof i), 0);
    usleep(100000);
    struct ctl_session_info info;
    session_info(s, &info);
    assert_int_equal(info.events_written, 0); /* no timer was set */
    assert_int_equal(session_update(s, &(struct session_terms){0}, &found, &why), W_INVALID_PARAMETER);
    assert_int_equal(
        session_update(s, &(struct session_terms){.flags = true, .timer = true, .flush_timer = 7}, &found, &why),
        W_INVALID_PARAMETER);
    assert_int_equal(s->state->flush_timer, 0); /* all or nothing */
    assert_int_equal(session_update(s, &(struct session_terms){.timer = true, .flush_timer = 20}, &found, &why), 0);
    for (int ms = 0; ms < 10000 && info.events_written == 0; ms += 20) {
        usleep(20000);
        session_info(s, &info);
    }
    assert_true(info.events_written == 1 && info.flush_timer == 20);
    assert_int_equal(session_update(s, &(struct session_terms){.timer = true}, &found, &why), 0);
    usleep(100000);
    assert_int_equal(program_write(&w, &i, sizeof i), 0);
    usleep(100000);
    session_info(s, &info);
    assert_true(info.events_written == 1 && info.flush_timer == 0);
    assert_true(s->conditions.count == 2 && s->conditions.items[0].note &&
                strstr(s->conditions.items[0].reason, "FlushTimer is 20 ms"));
    for (uint32_t k = 0; k < 1000; k++) /* a program that changes it very often */
        assert_int_equal(
            session_update(s, &(struct session_terms){.timer = true, .flush_timer = k % 2 + 1}, &found, &why), 0);
    assert_int_equal(s->conditions.count, 33);
    assert_string_equal(s->conditions.items[32].item, "more updates");
    session_info(s, &info);
    assert_int_equal(info.updates, 1002);
    session_stop(s);
    assert_int_equal(session_update(s, &(struct session_terms){.timer = true, .flush_timer = 5}, &found, &why),
                     W_NOT_READY);
    session_info(s, &info);
    assert_int_equal(info.events_written, 2);
    condition_list_finish(&found);
    fixture_finish(&f);
}

static uint64_t hasty_clock(struct os *os)
{
    static uint64_t now;
    (void)os;
    return now += 1000000000;
}

/* A flush is limited in time, not in looks: on a busy machine a look may take long. */
static void a_flush_ends_when_its_time_is_over(void **state)
{
    struct fixture   f;
    struct plan_text t;
    unsigned         slot, entry;
    struct os        hasty = *os_linux();
    struct timespec  from, to;
    (void)state;
    hasty.raw_ns = hasty_clock;
    fixture_init(&f, false); /* no writer runs */
    struct session *s = add(&f, &t, "busy", 8, 16, 32, &slot, &entry);
    session_fs_ready(s);
    f.env.os = &hasty;
    clock_gettime(CLOCK_MONOTONIC, &from);
    assert_int_equal(session_flush(s), W_TIMEOUT);
    clock_gettime(CLOCK_MONOTONIC, &to);
    f.env.os = os_linux();
    assert_true(to.tv_sec - from.tv_sec < 4);
    session_stop(s);
    fixture_finish(&f);
}

static void an_idle_logger_sleeps(void **state)
{
    struct fixture   f;
    struct plan_text t;
    unsigned         slot, entry;
    (void)state;
    fixture_init(&f, true);
    struct session *s = add(&f, &t, "idle", 64, 4, 16, &slot, &entry);
    session_fs_ready(s);
    usleep(100000);
    struct ctl_session_info info;
    session_info(s, &info);
    long before = wakeups((int)info.logger_thread_id), then = 0;
    for (int i = 0; i < 50 && then != before; i++) { /* the logger thread has started */
        then = before;
        usleep(100000);
        before = wakeups((int)info.logger_thread_id);
    }
    usleep(600000);
    assert_true(before > 0);
    assert_int_equal(wakeups((int)info.logger_thread_id), before);
    session_stop(s);
    fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_until_the_file_system_is_ready),
        cmocka_unit_test(a_writer_that_fills_its_stream_meanwhile_wakes_the_logger),
        cmocka_unit_test(what_is_kept_out_is_known),
        cmocka_unit_test(memory_full_is_refused_and_counted),
        cmocka_unit_test(uids_are_merged_in_time_order),
        cmocka_unit_test(system_loggers_have_eight_places),
        cmocka_unit_test(names_guids_and_files_are_unique),
        cmocka_unit_test(names_and_keys_are_never_cut),
        cmocka_unit_test(a_provider_is_in_eight_sessions_at_most),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_a_status),
        cmocka_unit_test(links_below_the_log_folder_are_refused),
        cmocka_unit_test(the_smallest_session_starts),
        cmocka_unit_test(a_full_log_file_is_made_whole),
        cmocka_unit_test(the_flush_timer_writes_what_is_there),
        cmocka_unit_test(the_flush_timer_changes),
        cmocka_unit_test(an_idle_logger_sleeps),
        cmocka_unit_test(a_flush_ends_when_its_time_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
