/* Connections that end with unread messages: those with descriptors are neither read nor closed here, also after the
 * reset that a peer with unread answers leaves; they go to the taker, and no connection is accepted while too many
 * wait. */
#include "autologger/control/message.h"
#include "autologger/control/outcast.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* A connection, and a pipe: its other end shows whether the descriptor that was sent is still open anywhere. */
struct peers {
    int ours, theirs, sent, seen;
};

static struct peers peers_make(void)
{
    int pair[2], ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(pipe(ends), 0);
    return (struct peers){pair[0], pair[1], ends[1], ends[0]};
}

static bool is_open(int seen)
{
    struct pollfd p = {.fd = seen};
    return poll(&p, 1, 0) == 0;
}

static void peer_leaves(struct peers *p)
{
    close(p->theirs);
    close(p->sent);
}

static void descriptors_are_not_read(void **state)
{
    struct peers p = peers_make();
    char         text[8];
    (void)state;
    const int next = dup(0);
    close(next);
    assert_true(message_send(p.theirs, "plain", 5, NULL, 0));
    assert_true(message_send(p.theirs, "with", 4, &p.sent, 1));
    assert_int_equal(message_receive(p.ours, text, sizeof text), 5);
    assert_int_equal(message_receive(p.ours, text, sizeof text), -EBADMSG);
    assert_int_equal(message_receive(p.ours, text, sizeof text), -EBADMSG);
    const int again = dup(0);
    assert_int_equal(again, next); /* no descriptor was received */
    close(again);
    peer_leaves(&p);
    const unsigned before = outcast_count();
    message_hang_up(p.ours);
    assert_int_equal(outcast_count(), before + 1);
    assert_true(is_open(p.seen));
    close(p.seen);
}

/* The kernel reports the reset first, and then delivers the messages. */
static void a_reset_is_not_the_end(void **state)
{
    struct peers p = peers_make();
    (void)state;
    assert_true(message_send(p.ours, "answer", 6, NULL, 0));
    assert_true(message_send(p.theirs, "plain", 5, NULL, 0));
    assert_true(message_send(p.theirs, "", 0, &p.sent, 1));
    peer_leaves(&p);
    const unsigned before = outcast_count();
    message_hang_up(p.ours);
    assert_int_equal(outcast_count(), before + 1);
    assert_true(is_open(p.seen));
    close(p.seen);
}

static void plain_messages_are_dropped(void **state)
{
    struct peers p = peers_make();
    char         byte;
    (void)state;
    assert_true(message_send(p.theirs, "", 0, NULL, 0));
    assert_true(message_send(p.theirs, "plain", 5, NULL, 0));
    const unsigned before = outcast_count();
    message_hang_up(p.ours);
    assert_int_equal(outcast_count(), before);
    assert_int_equal(recv(p.theirs, &byte, 1, MSG_DONTWAIT), 0);
    peer_leaves(&p);
    close(p.seen);
}

static void what_the_kernel_refuses_is_not_sent(void **state)
{
    struct peers p  = peers_make();
    const int    no = 0;
    (void)state;
    if (setsockopt(p.theirs, SOL_SOCKET, 83, &no, sizeof no) < 0) {
        peer_leaves(&p);
        close(p.ours);
        close(p.seen);
        skip(); /* a kernel before Linux 6.16 */
    }
    message_refuse_descriptors(p.ours);
    assert_false(message_send(p.theirs, "with", 4, &p.sent, 1));
    assert_int_equal(errno, EPERM);
    assert_true(message_send(p.theirs, "plain", 5, NULL, 0));
    /* in the other direction the peer decides */
    assert_true(message_send(p.ours, "with", 4, &p.sent, 1) || errno == EPERM);
    message_hang_up(p.ours);
    peer_leaves(&p);
    close(p.seen);
}

static int      taker = -1;
static unsigned starts;

static int taker_start(void)
{
    int pair[2];
    starts++;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    taker = pair[1];
    return pair[0];
}

static void they_wait_until_they_are_taken(void **state)
{
    struct peers first = {0, 0, 0, 0};
    unsigned     made  = 0;
    (void)state;
    for (; outcast_room() && made < 1000; made++) {
        struct peers p = peers_make();
        assert_true(message_send(p.theirs, "with", 4, &p.sent, 1));
        peer_leaves(&p);
        message_hang_up(p.ours);
        if (made)
            close(p.seen);
        else
            first = p;
    }
    assert_false(outcast_room());
    assert_int_equal(outcast_fd(), -1);
    assert_true(is_open(first.seen));
    outcast_helper(taker_start);
    for (unsigned step = 0; outcast_count() && step < 10000; step++) {
        unsigned before = outcast_count();
        outcast_step();
        char byte;
        if (outcast_count() == before) { /* the taker is full: wait, and start no second one */
            assert_int_equal(starts, 1);
            assert_true(outcast_fd() >= 0);
        }
        while (recv(taker, &byte, 1, MSG_DONTWAIT) > 0) /* plays the taker: receives the connection, and closes it */
            ;
    }
    assert_int_equal(outcast_count(), 0);
    assert_true(outcast_room());
    assert_false(is_open(first.seen));
    close(first.seen);
    /* a taker that has ended is replaced, and the connection is not lost */
    close(taker);
    struct peers p = peers_make();
    assert_true(message_send(p.theirs, "with", 4, &p.sent, 1));
    peer_leaves(&p);
    message_hang_up(p.ours);
    assert_int_equal(starts, 2);
    assert_int_equal(outcast_count(), 0);
    assert_true(is_open(p.seen));
    close(taker);
    assert_false(is_open(p.seen));
    close(p.seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_are_not_read),       cmocka_unit_test(a_reset_is_not_the_end),
        cmocka_unit_test(plain_messages_are_dropped),     cmocka_unit_test(what_the_kernel_refuses_is_not_sent),
        cmocka_unit_test(they_wait_until_they_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
