/* change.c - see change.h. */
#include "autologger/kernel/change.h"
#include "autologger/kernel/klog_state.h"
#include "autologger/kernel/source/rights.h"
#include "autologger/kernel/source/sources.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <linux/perf_event.h>
#include <unistd.h>

enum { MAPPING_FLAGS = 0xB000, DPC_FLAGS = 0x40080, DPC_ALIAS = 0x20 };

typedef void keep_fn(void *ctx, const char *name, int fd, size_t ring_bytes);
struct change {
    struct klog       *k;
    struct klog_config config; /* with the new terms */
    keep_fn           *keep;
    void              *ctx;
    unsigned           wanted;
    unsigned           slot[RAW_SOURCES]; /* of want[i] */
    int                id[RAW_SOURCES];
    struct raw_source  want[RAW_SOURCES];
    uint8_t            state[RAW_SOURCES]; /* of the places, after the change */
    unsigned           count;              /* of places */
    uint64_t           begin;
};

/* True if the source is recorded because of flags and stacks. */
static bool by_terms(const struct raw_source *s)
{
    return s->kind != SRC_SIDEBAND && s->kind != SRC_TRACEPOINT && s->kind != SRC_UEVENT &&
           !(s->flags & RAW_SOURCE_PHASE);
}

static bool change_same(const struct raw_source *a, const struct raw_source *b)
{
    return a->kind == b->kind && a->flags == b->flags && strcmp(a->name, b->name) == 0 &&
           memcmp(a->field, b->field, sizeof a->field) == 0;
}

/* ---- which places ---- */

/* The place of a wanted source: its present or former one, or a new one. */
static unsigned change_place_of(const struct change *g, const struct raw_source *s)
{
    const struct raw_header *h = g->k->log.header;
    for (unsigned i = 0; i < h->source_count; i++)
        if (change_same(&h->source[i], s))
            return i;
    return g->count;
}

static wstatus places_find(struct change *g, struct reason *why)
{
    const struct raw_header *h = g->k->log.header;
    g->count                   = h->source_count;
    for (unsigned i = 0; i < g->count; i++)
        g->state[i] = h->state[i] == RAW_OPEN && by_terms(&h->source[i]) ? RAW_LEAVING : h->state[i];
    for (unsigned w = 0; w < g->wanted; w++) {
        if (!by_terms(&g->want[w])) {
            g->slot[w] = RAW_SOURCES; /* stays as it is */
            continue;
        }
        unsigned i = change_place_of(g, &g->want[w]);
        if (i == g->count && g->count++ == h->source_room)
            return reason_set(why, W_NO_SYSTEM_RESOURCES, "all %u places for sources of this session are taken",
                              h->source_room);
        g->slot[w]  = i;
        g->state[i] = i < h->source_count && h->state[i] == RAW_OPEN ? RAW_OPEN : RAW_ARMING;
    }
    return W_SUCCESS;
}

/* ---- opening and closing ---- */

static void change_place_close(struct change *g, unsigned slot)
{
    struct klog *k = g->k;
    char         name[64];
    for (unsigned c = 0; c < k->rings.cpus; c++)
        if (k->rings.ring[c].fd[slot] >= 0) {
            rings_name(name, slot, k->log.header->source[slot].name, c);
            close(k->rings.ring[c].fd[slot]);
            k->rings.ring[c].fd[slot] = -1;
            if (g->keep)
                g->keep(g->ctx, name, -1, 0);
        }
}

/* Opens a source on every CPU that records. A source that this machine lacks is a condition; the source that it would
 * have replaced then stays. */
static wstatus change_place_open(struct change *g, unsigned w, struct reason *why)
{
    struct klog *k      = g->k;
    unsigned     slot   = g->slot[w];
    wstatus      status = W_SUCCESS;
    bool         have   = false;
    for (unsigned c = 0; c < k->rings.cpus && !status; c++)
        if (k->rings.ring[c].page) {
            status = rings_source_open(&k->rings, &g->config, &g->want[w], g->id[w], slot, c, why);
            have |= k->rings.ring[c].fd[slot] >= 0;
        }
    if (status || have)
        return status;
    g->state[slot] = RAW_CLOSED;
    for (unsigned i = 0; i < k->log.header->source_count; i++)
        if (g->state[i] == RAW_LEAVING && k->log.header->source[i].kind == g->want[w].kind)
            g->state[i] = RAW_OPEN;
    return W_SUCCESS;
}

/* C1. The table is not written yet: a successor finds it unchanged. */
static wstatus all_open(struct change *g, struct reason *why)
{
    struct klog *k      = g->k;
    wstatus      status = W_SUCCESS;
    for (unsigned w = 0; w < g->wanted && !status; w++)
        if (g->slot[w] < RAW_SOURCES && g->state[g->slot[w]] == RAW_ARMING) {
            status = change_place_open(g, w, why);
            drain_pass(&k->drain, false); /* opening is slow, and the rings fill */
        }
    for (unsigned w = 0; w < g->wanted && status; w++)
        for (unsigned c = 0; g->slot[w] < RAW_SOURCES && g->state[g->slot[w]] == RAW_ARMING && c < k->rings.cpus; c++) {
            int *fd = &k->rings.ring[c].fd[g->slot[w]];
            if (*fd >= 0)
                close(*fd);
            *fd = -1;
        }
    return status;
}

static void ids_write(struct klog *k, unsigned slot)
{
    for (unsigned c = 0; c < k->rings.cpus; c++)
        if (k->rings.ring[c].fd[slot] >= 0)
            ioctl(k->rings.ring[c].fd[slot], PERF_EVENT_IOC_ID, &rawlog_ids(&k->log, c)[slot]);
}

static void places_keep(const struct change *g, unsigned slot)
{
    struct klog *k = g->k;
    char         name[64];
    for (unsigned c = 0; c < k->rings.cpus; c++)
        if (k->rings.ring[c].fd[slot] >= 0) {
            rings_name(name, slot, k->log.header->source[slot].name, c);
            if (g->keep)
                g->keep(g->ctx, name, k->rings.ring[c].fd[slot], 0);
        }
}

/* Writes the change to the table. From here on a successor sees it. */
static void table_write(struct change *g)
{
    struct raw_header *h = g->k->log.header;
    terms_set(&h->next, &g->config);
    h->change++;
    __atomic_store_n(&h->change_begin_ns, g->begin, __ATOMIC_RELEASE);
    for (unsigned w = 0; w < g->wanted; w++)
        if (g->slot[w] < RAW_SOURCES && g->slot[w] >= h->source_count)
            h->source[g->slot[w]] = g->want[w];
    for (unsigned i = 0; i < g->count; i++) {
        if (g->state[i] == RAW_ARMING) {
            h->base_value[i] = h->final_value[i];
            h->base_lost[i]  = h->final_lost[i];
        }
        __atomic_store_n(&h->state[i], g->state[i], __ATOMIC_RELEASE);
    }
    pthread_mutex_lock(&g->k->drain.lock);
    __atomic_store_n(&h->source_count, g->count, __ATOMIC_RELEASE);
    pthread_mutex_lock(&g->k->log.told_lock);
    g->k->rings.count = g->count;
    pthread_mutex_unlock(&g->k->log.told_lock);
    for (unsigned i = 0; i < g->count; i++)
        if (h->state[i] == RAW_ARMING)
            ids_write(g->k, i);
    pthread_mutex_unlock(&g->k->drain.lock);
    for (unsigned i = 0; i < g->count; i++)
        if (h->state[i] == RAW_ARMING)
            places_keep(g, i);
}

/* ---- the records of a change ---- */

/* C2. Where a CPU may not be visited (a cpuset), its time is read on another one: an event within the same microsecond
 * may then be recorded twice, or be missing. */
static void cuts_take(const struct rings *rings, uint64_t *cut)
{
    size_t     bytes = CPU_ALLOC_SIZE(rings->cpus);
    cpu_set_t *one = CPU_ALLOC(rings->cpus), *own = calloc(1, 8192);
    bool       back = own && sched_getaffinity(0, 8192, own) == 0;
    for (unsigned c = 0; c < rings->cpus; c++) {
        if (one && back && rings->ring[c].page) {
            CPU_ZERO_S(bytes, one);
            CPU_SET_S(c, bytes, one);
            sched_setaffinity(0, bytes, one);
        }
        cut[c] = raw_now();
    }
    if (back)
        sched_setaffinity(0, 8192, own);
    if (one)
        CPU_FREE(one);
    free(own);
}

static void terms_add(struct klog *k, struct own_buffer *b, uint64_t time, const struct raw_terms *t,
                      const uint64_t *softirq)
{
    struct raw_terms_set r = {.own = {.type = RAW_TERMS, .time = time}, .hook_count = t->hook_count};
    memcpy(r.mask, t->mask, sizeof r.mask);
    memcpy(r.hooks, t->hooks, sizeof r.hooks);
    memcpy(r.softirq, softirq, sizeof r.softirq);
    own_add(&k->drain, b, &r, sizeof r, NULL, 0);
}

/* The stacks that are wanted before and after the change. Removed stacks stop before the switch-over and added ones
 * start after it, so that no stack is reported missing that was not asked of the kernel. */
static struct raw_terms between(const struct raw_terms *now, const struct raw_terms *next)
{
    struct raw_terms t = *now;
    t.hook_count       = 0;
    for (unsigned i = 0; i < now->hook_count && i < HOOK_MAX; i++)
        for (unsigned j = 0; j < next->hook_count && j < HOOK_MAX; j++)
            if (now->hooks[i] == next->hooks[j]) {
                t.hooks[t.hook_count++] = now->hooks[i];
                break;
            }
    return t;
}

/* Writes the change's records. `back`: the change is undone; events of the armed sources do not count. */
static wstatus records_write(struct klog *k, bool back)
{
    struct raw_header *h    = k->log.header;
    unsigned           cpus = h->cpus, count = 0;
    size_t size          = sizeof(struct raw_change) + cpus * sizeof(uint64_t) + RAW_SOURCES * sizeof(struct raw_role);
    struct own_buffer *b = calloc(1, sizeof *b);
    struct raw_change *r = calloc(1, size);
    uint64_t           softirq[RAW_SOFTIRQS] = {0};
    if (!b || !r || size > OWN_BUFFER / 2) {
        free(b);
        free(r);
        k->drain.hold_ns = 0;
        return W_NOT_ENOUGH_MEMORY;
    }
    uint64_t        *cut  = (uint64_t *)(r + 1);
    struct raw_role *role = (struct raw_role *)(cut + cpus);
    if (back)
        memset(cut, 0xFF, cpus * sizeof *cut);
    else
        cuts_take(&k->rings, cut);
    for (unsigned i = 0; i < h->source_count; i++)
        for (unsigned j = 0; j < h->source_count; j++) {
            bool pair =
                h->source[i].kind == h->source[j].kind && h->state[i] == RAW_ARMING && h->state[j] == RAW_LEAVING;
            if (pair || (back && i == j && h->state[i] == RAW_ARMING))
                role[count++] = (struct raw_role){(uint16_t)i, RAW_ROLE_BEGINS};
            if (pair && !back)
                role[count++] = (struct raw_role){(uint16_t)j, RAW_ROLE_ENDS};
        }
    if (!back && ((h->next.mask[1] & DPC_FLAGS) || (h->next.mask[0] & DPC_ALIAS)))
        drain_handlers(&k->drain, softirq);
    r->own   = (struct raw_own){.type = RAW_CHANGE, .time = h->change_begin_ns};
    r->cpus  = cpus;
    r->count = count;
    pthread_mutex_lock(&k->drain.lock);
    uint64_t lost = k->log.work->own_lost;
    /* the record may use the room that is reserved for the end: later records can't be told apart without it */
    b->mark = true;
    own_add(&k->drain, b, r, sizeof *r + cpus * sizeof *cut + count * sizeof *role, NULL, 0);
    if (!back) {
        struct raw_terms both = between(&h->now, &h->next);
        terms_add(k, b, h->change_begin_ns, &both, softirq);
        terms_add(k, b, raw_now(), &h->next, softirq);
    }
    own_flush(&k->drain, b);
    lost = k->log.work->own_lost - lost;
    if (!lost)
        k->log.work->change = h->change;
    k->drain.hold_ns = 0;
    pthread_mutex_unlock(&k->drain.lock);
    drain_pass(&k->drain, false); /* publishes */
    free(r);
    free(b);
    return lost ? W_NOT_ENOUGH_MEMORY : W_SUCCESS;
}

/* ---- the end of a change ---- */

/* Disables, drains, counts (C3) and closes the sources in state `goes`, and ends the change. */
static void kernel_change_end(struct change *g, enum raw_source_state goes, bool done)
{
    struct klog       *k   = g->k;
    struct raw_header *h   = k->log.header;
    bool               any = false;
    for (unsigned i = 0; i < h->source_count; i++)
        if (h->state[i] == goes) {
            rings_source_enable(&k->rings, i, false);
            any = true;
        }
    if (any) {
        klog_handlers_wait();
        drain_pass(&k->drain, false);
    }
    for (unsigned i = 0; i < h->source_count; i++) {
        if (h->state[i] == goes) {
            uint64_t value, lost;
            klog_source_read(k, i, &value, &lost);
            pthread_mutex_lock(&k->drain.lock);
            loss_closed(&k->drain, i);
            pthread_mutex_unlock(&k->drain.lock);
            h->final_value[i] = value;
            h->final_lost[i]  = lost;
            /* before its events are closed: a daemon that dies here has counted them once */
            __atomic_store_n(&h->state[i], RAW_CLOSED, __ATOMIC_RELEASE);
            change_place_close(g, i);
        } else if (h->state[i] == RAW_ARMING || h->state[i] == RAW_LEAVING) {
            h->state[i] = RAW_OPEN;
        }
    }
    if (done)
        h->now = h->next;
    terms_get(&h->now, &k->config);
    __atomic_store_n(&h->change_begin_ns, 0, __ATOMIC_RELEASE);
}

void change_settle(struct klog *k)
{
    struct raw_header *h = k->log.header;
    struct change     *g = h->change_begin_ns && !h->stopped ? calloc(1, sizeof *g) : NULL;
    klog_size_settle(k);
    if (!g)
        return;
    g->k = k;
    if (k->log.work->change == h->change) {
        k->drain.hold_ns = 0;
        kernel_change_end(g, RAW_LEAVING, true);
    } else {
        records_write(k, true);
        kernel_change_end(g, RAW_ARMING, false);
    }
    free(g);
}

/* ---- all of it ---- */

static void drop_fd(void *ctx, const char *name, int fd, size_t ring_bytes)
{
    const struct change *g = ctx;
    (void)fd, (void)ring_bytes;
    if (g->keep)
        g->keep(g->ctx, name, -1, 0);
}

/* File operations come from BPF programs, which write to the sources that existed when they were loaded. */
static struct filetap *tap_renew(struct change *g)
{
    struct klog *k      = g->k;
    struct filetap *new = NULL, *old = k->tap;
    struct reason why     = {0};
    bool          changes = false;
    for (unsigned i = 0; i < g->count; i++)
        changes |=
            (k->log.header->source[i].kind == SRC_FILE_ENTER || k->log.header->source[i].kind == SRC_FILE_EXIT) &&
            (k->log.header->state[i] == RAW_ARMING || k->log.header->state[i] == RAW_LEAVING);
    if (!changes)
        return NULL;
    wstatus     status = filetap_wanted(&k->log)
                             ? filetap_open(&k->rings, &k->log, g->config.mask[0] & 0x02000000, &new, &why)
                             : W_SUCCESS;
    const char *advice = rights_advice(&why, filetap_advice(why.status));
    if (status && g->config.condition)
        g->config.condition(g->config.condition_ctx, why.status, false, "FILE_IO", why.text, advice);
    k->tap = new;
    filetap_fds(new ? NULL : old, drop_fd, g);
    if (g->keep)
        filetap_fds(new, g->keep, g->ctx);
    return old;
}

/* The same for the addresses of datagrams. */
static struct nettap *net_tap_renew(struct change *g)
{
    struct klog *k     = g->k;
    struct nettap *new = NULL, *old = k->net_tap;
    struct reason why     = {0};
    bool          changes = false;
    for (unsigned i = 0; i < g->count; i++)
        changes |= k->log.header->source[i].kind == SRC_UDP_ENDS &&
                   (k->log.header->state[i] == RAW_ARMING || k->log.header->state[i] == RAW_LEAVING);
    if (!changes)
        return NULL;
    wstatus     status = nettap_wanted(&k->log) ? nettap_open(&k->rings, &k->log, &new, &why) : W_SUCCESS;
    const char *advice = rights_advice(&why, nettap_advice(status));
    if (why.text[0] && g->config.condition)
        g->config.condition(g->config.condition_ctx, W_NOT_SUPPORTED, !nettap_calls_wanted(&k->log), "NETWORKTRACE",
                            why.text, advice);
    k->net_tap = new;
    nettap_fds(new ? NULL : old, drop_fd, g);
    if (g->keep)
        nettap_fds(new, g->keep, g->ctx);
    return old;
}

static wstatus change_make(struct change *g)
{
    struct klog       *k        = g->k;
    struct raw_header *h        = k->log.header;
    bool               mappings = !(h->now.mask[0] & MAPPING_FLAGS) && (g->config.mask[0] & MAPPING_FLAGS);
    pthread_mutex_lock(&k->drain.lock); /* no pass has a horizon beyond `begin` */
    k->drain.hold_ns = g->begin = raw_now();
    pthread_mutex_unlock(&k->drain.lock);
    table_write(g);
    if (group_mask_has(g->config.mask, "SYSCALL")) {
        terms_get(&h->next, &k->config);
        klog_addresses(k);
    }
    if (!drain_wants_execs(&g->config))
        argv_fds(k->drain.argv, drop_fd, g);
    drain_wants(&k->drain, &g->config);
    for (unsigned i = 0; i < g->count; i++)
        if (h->state[i] == RAW_ARMING)
            rings_source_enable(&k->rings, i, true);
    struct filetap *old     = tap_renew(g);
    struct nettap  *old_net = net_tap_renew(g);
    if (!k->drain.argv)
        drain_commands(&k->drain, &g->config);
    wstatus status = records_write(k, false);
    filetap_close(old);
    nettap_close(old_net);
    kernel_change_end(g, status ? RAW_ARMING : RAW_LEAVING, !status);
    if (g->keep)
        argv_fds(k->drain.argv, g->keep, g->ctx);
    if (mappings && !status)
        drain_mappings(&k->drain);
    return status;
}

wstatus klog_update(struct klog *k, const struct klog_config                                   *terms,
                    void (*keep)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx, struct reason *why)
{
    const struct raw_header *h = k->log.header;
    struct change           *g;
    if (!h->started || h->stopped || h->change_begin_ns || !rings_present(&k->rings))
        return reason_set(why, W_NOT_READY, "the kernel's sources of this session are not recording");
    pthread_mutex_lock(&k->drain.lock);
    uint64_t room = rawlog_room(&k->log);
    pthread_mutex_unlock(&k->drain.lock);
    if (room < 4 * PASS_RESERVE + h->cpus * sizeof(uint64_t))
        return reason_set(why, W_NOT_ENOUGH_MEMORY,
                          "the memory for kernel records is full: nothing can be changed until some of it is written");
    if (!(g = calloc(1, sizeof *g)))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a change of sources");
    g->k      = k;
    g->config = k->config;
    memcpy(g->config.mask, terms->mask, sizeof g->config.mask);
    memcpy(g->config.hooks, terms->hooks, sizeof g->config.hooks);
    g->config.hook_count       = terms->hook_count;
    g->config.condition        = terms->condition;
    g->config.condition_ctx    = terms->condition_ctx;
    g->config.tracepoint_count = 0; /* a session's tracepoints do not depend on flags */
    g->keep                    = keep;
    g->ctx                     = ctx;
    g->wanted                  = rings_sources(&g->config, g->want, g->id);
    wstatus status             = places_find(g, why);
    if (!status)
        status = all_open(g, why);
    if (!status) {
        klog_hook_conditions(&g->config, g->want, g->wanted);
        if ((status = change_make(g)))
            reason_set(why, status, "no memory for the records of a change of sources: it was undone");
    }
    free(g);
    return status;
}

void klog_stack_keys(struct klog *k, uint64_t time, void (*show)(void *ctx, const struct klog_record *r), void *ctx)
{
    convert_stack_keys(&k->convert, time, show, ctx);
}

void klog_stack_keys_end(struct klog *k) { convert_stack_keys_end(&k->convert); }
