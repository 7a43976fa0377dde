/* Which process is at the other end of a connection: identified while it lives and after it has ended, by its identity
 * and not by its number alone, and no longer the process that connected when its user changes.
 * Proves: SEC-09. */
#include "autologger/control/peer.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A child with a connection to this process. It does what is asked with a byte: 'u' becomes another user, 'q' ends. */
struct child {
    pid_t pid;
    int   fd, ask;
};

static void child_run(const struct sockaddr_un *at, int asked)
{
    char      what;
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (connect(fd, (const void *)at, sizeof *at) < 0)
        _exit(1);
    while (read(asked, &what, 1) == 1 && what != 'q')
        if (what == 'u' &&
            (setresgid(4242, 4242, 4242) < 0 || setresuid(4242, 4242, 4242) < 0 || write(fd, "u", 1) != 1))
            _exit(1);
    _exit(0);
}

static struct child child_begin(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct child       c;
    int                pipe_fd[2];
    const int          listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "autologger-test-peer-%d", (int)getpid()); /* abstract: no file */
    assert_int_equal(bind(listener, (const void *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(pipe(pipe_fd), 0);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (!c.pid) {
        close(pipe_fd[1]);
        child_run(&at, pipe_fd[0]);
    }
    close(pipe_fd[0]);
    c.ask = pipe_fd[1];
    c.fd  = accept(listener, NULL, NULL);
    assert_true(c.fd >= 0);
    close(listener);
    return c;
}

static void child_end(struct child *c)
{
    assert_int_equal(write(c->ask, "q", 1), 1);
    assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
    close(c->ask);
}

static void a_process_is_told_while_it_lives_and_when_it_has_ended(void **state)
{
    struct child            c = child_begin();
    struct state_connection who, late;
    int                     pidfd, again = -1;
    (void)state;
    assert_int_equal(peer_take(c.fd, 0, &who, &pidfd), PEER_LIVES);
    assert_true(who.uid == geteuid() && who.gid == getegid() && who.pid == (uint32_t)c.pid && who.start &&
                who.user_ns && who.pid_ns);
    assert_true(pidfd >= 0 && !peer_ended(pidfd) && peer_unchanged(0, pidfd, &who) &&
                peer_again(c.fd, 0, &who, &again));
    assert_true(peer_is(&who, who.pid, who.process, who.start));
    close(again);
    again = peer_open(who.pid, who.process, who.start);
    assert_true(again >= 0);
    close(again);
    child_end(&c);
    assert_true(peer_ended(pidfd));
    assert_false(peer_unchanged(0, pidfd, &who));
    assert_false(peer_again(c.fd, 0, &who, &again));
    assert_int_equal(again, -1);
    assert_int_equal(peer_open(who.pid, who.process, who.start), -1);
    close(pidfd);
    /* taken too late: only its ids at connect time are known */
    assert_int_equal(peer_take(c.fd, 0, &late, &pidfd), PEER_GONE);
    assert_true(late.uid == who.uid && !late.start && !late.permitted && !late.user_ns);
    if (pidfd >= 0)
        close(pidfd);
    close(c.fd);
}

/* The number and the process are the same; its rights are not. */
static void a_process_that_becomes_another_user_is_not_who_connected(void **state)
{
    struct child            c = child_begin();
    struct state_connection who;
    int                     pidfd;
    char                    done;
    (void)state;
    assert_int_equal(peer_take(c.fd, 0, &who, &pidfd), PEER_LIVES);
    assert_true(peer_unchanged(0, pidfd, &who));
    if (geteuid() == 0) {
        struct state_connection less = who;
        less.permitted               = who.permitted & ~(UINT64_C(1) << 0);
        assert_true(who.permitted & 1);
        assert_false(peer_unchanged(0, pidfd, &less)); /* it has gained a capability */
        assert_int_equal(write(c.ask, "u", 1), 1);
        assert_int_equal(read(c.fd, &done, 1), 1);
        assert_false(peer_unchanged(0, pidfd, &who));
        assert_false(peer_ended(pidfd));
    }
    child_end(&c);
    close(pidfd);
    close(c.fd);
}

static void a_number_alone_is_nobody(void **state)
{
    static const struct state_connection who = {.pid = 77, .process = 5, .start = 9}, old = {.pid = 77, .start = 9},
                                         unseen = {.start = 9, .process = 5};
    (void)state;
    assert_true(peer_is(&who, 77, 5, 9) && peer_is(&old, 77, 0, 9) && peer_is(&who, 77, 0, 9));
    assert_false(peer_is(&who, 77, 6, 9)); /* within one tick of the clock */
    assert_false(peer_is(&old, 77, 0, 10));
    assert_false(peer_is(&old, 77, 0, 0));
    assert_false(peer_is(&who, 78, 5, 9));
    assert_false(peer_is(&unseen, 0, 5, 9));
}

static void other_namespaces_are_others(void **state)
{
    struct state_connection self, none = {.user_ns = 0}, who;
    (void)state;
    peer_self(0, &self);
    assert_true(self.user_ns && self.pid_ns);
    who = self;
    assert_true(peer_native(&who, &self));
    who.user_ns++;
    assert_false(peer_native(&who, &self));
    who        = self;
    who.pid_ns = 0; /* unknown */
    assert_false(peer_native(&who, &self));
    assert_true(peer_native(&who, &none)); /* nothing is known of either */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_told_while_it_lives_and_when_it_has_ended),
        cmocka_unit_test(a_process_that_becomes_another_user_is_not_who_connected),
        cmocka_unit_test(a_number_alone_is_nobody),
        cmocka_unit_test(other_namespaces_are_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
