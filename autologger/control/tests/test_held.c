/* Requests whose answer waits for a logger: each is answered once, in the order in which they came, also when the session ends, time is over, or
 * who asked has gone. The loggers are played here. */
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
    a->f.server->hooks.enabling = &control_enabling; /* hears of connections that go */
    a->s                        = a->f.table.slot[0];
    atomic_store(&a->s->fs_ready, true);
    atomic_store(&a->s->phase, SESSION_WRITING);
}

static uint8_t answer[CTL_MAX] __attribute__((aligned(8)));

/* The sequence number of the next answer, 0: there is none. *st: its Status. */
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
    send_named(&a, d, CTL_FLUSH, 1); /* another one waits all the same */
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
    assert_int_equal(next(peer, CTL_STOP, &st), 0); /* not before all is kept */
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
        const int c = server_fixture_client(&a.f, 0, &peer);
        server_receive(a.f.server, (unsigned)c, &m, sizeof m);
        assert_int_equal(next(peer, CTL_START, &st), 0);
        assert_int_equal(a.started, 0);
        if (row == 1) { /* who asked has gone */
            server_drop(a.f.server, (unsigned)c);
            assert_int_equal(a.f.server->waiting[c], 0);
        }
        if (row == 2) { /* somebody else has ended it */
            server_session_stopped(a.f.server, a.s, &final);
            assert_int_equal(next(peer, CTL_START, &st), 9);
            assert_int_equal(st, W_NOT_READY);
        }
        a.told_status = row == 3 ? W_ACCESS_DENIED : W_SUCCESS; /* its file can't be made */
        atomic_store(&a.s->flush_done, 1);
        server_held(a.f.server);
        assert_int_equal(a.started, row != 2);
        assert_int_equal(next(peer, CTL_START, &st), row == 0 || row == 3 ? 9 : 0);
        assert_int_equal(st, row == 3 ? W_ACCESS_DENIED : row == 2 ? W_NOT_READY : W_SUCCESS);
        assert_null(a.f.server->held);
        a.f.server->hooks.ctx = &a.f;
        close(peer);
        server_fixture_finish(&a.f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flushes_are_answered_in_order), cmocka_unit_test(one_connection_holds_few),
        cmocka_unit_test(all_who_asked_hear_of_the_end), cmocka_unit_test(a_start_is_brought_to_its_end),
    };
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
