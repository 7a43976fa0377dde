/* provider_message.c - see provider_message.h. */
#include "autologger/control/provider_message.h"

#include "registry-sim/base/cursor.h"

#include <string.h>

/* For tools/prove: what a loop may change, what holds before each round, and what each round makes smaller. It proves
 * these three for any single round, so that the number of rounds, up to 20,000 here, does not matter. Compilers do not
 * see it. */
#ifdef AL_PROVE
#define LOOP_KEEPS(changes, holds, smaller) \
    __CPROVER_assigns(changes) __CPROVER_loop_invariant(holds) __CPROVER_decreases(smaller)
#else
#define LOOP_KEEPS(changes, holds, smaller)
#endif

enum { TRAIT_GROUP = 1, TRAIT_HEAD = 3 };

/* The first group after the name: {u16 size, u8 type, data} each. */
static bool take_group(struct cursor c, struct guid *out)
{
    while (cur_left(&c) >= TRAIT_HEAD)
        LOOP_KEEPS(c,
                   !c.bad && c.pos <= c.size && c.size == __CPROVER_loop_entry(c.size) &&
                       c.data == __CPROVER_loop_entry(c.data),
                   c.size - c.pos)
        {
            const uint16_t whole = cur_u16(&c);
            const uint8_t  type  = cur_u8(&c);
            const void    *data  = cur_take(&c, whole < TRAIT_HEAD ? SIZE_MAX : (size_t)whole - TRAIT_HEAD);
            if (!data)
                return false;
            if (type == TRAIT_GROUP && whole == TRAIT_HEAD + sizeof *out) {
                memcpy(out, data, sizeof *out);
                return true;
            }
        }
    return false;
}

/* Provider traits: u16 size, which the message gives, too; a name; the rest. */
static void take_traits(struct cursor c, struct provider_message *out)
{
    cur_u16(&c);
    const size_t at = c.pos;
    out->name       = cur_zstring(&c);
    if (!out->name)
        return;
    out->name_length = c.pos - at - 1;
    out->grouped     = take_group(c, &out->group);
}

static void take_register(struct cursor *c, struct provider_message *out)
{
    cur_copy(c, &out->provider, sizeof out->provider);
    out->index       = cur_u32(c);
    out->traits_size = cur_u32(c);
    out->whole       = out->traits_size <= cur_left(c);
    if (out->whole)
        take_traits(cur_make(c->data + c->pos, out->traits_size), out);
}

static void take_hello(struct cursor *c, struct provider_message *out)
{
    out->highest_version = cur_u16(c);
    out->shm_major       = cur_u16(c);
}

static void take_unregister(struct cursor *c, struct provider_message *out) { out->index = cur_u32(c); }
static void take_enable_ack(struct cursor *c, struct provider_message *out) { out->ticket = cur_u32(c); }
static void take_thread(struct cursor *c, struct provider_message *out) { out->inner = cur_u32(c); }

static const struct provider_message_form {
    size_t least;                                                 /* size of the fixed part */
    void (*take)(struct cursor *c, struct provider_message *out); /* parses what follows the header */
} forms[] = {
    [CTL_HELLO]      = {sizeof(struct ctl_hello), take_hello},
    [CTL_REGISTER]   = {sizeof(struct ctl_register), take_register},
    [CTL_UNREGISTER] = {sizeof(struct ctl_unregister), take_unregister},
    [CTL_ENABLE_ACK] = {sizeof(struct ctl_enable_ack), take_enable_ack},
    [CTL_THREAD]     = {sizeof(struct ctl_thread), take_thread},
};

bool message_header_read(const void *bytes, size_t size, struct ctl_header *out)
{
    struct ctl_header h;
    *out = (struct ctl_header){0};
    if (size < sizeof h)
        return false;
    memcpy(&h, bytes, sizeof h);
    if (h.size != size)
        return false;
    *out = h;
    return true;
}

wstatus provider_message_read(const void *bytes, size_t size, struct provider_message *out)
{
    struct ctl_header h;
    *out = (struct provider_message){0};
    if (!message_header_read(bytes, size, &h))
        return W_BAD_LENGTH;
    if (h.type >= sizeof forms / sizeof *forms || !forms[h.type].take)
        return W_INVALID_FUNCTION;
    if (size < forms[h.type].least)
        return W_BAD_LENGTH;
    struct cursor c = cur_make((const uint8_t *)bytes + sizeof h, size - sizeof h);
    out->header     = h;
    forms[h.type].take(&c, out);
    return W_SUCCESS;
}
