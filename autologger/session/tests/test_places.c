/* Users' places in a session are reused (S6): more users than places, one after another, also over the death of a
 * daemon at each step of the change of a place. Each event is in the file once, by its payload, or
 * counted as lost. Proves: COR-20. */
// timeout: 200
#include "autologger/etl/writer_private.h"
#include "autologger/session/logger.h"
#include "autologger/session/tests/keeper.h"

#include <dirent.h>
#include <pthread.h>

enum { USERS = 700, EVENTS = 12, MOST = 4096, UID = 100000 };

/* ---- a session whose logger the test runs, on a fast clock ---- */

static uint64_t fast_ns(struct os *os)
{
    static uint64_t ahead;
    return os_linux()->raw_ns(os) + (ahead += 10000000);
}

struct scene {
    struct fixture   f;
    struct os        os;
    struct plan_text text;
    struct session  *s;
    unsigned         slot, entry;
    uint64_t         attempted, lost;
    uint8_t          seen[USERS * 2][MOST];
};

static void scene_begin(struct scene *c, uint32_t mode)
{
    struct enable_terms all = {0};
    struct reason       why;
    memset(c, 0, sizeof *c);
    memset(&keeper, 0, sizeof keeper);
    fixture_init(&c->f, false);
    c->os              = *os_linux();
    c->os.raw_ns       = fast_ns;
    c->f.env.os        = &c->os;
    c->f.env.log_dir   = c->f.dir;
    c->f.env.modes     = &logger_modes;
    c->f.env.keep      = keeper_keep;
    struct plan plan   = plan_make(&c->f, &c->text, "places", 64, 2 * c->f.env.cpus, 1024);
    plan.log_file_mode = mode;
    assert_int_equal(table_add(&c->f.table, &plan, &c->s, &why), 0);
    assert_int_equal(session_enable(c->s, &test_provider, "key", &all, &c->slot, &c->entry, &why), 0);
    session_fs_ready(c->s);
    assert_int_equal(session_start(c->s, &why), 0);
}

/* The user's events, and for some users one that is larger than any buffer. */
static void user_writes(struct scene *c, struct program *w, unsigned user, unsigned from)
{
    static const uint8_t large[65480];
    for (unsigned i = from; i < from + EVENTS; i++) {
        const uint32_t payload[2] = {user, i};
        assert_int_equal(program_write(w, payload, sizeof payload), 0);
        c->attempted++;
    }
    if (user % 50 == 7) {
        assert_int_not_equal(program_write(w, large, sizeof large), 0);
        c->attempted++;
        c->lost++;
    }
}

static void user_comes_and_goes(struct scene *c, unsigned user)
{
    struct program w;
    program_attach(&w, c->s, UID + user, c->slot, c->entry);
    user_writes(c, &w, user, 0);
    session_user_left(c->s, UID + user);
    logger_pass(c->s->logger, false, false);
}

static unsigned descriptors(void)
{
    unsigned n = 0;
    DIR     *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* Checks each event of the file by its payload: none twice. Returns how many. */
static uint64_t file_check(struct scene *c, uint32_t *lost)
{
    struct etl_reader *r = NULL;
    struct etl_event   e;
    uint64_t           n = 0;
    uint32_t           payload[2];
    assert_int_equal(etl_reader_open(c->text.path, &r, NULL), 0);
    while (etl_next(r, &e)) {
        if (e.kind != ETL_KIND_EVENT)
            continue;
        assert_int_equal(e.payload_size, sizeof payload);
        memcpy(payload, e.payload, sizeof payload);
        assert_true(payload[0] < USERS * 2 && payload[1] < MOST);
        assert_int_equal(c->seen[payload[0]][payload[1]]++, 0);
        n++;
    }
    *lost = etl_reader_header(r)->raw.events_lost;
    etl_reader_close(r);
    return n;
}

static void scene_end(struct scene *c)
{
    struct ctl_session_info info;
    uint32_t                lost;
    session_stop(c->s);
    session_info(c->s, &info);
    const uint64_t events = file_check(c, &lost);
    assert_int_equal(events, c->attempted - c->lost);
    assert_int_equal(info.events_written, events);
    assert_int_equal(ctl_events_lost(&info), c->lost);
    assert_int_equal(lost, c->lost);
    keeper_close();
}

static bool refused(const struct session *s)
{
    for (unsigned i = 0; i < s->conditions.count; i++)
        if (s->conditions.items[i].number == W_NOT_ENOUGH_MEMORY)
            return true;
    return false;
}

/* ---- the tests ---- */

static void more_users_than_places_one_after_another(void **state)
{
    static struct scene c;
    unsigned            most = 0;
    (void)state;
    scene_begin(&c, 0);
    const unsigned before = descriptors();
    for (unsigned user = 0; user < USERS; user++) {
        struct ctl_session_info info;
        user_comes_and_goes(&c, user);
        session_info(c.s, &info); /* also exact while it runs */
        assert_int_equal(ctl_events_lost(&info), c.lost);
        assert_true(info.peak_bytes <= (uint64_t)info.maximum_buffers * info.buffer_kb * 1024);
        most = descriptors() > most ? descriptors() : most;
    }
    assert_false(refused(c.s));
    assert_true(c.s->uid_count < STATE_UIDS);
    assert_true(most - before <= 7 * STATE_UIDS); /* seven a user: streams, event, and the keeper's three */
    scene_end(&c);
    fixture_finish(&c.f);
}

/* A user keeps the place while one of its programs is attached: a user too many is refused, by name, and gets a place
 * when another user has left. */
static void who_is_attached_keeps_the_place(void **state)
{
    static struct scene   c;
    static struct program w[STATE_UIDS];
    (void)state;
    scene_begin(&c, 0);
    for (unsigned user = 0; user < STATE_UIDS - 2; user++) { /* one place is the daemon's own user's */
        program_attach(&w[user], c.s, UID + user, c.slot, c.entry);
        user_writes(&c, &w[user], user, 0);
        logger_pass(c.s->logger, false, false);
    }
    assert_false(refused(c.s));
    program_attach(&w[STATE_UIDS - 1], c.s, UID + USERS, c.slot, c.entry);
    assert_true(refused(c.s));
    assert_int_not_equal(program_write(&w[STATE_UIDS - 1], "12345678", 8), 0);
    c.attempted++, c.lost++;
    for (unsigned user = 0; user < STATE_UIDS - 2; user++)
        user_writes(&c, &w[user], user, EVENTS);
    logger_pass(c.s->logger, false, false);
    session_user_left(c.s, UID + 20);
    logger_pass(c.s->logger, false, false);
    user_comes_and_goes(&c, USERS); /* another program of the refused user */
    scene_end(&c);
    fixture_finish(&c.f);
}

/* Programs that the daemon takes for gone still write while their places are freed. Events that the library reports as
 * written are in the file. */
struct late {
    pthread_t      thread;
    struct program w;
    unsigned       user, next;
    atomic_bool    stop;
};
static void *writes_late(void *ctx)
{
    struct late *l = ctx;
    while (!atomic_load(&l->stop) && l->next < MOST) {
        const uint32_t payload[2] = {l->user, l->next};
        const uint64_t before     = l->w.written;
        program_write(&l->w, payload, sizeof payload);
        l->next += l->w.written != before;
        usleep(50);
    }
    return NULL;
}

static void who_writes_late_loses_nothing_unseen(void **state)
{
    static struct scene c;
    static struct late  late[8];
    (void)state;
    scene_begin(&c, 0);
    for (unsigned user = 0; user < 190; user++)
        user_comes_and_goes(&c, user);
    for (unsigned k = 0; k < 8; k++) {
        late[k] = (struct late){.user = USERS + k};
        program_attach(&late[k].w, c.s, UID + USERS + k, c.slot, c.entry);
        late[k].w.view.eventfd = dup(late[k].w.view.eventfd); /* as a program has its own */
        session_user_left(c.s, UID + USERS + k);
        pthread_create(&late[k].thread, NULL, writes_late, &late[k]);
    }
    for (unsigned user = 190; user < 400; user++)
        user_comes_and_goes(&c, user);
    for (unsigned k = 0; k < 8; k++) {
        atomic_store(&late[k].stop, true);
        pthread_join(late[k].thread, NULL);
        c.attempted += late[k].w.written + late[k].w.refused;
        c.lost += late[k].w.refused; /* the memory is no longer part of the session */
    }
    scene_end(&c);
    fixture_finish(&c.f);
}

/* Continues as if the daemon had died now. */
static void succeed(struct scene *c)
{
    struct session *n = keeper_successor(&c->f, c->s);
    for (unsigned u = 1; u < n->uid_count; u++) /* as server_users_check does: no program is attached */
        session_user_left(n, n->uid[u].uid);
    c->s = n;
}

static void a_successor_goes_on_at_each_step(void **state)
{
    static struct scene c;
    enum { STEPS = 7 };
    (void)state;
    scene_begin(&c, 0);
    unsigned user = 0;
    for (; user < 230; user++)
        user_comes_and_goes(&c, user);
    assert_true(session_places_used(c.s) < c.s->uid_count); /* some places were freed */
    for (unsigned step = 1; step <= STEPS; step++) {
        struct program w;
        for (unsigned k = 0; k < 30; k++)
            user_comes_and_goes(&c, ++user);
        keeper.calls   = 0;
        keeper.dies_at = step;
        keeper_leaks(true);
        if (setjmp(keeper.death) == 0) { /* a user takes a place: old descriptors are dropped, new ones kept */
            program_attach(&w, c.s, UID + ++user, c.slot, c.entry);
            assert_int_equal(step, STEPS);
        }
        keeper_leaks(false);
        succeed(&c);
        user_comes_and_goes(&c, user);
        assert_false(refused(c.s));
    }
    scene_end(&c);
    char command[128]; /* not fixture_finish: the table's session is dead */
    snprintf(command, sizeof command, "rm -rf '%s'", c.f.dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_users_than_places_one_after_another),
        cmocka_unit_test(who_is_attached_keeps_the_place),
        cmocka_unit_test(who_writes_late_loses_nothing_unseen),
        cmocka_unit_test(a_successor_goes_on_at_each_step),
    };
    return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
