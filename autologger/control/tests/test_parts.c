/* A private session of several processes: which processes get a part, whose streams a program writes to, and the places
 * that parts leave to others.
 * Proves: SPC-03. */
#include "autologger/control/access.h"
#include "autologger/control/server_parts.h"
#include "autologger/control/tests/server_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

static const struct guid provider = {0x22222222, 0x2222, 0x3333, {4, 4, 4, 4, 4, 4, 4, 4}},
                         other    = {0x33333333, 2, 3, {4}};
enum { OF_ONE = 16, LEFT = 16, USER = 1000 };

struct bench {
    struct server_fixture f;
    struct session       *whole;
};

static void whole_add(struct bench *b, const char *name, const struct state_processes *chosen)
{
    char                   path[64];
    struct plan            plan  = {.start         = true,
                                    .clock_type    = 1,
                                    .memory_bytes  = 64 << 10,
                                    .name          = (char *)(uintptr_t)name,
                                    .key           = (char[]){0},
                                    .guid          = provider,
                                    .log_path      = path,
                                    .file_name     = path + sizeof "/nowhere",
                                    .log_file_mode = 0x800};
    struct state_processes whole = chosen ? *chosen : (struct state_processes){0};
    struct reason          why;
    snprintf(path, sizeof path, "/nowhere/%s.etl", name);
    whole.kind                 = STATE_WHOLE;
    plan.given.buffer_kb       = 4;
    plan.given.minimum_buffers = plan.given.maximum_buffers = 16;
    b->f.env.processes                                      = &whole;
    assert_int_equal(table_add(&b->f.table, &plan, &b->whole, &why), W_SUCCESS);
    b->f.env.processes = NULL;
    server_session_begun(b->f.server, b->whole);
}

static void init(struct bench *b)
{
    memset(b, 0, sizeof *b);
    assert_true(server_fixture_init(&b->f));
    b->f.server->hooks.enabling = &control_enabling;
}

/* A program with that pid; *peer is its end. */
static int program(struct bench *b, uint32_t pid, int *peer)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    *peer                             = pair[1];
    const struct state_connection who = fixture_peer(&b->f, 0, pid);
    return server_connect(b->f.server, pair[0], &who);
}

static void registers(struct bench *b, int c, uint32_t index, const struct guid *id)
{
    struct ctl_register r = {.header = {sizeof r, CTL_REGISTER, CTL_VERSION, 5, 0}, .provider = *id, .index = index};
    server_receive(b->f.server, (unsigned)c, &r, sizeof r);
}

/* Returns the type of the next message; *inode: of the memory that came with it. */
static unsigned next(int peer, void *out, size_t size, ino_t *inode)
{
    union {
        struct cmsghdr h;
        char           room[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec  v = {out, size};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct stat   st;
    int           fd[3];
    if (recvmsg(peer, &m, MSG_CMSG_CLOEXEC) <= 0)
        return 0;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
        for (size_t i = 0;
             memcpy(fd, CMSG_DATA(h), h->cmsg_len - CMSG_LEN(0)), i < (h->cmsg_len - CMSG_LEN(0)) / sizeof *fd; i++) {
            if (inode && i == 0 && fstat(fd[0], &st) == 0)
                *inode = st.st_ino;
            close(fd[i]);
        }
    return ((const struct ctl_header *)out)->type;
}

static struct session *part_of(struct bench *b, uint32_t pid)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (session_is_part(b->f.table.slot[i], b->whole) && b->f.table.slot[i]->state->private_pid == pid)
            return b->f.table.slot[i];
    return NULL;
}

static void enable(struct bench *b, const struct guid *id)
{
    struct ctl_enable_request e = {.provider = *id, .code = CTL_CODE_ENABLE, .level = 4};
    int                       peer, c = program(b, 1, &peer);
    e.header = (struct ctl_header){sizeof e, CTL_ENABLE_PROVIDER, CTL_VERSION, 1, 0};
    snprintf(e.name, sizeof e.name, "%s", b->whole->state->name);
    server_receive(b->f.server, (unsigned)c, &e, sizeof e);
    _Alignas(8) uint8_t answer[256];
    assert_int_equal(next(peer, answer, sizeof answer, NULL), CTL_ENABLE_PROVIDER);
    assert_int_equal(((struct ctl_header *)(void *)answer)->status, 0);
    close(peer);
}

/* Each program gets its own memory under the whole's number; the first file has the given name. A program gets nothing
 * until it has registered the provider. */
static void each_program_writes_to_its_part(void **state)
{
    _Alignas(8) uint8_t m[4096];
    struct bench        b;
    int                 peer[4], c[4];
    ino_t               memory[4] = {0};
    char                file[64];
    (void)state;
    init(&b);
    c[0] = program(&b, 100, &peer[0]);
    registers(&b, c[0], 1, &provider); /* registered before the session starts */
    assert_int_equal(next(peer[0], m, sizeof m, NULL), CTL_REGISTER);
    whole_add(&b, "each", NULL);
    assert_non_null(part_of(&b, 100));
    assert_string_equal(session_log_path(part_of(&b, 100)->state), "/nowhere/each.etl");
    assert_string_equal(session_log_path(b.whole->state), "");
    enable(&b, &provider);
    enable(&b, &other);
    assert_int_equal(next(peer[0], m, sizeof m, &memory[0]), CTL_ATTACH);
    assert_int_equal(((struct ctl_attach *)(void *)m)->session, b.whole->state->index);
    assert_int_equal(next(peer[0], m, sizeof m, NULL), CTL_ENABLE);
    for (int i = 1; i < 3; i++) {
        c[i] = program(&b, 100 + (uint32_t)i, &peer[i]);
        if (i == 2) { /* first another provider, which the session enables, too */
            registers(&b, c[i], 2, &other);
            assert_int_equal(next(peer[i], m, sizeof m, NULL), CTL_REGISTER);
            assert_int_equal(((struct ctl_registered *)(void *)m)->enabled_count, 0);
        }
        registers(&b, c[i], 1, &provider);
        assert_int_equal(next(peer[i], m, sizeof m, &memory[i]), CTL_ATTACH);
        if (i == 2)
            assert_int_equal(next(peer[i], m, sizeof m, NULL), CTL_ENABLE);
        assert_int_equal(next(peer[i], m, sizeof m, NULL), CTL_REGISTER);
        assert_int_equal(next(peer[i], m, sizeof m, NULL), CTL_ENABLE);
        snprintf(file, sizeof file, "/nowhere/each.etl_%d", 100 + i);
        assert_string_equal(session_log_path(part_of(&b, 100 + (uint32_t)i)->state), file);
    }
    assert_true(memory[0] && memory[0] != memory[1] && memory[1] != memory[2]);
    assert_int_equal(b.whole->state->processes.begun, 3);
    c[3] = program(&b, 101, &peer[3]); /* one process, two connections */
    registers(&b, c[3], 1, &provider);
    assert_int_equal(next(peer[3], m, sizeof m, &memory[3]), CTL_ATTACH);
    assert_int_equal(memory[3], memory[1]);
    const int slot = directory_find(b.f.table.directory, &provider);
    assert_int_equal(__builtin_popcount(b.f.table.directory->shm->provider[slot].mask), 1); /* one of eight bits */
    for (int i = 0; i < 4; i++)
        close(peer[i]);
    server_fixture_finish(&b.f);
}

static void more_programs_than_places(void **state)
{
    struct bench b;
    int          peer[OF_ONE + 3];
    (void)state;
    init(&b);
    whole_add(&b, "each", NULL);
    for (uint32_t i = 0; i < OF_ONE + 2; i++)
        for (uint32_t twice = 0; twice < 2; twice++)
            registers(&b, twice ? (int)i : program(&b, 100 + i, &peer[i]), twice, &provider);
    assert_int_equal(b.whole->state->processes.begun, OF_ONE);
    assert_int_equal(b.whole->state->processes.refused, 2); /* counts processes, not registrations */
    struct ctl_session_info info;
    session_info(b.whole, &info);
    assert_int_equal(info.status, W_NO_SYSTEM_RESOURCES);
    assert_int_equal(info.processes.refused, 2);
    /* a second session with that provider leaves places to others */
    b.f.table.most = OF_ONE + 3 + LEFT + 2;
    whole_add(&b, "more", NULL);
    assert_int_equal(b.whole->state->processes.begun, 2);
    assert_int_equal(table_count(&b.f.table), b.f.table.most - LEFT);
    assert_int_equal(b.whole->state->processes.refused, OF_ONE);
    for (uint32_t i = 0; i < OF_ONE + 2; i++)
        close(peer[i]);
    server_fixture_finish(&b.f);
}

static void only_who_is_chosen(void **state)
{
    struct state_processes chosen    = {.pid_count = 2, .pid = {7, (uint32_t)getpid()}};
    char                   self[256] = "";
    struct bench           b;
    int                    peer;
    (void)state;
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    const char *name = strrchr(self, '/') + 1;
    for (int round = 0; round < 5; round++) {
        init(&b);
        if (round)
            snprintf(chosen.names, sizeof chosen.names, "%s%.200s%s", round == 1 ? "x" : "no;",
                     round == 4 ? self : name, round == 2 ? "x" : ";other");
        whole_add(&b, "each", &chosen);
        registers(&b, program(&b, 8, &peer), 1, &provider);
        assert_null(part_of(&b, 8));
        close(peer);
        registers(&b, program(&b, (uint32_t)getpid(), &peer), 1, &provider);
        assert_int_equal(part_of(&b, (uint32_t)getpid()) != NULL, round == 0 || round > 2);
        assert_int_equal(b.whole->state->processes.refused, 0);
        close(peer);
        server_fixture_finish(&b.f);
    }
}

/* A traced program has no rights on its part; a part can be queried, but not stopped by itself. */
static void a_part_is_asked_after_and_left_alone(void **state)
{
    _Alignas(8) uint8_t m[CTL_MAX];
    struct bench        b;
    int                 peer, pair[2];
    (void)state;
    init(&b);
    whole_add(&b, "each", NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    const struct state_connection who  = fixture_peer(&b.f, USER, 100);
    const int                     user = server_connect(b.f.server, pair[0], &who), root = program(&b, 1, &peer);
    struct state_registration    *r = &b.f.state->registration[0]; /* as if it had the right to register */
    r->connection = (uint32_t)user, r->index = 1, r->slot = (uint32_t)directory_get(b.f.table.directory, &provider),
    r->in_use = STATE_REGISTERED;
    directory_register(b.f.table.directory, r->slot, 1);
    b.f.server->hooks.enabling->registered(b.f.server, 0, NULL);
    struct session *part = part_of(&b, 100);
    assert_non_null(part);
    assert_false(server_session_granted(b.f.server, (unsigned)user, part, ACCESS_GUID_ENABLE));
    struct ctl_session_request q = {.header = {sizeof q, CTL_QUERY, CTL_VERSION, 1, 0}};
    for (int stop = 0; stop < 2; stop++) {
        q.header.type = stop ? CTL_STOP : CTL_QUERY;
        snprintf(q.name, sizeof q.name, "%s", part->state->name);
        fixture_receive(&b.f, root, &q, sizeof q);
        assert_int_equal(next(peer, m, sizeof m, NULL), q.header.type);
        assert_int_equal(((struct ctl_header *)(void *)m)->status, stop ? W_INVALID_PARAMETER : W_SUCCESS);
    }
    assert_int_equal(b.f.stops, 0);
    close(peer);
    close(pair[1]);
    server_fixture_finish(&b.f);
}

static struct {
    struct state_processes whole;
    unsigned               starts;
} asked;
static wstatus start(void *ctx, const void *snapshot, size_t size, struct ctl_update_answer *answer,
                     struct session **wait)
{
    struct bench *b    = ctx;
    struct plan   plan = {.log_file_mode = asked.starts % 2 ? 0x1 : 0x800, .name = (char[]){"x"}, .guid = provider};
    struct reason why;
    (void)answer, (void)wait;
    assert_memory_equal(snapshot, "snapshot", size);
    wstatus st = b->f.table.may_add(b->f.table.may_ctx, &plan, &why);
    if (!st && b->f.env.processes)
        asked.whole = *b->f.env.processes;
    return st;
}

/* The processes in a start request are not trusted, and only such a session may name them. */
static void what_a_start_says_of_processes(void **state)
{
    _Alignas(8) struct {
        struct ctl_start_request r;
        uint8_t                  rest[4096];
    } m;
    _Alignas(8) uint8_t  answer[CTL_MAX];
    struct filter_block *chosen = NULL, *events = NULL;
    struct bench         b;
    int                  peer;
    (void)state;
    init(&b);
    b.f.server->hooks.start = start;
    b.f.server->hooks.ctx   = &b;
    const int c             = program(&b, 1, &peer);
    assert_int_equal(filter_add(&chosen, FILTER_PID, (uint32_t[]){5, 6}, 8, NULL), 0);
    assert_int_equal(filter_add(&chosen, FILTER_EXECUTABLE, "web;shop", 9, NULL), 0);
    assert_int_equal(filter_add(&events, FILTER_EVENT_ID, "\1\0\1\0\7\0", 6, NULL), 0);
    /* clang-format off */
    const struct { const struct filter_block *filter; uint32_t bytes, starts; size_t less; wstatus status; } row[] = {
        {chosen, chosen->size, 0, 0, W_SUCCESS},      {chosen, chosen->size, 1, 0, W_INVALID_PARAMETER},
         {NULL, 0, 1, 0, W_SUCCESS},
        {NULL, 0, 0, 0, W_SUCCESS},                   {events, events->size, 0, 0, W_NOT_SUPPORTED},
             {chosen, chosen->size - 8, 0, 0, W_INVALID_PARAMETER},
        {chosen, chosen->size, 0, 8, W_BAD_LENGTH},   {chosen, UINT32_MAX, 0, 0, W_BAD_LENGTH},
                  {chosen, 4, 0, 0, W_INVALID_PARAMETER},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const size_t filter = row[i].filter ? row[i].filter->size : 0, size = sizeof m.r + 8 + filter - row[i].less;
        /* padded to 8 */
        m.r = (struct ctl_start_request){
            .header = {(uint32_t)size, CTL_START, CTL_VERSION, 1, 0}, .bytes = 7, .filter_bytes = row[i].bytes};
        memcpy(m.rest, "snapshot", 8);
        if (filter)
            memcpy(m.rest + 8, row[i].filter, filter);
        memset(&asked, 0, sizeof asked);
        asked.starts = row[i].starts;
        server_receive(b.f.server, (unsigned)c, &m, size);
        assert_int_equal(next(peer, answer, sizeof answer, NULL), CTL_START);
        assert_int_equal(((struct ctl_header *)(void *)answer)->status, row[i].status);
        assert_null(b.f.env.processes); /* valid for this request alone */
        if (row[i].status || row[i].starts)
            continue;
        assert_int_equal(asked.whole.kind, STATE_WHOLE);
        assert_int_equal(asked.whole.pid_count, filter ? 2 : 0);
        assert_string_equal(asked.whole.names, filter ? "web;shop" : "");
    }
    free(chosen);
    free(events);
    close(peer);
    server_fixture_finish(&b.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_program_writes_to_its_part), cmocka_unit_test(more_programs_than_places),
        cmocka_unit_test(only_who_is_chosen), cmocka_unit_test(a_part_is_asked_after_and_left_alone),
        cmocka_unit_test(what_a_start_says_of_processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
