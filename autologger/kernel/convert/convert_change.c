/* convert_change.c - flags and hooks change while events arrive: two records of the log have the new terms, and the
 * time of the change on each CPU. RAW_CHANGE comes before the first record of a newly armed source, RAW_TERMS after all
 * new sources are armed and before any old one is off. See change.h for the other side, convert.h for the rules. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/tables/sysconfig_classes.h"
#include "registry-sim/base/cursor.h"

#include <stdlib.h>
#include <string.h>

struct part_change { /* of the last change; its sources are recorded by nobody else until the next one */
    uint8_t  role[RAW_SOURCES];
    uint32_t cpus;
    uint64_t cut[];
};

static bool convert_change_has(const uint32_t *mask, uint32_t word0, uint32_t word1)
{
    return (mask[0] & word0) || (mask[1] & word1);
}

void convert_terms(struct convert *c, const uint32_t *mask, const uint16_t *hooks, unsigned hook_count)
{
    memcpy(c->mask, mask, sizeof c->mask);
    c->processes        = convert_change_has(mask, 0x1, 0);
    c->threads          = convert_change_has(mask, 0x2, 0);
    c->images           = convert_change_has(mask, 0x4, 0);
    c->profile          = convert_change_has(mask, 0x01000000, 0x2);
    c->dpc              = convert_change_has(mask, 0x20, 0x80);
    c->dpc_queue        = convert_change_has(mask, 0, 0x40000);
    c->disk             = convert_change_has(mask, 0x100, 0);
    c->disk_init        = convert_change_has(mask, 0x400, 0);
    c->process_counters = convert_change_has(mask, 0x8, 0);
    c->faults           = convert_change_has(mask, 0x1000, 0);
    c->hard_faults      = convert_change_has(mask, 0x2000, 0);
    c->vamap            = convert_change_has(mask, 0x8000, 0);
    c->sysconfig        = sysconfig_cpu_wanted(mask);
    memset(c->hook, 0, sizeof c->hook);
    for (unsigned i = 0; i < hook_count && i < HOOK_MAX; i++)
        c->hook[hooks[i] >> 3] |= (uint8_t)(1u << (hooks[i] & 7));
}

/* ---- sources that are recorded twice ---- */

void own_change(struct convert *c, const uint8_t *record, size_t size)
{
    struct cursor     cur = cur_make(record, size);
    struct raw_change head;
    cur_copy(&cur, &head, sizeof head);
    if (!cur_ok(&cur) || head.cpus != c->cpus || head.count > RAW_SOURCES)
        return;
    struct part_change *p = calloc(1, sizeof *p + head.cpus * sizeof *p->cut);
    if (!p)
        return; /* then events recorded twice are written twice */
    p->cpus = head.cpus;
    cur_copy(&cur, p->cut, head.cpus * sizeof *p->cut);
    for (uint32_t i = 0; i < head.count && cur_ok(&cur); i++) {
        unsigned source = cur_u16(&cur), role = cur_u16(&cur);
        if (cur_ok(&cur) && source < RAW_SOURCES)
            p->role[source] = (uint8_t)role;
    }
    free(c->change);
    c->change = p;
}

bool change_absorbs(const struct convert *c, const struct sample *s)
{
    const struct part_change *p = c->change;
    if (!p)
        return false;
    unsigned role = p->role[s->source - c->log->header->source];
    return (role == RAW_ROLE_BEGINS && s->time < p->cut[s->cpu]) ||
           (role == RAW_ROLE_ENDS && s->time >= p->cut[s->cpu]);
}

/* ---- the new terms ---- */

/* A class's memory of its last events is stale after it was off for a while. */
static const struct {
    uint32_t word[5];
    void (*forget)(struct convert *c);
} memories[] = {
    {{0x3000}, part_fault_finish},   {{0xB000}, part_mappings_finish},    {{0x06000000}, part_file_finish},
    {{0x00010000}, part_net_finish}, {{0x00200000}, part_split_finish},   {{0x4080, 0x8000, 0x40}, part_call_finish},
    {{0x8}, part_counters_finish},   {{0, 0x800000}, part_memory_finish},
};

static bool any(const uint32_t *mask, const uint32_t word[5])
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < 5; i++)
        bits |= mask[i] & word[i];
    return bits != 0;
}

static void chains_forget(struct kernel_process *p)
{
    for (struct thread *t = p->threads; t; t = t->next)
        t->chain_count = 0;
}

static void convert_change_forget(struct convert *c, const uint32_t *before, bool switch_stacks)
{
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        if (any(c->mask, memories[i].word) && !any(before, memories[i].word))
            memories[i].forget(c);
    for (unsigned i = 0; i < c->cpus; i++) /* drops an interrupt under way: its end alone gives no event */
        c->cpu[i] = (struct cpu_state){.idle_state = c->cpu[i].idle_state};
    for (size_t i = 0;
         convert_change_has(c->mask, 0x500, 0) && !convert_change_has(before, 0x500, 0) && i < c->request.capacity; i++)
        if (c->request.slot[i].value) {
            free(idmap_remove(&c->request, c->request.slot[i].key));
            i = (size_t)-1; /* removal moves others: begin again */
        }
    if (switch_stacks && convert_change_has(c->mask, 0x10, 0x4) && convert_change_has(before, 0x10, 0x4))
        return;
    for (size_t i = 0; i < c->process.capacity; i++)
        if (c->process.slot[i].value)
            chains_forget(c->process.slot[i].value);
    chains_forget(c->system);
}

void own_terms(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_terms_set t;
    uint32_t             before[GROUP_MASK_WORDS];
    bool                 switch_stacks = stack_wanted(c, HOOK_THREAD_CSWITCH);
    uint64_t             time          = convert_time(c, raw);
    if (size < sizeof t)
        return;
    memcpy(&t, record, sizeof t);
    memcpy(before, c->mask, sizeof before);
    convert_terms(c, t.mask, t.hooks, t.hook_count);
    if (memcmp(before, c->mask, sizeof before) == 0 && switch_stacks == stack_wanted(c, HOOK_THREAD_CSWITCH))
        return;
    if (any(c->mask, (const uint32_t[5]){0x20, 0x40080}))
        memcpy(c->softirq_routine, t.softirq, sizeof c->softirq_routine);
    convert_change_forget(c, before, switch_stacks);
    if (memcmp(before, c->mask, sizeof before) != 0)
        rundown_more(c, before, &time);
}

/* ---- a part ---- */

void part_change_finish(struct convert *c)
{
    free(c->change);
    c->change = NULL;
}

void part_change_put(const struct convert *c, struct sink *s)
{
    const struct part_change *p    = c->change;
    uint32_t                  cpus = p ? p->cpus : 0;
    snapshot_put(s, c->mask, sizeof c->mask);
    snapshot_put(s, c->hook, sizeof c->hook);
    snapshot_put(s, &cpus, sizeof cpus);
    if (!p)
        return;
    snapshot_put(s, p->role, sizeof p->role);
    snapshot_put(s, p->cut, p->cpus * sizeof *p->cut);
}

bool part_change_get(struct convert *c, struct cursor *cur)
{
    uint32_t mask[GROUP_MASK_WORDS];
    uint8_t  hook[sizeof c->hook];
    cur_copy(cur, mask, sizeof mask);
    cur_copy(cur, hook, sizeof hook);
    uint32_t cpus = cur_u32(cur);
    if (!cur_ok(cur) || (cpus && cpus != c->cpus))
        return false;
    convert_terms(c, mask, NULL, 0);
    memcpy(c->hook, hook, sizeof hook);
    if (!cpus)
        return true;
    struct part_change *p = c->change = calloc(1, sizeof *p + cpus * sizeof *p->cut);
    if (!p)
        return false;
    p->cpus = cpus;
    cur_copy(cur, p->role, sizeof p->role);
    cur_copy(cur, p->cut, cpus * sizeof *p->cut);
    return cur_ok(cur);
}
