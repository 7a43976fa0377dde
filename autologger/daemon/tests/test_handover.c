/* Proves: a keeper's descriptors reach a successor by name, whole or not at all (REG-26: nothing of an early boot is
 * lost at the switch). */
#include "autologger/daemon/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void kept_fill(struct kept *k, unsigned count)
{
    assert_true(kept_init(k));
    for (unsigned i = 0; i < count; i++) {
        char name[64];
        int  fd = memfd_create("test", MFD_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, i + 1), 0); /* its size tells it from the others */
        snprintf(name, sizeof name, "data.%u", i);
        kept_add(k, name, fd, 0);
    }
}

struct sender {
    int                socket_fd;
    const struct kept *kept;
    bool               ok;
};
static void *send_all(void *ctx)
{
    struct sender *s = ctx;
    s->ok            = handover_send(s->socket_fd, s->kept);
    return NULL;
}

/* More than one message's worth, every descriptor under its own name. */
static void everything_arrives_by_name(void **state)
{
    enum { COUNT = 2 * HANDOVER_BATCH + 17 };
    struct rlimit limit;
    struct kept   from, to;
    int           pair[2];
    pthread_t     thread;
    struct reason why = {0};
    (void)state;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 3 * COUNT)
        skip(); /* the limit of descriptors is too low here */
    kept_fill(&from, COUNT);
    assert_true(kept_init(&to));
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    struct sender s = {pair[0], &from, false};
    assert_int_equal(pthread_create(&thread, NULL, send_all, &s), 0);
    assert_int_equal(handover_receive(pair[1], &to, &why), W_SUCCESS);
    pthread_join(thread, NULL);
    assert_true(s.ok);
    assert_int_equal(to.count, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        struct stat a, b;
        assert_string_equal(to.item[i].name, from.item[i].name);
        assert_int_equal(fstat(to.item[i].fd, &a), 0);
        assert_int_equal(fstat(from.item[i].fd, &b), 0);
        assert_int_equal(a.st_ino, b.st_ino);
        assert_int_equal(a.st_size, i + 1);
    }
    assert_int_equal(handover_acknowledged(pair[0], 0), 0); /* not yet */
    handover_acknowledge(pair[1]);
    assert_int_equal(handover_acknowledged(pair[0], 1000), 1);
    close(pair[1]);
    assert_int_equal(handover_acknowledged(pair[0], 1000), -1); /* gone */
    close(pair[0]);
    kept_finish(&from);
    kept_finish(&to);
}

/* A message that is cut, of another version, or that promises more descriptors than there are: nothing is taken. */
static void nonsense_is_refused(void **state)
{
    struct {
        uint32_t magic, version, count, total;
    } head;
    static const struct {
        const char *what;
        uint32_t    magic, version_change, count;
        size_t      size;
        const char *reason;
    } rows[] = {
        {"another magic", 1, 0, 0, sizeof head, "could not be read"},
        {"another version", 0, 7, 0, sizeof head, "version"},
        {"descriptors that are not there", 0, 0, 3, sizeof head, "could not be read"},
        {"cut", 0, 0, 0, 7, "could not be read"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kept   none, to;
        int           pair[2];
        struct reason why = {0};
        assert_true(kept_init(&none));
        assert_true(kept_init(&to));
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        assert_true(handover_send(pair[0], &none)); /* a valid message, to learn the numbers */
        assert_int_equal(recv(pair[1], &head, sizeof head, 0), sizeof head);
        head.magic += rows[i].magic;
        head.version += rows[i].version_change;
        head.count = rows[i].count;
        assert_int_equal(send(pair[0], &head, rows[i].size, 0), rows[i].size);
        if (handover_receive(pair[1], &to, &why) != W_INVALID_DATA || !strstr(why.text, rows[i].reason))
            fail_msg("%s: %u %s", rows[i].what, why.status, why.text);
        assert_int_equal(to.count, 0);
        close(pair[0]);
        close(pair[1]);
        kept_finish(&none);
        kept_finish(&to);
    }
}

/* The keeper ends in the middle of a hand-over. */
static void an_end_in_the_middle_is_an_error(void **state)
{
    struct kept   to;
    int           pair[2];
    struct reason why = {0};
    (void)state;
    assert_true(kept_init(&to));
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    close(pair[0]);
    assert_int_equal(handover_receive(pair[1], &to, &why), W_INVALID_DATA);
    close(pair[1]);
    kept_finish(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_arrives_by_name),
                                       cmocka_unit_test(nonsense_is_refused),
                                       cmocka_unit_test(an_end_in_the_middle_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
