/* convert_ustack.c - copies of programs' stacks as events of our own, which a merge turns into stacks
 * (wire/stack_copy.h). The copy of an outgoing thread is kept until the thread returns: Windows' stack of a context
 * switch is that of the incoming thread.
 * Invariant: all kept copies take at most KEPT_MOST bytes; a thread beyond that has no program part at its next switch.
 * See convert.h; only if klog_config.user_stack_bytes is set. */
#include "autologger/kernel/convert/describe.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/wire/stack_copy.h"

#include <stdlib.h>
#include <string.h>

enum { REGISTER_BYTES = STACK_COPY_REGISTERS * 8, KEPT_MOST = 4 << 20, HEAD = 64 };

struct convert_ustack_kept {
    struct user_copy copy;    /* into bytes */
    uint8_t          bytes[]; /* registers, stack */
};
struct part_copies {
    struct idmap thread; /* tid + 1 -> struct kept */
    size_t       bytes;
    uint8_t      payload[HEAD + REGISTER_BYTES + STACK_COPY_MOST];
};

static struct part_copies *convert_ustack_part(struct convert *c)
{
    if (!c->copies)
        c->copies = calloc(1, sizeof *c->copies);
    return c->copies;
}

void part_copies_finish(struct convert *c)
{
    for (size_t i = 0; c->copies && i < c->copies->thread.capacity; i++)
        free(c->copies->thread.slot[i].value);
    if (c->copies)
        idmap_finish(&c->copies->thread);
    free(c->copies);
    c->copies = NULL;
}

void part_copies_put(const struct convert *c, struct sink *s)
{
    uint64_t count = c->copies ? c->copies->thread.count : 0;
    snapshot_put(s, &count, sizeof count);
    for (size_t i = 0; c->copies && i < c->copies->thread.capacity; i++) {
        const struct convert_ustack_kept *k = c->copies->thread.slot[i].value;
        if (!k)
            continue;
        const uint64_t head[2] = {c->copies->thread.slot[i].key, k->copy.size};
        snapshot_put(s, head, sizeof head);
        snapshot_put(s, k->bytes, REGISTER_BYTES + k->copy.size);
    }
}

bool part_copies_get(struct convert *c, struct cursor *cur)
{
    for (uint64_t n = cur_u64(cur); n > 0; n--) {
        uint64_t       tid = cur_u64(cur) - 1, size = cur_u64(cur);
        const uint8_t *bytes = cur_take(cur, size > STACK_COPY_MOST ? SIZE_MAX : REGISTER_BYTES + size);
        if (!bytes || !cur_ok(cur))
            return false;
        copy_keep(c, (uint32_t)tid, &(struct user_copy){bytes, bytes + REGISTER_BYTES, (uint32_t)size});
    }
    return cur_ok(cur);
}

void copy_emit(struct convert *c, const struct actor *of, uint64_t trigger, const struct user_copy *copy)
{
    static const struct shape shape = {STACK_COPY_PROVIDER,
                                       STACK_COPY_EVENT,
                                       {{"EventTimeStamp", SHAPE_UINT64},
                                        {"StackProcess", SHAPE_UINT32},
                                        {"StackThread", SHAPE_UINT32},
                                        {"Registers", SHAPE_BINARY},
                                        {"Stack", SHAPE_BINARY}}};
    struct part_copies       *p     = convert_ustack_part(c);
    const uint32_t            size  = copy->size < STACK_COPY_MOST ? copy->size : STACK_COPY_MOST;
    uint64_t                  time  = trigger + 1;
    if (!p) {
        c->stacks_missing++;
        return;
    }
    struct writer w = wr_make(p->payload, sizeof p->payload);
    wr_u64(&w, trigger);
    wr_u32(&w, of->pid);
    wr_u32(&w, of->tid);
    wr_u16(&w, REGISTER_BYTES);
    wr_bytes(&w, copy->registers, REGISTER_BYTES);
    wr_u16(&w, (uint16_t)size);
    wr_bytes(&w, copy->stack, size);
    c->copied++;
    describe_at(c, of, &shape, &time, &w);
}

void copy_drop(struct convert *c, uint32_t tid)
{
    struct convert_ustack_kept *k = c->copies ? idmap_remove(&c->copies->thread, tid + UINT64_C(1)) : NULL;
    if (!k)
        return;
    c->copies->bytes -= sizeof *k + REGISTER_BYTES + k->copy.size;
    free(k);
}

void copy_keep(struct convert *c, uint32_t tid, const struct user_copy *copy)
{
    copy_drop(c, tid);
    struct part_copies         *p     = copy ? convert_ustack_part(c) : NULL;
    const size_t                bytes = copy ? sizeof(struct convert_ustack_kept) + REGISTER_BYTES + copy->size : 0;
    struct convert_ustack_kept *k =
        p && copy->size <= STACK_COPY_MOST && p->bytes + bytes <= KEPT_MOST ? malloc(bytes) : NULL;
    if (!k)
        return;
    k->copy = (struct user_copy){k->bytes, k->bytes + REGISTER_BYTES, copy->size};
    memcpy(k->bytes, copy->registers, REGISTER_BYTES);
    if (copy->size)
        memcpy(k->bytes + REGISTER_BYTES, copy->stack, copy->size);
    if (!idmap_put(&p->thread, tid + UINT64_C(1), k)) {
        free(k);
        return;
    }
    p->bytes += bytes;
}

const struct user_copy *copy_kept(struct convert *c, uint32_t tid)
{
    const struct convert_ustack_kept *k = c->copies ? idmap_get(&c->copies->thread, tid + UINT64_C(1)) : NULL;
    return k ? &k->copy : NULL;
}
