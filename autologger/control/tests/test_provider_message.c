/* Messages of providers, at each size around each limit: the fields that are read, and the refusals. Each message lies
 * at the end of a page that nothing follows, so a read too far is a fault. tools/prove says the same of all
 * messages (prove_provider_message.c). Proves: SEC-09. */
#include "autologger/control/provider_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static const struct guid provider = {0x11223344, 0x5566, 0x7788, {1, 2, 3, 4, 5, 6, 7, 8}};
static const struct guid group    = {0xAABBCCDD, 0xEEFF, 0x0102, {8, 7, 6, 5, 4, 3, 2, 1}};

/* The last `size` bytes before memory that must not be touched. */
static uint8_t *edge(size_t size)
{
    static uint8_t *page;
    const size_t    room = CTL_MAX;
    if (!page) {
        page = mmap(NULL, room + (size_t)getpagesize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(page, MAP_FAILED);
        assert_int_equal(mprotect(page + room, (size_t)getpagesize(), PROT_NONE), 0);
    }
    assert_true(size <= room);
    return page + room - size;
}

/* The first `size` bytes of `from`, with that size in their header. Fields that are not set by the parser would
 * show. */
static wstatus read_cut(const void *from, size_t size, struct provider_message *out)
{
    uint8_t       *bytes = edge(size);
    const uint32_t told  = (uint32_t)size;
    memcpy(bytes, from, size);
    if (size >= sizeof told)
        memcpy(bytes, &told, sizeof told);
    memset(out, 0xA5, sizeof *out);
    return provider_message_read(bytes, size, out);
}

static void assert_unset(const struct provider_message *m)
{
    assert_int_equal(m->header.size | m->header.type | m->header.version | m->header.sequence | m->header.status, 0);
    assert_int_equal(m->highest_version | m->shm_major | m->index | m->ticket | m->inner | m->traits_size | m->whole |
                         m->grouped,
                     0);
    assert_true(guid_is_zero(&m->provider) && guid_is_zero(&m->group) && !m->name && !m->name_length);
}

static void each_size_of_each_type(void **state)
{
    static const struct {
        uint16_t type;
        size_t   least; /* 0: no such type on this socket */
    } rows[] = {{0, 0},           {CTL_HELLO, 32}, {CTL_REGISTER, 40}, {CTL_UNREGISTER, 24}, {CTL_ENABLE_ACK, 24},
                {CTL_THREAD, 24}, {6, 0},          {CTL_QUERY, 0},     {CTL_ATTACH, 0},      {0x102, 0},
                {UINT16_MAX, 0}};
    static uint8_t          whole[CTL_MAX];
    struct provider_message m;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t size = 0; size <= CTL_MAX; size += size == 48 ? CTL_MAX - 49 : 1) {
            const struct ctl_header h = {0, rows[i].type, 3, 77, 5};
            memset(whole, 0, sizeof whole);
            memcpy(whole, &h, sizeof h);
            const bool    cut    = size < sizeof h || size < rows[i].least;
            const wstatus wanted = cut ? W_BAD_LENGTH : !rows[i].least ? W_INVALID_FUNCTION : W_SUCCESS;
            assert_int_equal(read_cut(whole, size, &m), wanted);
            if (wanted) {
                assert_unset(&m);
                continue;
            }
            assert_int_equal(m.header.size, size);
            assert_int_equal(m.header.type, rows[i].type);
            assert_int_equal(m.header.version, 3);
            assert_int_equal(m.header.sequence, 77);
            assert_int_equal(m.header.status, 5);
        }
}

/* A size in the header that is not the message's: one byte off, or far off. Refused. */
static void a_size_that_is_not_true(void **state)
{
    static const int64_t    off[] = {-24, -1, 1, 65536, INT64_C(0x100000000) - 24, UINT32_MAX - 24};
    struct ctl_unregister   u     = {.header = {sizeof u, CTL_UNREGISTER, CTL_VERSION, 1, 0}, .index = 6};
    struct provider_message m;
    struct ctl_header       h;
    (void)state;
    assert_true(message_header_read(&u, sizeof u, &h));
    assert_int_equal(h.size, sizeof u);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        u.header.size = (uint32_t)((int64_t)sizeof u + off[i]);
        memset(&h, 0xA5, sizeof h);
        assert_false(message_header_read(&u, sizeof u, &h));
        assert_int_equal(h.size | h.type | h.version | h.sequence | h.status, 0);
        memset(&m, 0xA5, sizeof m);
        assert_int_equal(provider_message_read(&u, sizeof u, &m), W_BAD_LENGTH);
        assert_unset(&m);
    }
}

static void fields_of_the_short_ones(void **state)
{
    struct ctl_hello        hello = {.header = {.type = CTL_HELLO}, .highest_version = 9, .shm_major = 8};
    struct ctl_unregister   u     = {.header = {.type = CTL_UNREGISTER}, .index = 7};
    struct ctl_enable_ack   ack   = {.header = {.type = CTL_ENABLE_ACK}, .ticket = 6};
    struct ctl_thread       t     = {.header = {.type = CTL_THREAD}, .inner = 5, .outer = 4};
    struct provider_message m;
    (void)state;
    assert_int_equal(read_cut(&hello, sizeof hello, &m), 0);
    assert_true(m.highest_version == 9 && m.shm_major == 8 && !m.index && !m.ticket && !m.inner && !m.name);
    assert_int_equal(read_cut(&u, sizeof u, &m), 0);
    assert_true(m.index == 7 && !m.highest_version && !m.shm_major && !m.ticket && !m.inner && !m.name);
    assert_int_equal(read_cut(&ack, sizeof ack, &m), 0);
    assert_true(m.ticket == 6 && !m.highest_version && !m.shm_major && !m.index && !m.inner && !m.name);
    assert_int_equal(read_cut(&t, sizeof t, &m), 0);
    assert_true(m.inner == 5 && !m.highest_version && !m.shm_major && !m.index && !m.ticket && !m.name);
}

/* A registration whose traits claim `said` bytes. */
static wstatus read_register(const void *traits, size_t size, uint32_t said, struct provider_message *m)
{
    static uint8_t            whole[CTL_MAX];
    const struct ctl_register r = {
        .header = {.type = CTL_REGISTER}, .provider = provider, .index = 3, .traits_size = said};
    memcpy(whole, &r, sizeof r);
    if (size)
        memcpy(whole + sizeof r, traits, size);
    const wstatus st = read_cut(whole, sizeof r + size, m);
    assert_true(guid_equal(&m->provider, &provider));
    assert_true(m->index == 3 && m->traits_size == said && !m->highest_version && !m->ticket && !m->inner &&
                (m->name || !m->name_length));
    return st;
}

static void traits_longer_than_the_message(void **state)
{
    static const uint8_t    traits[] = {6, 0, 'a', 'b', 'c', 0};
    static const uint32_t   more[]   = {1, 2, 40, CTL_MAX, UINT32_MAX - sizeof traits};
    struct provider_message m;
    (void)state;
    for (uint32_t said = 0; said <= sizeof traits; said++) {
        assert_int_equal(read_register(traits, sizeof traits, said, &m), 0);
        assert_true(m.whole && !m.grouped);
        /* a NUL behind the traits is not part of them */
        assert_true(said < sizeof traits ? !m.name : strcmp(m.name, "abc") == 0);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        assert_int_equal(read_register(traits, sizeof traits, (uint32_t)sizeof traits + more[i], &m), 0);
        assert_true(!m.whole && !m.name && !m.name_length && !m.grouped);
    }
    assert_int_equal(read_register(NULL, 0, 0, &m), 0);
    assert_true(m.whole && !m.name);
    assert_int_equal(read_register(NULL, 0, 1, &m), 0);
    assert_false(m.whole);
}

static void names(void **state)
{
    static uint8_t          traits[CTL_MAX - sizeof(struct ctl_register)];
    struct provider_message m;
    (void)state;
    for (size_t i = 0; i < 2; i++) { /* the longest name; and a name without an end */
        memset(traits, 'n', sizeof traits);
        traits[sizeof traits - 1] = i ? 'n' : 0;
        assert_int_equal(read_register(traits, sizeof traits, sizeof traits, &m), 0);
        assert_true(m.whole && !m.grouped);
        assert_int_equal(m.name ? m.name_length : 0, i ? 0 : sizeof traits - 3);
        assert_true(i ? !m.name : strlen(m.name) == m.name_length);
    }
    assert_int_equal(read_register("\3\0\0", 3, 3, &m), 0);
    assert_true(m.name && !m.name_length);
    assert_int_equal(read_register("\xFF\xFF"
                                   "n\0",
                                   4, 4, &m),
                     0); /* the traits' own size field is ignored */
    assert_string_equal(m.name, "n");
}

/* Traits: a name and what follows it. */
static bool grouped_by(const void *rest, size_t size, struct provider_message *m)
{
    uint8_t traits[128] = {0, 0, 'n', 0};
    assert_true(size <= sizeof traits - 4);
    memcpy(traits + 4, rest, size);
    assert_int_equal(read_register(traits, 4 + size, (uint32_t)(4 + size), m), 0);
    assert_string_equal(m->name, "n");
    assert_true(m->grouped || guid_is_zero(&m->group));
    return m->grouped;
}

static void groups(void **state)
{
    uint8_t                 trait[3 + sizeof group]   = {sizeof trait, 0, 1};
    uint8_t                 two[5 + 2 * sizeof trait] = {5, 0, 2, 1, 1}, behind[3 + sizeof trait] = {0, 0, 2};
    struct provider_message m;
    (void)state;
    memcpy(trait + 3, &group, sizeof group);
    for (size_t size = 0; size <= sizeof trait; size++)
        assert_int_equal(grouped_by(trait, size, &m), size == sizeof trait);
    assert_true(guid_equal(&m.group, &group));
    /* a group of another size is ignored, and one that the traits do not hold */
    for (unsigned said = 0; said <= sizeof trait + 3; said++) {
        uint8_t other[2 * sizeof trait] = {0};
        memcpy(other, trait, sizeof trait);
        other[0] = (uint8_t)said;
        assert_int_equal(grouped_by(other, sizeof trait, &m), said == sizeof trait);
    }
    memcpy(two + 5, trait, sizeof trait);
    memcpy(two + 5 + sizeof trait, trait, sizeof trait);
    two[5 + sizeof trait + 3] ^= 1;
    /* a group behind a trait of another kind; the first of two groups */
    assert_true(grouped_by(two, sizeof two, &m) && guid_equal(&m.group, &group));
    two[5 + 2]++;
    assert_true(grouped_by(two, sizeof two, &m) && !guid_equal(&m.group, &group));
    memcpy(behind + 3, trait, sizeof trait);
    for (uint8_t said = 0; said <= 4; said++) { /* smaller than a trait's header; equal; larger than the rest */
        behind[0] = said;
        assert_int_equal(grouped_by(behind, sizeof behind, &m), said == 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_size_of_each_type),
                                       cmocka_unit_test(a_size_that_is_not_true),
                                       cmocka_unit_test(fields_of_the_short_ones),
                                       cmocka_unit_test(traits_longer_than_the_message),
                                       cmocka_unit_test(names),
                                       cmocka_unit_test(groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
