/* Which connections are read, and when: all in turn, the owner first; a user with too many requests later; a closed
 * connection never. */
#include "autologger/control/server_parts.h"
#include "autologger/control/tests/server_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

enum { ANNA = 5001, CLIENTS = 200, EACH = 4, A_ROUND = 64 };

static uint8_t answer[CTL_MAX] __attribute__((aligned(8)));

static bool answered(int peer) { return recv(peer, answer, sizeof answer, MSG_DONTWAIT) > 0; }

static void send_ask(int peer, uint16_t type)
{
    const struct ctl_header m = {sizeof m, type, CTL_VERSION, 7, 0};
    assert_int_equal(send(peer, &m, sizeof m, MSG_NOSIGNAL), sizeof m);
}

static unsigned milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

static void all_in_turn_and_the_owner_first(void **state)
{
    static struct server_fixture f;
    int                          peer[CLIENTS], root;
    unsigned                     seen[CLIENTS] = {0}, steps = 0, done = 0;
    (void)state;
    assert_true(server_fixture_init(&f));
    for (unsigned i = 0; i < CLIENTS; i++) {
        assert_true(server_fixture_client(&f, ANNA + i, &peer[i]) >= 0);
        for (unsigned k = 0; k < EACH; k++)
            send_ask(peer[i], CTL_STATE);
    }
    assert_true(server_fixture_client(&f, 0, &root) >= 0);
    send_ask(root, CTL_STATE);
    while (done < CLIENTS * EACH && steps < 1000) {
        unsigned least = EACH, most = 0;
        server_step(f.server, -1, 0);
        steps++;
        for (unsigned i = 0; i < CLIENTS; i++) {
            while (answered(peer[i]))
                seen[i]++, done++;
            least = seen[i] < least ? seen[i] : least;
            most  = seen[i] > most ? seen[i] : most;
        }
        assert_true(steps > 1 || (answered(root) && done <= A_ROUND));
        assert_true(most - least <= 1);
    }
    assert_int_equal(done, CLIENTS * EACH);
    for (unsigned i = 0; i < CLIENTS; i++)
        close(peer[i]);
    close(root);
    for (unsigned i = 0; i < 1000 && server_clients(f.server); i++)
        server_step(f.server, -1, 0);
    assert_int_equal(server_clients(f.server), 0);
    server_fixture_finish(&f);
}

/* Sends requests until the connection is held. Its time has not passed yet. */
static void until_held(struct server_fixture *f, int c, int peer)
{
    for (unsigned i = 0; i < 100000 && !f->server->held_until_ms[c]; i++) {
        send_ask(peer, CTL_STATE);
        server_step(f->server, -1, 0);
        answered(peer);
    }
    assert_true(f->server->held_until_ms[c] > 0 && !f->server->ready_in[c]);
}

static void who_has_asked_too_much_is_read_later(void **state)
{
    static struct server_fixture f;
    int                          peer, other;
    (void)state;
    assert_true(server_fixture_init(&f));
    const int c = server_fixture_client(&f, ANNA, &peer);
    assert_true(server_fixture_client(&f, ANNA + 1, &other) >= 0);
    until_held(&f, c, peer);
    while (answered(peer))
        ;
    const uint64_t until       = f.server->held_until_ms[c];
    f.server->held_until_ms[c] = f.server->held_next_ms = quota_now_ms() + 60000;
    send_ask(other, CTL_STATE); /* other connections are served meanwhile */
    server_step(f.server, -1, 1000);
    assert_true(answered(other) && !answered(peer));
    f.server->held_until_ms[c] = f.server->held_next_ms = until;
    for (const unsigned end = milliseconds() + 10000; !answered(peer) && milliseconds() < end;)
        server_step(f.server, -1, -1); /* wakes by itself */
    assert_true(f.server->ready_in[c] || f.server->held_until_ms[c]);
    until_held(&f, c, peer);
    close(peer); /* the end of a held connection does not wake the server */
    unsigned       rounds = 0;
    const unsigned begin  = milliseconds();
    while (f.server->fd[c] >= 0 && milliseconds() - begin < 10000) {
        server_step(f.server, -1, -1);
        rounds++;
    }
    assert_int_equal(f.server->fd[c], -1);
    assert_in_range(rounds, 1, 5000); /* one read for each message sent, each perhaps after a wait */
    send_ask(other, CTL_STATE);
    server_step(f.server, -1, 1000);
    assert_true(answered(other));
    close(other);
    server_fixture_finish(&f);
}

/* All connections of a user are held until the same time. The first one's requests use up all that the user gains
 * meanwhile: the others are served nevertheless. */
static void nobody_of_a_user_starves(void **state)
{
    enum { DEAR = 300, TIMES = 8 };
    static struct server_fixture f;
    int                          peer[3];
    unsigned                     seen[3] = {0};
    (void)state;
    assert_true(server_fixture_init(&f));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(server_fixture_client(&f, ANNA, &peer[i]), i);
    until_held(&f, 0, peer[0]);
    for (unsigned i = 0; i < 3; i++)
        send_ask(peer[i], CTL_STATE);
    for (const unsigned end = milliseconds() + 20000; seen[0] < TIMES && milliseconds() < end;) {
        server_step(f.server, -1, 1000);
        for (unsigned i = 0; i < 3; i++)
            while (answered(peer[i])) {
                seen[i]++;
                quota_spend(f.server, i, DEAR, 0);
                send_ask(peer[i], CTL_STATE);
            }
    }
    for (unsigned i = 0; i < 3; i++)
        close(peer[i]);
    server_fixture_finish(&f);
    assert_in_range(seen[1], TIMES / 2, TIMES + 1);
    assert_in_range(seen[2], TIMES / 2, TIMES + 1);
}

/* The keeper has each connection, too: it forgets one that the server has dropped, and the place is used again. */
static void who_was_dropped_is_not_heard_of(void **state)
{
    static struct server_fixture f;
    int                          first, second;
    (void)state;
    assert_true(server_fixture_init(&f));
    const int c = server_fixture_client(&f, ANNA, &first), kept = dup(f.server->fd[c]);
    assert_true(c >= 0 && kept >= 0);
    server_drop(f.server, (unsigned)c);
    assert_int_equal(server_fixture_client(&f, ANNA, &second), c);
    const unsigned begin = milliseconds();
    server_step(f.server, -1, 100);
    assert_in_range(milliseconds() - begin, 90, 10000);
    send_ask(second, CTL_STATE);
    server_step(f.server, -1, 1000);
    assert_true(answered(second));
    close(first);
    close(second);
    close(kept);
    server_fixture_finish(&f);
}

/* A descriptor that poll() can't wait for is no connection. */
static void what_cannot_be_waited_for(void **state)
{
    static struct server_fixture f;
    FILE                        *file = tmpfile();
    (void)state;
    assert_true(server_fixture_init(&f) && file);
    const struct state_connection who = fixture_peer(&f, ANNA, 1234);
    assert_int_equal(server_connect(f.server, fileno(file), &who), -1);
    assert_int_equal(server_clients(f.server), 0);
    fclose(file);
    server_fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_in_turn_and_the_owner_first), cmocka_unit_test(who_has_asked_too_much_is_read_later),
        cmocka_unit_test(nobody_of_a_user_starves),        cmocka_unit_test(who_was_dropped_is_not_heard_of),
        cmocka_unit_test(what_cannot_be_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
