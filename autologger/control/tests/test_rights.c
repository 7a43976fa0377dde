/* The table of rights: eight rights and five kinds of callers, each used as by a program, at the control socket;
 * secure sessions; changes. Root alone can make the callers' groups: else the table is skipped. Proves: SEC-01, SEC-02,
 * SEC-03, SEC-04, SEC-05, SEC-07, SEC-08, SEC-09, SEC-11, SEC-12, SPC-07. */
#include "autologger/control/rights.h"
#include "autologger/control/server_parts.h"
#include "autologger/control/tests/server_fixture.h"

#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { LISTED = 1000, OTHER = 1001, DEVELOPERS = 777, LOG_USERS = 888 };
enum caller { ROOT, LOG_USER, LISTED_USER, LISTED_GROUP, ANYONE, CALLERS };

static uint8_t answer[CTL_MAX] __attribute__((aligned(8)));

struct bench {
    struct server_fixture f;
    struct rights        *rights;
    struct session       *secure, *live;
    struct guid           guid; /* of the session that CTL_START is to make */
    unsigned              saves;
    uint8_t               saved[4096];
    size_t                saved_size;
};

static wstatus save(void *ctx, const struct guid *object, const uint8_t *descriptor, size_t size, struct reason *why)
{
    struct bench *b = ctx;
    (void)object;
    (void)why;
    b->saves++;
    b->saved_size = size;
    if (descriptor)
        memcpy(b->saved, descriptor, size);
    return W_SUCCESS;
}

/* A stand-in for a declaration: its first byte selects what the new session asks for. */
static struct session_table *started_in;
static wstatus start(void *ctx, const void *snapshot, size_t size, struct ctl_update_answer *a, struct session **wait)
{
    const uint8_t *p    = snapshot;
    struct plan    plan = {
           .start = true, .clock_type = 1, .memory_bytes = 64 << 14, .name = (char *)"new", .key = (char *)""};
    struct session *s;
    struct reason   why;
    (void)ctx;
    (void)a, (void)wait;
    plan.log_file_mode = size && p[0] == 'r' ? ETL_MODE_REAL_TIME : 0;
    plan.log_path      = size && p[0] == 'f' ? (char *)"/tmp/no-such-folder/new.etl" : NULL;
    plan.kernel        = size && p[0] == 'k';
    plan.guid          = guid_from_name("new");
    if (plan.kernel)
        plan.guid = guid_from_name("kernel session");
    plan.given.buffer_kb       = 4;
    plan.given.minimum_buffers = plan.given.maximum_buffers = 16;
    if (plan.kernel) /* a kernel session is only asked for, not made */
        return started_in->may_add(started_in->may_ctx, &plan, &why);
    wstatus st = table_add(started_in, &plan, &s, &why);
    if (!st)
        table_remove(started_in, s);
    return st;
}

static void bench_init(struct bench *b)
{
    struct plan plan = {
        .start = true, .clock_type = 1, .memory_bytes = 64 << 14, .key = (char *)"k", .log_file_mode = ETL_MODE_SECURE};
    struct enable_terms all = {0};
    unsigned            slot, entry;
    memset(b, 0, sizeof *b);
    assert_true(server_fixture_init(&b->f));
    plan.given.buffer_kb       = 4;
    plan.given.minimum_buffers = plan.given.maximum_buffers = 16;
    plan.name                                               = (char *)"secure";
    plan.guid                                               = guid_from_name("secure");
    assert_int_equal(table_add(&b->f.table, &plan, &b->secure, NULL), 0);
    assert_int_equal(session_enable(b->secure, &fixture_provider, "k", &all, &slot, &entry, NULL), 0);
    assert_int_equal(rights_create(LOG_USERS, &b->rights, NULL), 0);
    struct control_hooks *h = &b->f.server->hooks;
    h->rights               = rights_asked(b->rights);
    h->descriptors          = b->rights;
    h->access               = server_access;
    h->access_save          = save;
    h->enabling             = &control_enabling;
    h->start                = start;
    h->ctx                  = b;
    started_in              = &b->f.table;
}

static void bench_finish(struct bench *b)
{
    server_fixture_finish(&b->f);
    rights_destroy(b->rights);
}

/* A connection of such a caller: the kernel reports the groups (SO_PEERCRED, SO_PEERGROUPS). */
static int client(struct bench *b, enum caller who, int *peer)
{
    static const uint32_t uid[CALLERS] = {0, OTHER, LISTED, OTHER, OTHER};
    const gid_t           groups[2]    = {12345, who == LOG_USER ? LOG_USERS : DEVELOPERS};
    const bool            member       = who == LOG_USER || who == LISTED_GROUP;
    gid_t                 old[64], gid = getegid();
    int                   n = getgroups(64, old);
    if (who == ROOT)
        return server_fixture_client(&b->f, 0, peer);
    assert_int_equal(setgroups(member ? 2 : 1, groups), 0);
    assert_int_equal(setresgid((gid_t)-1, 54321, (gid_t)-1), 0);
    int c = server_fixture_client(&b->f, uid[who], peer);
    assert_int_equal(setresgid((gid_t)-1, gid, (gid_t)-1), 0);
    assert_int_equal(setgroups((size_t)n, old), 0);
    return c;
}

static unsigned take(int fd)
{
    union {
        struct cmsghdr align;
        char           space[256];
    } control;
    struct iovec  io = {answer, sizeof answer};
    struct msghdr m  = {
         .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    if (recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
        return 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
            int got;
            memcpy(&got, CMSG_DATA(c) + i * sizeof got, sizeof got);
            close(got);
        }
    return ((const struct ctl_header *)(const void *)answer)->type;
}

/* Returns the Status of the answer of that type; *attached counts the CTL_ATTACH before it. */
static wstatus ask(struct bench *b, int c, int peer, void *message, size_t size, uint16_t type, unsigned *attached)
{
    struct ctl_header *h = message;
    unsigned           got;
    *h = (struct ctl_header){(uint32_t)size, type, CTL_VERSION, 77, 0};
    fixture_receive(&b->f, c, message, size);
    while ((got = take(peer)) != type && got)
        if (attached)
            *attached += got == CTL_ATTACH;
    assert_int_equal(got, type);
    return ((const struct ctl_header *)(const void *)answer)->status;
}

static bool may_start(struct bench *b, int c, int peer, char what)
{
    _Alignas(8) uint8_t       bytes[sizeof(struct ctl_start_request) + 8] = {0};
    struct ctl_start_request *r                                           = (void *)bytes;
    r->bytes                                                              = 8;
    bytes[sizeof *r]                                                      = (uint8_t)what;
    return ask(b, c, peer, r, sizeof bytes, CTL_START, NULL) != W_ACCESS_DENIED;
}

/* Sends the request that the right allows. Returns whether it was allowed; its result does not matter here. */
static bool asked(struct bench *b, int c, int peer, uint32_t right)
{
    struct ctl_session_request  named    = {.name = "secure"};
    struct ctl_snapshot_request snapshot = {.name = "secure", .file = "x.etl"};
    struct ctl_enable_request   enable   = {.name = "secure", .provider = fixture_provider, .code = CTL_CODE_ENABLE};
    struct ctl_register         reg      = {.provider = fixture_provider, .index = 7};
    unsigned                    attached = 0;
    wstatus                     st;
    switch (right) {
    case ACCESS_QUERY: return ask(b, c, peer, &named, sizeof named, CTL_QUERY, NULL) == 0;
    case ACCESS_CREATE_REALTIME: return may_start(b, c, peer, 'r');
    case ACCESS_CREATE_ONDISK:
        st = ask(b, c, peer, &snapshot, sizeof snapshot, CTL_SNAPSHOT, NULL);
        assert_int_equal(may_start(b, c, peer, 'f'), st != W_ACCESS_DENIED);
        return st != W_ACCESS_DENIED;
    case ACCESS_GUID_ENABLE:
        return ask(b, c, peer, &enable, sizeof enable, CTL_ENABLE_PROVIDER, NULL) != W_ACCESS_DENIED;
    case ACCESS_LOG_EVENT: /* attached to the session that is open to all, and to the secure one */
        assert_int_equal(ask(b, c, peer, &reg, sizeof reg, CTL_REGISTER, &attached), 0);
        assert_uint_in_range(attached, 1, 2);
        assert_int_equal(((const struct ctl_registered *)(const void *)answer)->enabled_count, attached);
        return attached == 2;
    case ACCESS_REALTIME: return ask(b, c, peer, &named, sizeof named, CTL_CONSUME, NULL) != W_ACCESS_DENIED;
    case ACCESS_REGISTER_GUIDS: return ask(b, c, peer, &reg, sizeof reg, CTL_REGISTER, NULL) != W_ACCESS_DENIED;
    default: return server_granted(b->f.server, (unsigned)c, &b->secure->state->guid, right);
    }
}

/* Adds to the default: `right` for one user and one group. A start needs the right to enable, too. */
static void give(struct bench *b, uint32_t right)
{
    const struct guid     objects[] = {b->secure->state->guid, fixture_provider, guid_from_name("new")};
    struct security_entry e[2]      = {{.who = sid_of_user(LISTED), .rights = right},
                                       {.who = sid_of_group(DEVELOPERS), .rights = right}};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        for (unsigned k = 0; k < 2; k++) {
            uint8_t *bytes;
            size_t   size;
            if (i == 2 && right != ACCESS_GUID_ENABLE)
                e[k].rights = right | ACCESS_GUID_ENABLE;
            assert_int_equal(rights_changed_dup(b->rights, &objects[i], &e[k], false, &bytes, &size, NULL), 0);
            assert_int_equal(rights_put(b->rights, &objects[i], bytes, size, NULL), 0);
            free(bytes);
            e[k].rights = right;
        }
}

/* Forty cells. */
static void every_right_for_every_caller(void **state)
{
    static const struct {
        const char *name;
        uint32_t    right;
        bool        may[CALLERS];
    } table[] = {
        {"WMIGUID_QUERY", ACCESS_QUERY, {true, true, true, true, true}},
        {"TRACELOG_CREATE_REALTIME", ACCESS_CREATE_REALTIME, {true, true, true, true, false}},
        {"TRACELOG_CREATE_ONDISK", ACCESS_CREATE_ONDISK, {true, true, true, true, false}},
        {"TRACELOG_GUID_ENABLE", ACCESS_GUID_ENABLE, {true, true, true, true, false}},
        {"TRACELOG_LOG_EVENT", ACCESS_LOG_EVENT, {true, true, true, true, false}},
        {"TRACELOG_ACCESS_REALTIME", ACCESS_REALTIME, {true, true, true, true, false}},
        {"TRACELOG_REGISTER_GUIDS", ACCESS_REGISTER_GUIDS, {true, true, true, true, true}},
        {"TRACELOG_JOIN_GROUP", ACCESS_JOIN_GROUP, {true, false, true, true, false}},
    };
    unsigned cells = 0;
    (void)state;
    if (geteuid())
        skip();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (enum caller who = 0; who < CALLERS; who++, cells++) {
            struct bench b;
            int          peer[2];
            bench_init(&b);
            int        c      = client(&b, who, &peer[0]);
            const bool before = who == LISTED_USER || who == LISTED_GROUP ? table[i].may[ANYONE] : table[i].may[who];
            if (asked(&b, c, peer[0], table[i].right) != before)
                fail_msg("%s, caller %u, by default: not %d", table[i].name, who, before);
            give(&b, table[i].right);
            c = client(&b, who, &peer[1]); /* a program that connects after the change */
            if (asked(&b, c, peer[1], table[i].right) != table[i].may[who])
                fail_msg("%s, caller %u: not %d", table[i].name, who, table[i].may[who]);
            close(peer[0]);
            close(peer[1]);
            bench_finish(&b);
        }
    assert_int_equal(cells, 40);
}

/* TRACELOG_GUID_ENABLE is needed on the session and on the provider: with only one the request is refused. */
static void enabling_needs_both(void **state)
{
    (void)state;
    if (geteuid())
        skip();
    for (unsigned on = 0; on < 4; on++) {
        struct bench          b;
        int                   peer;
        struct security_entry e = {.who = sid_of_user(LISTED), .rights = ACCESS_GUID_ENABLE};
        bench_init(&b);
        const struct guid objects[2] = {b.secure->state->guid, fixture_provider};
        for (unsigned i = 0; i < 2; i++) {
            uint8_t *bytes;
            size_t   size;
            if (!(on & 1u << i))
                continue;
            assert_int_equal(rights_changed_dup(b.rights, &objects[i], &e, false, &bytes, &size, NULL), 0);
            assert_int_equal(rights_put(b.rights, &objects[i], bytes, size, NULL), 0);
            free(bytes);
        }
        int c = client(&b, LISTED_USER, &peer);
        assert_int_equal(asked(&b, c, peer, ACCESS_GUID_ENABLE), on == 3);
        close(peer);
        bench_finish(&b);
    }
}

/* Kernel events are for root, even when all objects grant the right. */
static void the_kernel_is_roots(void **state)
{
    static const struct guid system_trace = {
        0x9e814aad, 0x3204, 0x11d2, {0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39}};
    static const struct guid everything = {
        0x0811c1af, 0x7a07, 0x4a06, {0x82, 0xed, 0x86, 0x94, 0x55, 0xcd, 0xf7, 0x13}};
    struct security_entry e = {.who = sid_of_user(LISTED), .rights = ACCESS_ALL};
    struct bench          b;
    int                   peer;
    uint8_t              *bytes;
    size_t                size;
    (void)state;
    if (geteuid())
        skip();
    bench_init(&b);
    assert_int_equal(rights_changed_dup(b.rights, &everything, &e, false, &bytes, &size, NULL), 0);
    assert_int_equal(rights_put(b.rights, &everything, bytes, size, NULL), 0);
    free(bytes);
    int c = client(&b, LISTED_USER, &peer);
    assert_true(may_start(&b, c, peer, 'f'));
    assert_false(may_start(&b, c, peer, 'k'));
    assert_int_equal(rights_changed_dup(b.rights, &system_trace, &e, false, &bytes, &size, NULL), 0);
    assert_int_equal(rights_put(b.rights, &system_trace, bytes, size, NULL), 0);
    free(bytes);
    assert_true(may_start(&b, c, peer, 'k'));
    close(peer);
    bench_finish(&b);
}

/* CTL_ACCESS: saved before it takes effect; queried, listed, removed; only root changes anything. */
static void changes(void **state)
{
    struct bench              b;
    int                       root, other;
    const struct sid          alice = sid_of_user(LISTED);
    struct ctl_access_request r     = {
            .object = guid_from_name("x"), .what = CTL_ACCESS_SET, .rights = ACCESS_LOG_EVENT, .sid_size = alice.size};
    const struct ctl_access_answer *a = (const void *)answer;
    struct security_entry           e;
    (void)state;
    bench_init(&b);
    memcpy(r.sid, alice.bytes, alice.size);
    int c = server_fixture_client(&b.f, 0, &root), n = server_fixture_client(&b.f, OTHER, &other);
    for (uint32_t what = CTL_ACCESS_SET; what <= CTL_ACCESS_LIST; what++) {
        r.what = what;
        assert_int_equal(ask(&b, n, other, &r, sizeof r, CTL_ACCESS, NULL), W_ACCESS_DENIED);
    }
    r.what = CTL_ACCESS_QUERY;
    assert_int_equal(ask(&b, n, other, &r, sizeof r, CTL_ACCESS, NULL), 0); /* ACCESS_QUERY is enough */
    assert_int_equal(a->own, 0);
    r.what = CTL_ACCESS_SET;
    assert_int_equal(ask(&b, c, root, &r, sizeof r, CTL_ACCESS, NULL), 0);
    assert_int_equal(b.saves, 1);
    assert_true(security_entry_get(b.saved, b.saved_size, 0, &e) && sid_equal(&e.who, &alice) &&
                !security_entry_get(b.saved, b.saved_size, 1, &e));
    r.what = CTL_ACCESS_QUERY;
    /* it is no longer in the list */
    assert_int_equal(ask(&b, n, other, &r, sizeof r, CTL_ACCESS, NULL), W_ACCESS_DENIED);
    r.what   = CTL_ACCESS_ADD;
    r.rights = ACCESS_QUERY;
    assert_int_equal(ask(&b, c, root, &r, sizeof r, CTL_ACCESS, NULL), 0);
    /* joined */
    assert_true(security_entry_get(b.saved, b.saved_size, 0, &e) && e.rights == (ACCESS_LOG_EVENT | ACCESS_QUERY));
    r.deny   = 1;
    r.rights = ACCESS_LOG_EVENT;
    assert_int_equal(ask(&b, c, root, &r, sizeof r, CTL_ACCESS, NULL), 0);
    assert_true(security_entry_get(b.saved, b.saved_size, 1, &e) && e.rights == ACCESS_QUERY);
    r.what = CTL_ACCESS_LIST;
    assert_int_equal(ask(&b, c, root, &r, sizeof r, CTL_ACCESS, NULL), 0);
    assert_int_equal(a->total, 1);
    assert_memory_equal(a + 1, &r.object, sizeof r.object);
    r.what = CTL_ACCESS_REMOVE;
    assert_int_equal(ask(&b, c, root, &r, sizeof r, CTL_ACCESS, NULL), 0);
    assert_int_equal(b.saved_size, 0);
    assert_int_equal(ask(&b, c, root, &r, sizeof r, CTL_ACCESS, NULL), W_FILE_NOT_FOUND);
    r.what     = CTL_ACCESS_SET; /* invalid values */
    r.sid_size = CTL_ACCESS_SID + 1;
    assert_int_equal(ask(&b, c, root, &r, sizeof r, CTL_ACCESS, NULL), W_INVALID_PARAMETER);
    r.sid_size = alice.size;
    r.rights   = 0x80000000;
    assert_int_equal(ask(&b, c, root, &r, sizeof r, CTL_ACCESS, NULL), W_INVALID_PARAMETER);
    close(root);
    close(other);
    bench_finish(&b);
}

/* An early program has no descriptors: its secure sessions take root's events only; its successor lets in every
 * permitted program. */
static void early_and_after(void **state)
{
    struct bench        b;
    int                 peer;
    unsigned            attached = 0;
    struct ctl_register reg      = {.provider = fixture_provider, .index = 1};
    (void)state;
    if (geteuid())
        skip();
    bench_init(&b);
    const struct control_rights *later = b.f.server->hooks.rights;
    give(&b, ACCESS_LOG_EVENT);
    b.f.server->hooks.rights = NULL;
    int c                    = client(&b, LISTED_USER, &peer);
    assert_int_equal(ask(&b, c, peer, &reg, sizeof reg, CTL_REGISTER, &attached), 0);
    assert_int_equal(attached, 1);
    while (take(peer))
        ;
    b.f.server->hooks.rights = later;
    b.f.server->hooks.enabling->adopted(b.f.server);
    assert_int_equal(take(peer), CTL_ATTACH);
    assert_int_equal(take(peer), CTL_ENABLE);
    b.f.server->hooks.enabling->adopted(b.f.server); /* once */
    assert_int_equal(take(peer), 0);
    close(peer);
    bench_finish(&b);
}

/* A caller without ACCESS_QUERY does not learn of a session: not by name, in no list, not as the enabler of a
 * provider. */
static void what_may_not_be_asked_after(void **state)
{
    struct bench                b;
    int                         peer;
    struct security_entry       e     = {.rights = ACCESS_QUERY};
    struct ctl_session_request  named = {.name = "secure"}, all = {.start = 0};
    struct ctl_provider_request provider = {.provider = fixture_provider};
    uint8_t                    *bytes;
    size_t                      size;
    (void)state;
    if (geteuid())
        skip();
    bench_init(&b);
    assert_true(sid_parse("S-1-5-18", &e.who));
    int c = client(&b, ANYONE, &peer);
    for (unsigned hidden = 0; hidden < 2; hidden++) {
        assert_int_equal(ask(&b, c, peer, &named, sizeof named, CTL_QUERY, NULL), hidden ? W_ACCESS_DENIED : 0);
        assert_int_equal(ask(&b, c, peer, &named, sizeof named, CTL_DECLARATION, NULL), hidden ? W_ACCESS_DENIED : 0);
        assert_int_equal(ask(&b, c, peer, &named, sizeof named, CTL_TERMS, NULL), hidden ? W_ACCESS_DENIED : 0);
        assert_int_equal(ask(&b, c, peer, &all, sizeof all, CTL_QUERY, NULL), 0);
        assert_int_equal(((const struct ctl_query_answer *)(const void *)answer)->total, 2 - hidden);
        assert_int_equal(ask(&b, c, peer, &provider, sizeof provider, CTL_PROVIDER, NULL), 0);
        assert_int_equal(((const struct ctl_provider_answer *)(const void *)answer)->enable_count, 2 - hidden);
        assert_int_equal(rights_changed_dup(b.rights, &b.secure->state->guid, &e, true, &bytes, &size, NULL), 0);
        assert_int_equal(rights_put(b.rights, &b.secure->state->guid, bytes, size, NULL), 0);
        free(bytes);
    }
    close(peer);
    bench_finish(&b);
}

static void the_group_of_log_users(void **state)
{
    char  path[] = "/tmp/al-group-XXXXXX";
    FILE *f      = fdopen(mkstemp(path), "w");
    (void)state;
    assert_non_null(f);
    fputs("root:x:0:\nnotautologger:x:5:\nautologger:x:991:alice\n", f);
    fclose(f);
    assert_int_equal(rights_group_find(path, "autologger"), 991);
    unlink(path);
    assert_int_equal(rights_group_find(path, "autologger"), RIGHTS_NO_GROUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_right_for_every_caller),
                                       cmocka_unit_test(enabling_needs_both),
                                       cmocka_unit_test(the_kernel_is_roots),
                                       cmocka_unit_test(changes),
                                       cmocka_unit_test(early_and_after),
                                       cmocka_unit_test(the_group_of_log_users),
                                       cmocka_unit_test(what_may_not_be_asked_after)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
