/* Requests whose answer waits for a logger: each is answered once, in the order of arrival, also when the session ends,
 * the time limit passes, or the caller disconnects. The test plays the loggers. */
#include "autologger/control/tests/server_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct scene {
    struct server_fixture f;
    struct session       *s;
    unsigned              started, told_status;
};

static void scene_begin(struct scene *a)
{
    memset(a, 0, sizeof *a);
    assert_true(server_fixture_init(&a->f));
    a->f.server->hooks.enabling = &control_enabling; /* is told of closed connections */
    a->s                        = a->f.table.slot[0];
    atomic_store(&a->s->fs_ready, true);
    atomic_store(&a->s->phase, SESSION_WRITING);
}

static uint8_t answer[CTL_MAX] __attribute__((aligned(8)));

/* Returns the sequence number of the next answer, 0 without one. *st: its Status. */
static uint32_t next(int peer, uint16_t type, wstatus *st)
{
    const struct ctl_header *h = (const void *)answer;
    if (recv(peer, answer, sizeof answer, MSG_DONTWAIT) <= 0)
        return 0;
    assert_int_equal(h->type, type);
    *st = h->status;
    return h->sequence;
}

static void send_named(struct scene *a, int c, uint16_t type, uint32_t sequence)
{
    struct ctl_session_request m = {.header = {sizeof m, type, CTL_VERSION, sequence, 0}, .name = "one"};
    server_receive(a->f.server, (unsigned)c, &m, sizeof m);
}

static void flushes_are_answered_in_order(void **state)
{
    struct scene a;
    int          peer;
    wstatus      st;
    (void)state;
    scene_begin(&a);
    const int c = server_fixture_client(&a.f, 0, &peer);
    for (uint32_t i = 1; i <= 3; i++)
        send_named(&a, c, CTL_FLUSH, i);
    assert_int_equal(next(peer, CTL_FLUSH, &st), 0);
    assert_int_equal(a.f.server->waiting[c], 3);
    atomic_store(&a.s->flush_done, 2);
    server_held(a.f.server);
    for (uint32_t i = 1; i <= 2; i++) {
        assert_int_equal(next(peer, CTL_FLUSH, &st), i);
        assert_int_equal(st, W_SUCCESS);
    }
    assert_int_equal(next(peer, CTL_FLUSH, &st), 0);
    atomic_store(&a.s->phase, SESSION_FAILED); /* its file fails before the third */
    a.s->state->status = W_DISK_FULL;
    server_held(a.f.server);
    assert_int_equal(next(peer, CTL_FLUSH, &st), 3);
    assert_int_equal(st, W_DISK_FULL);
    assert_int_equal(a.f.server->waiting[c], 0);
    assert_null(a.f.server->held);
    close(peer);
    server_fixture_finish(&a.f);
}

static void one_connection_holds_few(void **state)
{
    struct scene a;
    int          peer, other;
    wstatus      st;
    uint64_t     when = UINT64_MAX;
    (void)state;
    scene_begin(&a);
    const int c = server_fixture_client(&a.f, 0, &peer), d = server_fixture_client(&a.f, 0, &other);
    for (uint32_t i = 1; i <= 16; i++)
        send_named(&a, c, CTL_FLUSH, i);
    assert_int_equal(next(peer, CTL_FLUSH, &st), 0);
    send_named(&a, c, CTL_FLUSH, 17);
    assert_int_equal(next(peer, CTL_FLUSH, &st), 17);
    assert_int_equal(st, W_BUSY);
    send_named(&a, d, CTL_FLUSH, 1); /* another caller may wait nevertheless */
    assert_int_equal(next(other, CTL_FLUSH, &st), 0);
    assert_true(held_expired(a.f.server, &when) && when != UINT64_MAX);
    close(peer);
    server_drop(a.f.server, (unsigned)c);
    assert_int_equal(a.f.server->waiting[c], 0);
    atomic_store(&a.s->flush_done, 100);
    server_held(a.f.server);
    assert_int_equal(next(other, CTL_FLUSH, &st), 1);
    assert_null(a.f.server->held);
    close(other);
    server_fixture_finish(&a.f);
}

static void all_who_asked_hear_of_the_end(void **state)
{
    struct scene            a;
    int                     peer, other;
    wstatus                 st;
    struct ctl_session_info final = {.events_written = 4711};
    (void)state;
    scene_begin(&a);
    const int c = server_fixture_client(&a.f, 0, &peer), d = server_fixture_client(&a.f, 0, &other);
    send_named(&a, c, CTL_FLUSH, 5);
    send_named(&a, c, CTL_STOP, 6);
    send_named(&a, d, CTL_STOP, 7);
    assert_int_equal(a.f.stops, 2);
    assert_int_equal(next(other, CTL_STOP, &st), 0);
    server_session_stopped(a.f.server, a.s, &final);
    assert_int_equal(next(peer, CTL_FLUSH, &st), 5);
    assert_int_equal(st, W_NOT_READY);
    assert_int_equal(next(peer, CTL_STOP, &st), 0); /* not before everything is saved */
    server_held(a.f.server);
    assert_int_equal(next(peer, CTL_STOP, &st), 6);
    assert_int_equal(st, W_SUCCESS);
    assert_int_equal(next(other, CTL_STOP, &st), 7);
    const struct ctl_query_answer *q = (const void *)answer;
    assert_int_equal(q->count, 1);
    assert_int_equal(q->row[0].events_written, 4711);
    assert_null(a.f.server->held);
    assert_int_equal(a.f.server->waiting[c] + a.f.server->waiting[d], 0);
    close(peer);
    close(other);
    server_fixture_finish(&a.f);
}

static wstatus start(void *ctx, const void *snapshot, size_t size, struct ctl_update_answer *out, struct session **wait)
{
    (void)snapshot, (void)size;
    *wait = ((struct scene *)ctx)->s;
    strcpy(out->text, "so far");
    return W_SUCCESS;
}
static wstatus started(void *ctx, struct session *s, unsigned told, struct ctl_update_answer *out)
{
    struct scene *a = ctx;
    (void)told;
    assert_ptr_equal(s, a->s);
    assert_memory_equal(out->text, "so far", 6);
    a->started++;
    return a->told_status;
}

static void a_start_is_brought_to_its_end(void **state)
{
    static const struct ctl_start_request m = {.header = {sizeof m, CTL_START, CTL_VERSION, 9, 0}};
    (void)state;
    for (unsigned row = 0; row < 4; row++) {
        struct scene            a;
        int                     peer;
        wstatus                 st    = 0;
        struct ctl_session_info final = {.events_written = 1};
        scene_begin(&a);
        a.f.server->hooks.ctx     = &a;
        a.f.server->hooks.start   = start;
        a.f.server->hooks.started = started;
        const int c               = server_fixture_client(&a.f, 0, &peer);
        server_receive(a.f.server, (unsigned)c, &m, sizeof m);
        assert_int_equal(next(peer, CTL_START, &st), 0);
        assert_int_equal(a.started, 0);
        if (row == 1) { /* the caller has disconnected */
            server_drop(a.f.server, (unsigned)c);
            assert_int_equal(a.f.server->waiting[c], 0);
        }
        if (row == 2) { /* another caller has ended the session */
            server_session_stopped(a.f.server, a.s, &final);
            assert_int_equal(next(peer, CTL_START, &st), 9);
            assert_int_equal(st, W_NOT_READY);
        }
        a.told_status = row == 3 ? W_ACCESS_DENIED : W_SUCCESS; /* its file can't be created */
        atomic_store(&a.s->flush_done, 1);
        server_held(a.f.server);
        assert_int_equal(a.started, row != 2);
        if (row == 3) { /* answered when the session has ended */
            assert_int_equal(next(peer, CTL_START, &st), 0);
            assert_int_equal(a.f.server->waiting[c], 1);
            server_session_stopped(a.f.server, a.s, &final);
            assert_int_equal(next(peer, CTL_START, &st), 0);
            server_held(a.f.server);
        }
        assert_int_equal(next(peer, CTL_START, &st), row == 0 || row == 3 ? 9 : 0);
        assert_int_equal(st, row == 3 ? W_ACCESS_DENIED : row == 2 ? W_NOT_READY : W_SUCCESS);
        assert_null(a.f.server->held);
        a.f.server->hooks.ctx = &a.f;
        close(peer);
        server_fixture_finish(&a.f);
    }
}

/* ---- updates ---- */

static unsigned                  updated_count;
static wstatus                   updated_status;
static const struct state_owner *asked_for;

static wstatus update(void *ctx, struct session *s, const struct session_terms *terms, struct session_update **out,
                      struct reason *why)
{
    (void)ctx;
    asked_for = s->env->asks;
    return session_update_begin(s, terms, out, why);
}
static void updated(void *ctx, struct session *s, wstatus st)
{
    (void)ctx, (void)s;
    updated_count++;
    updated_status = st;
}

enum { FEW = 16, MANY = 20 }; /* buffers */

static void updates_begin(struct scene *a)
{
    scene_begin(a);
    a->f.server->hooks.update  = update;
    a->f.server->hooks.updated = updated;
    updated_count              = 0;
    a->s->logger_runs          = true;
}

static void updates_end(struct scene *a)
{
    assert_null(a->f.server->held);
    assert_null(a->s->update);
    a->s->logger_runs = false; /* no logger to wait for */
    server_fixture_finish(&a->f);
}

static void ask_update(struct scene *a, int c, uint32_t sequence, uint32_t what, uint32_t number)
{
    struct ctl_update_request m = {.header          = {sizeof m, CTL_UPDATE, CTL_VERSION, sequence, 0},
                                   .name            = "one",
                                   .what            = what,
                                   .flush_timer     = number,
                                   .maximum_buffers = number};
    server_receive(a->f.server, (unsigned)c, &m, sizeof m);
}

static void ask_buffers(struct scene *a, int c, uint32_t sequence, uint32_t buffers)
{
    ask_update(a, c, sequence, CTL_UPDATE_MAXIMUM_BUFFERS, buffers);
}

/* MaximumBuffers becomes MANY at once; only a smaller value waits for the logger. */
static void grown(struct scene *a, int c, int peer)
{
    wstatus st;
    ask_buffers(a, c, 100, MANY);
    assert_int_equal(next(peer, CTL_UPDATE, &st), 100);
    assert_int_equal(st, W_SUCCESS);
    assert_int_equal(a->s->state->maximum_buffers, MANY);
}

/* The logger finishes its errand with that Status. */
static void logger_does(struct scene *a, wstatus st)
{
    struct logger_errand *e = atomic_exchange(&a->s->errand, NULL);
    assert_non_null(e);
    e->status = st;
    if (st)
        reason_set(&e->why, st, "played");
    else
        a->s->state->maximum_buffers = *(const uint32_t *)e->more;
    atomic_fetch_add(&a->s->errands_done, 1);
    assert_int_equal(atomic_exchange(&e->state, ERRAND_DONE), ERRAND_WAITS);
    server_held(a->f.server);
}

static const char *told(void) { return ((const struct ctl_update_answer *)(const void *)answer)->text; }

static void an_update_waits_alone(void **state)
{
    struct scene a;
    int          peer, other;
    wstatus      st;
    uint64_t     when = UINT64_MAX;
    (void)state;
    updates_begin(&a);
    const int c = server_fixture_client(&a.f, 0, &peer), d = server_fixture_client(&a.f, 0, &other);
    grown(&a, c, peer);
    ask_buffers(&a, c, 1, FEW);
    assert_int_equal(next(peer, CTL_UPDATE, &st), 0);
    assert_int_equal(a.f.server->waiting[c], 1);
    assert_true(held_expired(a.f.server, &when) && when != UINT64_MAX); /* the request has a time limit */
    send_named(&a, d, CTL_QUERY, 2);
    assert_int_equal(next(other, CTL_QUERY, &st), 2); /* others are served */
    logger_does(&a, W_SUCCESS);
    assert_int_equal(next(peer, CTL_UPDATE, &st), 1);
    assert_int_equal(st, W_SUCCESS);
    assert_string_equal(told(), "");
    assert_int_equal(((const struct ctl_update_answer *)(const void *)answer)->session.maximum_buffers, FEW);
    assert_int_equal(updated_count, 2);
    grown(&a, c, peer);
    ask_buffers(&a, c, 3, FEW);
    logger_does(&a, W_TIMEOUT); /* programs keep the memory: a condition, as always */
    assert_int_equal(next(peer, CTL_UPDATE, &st), 3);
    assert_int_equal(st, W_SUCCESS);
    assert_non_null(strstr(told(), "1460 MaximumBuffers: not all memory was given back: played"));
    assert_int_equal(a.f.server->waiting[c], 0);
    close(peer);
    close(other);
    updates_end(&a);
}

/* Updates of one session run one after another, each with its own answer. */
static void updates_of_one_session_take_turns(void **state)
{
    const struct state_owner user = {.set = 1, .uid = 1000};
    struct scene             a;
    int                      peer, other;
    wstatus                  st;
    (void)state;
    updates_begin(&a);
    const int c = server_fixture_client(&a.f, 0, &peer), d = server_fixture_client(&a.f, 0, &other);
    grown(&a, c, peer);
    ask_buffers(&a, c, 1, FEW);
    ask_update(&a, d, 2, CTL_UPDATE_FLUSH_TIMER, 7); /* needs no logger, but waits for its turn */
    ask_buffers(&a, d, 3, MANY);
    ask_buffers(&a, d, 4, FEW);
    assert_int_equal(next(other, CTL_UPDATE, &st), 0);
    assert_int_equal(a.s->state->flush_timer, 0);
    assert_int_equal(a.f.server->waiting[d], 3);
    a.f.env.asks = asked_for = &user; /* `asks` of another request in progress: must be restored */
    logger_does(&a, W_SUCCESS);
    assert_null(asked_for);
    assert_ptr_equal(a.f.env.asks, &user);
    a.f.env.asks = NULL;
    assert_int_equal(next(peer, CTL_UPDATE, &st), 1);
    assert_int_equal(next(other, CTL_UPDATE, &st), 2);
    assert_int_equal(st, W_SUCCESS);
    assert_int_equal(a.s->state->flush_timer, 7);
    assert_int_equal(next(other, CTL_UPDATE, &st), 3);
    assert_int_equal(next(other, CTL_UPDATE, &st), 0);
    assert_int_equal(a.f.server->waiting[d], 1);
    logger_does(&a, W_SUCCESS);
    assert_int_equal(next(other, CTL_UPDATE, &st), 4);
    assert_int_equal(a.s->state->maximum_buffers, FEW);
    assert_int_equal(a.f.server->waiting[d], 0);
    for (uint32_t i = 1; i <= 16; i++)
        ask_buffers(&a, c, i, i == 1 ? MANY : FEW);
    for (uint32_t i = 17; i <= 18; i++) /* the number of waiting requests is limited: the first was done at once */
        ask_buffers(&a, c, i, FEW);
    assert_int_equal(next(peer, CTL_UPDATE, &st), 1);
    assert_int_equal(next(peer, CTL_UPDATE, &st), 18);
    assert_int_equal(st, W_BUSY);
    logger_does(&a, W_SUCCESS);
    for (uint32_t i = 2; i <= 17; i++)
        assert_int_equal(next(peer, CTL_UPDATE, &st), i);
    close(peer);
    close(other);
    updates_end(&a);
}

static void an_update_is_brought_to_its_end(void **state)
{
    struct scene            a;
    int                     peer, other;
    wstatus                 st;
    struct ctl_session_info final = {.events_written = 1};
    (void)state;
    for (unsigned row = 0; row < 2; row++) {
        updates_begin(&a);
        const int c = server_fixture_client(&a.f, 0, &peer), d = server_fixture_client(&a.f, 0, &other);
        grown(&a, c, peer);
        ask_buffers(&a, c, 1, FEW);
        ask_update(&a, d, 2, CTL_UPDATE_FLUSH_TIMER, 7);
        if (row == 0) { /* callers have gone: the running update goes on, the waiting one is dropped */
            server_drop(a.f.server, (unsigned)c);
            server_drop(a.f.server, (unsigned)d);
            assert_non_null(a.f.server->held);
            logger_does(&a, W_SUCCESS);
            assert_int_equal(updated_count, 2);
            assert_int_equal(a.s->state->maximum_buffers, FEW);
            assert_int_equal(a.s->state->flush_timer, 0);
        } else { /* the session ends, and its logger finishes nothing more */
            struct logger_errand *e = atomic_exchange(&a.s->errand, NULL);
            server_session_stopped(a.f.server, a.s, &final);
            assert_int_equal(next(peer, CTL_UPDATE, &st), 1);
            assert_int_equal(st, W_NOT_READY);
            assert_int_equal(next(other, CTL_UPDATE, &st), 2);
            assert_int_equal(st, W_NOT_READY);
            assert_int_equal(updated_count, 2);
            assert_int_equal(updated_status, W_NOT_READY);
            assert_int_equal(atomic_load(&e->state), ERRAND_GIVEN_UP);
            free(e->more);
            free(e);
        }
        assert_int_equal(a.f.server->waiting[c] + a.f.server->waiting[d], 0);
        close(peer);
        close(other);
        updates_end(&a);
    }
}

/* A user's storage does not respond: after 2 s the answer says so. What the logger does later does no harm. */
static void an_update_has_its_time(void **state)
{
    struct scene a;
    int          peer;
    wstatus      st;
    (void)state;
    updates_begin(&a);
    const int c = server_fixture_client(&a.f, 0, &peer);
    grown(&a, c, peer);
    a.s->state->owner = (struct state_owner){.set = 1, .uid = 1000};
    ask_buffers(&a, c, 1, FEW);
    usleep(1500000);
    server_held(a.f.server);
    assert_int_equal(next(peer, CTL_UPDATE, &st), 0);
    usleep(700000);
    server_held(a.f.server);
    assert_int_equal(next(peer, CTL_UPDATE, &st), 1);
    assert_int_equal(st, W_SUCCESS);
    assert_non_null(strstr(told(), "1460 MaximumBuffers"));
    assert_non_null(strstr(told(), "within 2 s"));
    ask_buffers(&a, c, 2, FEW); /* the logger is still busy */
    assert_int_equal(next(peer, CTL_UPDATE, &st), 2);
    assert_non_null(strstr(told(), "21 MaximumBuffers"));
    struct logger_errand *e = atomic_exchange(&a.s->errand, NULL);
    assert_int_equal(atomic_load(&e->state), ERRAND_GIVEN_UP);
    free(e->more);
    free(e);
    close(peer);
    updates_end(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flushes_are_answered_in_order),   cmocka_unit_test(one_connection_holds_few),
        cmocka_unit_test(all_who_asked_hear_of_the_end),   cmocka_unit_test(a_start_is_brought_to_its_end),
        cmocka_unit_test(an_update_waits_alone),           cmocka_unit_test(updates_of_one_session_take_turns),
        cmocka_unit_test(an_update_is_brought_to_its_end), cmocka_unit_test(an_update_has_its_time),
    };
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
