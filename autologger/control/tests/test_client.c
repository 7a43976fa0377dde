/* Proves: CTL-19 (controller side): requests as the wire says, answers that lie are refused, none is waited for
 * twice. */
#include "autologger/control/client.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

/* How the daemon of this test answers the request after the hello. */
enum lie {
    HONEST,
    SHORT_HEADER,
    SIZE_LIES,
    OTHER_SEQUENCE,
    OTHER_TYPE,
    TOO_MANY_ROWS,
    HUGE_TOTAL,
    TWO_ROWS,
    REFUSES,
    HANGS_UP,
    EMPTY_PAGE,
    CHATTERS_FIRST,
    NO_NUL,
    TOO_SHORT,
    NEW_VERSION
};
struct fake {
    char      dir[64];
    int       listener;
    enum lie  lie;
    unsigned  dies; /* the first `dies` connections are accepted and closed, as by a daemon that dies */
    pthread_t thread;
};

static void answer(int fd, const void *request, void *message, uint32_t size)
{
    struct ctl_header *h = message;
    memcpy(h, request, sizeof *h);
    h->size   = size;
    h->status = 0;
    assert_int_equal(send(fd, message, size, MSG_NOSIGNAL), size);
}

static void fill_row(struct ctl_session_info *row, unsigned number, enum lie lie)
{
    memset(row, 0, sizeof *row);
    snprintf(row->name, sizeof row->name, "session-%u", number);
    row->events_written = 100 + number;
    if (lie == NO_NUL)
        memset(row->name, 'x', sizeof row->name), memset(row->log_path, 'y', sizeof row->log_path);
}

/* Three sessions, two to a page. */
static void serve_query(int fd, const struct ctl_session_request *r, enum lie lie)
{
    static _Alignas(8) uint8_t bytes[CTL_MAX];
    struct ctl_query_answer   *a = (struct ctl_query_answer *)bytes;
    memset(bytes, 0, sizeof bytes);
    bool one = r->name[0] != 0;
    a->total = one ? 1 : 3;
    a->count = one ? 1 : r->start == 0 ? 2 : 1;
    if (lie == TWO_ROWS)
        a->total = a->count = 2;
    for (unsigned i = 0; i < a->count; i++)
        fill_row(&a->row[i], r->start + i, lie);
    uint32_t size = (uint32_t)(sizeof *a + a->count * sizeof a->row[0]);
    if (lie == TOO_MANY_ROWS)
        a->total = a->count = 40;
    if (lie == HUGE_TOTAL)
        a->total = 0xFFFFFFFF;
    if (lie == EMPTY_PAGE && r->start)
        a->count = 0, size = sizeof *a;
    if (lie == TOO_SHORT)
        size = sizeof a->header;
    answer(fd, r, bytes, size);
}

static void serve(int fd, const struct ctl_session_request *r, enum lie lie)
{
    struct ctl_header h = r->header;
    h.size              = sizeof h;
    switch (lie) {
    case SHORT_HEADER: send(fd, &h, 8, MSG_NOSIGNAL); return;
    case SIZE_LIES:
        h.size = 4096;
        send(fd, &h, sizeof h, MSG_NOSIGNAL);
        return;
    case OTHER_SEQUENCE:
        h.sequence += 7;
        send(fd, &h, sizeof h, MSG_NOSIGNAL);
        return;
    case OTHER_TYPE:
        h.type = CTL_STATE;
        send(fd, &h, sizeof h, MSG_NOSIGNAL);
        return;
    case REFUSES:
        h.status = W_ACCESS_DENIED;
        send(fd, &h, sizeof h, MSG_NOSIGNAL);
        return;
    case HANGS_UP: return;
    case CHATTERS_FIRST: {
        struct ctl_detach d = {.header = {.size = sizeof d, .type = CTL_DETACH}};
        send(fd, &d, sizeof d, MSG_NOSIGNAL);
        break;
    }
    default: break;
    }
    if (r->header.type == CTL_STATE) {
        static struct ctl_state_answer a;
        memset(&a, 0, sizeof a);
        a.pid = 77;
        memset(a.store, 's', sizeof a.store);
        answer(fd, r, &a, sizeof a);
    } else if (r->header.type == CTL_FLUSH || r->header.type == CTL_FS_READY || r->header.type == CTL_SHUTDOWN) {
        answer(fd, r, &h, sizeof h);
    } else {
        serve_query(fd, r, lie);
    }
}

static void *fake_main(void *arg)
{
    struct fake *f = arg;
    for (unsigned i = 0; i < f->dies; i++)
        close(accept(f->listener, NULL, NULL));
    int                        fd = accept(f->listener, NULL, NULL);
    struct ctl_session_request r;
    for (;;) {
        memset(&r, 0, sizeof r);
        ssize_t n = recv(fd, &r, sizeof r, 0);
        if (n <= 0)
            break;
        if (r.header.type == CTL_HELLO) {
            struct ctl_hello h = {.highest_version = f->lie == NEW_VERSION ? CTL_VERSION + 1 : CTL_VERSION};
            answer(fd, &r, &h, sizeof h);
            continue;
        }
        serve(fd, &r, f->lie);
        if (f->lie == HANGS_UP)
            break;
    }
    close(fd);
    return NULL;
}

static void fake_begin(struct fake *f, enum lie lie, unsigned dies)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(f->dir, sizeof f->dir, "/tmp/al-client-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(at.sun_path, sizeof at.sun_path, "%s/control", f->dir);
    f->lie      = lie;
    f->dies     = dies;
    f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(f->listener, 4), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, fake_main, f), 0);
}
static void fake_start(struct fake *f, enum lie lie) { fake_begin(f, lie, 0); }
static void fake_stop(struct fake *f)
{
    char path[96];
    pthread_join(f->thread, NULL);
    close(f->listener);
    snprintf(path, sizeof path, "%s/control", f->dir);
    unlink(path);
    rmdir(f->dir);
}

static void test_lies(void **state)
{
    (void)state;
    static const struct {
        enum lie lie;
        wstatus  status;
    } rows[] = {
        {HONEST, W_SUCCESS},          {SHORT_HEADER, W_INVALID_DATA},
        {SIZE_LIES, W_INVALID_DATA},  {OTHER_SEQUENCE, W_INVALID_DATA},
        {OTHER_TYPE, W_INVALID_DATA}, {TOO_MANY_ROWS, W_INVALID_DATA},
        {HUGE_TOTAL, W_INVALID_DATA}, {TWO_ROWS, W_INVALID_DATA},
        {REFUSES, W_ACCESS_DENIED},   {HANGS_UP, W_WMI_INSTANCE_NOT_FOUND},
        {CHATTERS_FIRST, W_SUCCESS},  {NO_NUL, W_SUCCESS},
        {TOO_SHORT, W_INVALID_DATA},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fake             f;
        struct control_client  *c   = NULL;
        struct reason           why = {0};
        struct ctl_session_info info;
        fake_start(&f, rows[i].lie);
        assert_int_equal(control_open(f.dir, &c, &why), W_SUCCESS);
        assert_int_equal(control_query(c, "session-0", &info, &why), rows[i].status);
        if (rows[i].status == W_SUCCESS)
            assert_int_equal(strnlen(info.name, sizeof info.name), rows[i].lie == NO_NUL ? CTL_NAME - 1 : 9);
        else
            assert_true(why.text[0] != 0 && why.status == rows[i].status);
        control_close(c);
        fake_stop(&f);
    }
}

static void test_pages(void **state)
{
    (void)state;
    static const struct {
        enum lie lie;
        unsigned count;
    } rows[] = {{HONEST, 3}, {EMPTY_PAGE, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fake              f;
        struct control_client   *c     = NULL;
        struct reason            why   = {0};
        struct ctl_session_info *all   = NULL;
        unsigned                 count = 0;
        fake_start(&f, rows[i].lie);
        assert_int_equal(control_open(f.dir, &c, &why), W_SUCCESS);
        assert_int_equal(control_query_all(c, &all, &count, &why), W_SUCCESS);
        assert_int_equal(count, rows[i].count);
        for (unsigned k = 0; k < count; k++)
            assert_int_equal(all[k].events_written, 100 + k);
        free(all);
        control_close(c);
        fake_stop(&f);
    }
}

static void test_plain_requests(void **state)
{
    (void)state;
    struct fake             f;
    struct control_client  *c   = NULL;
    struct reason           why = {0};
    struct ctl_state_answer st;
    struct ctl_session_info final;
    fake_start(&f, HONEST);
    assert_int_equal(control_open(f.dir, &c, &why), W_SUCCESS);
    assert_int_equal(control_state(c, &st, &why), W_SUCCESS);
    assert_int_equal(st.pid, 77);
    assert_int_equal(strlen(st.store), CTL_PATH - 1);
    assert_int_equal(control_flush(c, "a", &why), W_SUCCESS);
    assert_int_equal(control_stop(c, "a", &final, &why), W_SUCCESS);
    assert_int_equal(final.events_written, 100);
    assert_int_equal(control_fs_ready(c, &why), W_SUCCESS);
    assert_int_equal(control_shutdown(c, &why), W_SUCCESS);
    assert_int_equal(control_flush(c, "", &why), W_INVALID_PARAMETER);
    control_close(c);
    fake_stop(&f);
}

static void test_nobody_there(void **state)
{
    (void)state;
    struct control_client *c   = NULL;
    struct reason          why = {0};
    struct fake            f;
    assert_int_equal(control_open("/nonexistent/autologger", &c, &why), W_WMI_INSTANCE_NOT_FOUND);
    assert_null(c);
    assert_non_null(strstr(why.text, "/nonexistent/autologger"));
    fake_start(&f, NEW_VERSION);
    assert_int_equal(control_open(f.dir, &c, &why), W_NOT_SUPPORTED);
    assert_null(c);
    fake_stop(&f);
    control_close(NULL);
}

/* D-51, boot-tests.update "Broken pipe": a daemon is killed while it accepts a connection; its successor, on the same
 * socket, is reached. */
static void test_dies_at_the_door(void **state)
{
    (void)state;
    static const unsigned deaths[] = {0, 1, 2, 17};
    for (unsigned i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        const unsigned          dies = deaths[i];
        struct fake             f;
        struct control_client  *c   = NULL;
        struct reason           why = {0};
        struct ctl_session_info info;
        fake_begin(&f, HONEST, dies);
        if (dies < 3) {
            assert_int_equal(control_open(f.dir, &c, &why), W_SUCCESS);
            assert_int_equal(control_query(c, "session-0", &info, &why), W_SUCCESS);
        } else { /* the attempts are limited */
            assert_int_equal(control_open(f.dir, &c, &why), W_WMI_INSTANCE_NOT_FOUND);
            assert_null(c);
            assert_true(why.text[0] != 0);
            shutdown(f.listener, SHUT_RDWR); /* nobody connects: accept ends */
        }
        control_close(c);
        fake_stop(&f);
    }
}

static void test_runtime_dir(void **state)
{
    (void)state;
    setenv("AUTOLOGGER_RUNTIME_DIR", "/tmp/x", 1);
    assert_string_equal(control_runtime_dir(), "/tmp/x");
    unsetenv("AUTOLOGGER_RUNTIME_DIR");
    assert_non_null(strstr(control_runtime_dir(), "/autologger"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_plain_requests),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_dies_at_the_door),
        cmocka_unit_test(test_runtime_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
