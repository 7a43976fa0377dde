/* What tools/prove proves of provider_message.c, whatever everybody sends to the socket `provider`. any_size(): no byte
 * outside of the message is read, it comes to an end, and what it accepts is as provider_message.h promises, for all
 * sizes. as_sent(), first_group(): fields have the values that were sent and nothing that lay there before, for the
 * sizes that are enough to have each kind of field and two traits. Proves: SEC-09. Nothing else compiles this file. The
 * checker looks at every value that nondet_*() may have, so "any" below is no sample.
 *
 * subject: autologger/control/provider_message.c
 * entry: any_size, all sizes up to CTL_MAX, by loop contracts
 * entry: as_sent, all that is no trait as it was sent, by 2 rounds
 * entry: first_group, all traits up to 22 bytes, by 9 rounds
 */
#include "autologger/control/provider_message.c" /* its parts, too */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIXED = sizeof(struct ctl_register), NAME_AT = FIXED + 2, NO_TRAITS = NAME_AT };
enum { SMALL = 3 + 19 }; /* a group, and an empty trait before or behind it */

size_t                  nondet_size(void);
struct provider_message nondet_message(void);

/* Nothing here is proved of a case that cannot be: asked for these cases, the checker has to find an input for each. */
#ifdef AL_PROVE_CASES
#define POSSIBLE(what) __CPROVER_assert(!(what), "possible: " #what)
#else
#define POSSIBLE(what) (void)0
#endif

/* Any byte of the message: what is proved of this one is proved of each. The parser looks for a name's end alone. */
static size_t witness;

/* libc's: by what it promises where loops have contracts, else byte by byte. */
void *memchr(const void *s, int c, size_t n)
{
    const uint8_t *p = s;
    size_t         at;
    __CPROVER_assert(n == 0 || __CPROVER_r_ok(p, n), "memchr reads what is there");
#ifdef AL_PROVE
    at = nondet_size();
    __CPROVER_assume(at <= n && (at == n || p[at] == (uint8_t)c));
    __CPROVER_assume(witness < NAME_AT || witness - NAME_AT >= at || p[witness - NAME_AT] != (uint8_t)c);
#else
    for (at = 0; at < n && p[at] != (uint8_t)c; at++)
        ;
#endif
    return at == n ? NULL : (void *)(p + at);
}

#ifdef AL_PROVE
/* libc's. What is copied to a GUID may be any here: nothing is decided by it (as_sent() looks at its value). */
static const void *message;
void              *memcpy(void *to, const void *from, size_t n)
{
    __CPROVER_assert(__CPROVER_r_ok(from, n), "memcpy reads what is there");
    __CPROVER_assert(__CPROVER_w_ok(to, n), "memcpy writes where there is room");
    if (n == sizeof(struct guid) && from != message) {
        __CPROVER_havoc_slice(to, n);
    } else {
        uint8_t bytes[n];
        __CPROVER_array_copy(bytes, (uint8_t *)from);
        __CPROVER_array_replace((uint8_t *)to, bytes);
    }
    return to;
}
#endif

static uint32_t u32_at(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static uint32_t u16_at(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }

static bool guid_is(const struct guid *g, const uint8_t *p)
{
    return g->data1 == u32_at(p) && g->data2 == u16_at(p + 4) && g->data3 == u16_at(p + 6) &&
           u32_at(g->data4) == u32_at(p + 8) && u32_at(g->data4 + 4) == u32_at(p + 12);
}

static bool guid_unset(const struct guid *g) { return guid_is(g, (const uint8_t[16]){0}); }

static bool rest_unset(const struct provider_message *m)
{
    return !m->traits_size && !m->whole && !m->grouped && guid_unset(&m->provider) && guid_unset(&m->group) &&
           !m->name && !m->name_length;
}

static void refused(const struct provider_message *m)
{
    assert(!m->header.size && !m->header.type && !m->header.version && !m->header.sequence && !m->header.status);
    assert(!m->highest_version && !m->shm_major && !m->index && !m->ticket && !m->inner && rest_unset(m));
}

static void registered(const struct provider_message *m, const uint8_t *bytes, size_t size)
{
    assert(size >= FIXED && m->whole == (m->traits_size <= size - FIXED));
    assert(!m->name || m->whole);
    assert(!m->grouped || m->name);
    assert(m->grouped || guid_unset(&m->group));
    if (!m->name) { /* no byte is its end */
        assert(!m->name_length &&
               (!m->whole || witness < NAME_AT || witness >= FIXED + (size_t)m->traits_size || bytes[witness]));
        return;
    }
    assert(m->traits_size >= 3 && m->name_length <= m->traits_size - 3u);
    assert((const uint8_t *)m->name == bytes + NAME_AT && !m->name[m->name_length]);
    assert(witness < NAME_AT || witness >= NAME_AT + m->name_length || bytes[witness]); /* its first NUL */
}

static void accepted(const struct provider_message *m, const uint8_t *bytes, size_t size)
{
    const uint16_t type = m->header.type;
    assert(size >= sizeof m->header && m->header.size == size && type >= CTL_HELLO && type <= CTL_THREAD);
    assert(type == CTL_HELLO ? size >= sizeof(struct ctl_hello) : !m->highest_version && !m->shm_major);
    assert(type == CTL_UNREGISTER ? size >= sizeof(struct ctl_unregister) : type == CTL_REGISTER || !m->index);
    assert(type == CTL_ENABLE_ACK ? size >= sizeof(struct ctl_enable_ack) : !m->ticket);
    assert(type == CTL_THREAD ? size >= sizeof(struct ctl_thread) : !m->inner);
    if (type == CTL_REGISTER)
        registered(m, bytes, size);
    else
        assert(rest_unset(m));
}

static void cases(wstatus st, const struct provider_message *m, size_t size)
{
    const uint16_t type = st ? 0 : m->header.type;
    POSSIBLE(st == W_BAD_LENGTH && size == 0);
    POSSIBLE(st == W_BAD_LENGTH && size == FIXED - 1);
    POSSIBLE(st == W_INVALID_FUNCTION);
    POSSIBLE(type == CTL_HELLO && size == CTL_MAX);
    POSSIBLE(type == CTL_UNREGISTER && m->index == 7);
    POSSIBLE(type == CTL_ENABLE_ACK && m->ticket == 7);
    POSSIBLE(type == CTL_THREAD && m->inner == 7);
    POSSIBLE(type == CTL_REGISTER && !m->whole);
    POSSIBLE(type == CTL_REGISTER && m->whole && !m->name);
    POSSIBLE(type == CTL_REGISTER && size == CTL_MAX && m->name && m->name_length == CTL_MAX - NAME_AT - 1);
    POSSIBLE(type == CTL_REGISTER && size == CTL_MAX && m->grouped && m->name_length == 300);
    POSSIBLE(type == CTL_REGISTER && m->name && !m->grouped);
}

#ifdef AL_PROVE
void any_size(void)
{
    const size_t size = nondet_size();
    __CPROVER_assume(size <= CTL_MAX);
    const uint8_t *bytes = malloc(size); /* any, in memory of just that size */
    __CPROVER_assume(bytes != NULL);
    message                    = bytes;
    witness                    = nondet_size();
    struct provider_message m  = nondet_message(); /* what lay there */
    const wstatus           st = provider_message_read(bytes, size, &m);
    assert(st == W_SUCCESS || st == W_BAD_LENGTH || st == W_INVALID_FUNCTION);
    if (st)
        refused(&m);
    else
        accepted(&m, bytes, size);
    cases(st, &m, size);
}
#endif

/* ---- the same said once more, in another way: which Status, which values, which group ---- */

static wstatus status_of(const uint8_t *bytes, size_t size)
{
    if (size < 16 || u32_at(bytes) != size)
        return W_BAD_LENGTH;
    if (u16_at(bytes + 4) < 1 || u16_at(bytes + 4) > 5)
        return W_INVALID_FUNCTION;
    return size < (u16_at(bytes + 4) == 1 ? 32u : u16_at(bytes + 4) == 2 ? 40u : 24u) ? W_BAD_LENGTH : W_SUCCESS;
}

void as_sent(void)
{
    const size_t size = nondet_size();
    uint8_t      bytes[NO_TRAITS]; /* any: nothing sets them */
    __CPROVER_assume(size <= sizeof bytes);
    struct provider_message m    = nondet_message();
    const wstatus           st   = provider_message_read(bytes, size, &m);
    const uint16_t          type = m.header.type;
    assert(st == status_of(bytes, size));
    if (st)
        return;
    const uint32_t next = u32_at(bytes + 16);
    assert(type == u16_at(bytes + 4) && m.header.version == u16_at(bytes + 6) &&
           m.header.sequence == u32_at(bytes + 8) && m.header.status == u32_at(bytes + 12));
    assert(type != CTL_HELLO || (m.highest_version == (next & 0xFFFF) && m.shm_major == next >> 16));
    assert(type != CTL_UNREGISTER || m.index == next);
    assert(type != CTL_ENABLE_ACK || m.ticket == next);
    assert(type != CTL_THREAD || m.inner == next);
    if (type == CTL_REGISTER)
        assert(guid_is(&m.provider, bytes + 16) && m.index == u32_at(bytes + 32) &&
               m.traits_size == u32_at(bytes + 36));
}

void first_group(void)
{
    const size_t size = nondet_size();
    uint8_t      bytes[SMALL];
    __CPROVER_assume(size <= sizeof bytes);
    struct guid group = nondet_message().group;
    size_t      at = 0, whole = 0; /* `at`: where the first group is */
    for (; at + 3 <= size; at += whole) {
        whole = u16_at(bytes + at);
        if (whole < 3 || whole > size - at)
            at = size;
        else if (bytes[at + 2] == 1 && whole == 19)
            break;
        if (at == size)
            break;
    }
    const bool there = at + 3 <= size;
    assert(take_group(cur_make(bytes, size), &group) == there);
    assert(!there || guid_is(&group, bytes + at + 3));
}

/* Each of these, made in the subject, has to be found.
 * mistake for any_size: less than a header is read: `if (size < sizeof h)` => `if (0)`
 * mistake for any_size: the size that a message says is not compared: `if (h.size != size)` => `if (h.size > size)`
 * mistake for any_size: a type behind the table: `if (h.type >= sizeof forms / sizeof *forms || ` => `if (h.type > sizeof forms / sizeof *forms || `
 * mistake for any_size: a type without a form: ` || !forms[h.type].take)` => `)`
 * mistake for any_size: what is shorter than its type is read: `if (size < forms[h.type].least)` => `if (0)`
 * mistake for any_size: registrations are as short as other messages: `{sizeof(struct ctl_register), take_register}` => `{sizeof(struct ctl_thread), take_register}`
 * mistake for any_size: traits may be longer than the message: `out->traits_size <= cur_left(c);` => `out->traits_size <= CTL_MAX;`
 * mistake for any_size: traits longer by one: `out->traits_size <= cur_left(c);` => `out->traits_size <= cur_left(c) + 1;`
 * mistake for any_size: what was not whole is read all the same: `if (out->whole)` => `if (1)`
 * mistake for any_size: a name without an end: `if (!out->name)` => `if (0)`
 * mistake for any_size: the NUL counts: `c.pos - at - 1;` => `c.pos - at;`
 * mistake for first_group: a trait shorter than its head is skipped: `whole < TRAIT_HEAD ? SIZE_MAX` => `whole < TRAIT_HEAD ? 0`
 * mistake for any_size: a trait of size 0 has no end: `whole < TRAIT_HEAD ? SIZE_MAX : (size_t)whole - TRAIT_HEAD);` => `whole); if (!whole) c.pos -= 3;`
 * mistake for any_size: a trait may end behind the traits: `if (!data)` => `if (0)`
 * mistake for any_size: a group's size is not looked at: `if (type == TRAIT_GROUP && whole == TRAIT_HEAD + sizeof *out)` => `if (type == TRAIT_GROUP)`
 * mistake for first_group: a group is of any kind: `if (type == TRAIT_GROUP && whole` => `if (whole`
 * mistake for any_size: what lay there stays: `*out = (struct provider_message){0};` => `(void)0;`
 * mistake for as_sent: the header is taken before it was looked at: `    *out = h;` => `    out->size = h.size;`
 */
