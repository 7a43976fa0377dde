/* Messages in the journal's native protocol: names, values with line feeds, and one that is too large for a datagram. */
#include "tools/channels/journal_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void test_fields(void **state)
{
    static const char want[] = "PRIORITY=4\nMESSAGE\n\3\0\0\0\0\0\0\0a\nb\nAUTOLOGGER_DATA_LIST_2__NAME_=x\nEMPTY=\n";
    struct journal_message r = {0};
    (void)state;
    record_text(&r, "PRIORITY", "4");
    record_field(&r, "MESSAGE", "a\nb", 3);
    record_named(&r, "AUTOLOGGER_DATA_", "list[2].name\xc3", "x");
    record_text(&r, "EMPTY", "");
    assert_false(r.bad);
    assert_int_equal(r.size, sizeof want - 1);
    assert_memory_equal(r.data, want, r.size);
    record_finish(&r);
}

static void test_long_names(void **state)
{
    char                   name[200];
    struct journal_message r = {0};
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    record_named(&r, "AUTOLOGGER_DATA_", name, "x");
    assert_int_equal(strcspn(r.data, "="), 64);
    record_finish(&r);
}

/* What arrived: the datagram, or the file that came with an empty one. */
static size_t receive(int fd, char *room, size_t size)
{
    char            control[CMSG_SPACE(sizeof(int))];
    struct iovec    part = {room, size};
    struct msghdr   m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    const ssize_t   n = recvmsg(fd, &m, 0);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    int             file;
    if (!c)
        return (size_t)n;
    assert_int_equal(n, 0);
    memcpy(&file, CMSG_DATA(c), sizeof file);
    assert_int_equal(fcntl(file, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    const ssize_t got = pread(file, room, size, 0);
    close(file);
    return (size_t)got;
}

static void test_small_and_large(void **state)
{
    enum { LARGE = 3000000 };
    char                   folder[] = "/tmp/al-journal-XXXXXX";
    struct sockaddr_un     at       = {.sun_family = AF_UNIX};
    struct journal_message small = {0}, large = {0};
    struct reason          why  = {0};
    char                  *room = malloc(LARGE + 100), *text = malloc(LARGE);
    int                    to;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_true(room && text);
    snprintf(at.sun_path, sizeof at.sun_path, "%s/socket", folder);
    assert_int_equal(journal_connect(at.sun_path, &to, &why), W_FILE_NOT_FOUND);
    const int from = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(from, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(journal_connect(at.sun_path, &to, &why), W_SUCCESS);
    record_text(&small, "MESSAGE", "small");
    assert_int_equal(journal_send(to, &small, &why), W_SUCCESS);
    assert_int_equal(receive(from, room, LARGE), small.size);
    assert_memory_equal(room, small.data, small.size);
    for (size_t i = 0; i < LARGE; i++)
        text[i] = (char)('a' + i % 26);
    record_field(&large, "MESSAGE", text, LARGE);
    assert_int_equal(journal_send(to, &large, &why), W_SUCCESS);
    assert_int_equal(receive(from, room, LARGE + 100), large.size);
    assert_memory_equal(room, large.data, large.size);
    close(from);
    assert_true(journal_send(to, &small, &why) != W_SUCCESS);
    close(to);
    unlink(at.sun_path);
    rmdir(folder);
    record_finish(&small);
    record_finish(&large);
    free(room);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_small_and_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
