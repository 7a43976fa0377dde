/* The control server by its messages: rights, sizes, registrations, attachments, pages.
 * Proves: SEC-01, SEC-09, ENB-02, ENB-10, REG-25, COR-24, CTL-19. */
#include "autologger/control/server_parts.h"
#include "autologger/control/tests/server_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { NOBODY = 65534 };

static uint8_t answer[CTL_MAX] __attribute__((aligned(8)));

/* The next message at `fd`: its type, 0 when there is none. Descriptors are counted and closed. */
static unsigned take(int fd, unsigned *fds)
{
    union {
        struct cmsghdr align;
        char           space[256];
    } control;
    struct iovec  io = {answer, sizeof answer};
    struct msghdr m  = {
         .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    ssize_t  n     = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    unsigned count = 0;
    if (n <= 0)
        return 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++, count++) {
            int got;
            memcpy(&got, CMSG_DATA(c) + i * sizeof got, sizeof got);
            close(got);
        }
    if (fds)
        *fds = count;
    const struct ctl_header *h = (const void *)answer;
    assert_int_equal(h->size, n);
    return h->type;
}

static wstatus ask(struct server_fixture *f, int c, int peer, void *message, size_t size, uint16_t type)
{
    struct ctl_header *h = message;
    *h                   = (struct ctl_header){(uint32_t)size, type, CTL_VERSION, 77, 0};
    fixture_receive(f, c, message, size);
    assert_int_equal(take(peer, NULL), type);
    const struct ctl_header *a = (const void *)answer;
    assert_int_equal(a->sequence, 77);
    return a->status;
}

/* A waiting request is answered when the session ends; a request out of order is refused. */
static void consumers_wait_and_are_told_the_end(void **state)
{
    struct server_fixture      f;
    int                        peer;
    unsigned                   fds      = 99;
    char                       folder[] = "/tmp/al-server-XXXXXX", rest[64];
    struct ctl_session_request attach   = {.name = "one"};
    struct ctl_consume_request next     = {.what = CTL_CONSUME_BUFFER};
    struct plan plan  = {.start = true, .clock_type = 1, .memory_bytes = 64 << 14, .log_file_mode = ETL_MODE_REAL_TIME};
    struct session *s = NULL;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_true(server_fixture_init(&f));
    int c = server_fixture_client(&f, 0, &peer);
    assert_int_equal(ask(&f, c, peer, &attach, sizeof attach, CTL_CONSUME), W_NOT_SUPPORTED); /* as an early program */
    f.env.realtime = &realtime_delivery;
    f.env.log_dir  = folder;
    /* not a real-time session */
    assert_int_equal(ask(&f, c, peer, &attach, sizeof attach, CTL_CONSUME), W_WMI_INSTANCE_NOT_FOUND);
    assert_int_equal(ask(&f, c, peer, &next, sizeof next, CTL_CONSUME_NEXT), W_WMI_INSTANCE_NOT_FOUND);
    assert_int_equal(ask(&f, c, peer, &next, sizeof next - 8, CTL_CONSUME_NEXT), W_BAD_LENGTH);
    plan.name = plan.key       = (char *)"live";
    plan.guid                  = guid_from_name("live");
    plan.given.buffer_kb       = 4;
    plan.given.minimum_buffers = plan.given.maximum_buffers = 16;
    assert_int_equal(table_add(&f.table, &plan, &s, NULL), 0);
    assert_int_equal(session_start(s, NULL), 0);
    session_fs_ready(s);
    strcpy(attach.name, "live");
    assert_int_equal(ask(&f, c, peer, &attach, sizeof attach, CTL_CONSUME), 0);
    /* a second time, as after a restart of the daemon */
    assert_int_equal(ask(&f, c, peer, &attach, sizeof attach, CTL_CONSUME), 0);
    next.header = (struct ctl_header){sizeof next, CTL_CONSUME_NEXT, CTL_VERSION, 78, 0};
    server_receive(f.server, (unsigned)c, &next, sizeof next);
    assert_int_equal(take(peer, NULL), 0); /* it waits */
    session_stop(s);
    server_session_ended(f.server, s, false);
    assert_int_equal(take(peer, &fds), CTL_CONSUME_NEXT);
    const struct ctl_consume_answer *a = (const void *)answer;
    assert_int_equal(a->header.sequence, 78);
    assert_int_equal(a->flags, CTL_CONSUME_ENDED);
    assert_int_equal(fds, 0); /* nothing was written */
    assert_int_equal(ask(&f, c, peer, &next, sizeof next, CTL_CONSUME_NEXT), W_WMI_INSTANCE_NOT_FOUND);
    /* the session ends between a buffer and the request for its header: the answer says so, too */
    assert_int_equal(ask(&f, c, peer, &attach, sizeof attach, CTL_CONSUME), 0);
    server_session_ended(f.server, s, false);
    next.what = CTL_CONSUME_HEADER;
    assert_int_equal(ask(&f, c, peer, &next, sizeof next, CTL_CONSUME_NEXT), 0);
    assert_int_equal(a->flags, CTL_CONSUME_ENDED);
    /* a farewell that is not fetched neither blocks another session nor keeps descriptors */
    assert_int_equal(ask(&f, c, peer, &attach, sizeof attach, CTL_CONSUME), 0);
    server_session_ended(f.server, s, false);
    assert_int_equal(f.server->consumer[c]->farewell.flags, CTL_CONSUME_ENDED);
    assert_int_equal(ask(&f, c, peer, &attach, sizeof attach, CTL_CONSUME), 0);
    assert_int_equal(f.server->consumer[c]->farewell.flags, 0);
    close(peer);
    server_fixture_finish(&f);
    snprintf(rest, sizeof rest, "%s/RtBackup", folder);
    rmdir(rest);
    assert_int_equal(rmdir(folder), 0);
}

static void only_the_owner_controls(void **state)
{
    struct server_fixture      f;
    int                        peer[2];
    struct ctl_session_request r = {.name = "one"};
    struct ctl_header          h;
    (void)state;
    assert_true(server_fixture_init(&f));
    int nobody = server_fixture_client(&f, NOBODY, &peer[0]), root = server_fixture_client(&f, 0, &peer[1]);
    static const uint16_t guarded[] = {CTL_STOP,    CTL_FLUSH,  CTL_FS_READY, CTL_SHUTDOWN,
                                       CTL_CONSUME, CTL_UPDATE, CTL_START,    CTL_ENABLE_PROVIDER};
    for (size_t i = 0; i < sizeof guarded / sizeof *guarded; i++)
        assert_int_equal(ask(&f, nobody, peer[0], &r, sizeof r, guarded[i]), geteuid() == NOBODY ? 0 : W_ACCESS_DENIED);
    assert_int_equal(f.stops + f.readies + f.shutdowns, 0);
    assert_int_equal(ask(&f, nobody, peer[0], &r, sizeof r, CTL_QUERY), 0);
    assert_int_equal(ask(&f, root, peer[1], &r, sizeof r, CTL_STOP), 0);
    assert_int_equal(ask(&f, root, peer[1], &h, sizeof h, CTL_FS_READY), 0);
    assert_int_equal(f.stops + f.readies, 2);
    strcpy(r.name, "none");
    assert_int_equal(ask(&f, root, peer[1], &r, sizeof r, CTL_STOP), W_WMI_INSTANCE_NOT_FOUND);
    assert_int_equal(ask(&f, root, peer[1], &h, sizeof h, CTL_QUERY), W_BAD_LENGTH);
    assert_int_equal(ask(&f, root, peer[1], &h, sizeof h, 999), W_INVALID_FUNCTION);
    close(peer[0]);
    close(peer[1]);
    server_fixture_finish(&f);
}

/* The socket "provider" refuses all but five messages, from root, too. The other sockets refuse no message of root. */
static void the_provider_socket_takes_five_messages(void **state)
{
    struct server_fixture f;
    struct ctl_header     h;
    int                   peer;
    (void)state;
    assert_true(server_fixture_init(&f));
    const int c = server_fixture_client(&f, 0, &peer);
    for (unsigned at = 0; at < CTL_SOCKETS; at++) {
        f.state->connection[c].socket = at;
        for (unsigned type = 0; type < 128; type++) {
            if (type == CTL_SHUTDOWN || type == CTL_END_BOOT || type == CTL_FS_READY)
                continue; /* root may send them, and they would take effect */
            const bool ours = type >= CTL_QUERY && type <= CTL_ACCESS;
            h               = (struct ctl_header){sizeof h, (uint16_t)type, CTL_VERSION, 77, 0};
            fixture_receive(&f, c, &h, sizeof h);
            const unsigned got = take(peer, NULL);
            assert_true(f.state->connection[c].in_use);
            if (ours && at == CTL_SOCKET_PROVIDER && got)
                assert_true(((const struct ctl_header *)(const void *)answer)->status == W_ACCESS_DENIED ||
                            ((const struct ctl_header *)(const void *)answer)->status == W_INVALID_FUNCTION);
            else if (got)
                assert_int_not_equal(((const struct ctl_header *)(const void *)answer)->status, W_ACCESS_DENIED);
            assert_true(got || !ours);
        }
        h = (struct ctl_header){sizeof h, CTL_SHUTDOWN, CTL_VERSION, 77, 0};
        assert_int_equal(ask(&f, c, peer, &h, sizeof h, CTL_SHUTDOWN),
                         at == CTL_SOCKET_PROVIDER ? W_ACCESS_DENIED : W_SUCCESS);
        struct ctl_hello hello = {.highest_version = CTL_VERSION};
        assert_int_equal(ask(&f, c, peer, &hello, sizeof hello, CTL_HELLO), W_SUCCESS);
    }
    assert_int_equal(f.shutdowns, 2);
    close(peer);
    server_fixture_finish(&f);
}

/* An early program can't write its sessions yet: a stop would lose them. It asks its successor to hurry instead. */
static void an_early_program_does_not_stop_what_it_holds(void **state)
{
    static const uint16_t      held[] = {CTL_STOP, CTL_FLUSH, CTL_END_BOOT, CTL_UPDATE, CTL_START, CTL_ENABLE_PROVIDER};
    struct server_fixture      f;
    int                        peer;
    char                       path[] = "/tmp/al-hurry-XXXXXX";
    struct ctl_session_request r      = {.name = "one"};
    (void)state;
    close(mkstemp(path));
    assert_true(server_fixture_init(&f));
    f.env.tight_file = path;
    int root         = server_fixture_client(&f, 0, &peer);
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        unlink(path);
        assert_int_equal(ask(&f, root, peer, &r, sizeof r, held[i]), W_RETRY);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(f.stops, 0);
    assert_int_equal(ask(&f, root, peer, &r, sizeof r, CTL_QUERY), 0);
    f.state->fs_ready = 1;
    assert_int_equal(ask(&f, root, peer, &r, sizeof r, CTL_STOP), 0);
    assert_int_equal(access(path, F_OK), -1);
    close(peer);
    server_fixture_finish(&f);
}

static void a_pre_enabled_provider_is_attached_before_it_is_enabled(void **state)
{
    struct server_fixture f;
    int                   peer;
    unsigned              fds = 0;
    struct ctl_register   r   = {
            .header = {sizeof r, CTL_REGISTER, CTL_VERSION, 5, 0}, .provider = fixture_provider, .index = 9};
    (void)state;
    assert_true(server_fixture_init(&f));
    int c = server_fixture_client(&f, 0, &peer);
    server_receive(f.server, (unsigned)c, &r, sizeof r);
    assert_int_equal(take(peer, &fds), CTL_ATTACH);
    assert_int_equal(fds, 3);
    assert_int_equal(take(peer, NULL), CTL_REGISTER);
    const struct ctl_registered *a = (const void *)answer;
    assert_int_equal(a->index, 9);
    assert_int_equal(a->enabled_count, 1);
    assert_int_equal(take(peer, NULL), CTL_ENABLE);
    assert_int_equal(((const struct ctl_enable *)(const void *)answer)->control_code, 1);
    assert_int_equal(f.table.slot[0]->state->enable[0].registrations, 1);
    /* a second time, as after an adoption: answered, but not counted or attached twice */
    server_receive(f.server, (unsigned)c, &r, sizeof r);
    assert_int_equal(take(peer, NULL), CTL_REGISTER);
    assert_int_equal(take(peer, NULL), CTL_ENABLE);
    assert_int_equal(f.table.slot[0]->state->enable[0].registrations, 1);
    server_session_gone(f.server, f.table.slot[0]);
    assert_int_equal(take(peer, NULL), CTL_ENABLE);
    assert_int_equal(((const struct ctl_enable *)(const void *)answer)->control_code, 0);
    assert_int_equal(take(peer, NULL), CTL_DETACH);
    assert_int_equal(take(peer, NULL), 0);
    close(peer);
    server_fixture_finish(&f);
}

/* ENB-02: EnableTraceEx2 with a time-out returns when every program's callback has run, and at once when there is
 * none. */
static void an_enablement_waits_for_every_program(void **state)
{
    struct server_fixture f;
    int                   peer[2], root;
    struct ctl_register   r = {
          .header = {sizeof r, CTL_REGISTER, CTL_VERSION, 5, 0}, .provider = {9, 9, 9, {9}}, .index = 3};
    struct ctl_enable_request e = {
        .name = "one", .provider = r.provider, .code = CTL_CODE_ENABLE, .wait = 1, .level = 4, .any = 0x40};
    struct ctl_enable_ack ack[2];
    (void)state;
    assert_true(server_fixture_init(&f));
    f.server->hooks.enabling = &control_enabling;
    int c                    = server_fixture_client(&f, 0, &root);
    assert_int_equal(ask(&f, c, root, &e, sizeof e, CTL_ENABLE_PROVIDER), 0); /* no program has registered it */
    int p[2] = {server_fixture_client(&f, 0, &peer[0]), server_fixture_client(&f, 0, &peer[1])};
    for (int i = 0; i < 2; i++) {
        server_receive(f.server, (unsigned)p[i], &r, sizeof r);
        assert_int_equal(take(peer[i], NULL), CTL_ATTACH);
        assert_int_equal(take(peer[i], NULL), CTL_REGISTER);
        assert_int_equal(take(peer[i], NULL), CTL_ENABLE);
    }
    e.level  = 2; /* changed terms */
    e.header = (struct ctl_header){sizeof e, CTL_ENABLE_PROVIDER, CTL_VERSION, 77, 0};
    server_receive(f.server, (unsigned)c, &e, sizeof e);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(take(peer[i], NULL), CTL_ENABLE); /* and no second CTL_ATTACH */
        const struct ctl_enable *told = (const void *)answer;
        assert_int_equal(told->level, 2);
        assert_int_equal(told->any, 0x40);
        ack[i] = (struct ctl_enable_ack){{sizeof ack[i], CTL_ENABLE_ACK, CTL_VERSION, 0, 0}, told->ticket, 0};
    }
    assert_int_equal(take(root, NULL), 0);
    server_receive(f.server, (unsigned)p[1], &ack[0], sizeof ack[0]); /* another's ticket counts for nothing */
    server_receive(f.server, (unsigned)p[0], &ack[0], sizeof ack[0]);
    server_receive(f.server, (unsigned)p[0], &ack[0], sizeof ack[0]);
    assert_int_equal(take(root, NULL), 0);
    server_receive(f.server, (unsigned)p[1], &ack[1], sizeof ack[1]);
    assert_int_equal(take(root, NULL), CTL_ENABLE_PROVIDER);
    assert_int_equal(((const struct ctl_header *)(const void *)answer)->sequence, 77);
    /* one answers, the other dies */
    e.code = CTL_CODE_DISABLE;
    server_receive(f.server, (unsigned)c, &e, sizeof e);
    assert_int_equal(take(peer[0], NULL), CTL_ENABLE);
    ack[0].ticket = ((const struct ctl_enable *)(const void *)answer)->ticket;
    assert_int_equal(((const struct ctl_enable *)(const void *)answer)->control_code, 0);
    server_receive(f.server, (unsigned)p[0], &ack[0], sizeof ack[0]);
    assert_int_equal(take(root, NULL), 0);
    struct ctl_header bad = {1, 0, 0, 0, 0};
    server_receive(f.server, (unsigned)p[1], &bad, sizeof bad); /* dropped */
    assert_int_equal(take(root, NULL), CTL_ENABLE_PROVIDER);
    assert_int_equal(ask(&f, c, root, &e, sizeof e, CTL_ENABLE_PROVIDER), W_WMI_GUID_NOT_FOUND);
    /* the controller dies while it waits */
    e.code = CTL_CODE_ENABLE;
    server_receive(f.server, (unsigned)c, &e, sizeof e);
    server_receive(f.server, (unsigned)c, &bad, sizeof bad);
    assert_int_equal(take(peer[0], NULL), CTL_ENABLE);
    close(root);
    close(peer[0]);
    close(peer[1]);
    server_fixture_finish(&f);
}

/* The reasons for which an enablement is refused. */
static void what_cannot_be_enabled_is_refused(void **state)
{
    /* clang-format off */
    static const struct { const char *name; uint32_t code, property, size; wstatus status; } row[] = {
        {"one", CTL_CODE_ENABLE, 0, 0, W_SUCCESS},           {"ONE", CTL_CODE_CAPTURE_STATE, 0, 0, W_SUCCESS},
        {"none", CTL_CODE_ENABLE, 0, 0, W_WMI_INSTANCE_NOT_FOUND}, {"one", 3, 0, 0, W_INVALID_PARAMETER},
        {"one", CTL_CODE_ENABLE, 0x2000, 0, W_NOT_SUPPORTED},  {"one", CTL_CODE_ENABLE, 0x10, 0, W_SUCCESS},
        {"one", CTL_CODE_ENABLE, 0x8, 0, W_NOT_SUPPORTED},   {"one", CTL_CODE_ENABLE, 0xFF7, 0, W_SUCCESS},
        {"one", CTL_CODE_ENABLE, 0x1000, 0, W_NOT_SUPPORTED},
        {"one", CTL_CODE_DISABLE, 0, 8, W_BAD_LENGTH},       {"one", CTL_CODE_DISABLE, 0, 0, W_SUCCESS},
        {"one", CTL_CODE_DISABLE, 0, 0, W_WMI_GUID_NOT_FOUND},
         {"one", CTL_CODE_CAPTURE_STATE, 0, 0, W_WMI_GUID_NOT_FOUND},
    };
    /* clang-format on */
    struct server_fixture f;
    int                   peer;
    (void)state;
    assert_true(server_fixture_init(&f));
    int                       c    = server_fixture_client(&f, 0, &peer);
    struct ctl_enable_request none = {.name = "one"};
    assert_int_equal(ask(&f, c, peer, &none, sizeof none, CTL_ENABLE_PROVIDER), W_NOT_SUPPORTED); /* an early program */
    assert_int_equal(ask(&f, c, peer, &none, sizeof none, CTL_START), W_NOT_SUPPORTED);
    f.server->hooks.enabling = &control_enabling;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct ctl_enable_request e = {.provider = {7, 7, 7, {7}}, .code = row[i].code, .property = row[i].property};
        strcpy(e.name, row[i].name);
        assert_int_equal(ask(&f, c, peer, &e, sizeof e - row[i].size, CTL_ENABLE_PROVIDER), row[i].status);
    }
    /* the same provider again and again takes one place */
    for (unsigned i = 0; i < 2 * STATE_ENABLES; i++) {
        struct ctl_enable_request e = {
            .name = "one", .provider = {8, 8, 8, {8}}, .code = i % 2 ? CTL_CODE_DISABLE : CTL_CODE_ENABLE};
        assert_int_equal(ask(&f, c, peer, &e, sizeof e, CTL_ENABLE_PROVIDER), 0);
    }
    close(peer);
    server_fixture_finish(&f);
}

/* ENB-10: filters of a request are checked, kept in the directory, replaced by the next request, and removed with the
 * enablement; a controller's data are not trusted. Filters are told with the provider. */
static void filters_are_kept_and_told(void **state)
{
    struct server_fixture f;
    int                   peer;
    struct {
        struct ctl_enable_request e;
        uint8_t                   filters[512];
    } m                               = {.e = {.name     = "one",
                                               .provider = {8, 8, 8, {8}},
                                               .code     = CTL_CODE_ENABLE,
                                               .property = PROPERTY_SID | PROPERTY_IGNORE_KEYWORD_0}};
    struct ctl_provider_request asked = {.provider = m.e.provider};
    struct filter_block        *b     = NULL;
    struct reason               why;
    (void)state;
    assert_true(server_fixture_init(&f));
    f.server->hooks.enabling = &control_enabling;
    int c                    = server_fixture_client(&f, 0, &peer);
    assert_int_equal(filter_add(&b, FILTER_EXECUTABLE, "web", 4, &why), 0);
    assert_int_equal(filter_add(&b, FILTER_EVENT_ID, "\1\0\1\0\7\0", 6, &why), 0);
    memcpy(m.filters, b, b->size);
    m.e.filter_bytes   = b->size;
    const size_t whole = sizeof m.e + b->size;
    assert_int_equal(ask(&f, c, peer, &m, whole, CTL_ENABLE_PROVIDER), 0);
    assert_int_equal(ask(&f, c, peer, &asked, sizeof asked, CTL_PROVIDER), 0);
    const struct ctl_provider_answer *a = (const void *)answer;
    assert_int_equal(a->enable_count, 1);
    assert_int_equal(a->enable[0].property, PROPERTY_SID | PROPERTY_IGNORE_KEYWORD_0);
    assert_string_equal(a->enable[0].filters, "programs web; event ids 7");
    const int slot = directory_find(f.table.directory, &m.e.provider);
    assert_non_null(directory_filter(f.table.directory, (unsigned)slot, 0));
    assert_int_equal(f.table.directory->shm->provider[slot].filtered, 1);
    /* invalid filters change nothing */
    for (size_t i = 0; i < b->size; i += 4) {
        m.filters[i] ^= 0x80;
        const wstatus st = ask(&f, c, peer, &m, whole, CTL_ENABLE_PROVIDER);
        assert_true(st == 0 || st == W_INVALID_PARAMETER || st == W_NOT_SUPPORTED);
        m.filters[i] ^= 0x80;
    }
    m.e.filter_bytes = b->size + 8; /* more than there is */
    assert_int_equal(ask(&f, c, peer, &m, whole, CTL_ENABLE_PROVIDER), W_BAD_LENGTH);
    m.e.filter_bytes = UINT32_MAX;
    assert_int_equal(ask(&f, c, peer, &m, whole, CTL_ENABLE_PROVIDER), W_BAD_LENGTH);
    /* the next request replaces all */
    m.e.filter_bytes = 0;
    m.e.property     = 0;
    assert_int_equal(ask(&f, c, peer, &m, sizeof m.e, CTL_ENABLE_PROVIDER), 0);
    assert_null(directory_filter(f.table.directory, (unsigned)slot, 0));
    assert_int_equal(f.table.directory->shm->provider[slot].filtered, 0);
    assert_int_equal(f.table.directory->shm->provider[slot].enable[0].enabled, SHM_ENABLED_PLAINLY);
    m.e.filter_bytes = b->size;
    assert_int_equal(ask(&f, c, peer, &m, whole, CTL_ENABLE_PROVIDER), 0);
    m.e.code = CTL_CODE_DISABLE;
    /* it says that filters follow */
    assert_int_equal(ask(&f, c, peer, &m, sizeof m.e, CTL_ENABLE_PROVIDER), W_BAD_LENGTH);
    m.e.filter_bytes = 0;
    assert_int_equal(ask(&f, c, peer, &m, sizeof m.e, CTL_ENABLE_PROVIDER), 0);
    assert_int_equal(f.table.directory->shm->provider[slot].filter[0], 0);
    free(b);
    close(peer);
    server_fixture_finish(&f);
}

static void a_client_that_does_not_read_is_dropped(void **state)
{
    struct server_fixture f;
    int                   peer;
    struct ctl_header     h = {sizeof h, CTL_STATE, CTL_VERSION, 1, 0};
    (void)state;
    assert_true(server_fixture_init(&f));
    int c = server_fixture_client(&f, 0, &peer);
    for (int i = 0; i < 100000 && f.state->connection[c].in_use; i++)
        server_receive(f.server, (unsigned)c, &h, sizeof h);
    assert_false(f.state->connection[c].in_use);
    assert_int_equal(server_clients(f.server), 0);
    close(peer);
    server_fixture_finish(&f);
}

static void providers_are_paged(void **state)
{
    struct server_fixture      f;
    int                        peer;
    struct ctl_session_request r    = {0};
    unsigned                   seen = 0;
    (void)state;
    assert_true(server_fixture_init(&f));
    int c = server_fixture_client(&f, 0, &peer);
    for (unsigned i = 0; i < 700; i++) {
        struct ctl_register g = {.header = {sizeof g, CTL_REGISTER, CTL_VERSION, i, 0}, .index = i};
        g.provider.data1      = i + 1;
        server_receive(f.server, (unsigned)c, &g, sizeof g);
        assert_int_equal(take(peer, NULL), CTL_REGISTER);
    }
    for (;;) {
        r.start = seen;
        assert_int_equal(ask(&f, c, peer, &r, sizeof r, CTL_PROVIDERS), 0);
        const struct ctl_providers_answer *a = (const void *)answer;
        assert_int_equal(a->total, 701);
        if (!a->count)
            break;
        seen += a->count;
    }
    assert_int_equal(seen, 701);
    close(peer);
    server_fixture_finish(&f);
}

static void a_session_can_be_declared_again(void **state)
{
    struct server_fixture      f;
    int                        peer;
    struct ctl_session_request r = {.name = "one"}, none = {.name = "two"},
                               beyond      = {.name = "one", .start = 0xFFFFFFFF};
    const struct ctl_declaration_answer *a = (const void *)answer;
    (void)state;
    assert_true(server_fixture_init(&f));
    int c = server_fixture_client(&f, NOBODY, &peer);
    assert_int_equal(ask(&f, c, peer, &r, sizeof r, CTL_DECLARATION), 0);
    assert_string_equal(a->session.name, "one");
    assert_string_equal(a->session.key, "key");
    assert_int_equal(a->session.buffer_kb, 4);
    assert_int_equal(a->session.maximum_buffers, 16);
    assert_int_equal(a->total, 1);
    assert_int_equal(a->count, 1);
    assert_true(guid_equal(&a->row[0].guid, &fixture_provider));
    assert_int_equal(ask(&f, c, peer, &beyond, sizeof beyond, CTL_DECLARATION), 0);
    assert_true(a->total == 1 && a->count == 0);
    assert_int_equal(ask(&f, c, peer, &none, sizeof none, CTL_DECLARATION), W_WMI_INSTANCE_NOT_FOUND);
    assert_int_equal(ask(&f, c, peer, &none, sizeof(struct ctl_header), CTL_DECLARATION), W_BAD_LENGTH);
    close(peer);
    server_fixture_finish(&f);
}

/* D-20: the fixed rows of CTL_DECLARATION have no room for filters; one message for each provider has. */
static void all_terms_of_a_session_are_given(void **state)
{
    static const uint16_t          ids[] = {17, 100};
    struct server_fixture          f;
    int                            peer;
    uint8_t                        data[sizeof(struct filter_ids) + sizeof ids];
    const struct filter_ids        head   = {.filter_in = 0, .count = 2};
    struct filter_block           *filter = NULL;
    unsigned                       slot, entry;
    struct reason                  why = {0};
    struct ctl_session_request     r = {.name = "one"}, beyond = {.name = "one", .start = 1}, none = {.name = "two"};
    const struct ctl_terms_answer *a = (const void *)answer;
    (void)state;
    memcpy(data, &head, sizeof head);
    memcpy(data + sizeof head, ids, sizeof ids);
    assert_int_equal(filter_add(&filter, FILTER_EVENT_ID, data, sizeof data, &why), 0);
    filter->property                = PROPERTY_SID;
    const struct enable_terms terms = {
        .level = 3, .any = 0x40, .all = 0x1, .flags = directory_flags(PROPERTY_IGNORE_KEYWORD_0), .filter = filter};
    assert_true(server_fixture_init(&f));
    int c = server_fixture_client(&f, NOBODY, &peer);
    assert_int_equal(session_provider_set(table_find(&f.table, "one"), &fixture_provider, &terms, &slot, &entry, &why),
                     0);
    assert_int_equal(ask(&f, c, peer, &r, sizeof r, CTL_TERMS), 0);
    assert_string_equal(a->session.key, "key");
    assert_int_equal(a->session.buffer_kb, 4);
    assert_true(a->total == 1 && a->count == 1);
    assert_true(guid_equal(&a->row.guid, &fixture_provider));
    assert_true(a->row.level == 3 && a->row.any == 0x40 && a->row.all == 0x1);
    assert_int_equal(a->property, PROPERTY_SID | PROPERTY_IGNORE_KEYWORD_0);
    assert_true(a->registrations == 0 && a->events == 0 && !a->refused_by_level);
    assert_int_equal(a->filter_bytes, filter->size);
    assert_int_equal(a->header.size, sizeof *a + filter->size);
    assert_int_equal(filter_check(a + 1, a->filter_bytes, &why), 0);
    assert_memory_equal((const uint8_t *)(a + 1) + sizeof *filter, (const uint8_t *)filter + sizeof *filter,
                        filter->size - sizeof *filter);
    assert_int_equal(ask(&f, c, peer, &beyond, sizeof beyond, CTL_TERMS), 0);
    assert_true(a->total == 1 && a->count == 0 && a->filter_bytes == 0);
    assert_int_equal(ask(&f, c, peer, &none, sizeof none, CTL_TERMS), W_WMI_INSTANCE_NOT_FOUND);
    assert_int_equal(ask(&f, c, peer, &none, sizeof(struct ctl_header), CTL_TERMS), W_BAD_LENGTH);
    free(filter);
    close(peer);
    server_fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_owner_controls),
        cmocka_unit_test(the_provider_socket_takes_five_messages),
        cmocka_unit_test(an_early_program_does_not_stop_what_it_holds),
        cmocka_unit_test(consumers_wait_and_are_told_the_end),
        cmocka_unit_test(a_pre_enabled_provider_is_attached_before_it_is_enabled),
        cmocka_unit_test(a_client_that_does_not_read_is_dropped),
        cmocka_unit_test(an_enablement_waits_for_every_program),
        cmocka_unit_test(what_cannot_be_enabled_is_refused),
        cmocka_unit_test(filters_are_kept_and_told),
        cmocka_unit_test(providers_are_paged),
        cmocka_unit_test(a_session_can_be_declared_again),
        cmocka_unit_test(all_terms_of_a_session_are_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
