/* A consumer is stopped between two buffers of a window: the buffers that it did not deliver are for the next one.
 * Proves: what no consumer saw is not acknowledged. The daemon is a thread that speaks its side of the wire. */
#include "autologger/consumer/live.h"
#include "autologger/wire/control.h"
#include "autologger/wire/etl.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { BUFFER = 4096, FIRST = 7 };

struct daemon {
    int          listening;
    struct live *live; /* stopped when a consumer asks for the second buffer; under `ready` */
    uint64_t     done; /* what the last message acknowledged */
    unsigned     acknowledged;
    int          headers; /* 2: the first header asked for is gone, then the session has ended; 0: there is a header */
};

static void answer_consume(int fd, const struct ctl_consume_request *q, struct daemon *d)
{
    _Alignas(8) uint8_t        bytes[sizeof(struct ctl_consume_answer) + sizeof(struct etl_buffer_header)] = {0};
    struct ctl_consume_answer *a = (void *)bytes;
    struct etl_buffer_header   h = {.buffer_size = BUFFER, .saved_offset = sizeof h, .sequence_number = FIRST};

    a->header        = q->header;
    a->header.size   = sizeof *a;
    a->header.status = 0;
    a->sequence      = FIRST;
    if (q->what == CTL_CONSUME_HEADER && d->headers) {
        a->header.status = d->headers == 2 ? W_FILE_NOT_FOUND : W_SUCCESS;
        a->flags         = d->headers == 1 ? CTL_CONSUME_ENDED : 0;
        d->headers--;
    } else if (q->what == CTL_CONSUME_ACKNOWLEDGE) {
        d->done = q->done;
        d->acknowledged++;
    } else if (q->what == CTL_CONSUME_HEADER || q->wanted == FIRST) {
        a->header.size = sizeof bytes;
        a->size = a->bytes = sizeof h;
        memcpy(a + 1, &h, sizeof h);
    } else { /* within a window, and no further buffer yet */
        live_stop(d->live);
        return;
    }
    assert_int_equal(send(fd, a, a->header.size, MSG_NOSIGNAL), a->header.size);
}

static void *daemon_main(void *ctx)
{
    struct daemon      *d  = ctx;
    int                 fd = accept(d->listening, NULL, NULL);
    _Alignas(8) uint8_t in[CTL_MAX];

    for (ssize_t n; (n = recv(fd, in, sizeof in, 0)) > 0;) {
        struct ctl_header h;
        memcpy(&h, in, sizeof h);
        if (h.type == CTL_CONSUME_NEXT) {
            answer_consume(fd, (const void *)in, d);
        } else if (h.type == CTL_CONSUME) {
            struct ctl_consume_answer a = {.header = h, .sequence = FIRST};
            a.header.size               = sizeof a;
            assert_int_equal(send(fd, &a, sizeof a, MSG_NOSIGNAL), sizeof a);
        } else { /* CTL_HELLO: the consumer's values are accepted */
            assert_int_equal(send(fd, in, (size_t)n, MSG_NOSIGNAL), n);
        }
    }
    close(fd);
    return NULL;
}

/* A consumer of that daemon reads one window and leaves. */
static wstatus one_window(struct daemon *d, struct etl_reader **reader)
{
    char               dir[] = "/tmp/test-live-XXXXXX";
    struct sockaddr_un at    = {.sun_family = AF_UNIX};
    struct reason      why;
    pthread_t          thread;

    d->listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    assert_non_null(mkdtemp(dir));
    snprintf(at.sun_path, sizeof at.sun_path, "%s/control", dir);
    assert_int_equal(bind(d->listening, (void *)&at, sizeof at), 0);
    assert_int_equal(listen(d->listening, 1), 0);
    assert_int_equal(pthread_create(&thread, NULL, daemon_main, d), 0);

    assert_int_equal(live_open(dir, "any", &d->live, &why), W_SUCCESS);
    wstatus st = live_next(d->live, reader, &why);
    live_close(d->live, true);
    pthread_join(thread, NULL);
    close(d->listening);
    unlink(at.sun_path);
    rmdir(dir);
    return st;
}

static void stopped_inside_a_window(void **state)
{
    struct daemon      d = {.done = 0};
    struct etl_reader *reader;
    (void)state;
    assert_int_equal(one_window(&d, &reader), W_CANCELLED);
    assert_null(reader);
    assert_int_equal(d.acknowledged, 1);
    assert_int_equal(d.done, FIRST); /* acknowledges all below FIRST, not the buffer itself, which nobody saw */
}

/* A file is replaced between a buffer and the request for its header, and then the session ends: no error for the
 * consumer. */
static void the_end_instead_of_a_header(void **state)
{
    struct daemon      d = {.headers = 2};
    struct etl_reader *reader;
    (void)state;
    assert_int_equal(one_window(&d, &reader), W_SUCCESS);
    assert_null(reader);
    assert_int_equal(d.headers, 0);
    assert_int_equal(d.acknowledged, 0); /* the session that would hear it has ended */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stopped_inside_a_window),
                                       cmocka_unit_test(the_end_instead_of_a_header)};
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
