/* Limits shared by all users: each row of control/quota.def by its rule, the buckets by the clock, and the tables of a
 * server that one user floods. */
// timeout: 180
#include "autologger/control/places.h"
#include "autologger/control/server_parts.h"
#include "autologger/control/tests/server_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { ANNA = 5001, BERT = 5002, CARL = 5003 };

static uint8_t answer[CTL_MAX] __attribute__((aligned(8)));

/* The next message at `fd`: its type, 0 when there is none. Descriptors are closed. */
static unsigned take(int fd)
{
    _Alignas(struct cmsghdr) char space[256];
    struct iovec                  io = {answer, sizeof answer};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
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

static wstatus status_of(int peer, unsigned type)
{
    for (unsigned got; (got = take(peer));)
        if (got == type)
            return ((const struct ctl_header *)(const void *)answer)->status;
    fail_msg("no answer of type %u", type);
    return 0;
}

static wstatus registers(struct server_fixture *f, int c, int peer, uint32_t number, uint32_t index)
{
    struct ctl_register m = {
        .header = {sizeof m, CTL_REGISTER, CTL_VERSION, 7, 0}, .provider = {number, 1, 1, {1}}, .index = index};
    server_receive(f->server, (unsigned)c, &m, sizeof m);
    return status_of(peer, CTL_REGISTER);
}

static uint64_t refused(const struct server_fixture *f, unsigned what, uint32_t uid)
{
    for (unsigned i = 0; i < STATE_QUOTAS; i++)
        if (f->state->quota[i].refused && f->state->quota[i].what == what && f->state->quota[i].uid == uid)
            return f->state->quota[i].refused;
    return 0;
}

/* Takes one step after another for that user, up to the limit. `all` and `own` grow; the rest of *use stays. */
static uint64_t take_all(const struct quota_rule *r, uint64_t total, struct quota_use *use, bool owner, uint64_t step)
{
    uint64_t taken = 0;
    for (use->own = 0; quota_fits(r, total, use, owner, step, step); taken += step) {
        use->own += step;
        use->all += step;
    }
    return taken;
}

/* Q1, Q2: however much users take one after another, the next one finds half of the rest, everybody has the least, and
 * root its part. */
static void each_share_leaves_half_of_the_rest(void **state)
{
    (void)state;
    for (unsigned what = 0; what < QUOTA_RATE_FIRST; what++) {
        const struct quota_rule *r     = quota_rule(what);
        const uint64_t           total = r->total ? r->total : 1 << 30, step = total > 65536 ? total / 65536 : 1,
                       kept   = r->part ? total / r->part : 0;
        struct quota_use use  = {0};
        uint64_t         left = total;
        assert_true(*r->words && *r->advice && !r->rate);
        assert_true(r->least < total / 8);
        for (unsigned user = 0; user < 3; user++) {
            const uint64_t taken = take_all(r, total, &use, false, step), room = total - kept - (total - left);
            assert_true(taken <= left / 2 || taken <= r->least);
            assert_true(taken + step > (left / 2 < room ? left / 2 : room)); /* and no less than that */
            use.others += taken;
            left -= taken;
            assert_true(taken > 0 && left >= kept);
        }
        for (unsigned user = 0; user < 1000; user++) /* users created for the attack */
            use.others += take_all(r, total, &use, false, step);
        assert_true(use.all <= total - kept);
        use.own = 0;
        assert_int_equal(quota_fits(r, total, &use, false, step, step), false);
        /* root's part was left, and root may take the rest */
        assert_true(take_all(r, total, &use, true, step) + step > kept);
        use = (struct quota_use){0};
        assert_true(take_all(r, total, &use, true, step) + step > total);
        assert_false(quota_fits(r, total, &(struct quota_use){0}, false, UINT64_MAX, UINT64_MAX));
        assert_false(quota_fits(r, total, &(struct quota_use){0}, true, total + 1, total + 1));
        assert_false(quota_fits(r, total, &(struct quota_use){.others = UINT64_MAX}, false, r->least + 1, 0));
    }
}

/* Each rate by itself: the burst at once, then its number a second, for users and for controllers. */
static void each_rate_gives_its_burst_and_then_so_many_a_second(void **state)
{
    (void)state;
    for (unsigned rate = 0; rate < QUOTA_RATES; rate++)
        for (int more = 0; more < 2; more++) {
            const struct quota_rule *r = quota_rule(QUOTA_RATE_FIRST + rate);
            const uint64_t second = more ? r->second_more : r->second, burst = more ? r->burst_more : r->burst,
                           part = second / 1000;
            struct quota_bucket b;
            uint64_t            ms, taken = 0, now = 1000;
            assert_true(r->rate && *r->words && *r->advice && second && burst >= second && r->second_more > r->second &&
                        r->burst_more > r->burst);
            quota_bucket_begin(&b, ANNA, more, now);
            for (; quota_bucket_empty(&b, &ms) == QUOTAS; taken += part)
                quota_bucket_take(&b, rate == 0 ? part : 0, rate == 1 ? part : 0);
            assert_true(taken >= burst && taken < burst + second / 100);
            assert_int_equal(quota_bucket_empty(&b, &ms), QUOTA_RATE_FIRST + rate);
            assert_true(ms > 0 && ms <= 1000);
            for (const uint64_t end = now + 10000; now < end;) { /* ten seconds of a caller that never pauses */
                if (quota_bucket_empty(&b, &ms) == QUOTAS) {
                    quota_bucket_take(&b, rate == 0 ? part : 0, rate == 1 ? part : 0);
                    taken += part;
                } else
                    quota_bucket_fill(&b, now += ms);
            }
            assert_true(taken >= burst + 10 * second - second / 10 && taken <= burst + 11 * second);
            quota_bucket_fill(&b, now + UINT32_MAX); /* no more than the burst, however long the pause was */
            assert_int_equal(b.left[rate], burst);
            quota_bucket_fill(&b, now); /* a clock that goes back gives nothing */
            assert_int_equal(b.left[rate], burst);
        }
}

/* F7: the places of providers. Honest users and root can register throughout; every place comes back. */
static void a_user_takes_half_of_the_provider_places(void **state)
{
    struct server_fixture f;
    int                   peer[5], c[5], anna = 0, bert = 0;
    (void)state;
    assert_true(server_fixture_init(&f));
    const int used = f.table.directory->used;
    for (int i = 0; i < 4; i++) /* a connection holds 1,024 registrations */
        c[i] = server_fixture_client(&f, i < 3 ? ANNA : BERT, &peer[i]);
    for (uint32_t i = 0; i < 3000; i++)
        anna += registers(&f, c[i / 1000], peer[i / 1000], i + 1, i % 1000) == 0;
    assert_int_equal(anna, SHM_PROVIDERS / 2);
    assert_int_equal(refused(&f, QUOTA_PROVIDERS, ANNA), 3000 - SHM_PROVIDERS / 2);
    for (uint32_t i = 0; i < 1024; i++)
        bert += registers(&f, c[3], peer[3], 10000 + i, i) == 0;
    assert_in_range(bert, SHM_PROVIDERS / 4 - 1, SHM_PROVIDERS / 4);
    c[4] = server_fixture_client(&f, CARL, &peer[4]);
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(registers(&f, c[4], peer[4], 20000 + i, i), 0);
    assert_int_equal(registers(&f, c[4], peer[4], 1, 500), 0); /* also a provider that Anna has */
    assert_true(f.table.slot[0]->conditions.count >= 1);       /* the session names the user */
    bool named = false;
    for (unsigned i = 0; i < f.table.slot[0]->conditions.count; i++)
        named |= strcmp(f.table.slot[0]->conditions.items[i].item, "provider places of uid 5001") == 0;
    assert_true(named);
    for (int i = 0; i < 5; i++) {
        server_drop(f.server, (unsigned)c[i]);
        close(peer[i]);
    }
    int held = 0;
    for (int i = 0; i < f.table.directory->used; i++)
        held += f.table.directory->shm->provider[i].generation & 1;
    assert_int_equal(held, used); /* the session's own */
    server_fixture_finish(&f);
}

/* One provider in many connections: the limit of registrations. A provider that a session enables costs no place. */
static void a_user_takes_half_of_the_registrations(void **state)
{
    enum { CONNECTIONS = 17, EACH = 1000 };
    static int            peer[CONNECTIONS], c[CONNECTIONS], other, d;
    struct server_fixture f;
    struct ctl_register   m   = {.header = {sizeof m, CTL_REGISTER, CTL_VERSION, 7, 0}, .provider = {77, 7, 7, {7}}};
    int                   got = 0;
    (void)state;
    assert_true(server_fixture_init(&f));
    for (int i = 0; i < CONNECTIONS; i++) {
        c[i] = server_fixture_client(&f, ANNA, &peer[i]);
        for (m.index = 0; m.index < EACH; m.index++) {
            server_receive(f.server, (unsigned)c[i], &m, sizeof m);
            got += status_of(peer[i], CTL_REGISTER) == 0;
        }
    }
    assert_int_equal(got, STATE_REGISTRATIONS / 2);
    assert_int_equal(refused(&f, QUOTA_REGISTRATIONS, ANNA), CONNECTIONS * EACH - STATE_REGISTRATIONS / 2);
    d          = server_fixture_client(&f, BERT, &other);
    m.provider = fixture_provider;
    server_receive(f.server, (unsigned)d, &m, sizeof m);
    assert_int_equal(status_of(other, CTL_REGISTER), 0);
    struct quota_use use;
    quota_uses(f.server, QUOTA_PROVIDERS, BERT, &use);
    assert_int_equal(use.own, 0); /* the place counts for the session */
    for (int i = 0; i < CONNECTIONS; i++)
        close(peer[i]);
    close(other);
    server_fixture_finish(&f);
}

/* F9: a connection has few waiting requests, and each wait ends. */
static void waits_are_counted_and_end(void **state)
{
    struct server_fixture     f;
    int                       peer, root;
    uint64_t                  next;
    struct ctl_enable_request e = {.header   = {sizeof e, CTL_ENABLE_PROVIDER, CTL_VERSION, 77, 0},
                                   .name     = "one",
                                   .provider = {9, 1, 1, {1}},
                                   .code     = CTL_CODE_ENABLE,
                                   .wait     = 1};
    (void)state;
    assert_true(server_fixture_init(&f));
    f.server->hooks.enabling = &control_enabling;
    const int p = server_fixture_client(&f, 0, &peer), c = server_fixture_client(&f, 0, &root);
    assert_int_equal(registers(&f, p, peer, 9, 0), 0);
    unsigned busy = 0;
    for (unsigned i = 0; i < 40; i++) {
        server_receive(f.server, (unsigned)c, &e, sizeof e);
        busy +=
            take(root) == CTL_ENABLE_PROVIDER && ((const struct ctl_header *)(const void *)answer)->status == W_BUSY;
    }
    assert_int_equal(busy, 40 - 16);
    assert_int_equal(f.server->waiting[c], 16);
    assert_true(control_enabling.expired(f.server, quota_now_ms(), &next));
    assert_int_equal(f.server->waiting[c], 16);
    assert_false(control_enabling.expired(f.server, next + 1000, &next));
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(take(root), CTL_ENABLE_PROVIDER);
        assert_int_equal(((const struct ctl_header *)(const void *)answer)->status, W_TIMEOUT);
    }
    assert_int_equal(f.server->waiting[c], 0);
    close(peer);
    close(root);
    server_fixture_finish(&f);
}

/* F15: a connection that only says hello is not kept; the service manager keeps one that has registered something. */
static unsigned kept_conn, kept_asks;
static void     keep(void *ctx, const char *name, int fd, size_t ring_bytes)
{
    (void)ctx, (void)ring_bytes;
    kept_conn += strncmp(name, "conn:", 5) == 0 && fd >= 0;
    kept_asks += strncmp(name, "asks:", 5) == 0 && fd >= 0;
}

static void who_says_hello_and_goes_is_not_kept(void **state)
{
    struct server_fixture f;
    int                   peer;
    struct ctl_hello      h = {
             .header = {sizeof h, CTL_HELLO, CTL_VERSION, 1, 0}, .highest_version = CTL_VERSION, .shm_major = SHM_MAJOR};
    struct ctl_header a = {sizeof a, CTL_STATE, CTL_VERSION, 2, 0};
    (void)state;
    assert_true(server_fixture_init(&f));
    f.env.keep = keep;
    kept_conn = kept_asks = 0;
    for (unsigned i = 0; i < 100; i++) {
        const int c = server_fixture_client(&f, ANNA, &peer);
        server_receive(f.server, (unsigned)c, &h, sizeof h);
        assert_int_equal(status_of(peer, CTL_HELLO), 0);
        server_drop(f.server, (unsigned)c);
        close(peer);
    }
    assert_int_equal(kept_conn + kept_asks, 0);
    const int c = server_fixture_client(&f, ANNA, &peer);
    server_receive(f.server, (unsigned)c, &a, sizeof a);
    assert_int_equal(kept_asks, 1);
    assert_int_equal(kept_conn, 0);
    assert_int_equal(registers(&f, c, peer, 3, 0), 0);
    assert_int_equal(registers(&f, c, peer, 4, 1), 0);
    assert_int_equal(kept_conn, 1);
    close(peer);
    server_fixture_finish(&f);
}

/* A program still runs with the library of before an update: it is refused, and each session says so, once. */
static void a_library_of_an_earlier_version_is_told(void **state)
{
    struct server_fixture f;
    int                   peer;
    struct ctl_hello      h = {
             .header = {sizeof h, CTL_HELLO, CTL_VERSION, 1, 0}, .highest_version = CTL_VERSION, .shm_major = SHM_MAJOR - 1};
    unsigned told = 0;
    (void)state;
    assert_true(server_fixture_init(&f));
    const struct condition_list *list   = &f.table.slot[0]->conditions;
    const unsigned               before = (unsigned)list->count;
    for (unsigned i = 0; i < 3; i++) {
        const int c                           = server_fixture_client(&f, ANNA, &peer);
        f.server->state->connection[c].socket = CTL_SOCKET_PROVIDER;
        server_receive(f.server, (unsigned)c, &h, sizeof h);
        assert_int_equal(status_of(peer, CTL_HELLO), W_NOT_SUPPORTED);
        server_drop(f.server, (unsigned)c);
        close(peer);
    }
    assert_int_equal(list->count, before + 1);
    for (unsigned i = 0; i < list->count; i++)
        told += list->items[i].number == W_REVISION_MISMATCH &&
                strstr(list->items[i].reason, "a library of an earlier version (shared memory 2, here 3)") &&
                strstr(list->items[i].advice, "restart that program");
    assert_int_equal(told, 1);
    for (uint32_t uid = 7000; uid < 7100; uid++) { /* any number of users takes no memory */
        const int c                           = server_fixture_client(&f, uid, &peer);
        f.server->state->connection[c].socket = CTL_SOCKET_PROVIDER;
        server_receive(f.server, (unsigned)c, &h, sizeof h);
        server_drop(f.server, (unsigned)c);
        close(peer);
    }
    assert_int_equal(list->count, before + VERSIONS_TOLD);
    server_fixture_finish(&f);
}

/* The answer names the refused users, and how much each holds; users beyond the rows are added to the last row. */
static void refusals_are_told(void **state)
{
    struct server_fixture          f;
    int                            peer;
    struct ctl_header              m = {sizeof m, CTL_STATE, CTL_VERSION, 2, 0};
    const struct ctl_state_answer *a = (const void *)answer;
    (void)state;
    assert_true(server_fixture_init(&f));
    const int c = server_fixture_client(&f, ANNA, &peer);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(registers(&f, c, peer, 100 + i, i), 0);
    for (unsigned what = 0; what < QUOTAS; what++)
        for (unsigned i = 0; i <= what; i++)
            quota_refuse(f.server, what, ANNA);
    server_receive(f.server, (unsigned)c, &m, sizeof m);
    assert_int_equal(status_of(peer, CTL_STATE), 0);
    for (unsigned what = 0; what < QUOTAS; what++) {
        assert_int_equal(a->quota[what].uid, ANNA);
        assert_int_equal(a->quota[what].what, what);
        assert_int_equal(a->quota[what].refused, what + 1);
        assert_int_equal(a->quota[what].total, what < QUOTA_RATE_FIRST ? quota_total(f.server, what) : 0);
    }
    assert_int_equal(a->quota[QUOTA_PROVIDERS].held, 5);
    assert_int_equal(a->quota[QUOTA_REGISTRATIONS].held, 5);
    assert_int_equal(a->quota[QUOTA_CONNECTIONS].held, 1);
    for (uint32_t uid = 6000; uid < 6100; uid++)
        quota_refuse(f.server, QUOTA_WAITS, uid);
    assert_int_equal(f.state->quota[STATE_QUOTAS - 1].uid, STATE_REFUSED_OTHERS);
    assert_int_equal(f.state->quota[STATE_QUOTAS - 1].refused, 100 - (STATE_QUOTAS - 1 - QUOTAS));
    close(peer);
    server_fixture_finish(&f);
}

/* One user owns 65,536 subordinate uids: conditions about them fill no memory, say that there were more, and leave room
 * for the session's own conditions. */
static void users_of_no_end_fill_no_list(void **state)
{
    struct server_fixture f;
    unsigned              more = 0, first = 0;
    (void)state;
    assert_true(server_fixture_init(&f));
    struct session              *s      = f.table.slot[0];
    const struct condition_list *list   = &s->conditions;
    const unsigned               before = (unsigned)list->count;
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t uid = 100000; uid < 100000 + 65536; uid++)
            places_refuse(f.server, uid, uid);
        quota_refuse(f.server, QUOTA_WAITS, 7);
        assert_int_equal(list->count, before + SESSION_USER_CONDITIONS + 1);
    }
    for (unsigned i = 0; i < list->count; i++) {
        more += strcmp(list->items[i].item, "more users") == 0;
        first += strcmp(list->items[i].item, "programs of uid 100000") == 0;
    }
    assert_int_equal(more, 1);
    assert_int_equal(first, 1);
    condition_add(&s->conditions, W_NOT_SUPPORTED, true, "own", "", 0, "", "the session's own");
    assert_int_equal(list->count, before + SESSION_USER_CONDITIONS + 2);
    server_fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_share_leaves_half_of_the_rest),
        cmocka_unit_test(each_rate_gives_its_burst_and_then_so_many_a_second),
        cmocka_unit_test(a_user_takes_half_of_the_provider_places),
        cmocka_unit_test(a_user_takes_half_of_the_registrations),
        cmocka_unit_test(waits_are_counted_and_end),
        cmocka_unit_test(who_says_hello_and_goes_is_not_kept),
        cmocka_unit_test(a_library_of_an_earlier_version_is_told),
        cmocka_unit_test(refusals_are_told),
        cmocka_unit_test(users_of_no_end_fill_no_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
