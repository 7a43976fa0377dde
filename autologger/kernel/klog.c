/* klog.c - the kernel logger of one session: rings, raw log, drainer and converter put together. See klog.h. */
#include "autologger/kernel/klog.h"
#include "autologger/kernel/change.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/klog_state.h"
#include "autologger/kernel/phase/kphase.h"
#include "autologger/kernel/source/probes.h"
#include "autologger/kernel/source/rights.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/kernel/source/syscalls.h"
#include "autologger/kernel/source/tracepoints.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HANDLERS_US = 10000 };

static void kernel_klog_tell(const struct klog_config *config, bool note, const char *item, const char *reason,
                             const char *advice)
{
    if (config->condition)
        config->condition(config->condition_ctx, W_NOT_SUPPORTED, note, item, reason, advice);
}

static const char klog_no_event[] = "the event itself is not enabled, or its source is missing";
static const char klog_no_stack[] = "no call stack can be had for this event in this version";

bool klog_is_hook_reason(const char *reason)
{
    return strcmp(reason, klog_no_event) == 0 || strcmp(reason, klog_no_stack) == 0;
}

void klog_hook_conditions(const struct klog_config *config, const struct raw_source *sources, unsigned count)
{
    for (unsigned i = 0; i < config->hook_count && i < HOOK_MAX; i++) {
        const char *reason = klog_no_stack;
        char        name[32];
        bool        have = false;
        for (unsigned k = 0; k < SRC_COUNT; k++)
            if (source_has_hook(&source_table[k], config->hooks[i]))
                reason = klog_no_event;
        for (unsigned s = 0; s < count; s++)
            have |= source_has_hook(&source_table[sources[s].kind], config->hooks[i]);
        if (have)
            continue;
        snprintf(name, sizeof name, "stack 0x%04x", config->hooks[i]);
        const char *known = hook_name(config->hooks[i]);
        kernel_klog_tell(config, false, known ? known : name, reason,
                         "enable the event's flag, or take it off the stack list");
    }
}

static struct klog *klog_new(const struct klog_config *config)
{
    struct klog *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    k->config     = *config;
    k->log.fd     = -1;
    k->drain.proc = k->drain.devices_fd = -1;
    k->state[0] = k->state[1] = -1;
    pthread_mutex_init(&k->size_lock, NULL);
    if ((k->probes = config->devices))
        probes_hold();
    k->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return k;
}

static wstatus klog_finish_open(struct klog *k, struct reason *why)
{
    wstatus status = drain_init(&k->drain, &k->rings, &k->log, &k->config, why);
    if (!status)
        status = convert_init(&k->convert, &k->config, &k->log, why);
    k->until = calloc(k->log.header->cpus, sizeof *k->until);
    if (!status && (!k->until || k->wake < 0))
        status = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the kernel logger");
    return status;
}

/* Opens the socket of uevents, if they are wanted and available. Returns its place in the table. */
static unsigned devices_add(struct klog *k, struct raw_source *sources, unsigned *count, uint64_t *number)
{
    char text[96];
    int  fd = k->config.devices && *count < RAW_SOURCES ? devices_open(number) : 0;
    if (fd < 0) {
        snprintf(text, sizeof text, "the kernel's uevents cannot be listened to: %s", strerror(-fd));
        kernel_klog_tell(&k->config, false, DEVICES_SOURCE, text, "run as root, in the first network namespace");
    }
    if (fd <= 0)
        return 0;
    k->drain.devices_fd = fd;
    sources[*count]     = (struct raw_source){.name = DEVICES_SOURCE, .kind = SRC_UEVENT};
    return (*count)++;
}

static void devices_adopt(struct klog *k, int (*find)(void *ctx, const char *name), void *ctx)
{
    for (unsigned i = 0; i < k->log.header->source_count && i < RAW_SOURCES; i++)
        if (k->log.header->source[i].kind == SRC_UEVENT) {
            k->drain.devices_fd      = find(ctx, DEVICES_FD);
            k->drain.devices_source  = i;
            k->drain.devices_adopted = !k->log.header->devices_left; /* it died: its last uevents may be in no log */
        }
    k->log.header->devices_left = 0;
}

wstatus klog_create(const struct klog_config *config, struct klog **out, struct reason *why)
{
    struct raw_source sources[RAW_SOURCES] = {0};
    struct klog      *k                    = klog_new(config);
    *out                                   = NULL;
    if (!k)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the kernel logger");
    wstatus status = rings_open(&k->rings, config, sources, why);
    if (status)
        goto out;
    unsigned count   = k->rings.count;
    k->phase         = kphase_open(&k->config, k->rings.cpus, sources, &count);
    uint64_t before  = 0;
    unsigned devices = devices_add(k, sources, &count, &before);
    status           = rawlog_init(&k->log, config->raw_bytes, config->raw_most, k->rings.cpus, sources, count, why);
    if (status)
        goto out;
    for (int i = 0; i < 2; i++)
        if ((k->state[i] = memfd_create("autologger-kernel-state", MFD_CLOEXEC)) < 0)
            status = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the kernel logger: %s", strerror(errno));
    if (status)
        goto out;
    terms_set(&k->log.header->first, config);
    k->log.header->now              = k->log.header->first;
    k->log.header->ring_bytes       = (uint32_t)k->rings.bytes;
    k->log.header->profile_interval = config->profile_interval;
    k->log.work->device_number      = before;
    rings_ids(&k->rings, &k->log);
    klog_hook_conditions(config, sources, k->rings.count);
    k->rings.count = count; /* those of the kernel phase have no descriptors */
    if (k->phase)
        kphase_ids(k->phase, &k->log);
    int socket              = k->drain.devices_fd;
    status                  = klog_finish_open(k, why);
    k->drain.devices_fd     = socket;
    k->drain.devices_source = devices;
    k->drain.hold           = k->phase != NULL; /* P3 of kphase.h */
out:
    k->unborn = status != W_SUCCESS;
    if (status) {
        klog_destroy(k);
        return status;
    }
    *out = k;
    return W_SUCCESS;
}

wstatus klog_adopt(const struct klog_config *config, int (*find)(void *ctx, const char *name), void *ctx,
                   struct klog **out, struct reason *why)
{
    struct klog *k = klog_new(config);
    *out           = NULL;
    if (!k)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the kernel logger");
    k->adopted = true; /* also if the predecessor died before it had started */
    wstatus status;
    int     raw = find(ctx, "raw");
    if (raw < 0) {
        status = reason_set(why, W_INVALID_DATA, "the raw kernel records of the predecessor were not handed over");
        goto out;
    }
    status = rawlog_attach(&k->log, raw, why);
    if (!status) {
        k->config.ring_bytes       = k->log.header->ring_bytes;
        k->config.profile_interval = k->log.header->profile_interval;
        terms_get(&k->log.header->now, &k->config);
    }
    if (!status)
        status = rings_adopt(&k->rings, &k->config, &k->log, find, ctx, why);
    k->state[0] = find(ctx, "state.0");
    k->state[1] = find(ctx, "state.1");
    if (!status && (k->state[0] < 0 || k->state[1] < 0))
        status = reason_set(why, W_INVALID_DATA, "the kernel state of the predecessor was not handed over");
    if (!status)
        status = klog_finish_open(k, why);
    if (!status)
        devices_adopt(k, find, ctx);
    if (!status && !k->log.header->started && rings_present(&k->rings))
        k->phase = kphase_adopt(&k->config, &k->log, rings_hold(&k->rings));
    k->drain.hold = k->phase != NULL;
    if (!status)
        k->drain.argv = argv_adopt(find, ctx); /* else klog_start makes a new one */
    if (!status)
        k->tap = filetap_adopt(find, ctx);
    if (!status)
        k->net_tap = nettap_adopt(find, ctx);
    if (!status) { /* later changes by a predecessor are in the log */
        const struct raw_terms *first = &k->log.header->first;
        convert_terms(&k->convert, first->mask, first->hooks, first->hook_count);
        k->drain.hold_ns = k->log.header->change_begin_ns;
    }
    if (!status && k->log.header->snapshot)
        status = convert_snapshot_read(&k->convert, k->state[(k->log.header->snapshot - 1) & 1], why);
out:
    if (status && k->phase)
        kphase_stop(k->phase); /* kphase_close gives a stopped buffer back */
    if (status) {
        klog_destroy(k);
        return status;
    }
    for (unsigned c = 0; c < k->convert.cpus; c++)
        convert_suppress(&k->convert, c, rawlog_released(&k->log)[c]);
    *out = k;
    return W_SUCCESS;
}

void klog_tell(struct klog *k, void *condition_ctx) { k->config.condition_ctx = condition_ctx; }

/* Arms perf while the kernel's own buffer still records, stops that buffer and imports it. The rings wait. */
static void start_phase(struct klog *k)
{
    pthread_mutex_lock(&k->drain.lock);
    kphase_sync(k->phase);
    rings_enable(&k->rings, true);
    kphase_armed(k->phase);
    kphase_stop(k->phase);
    kphase_import(k->phase, &k->drain);
    k->drain.function = kphase_functions(k->phase, &k->drain.functions);
    pthread_mutex_unlock(&k->drain.lock);
}

void klog_addresses(struct klog *k)
{
    uint64_t *address = k->log.header->syscall;
    bool      none    = true;
    for (unsigned i = 0; i < RAW_SYSCALLS; i++)
        none &= !address[i];
    if (none && group_mask_has(k->config.mask, "SYSCALL") && rings_present(&k->rings))
        syscall_addresses(k->drain.proc, address, k->log.header->narrow, RAW_SYSCALLS);
}

static uint64_t source_drained(struct klog *k, unsigned kind)
{
    const struct raw_header *h   = k->log.header;
    uint64_t                 sum = 0;
    pthread_mutex_lock(&k->drain.lock); /* keeps the drainer away from the slot */
    for (unsigned i = 0; i < h->source_count; i++)
        if (h->source[i].kind == kind)
            sum += rawlog_published(&k->log)->drained[i];
    pthread_mutex_unlock(&k->drain.lock);
    return sum;
}

/* File operations. Loading takes some tenths of a second, so the other sources are started before. */
static void tap_start(struct klog *k)
{
    struct reason why = {0};
    if (k->tap || !filetap_wanted(&k->log))
        return;
    if (!rings_present(&k->rings)) { /* the memory of an early program */
        if (!source_drained(k, SRC_FILE_ENTER))
            kernel_klog_tell(&k->config, true, "FILE_IO",
                             "the early program records no file operations, and no daemon has come", "nothing to do");
        return;
    }
    wstatus status = filetap_open(&k->rings, &k->log, k->config.mask[0] & 0x02000000, &k->tap, &why);
    if (!status && k->adopted)
        kernel_klog_tell(&k->config, true, "FILE_IO",
                         "file operations of the time before this daemon took over are not recorded", "nothing to do");
    const char *advice = rights_advice(&why, filetap_advice(why.status));
    if (status)
        kernel_klog_tell(&k->config, false, "FILE_IO", why.text, advice);
}

/* The addresses of datagrams, and calls on sockets where the kernel has no tracepoint for them. An early program
 * records neither. */
static void net_tap_start(struct klog *k)
{
    struct reason why = {0};
    if (k->net_tap || !nettap_wanted(&k->log))
        return;
    if (!rings_present(&k->rings)) {
        if (nettap_calls_wanted(&k->log) && !source_drained(k, SRC_UDP_ENDS))
            kernel_klog_tell(
                &k->config, true, "NETWORKTRACE",
                "before Linux 6.3 the early program does not record what is sent and received, and no daemon has come",
                "nothing to do");
        return;
    }
    wstatus     status = nettap_open(&k->rings, &k->log, &k->net_tap, &why);
    const char *advice = rights_advice(&why, nettap_advice(status));
    if (status || why.text[0])
        kernel_klog_tell(&k->config, !nettap_calls_wanted(&k->log), "NETWORKTRACE", why.text, advice);
    else if (nettap_calls_wanted(&k->log) && k->adopted)
        kernel_klog_tell(&k->config, true, "NETWORKTRACE",
                         "what programs sent and received before this daemon took over is not recorded",
                         "use Linux 6.3 or newer");
}

/* Does what a predecessor left undone: it may have died before it had enabled all sources, or in its walk of /proc. */
static void start_adopted(struct klog *k)
{
    change_settle(k);
    klog_addresses(k);
    rings_enable(&k->rings, true);
    if (!k->drain.argv)
        drain_commands(&k->drain, &k->config);
}

wstatus klog_start(struct klog *k, struct reason *why)
{
    (void)why;
    if (k->log.header->started) {
        start_adopted(k);
        tap_start(k);
        net_tap_start(k);
        return W_SUCCESS;
    }
    __atomic_store_n(&k->drain.walking, true, __ATOMIC_RELEASE);
    tracepoints_describe(&k->drain, &k->config);
    if (!rings_hold(&k->rings))
        drain_pass(
            &k->drain,
            /* the first clock pair lies before the first record; records in a predecessor's rings wait for the seam */
            false);
    if (k->phase) { /* the kernel records anyhow */
        klog_addresses(k);
        drain_commands(&k->drain, &k->config);
        start_phase(k);
    } else { /* nothing that can wait delays the first event */
        start_adopted(k);
    }
    drain_rundown(&k->drain);
    __atomic_store_n(&k->drain.walking, false, __ATOMIC_RELEASE);
    tap_start(k);
    net_tap_start(k);
    kphase_close(k->phase); /* before `started`: a successor gives back no buffer of a started log */
    k->phase               = NULL;
    k->log.header->started = 1;
    k->drain.function      = NULL;
    k->drain.functions     = 0;
    __atomic_store_n(&k->drain.hold, false, __ATOMIC_RELEASE);
    return W_SUCCESS;
}

void klog_source_read(const struct klog *k, unsigned source, uint64_t *value, uint64_t *lost)
{
    const struct raw_header *h      = k->log.header;
    bool                     closed = h->state[source] == RAW_CLOSED;
    *value                          = closed ? h->final_value[source] : h->base_value[source];
    *lost                           = closed ? h->final_lost[source] : h->base_lost[source];
    for (unsigned c = 0; c < k->rings.cpus; c++) {
        uint64_t v, l;
        if (rings_count(&k->rings, c, source, &v, &l)) {
            *value += v;
            *lost += l;
        }
    }
}

/* Disabling an event interrupts its CPU, perhaps between the kernel's count of an event and its record: the record then
 * follows. All running tracepoint handlers have ended once RCU's readers have (a single CPU has none: handlers can't be
 * preempted). */
void klog_handlers_wait(void)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
        usleep(HANDLERS_US); /* a kernel with tickless CPUs refuses */
}

/* Stores the counters for a successor that has no perf events. */
static void counts_keep(struct klog *k)
{
    if (!rings_present(&k->rings))
        return; /* a predecessor kept them */
    for (unsigned i = 0; i < k->rings.count; i++)
        klog_source_read(k, i, &k->log.header->final_value[i], &k->log.header->final_lost[i]);
}

/* True if an event was counted whose record is not drained yet. */
static bool record_missing(struct klog *k)
{
    const struct raw_header *h       = k->log.header;
    bool                     missing = false;
    pthread_mutex_lock(&k->drain.lock); /* keeps the drainer away from the slot */
    const struct raw_slot *slot = rawlog_published(&k->log);
    for (unsigned i = 0; i < k->rings.count; i++)
        missing |= (h->source[i].flags & RAW_SOURCE_COUNTER) &&
                   h->final_value[i] > slot->drained[i] + slot->lost_memory[i] + h->final_lost[i];
    pthread_mutex_unlock(&k->drain.lock);
    return missing;
}

void klog_leave(struct klog *k)
{
    if (k->log.header->stopped)
        return;
    counts_keep(k); /* before the pass: events go on, and every counted event must be drained */
    drain_pass(&k->drain, false);
    k->log.header->devices_left = 1;
    if (!record_missing(k))
        return;
    klog_handlers_wait(); /* only when needed, which is rare: it takes as long as the slowest CPU */
    drain_pass(&k->drain, false);
}

void klog_stop(struct klog *k)
{
    if (k->log.header->stopped)
        return;
    k->log.header->cut = !rings_present(&k->rings);
    rings_enable(&k->rings, false);
    filetap_close(k->tap);
    nettap_close(k->net_tap);
    k->net_tap = NULL;
    k->tap     = NULL;
    klog_handlers_wait();
    drain_pass(&k->drain, false);
    devices_end(&k->drain);
    if (k->config.system_config)
        drain_config(&k->drain, &k->config);
    drain_counters(&k->drain);
    drain_mark(&k->drain, RAW_STOP);
    counts_keep(k);
    drain_pass(&k->drain, true); /* its last store makes all this final */
}

void klog_settle(void) { probes_wait(); }

void klog_destroy(struct klog *k)
{
    if (!k)
        return;
    kphase_close(k->phase);
    filetap_close(k->tap);
    nettap_close(k->net_tap);
    convert_finish(&k->convert);
    drain_finish(&k->drain);
    const bool ended = k->unborn || (k->log.header && k->log.header->stopped && rings_present(&k->rings));
    rings_close(&k->rings);
    if (k->probes)
        probes_let_go(ended);
    rawlog_finish(&k->log);
    for (int i = 0; i < 2; i++)
        if (k->state[i] >= 0)
            close(k->state[i]);
    if (k->wake >= 0)
        close(k->wake);
    free(k->until);
    pthread_mutex_destroy(&k->size_lock);
    free(k);
}

void klog_fds(struct klog *k, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    show(ctx, "raw", k->log.fd, 0);
    show(ctx, "state.0", k->state[0], 0);
    show(ctx, "state.1", k->state[1], 0);
    for (unsigned c = 0; c < k->rings.cpus; c++)
        for (unsigned i = 0; i < k->rings.count; i++) {
            char name[64];
            if (k->rings.ring[c].fd[i] < 0)
                continue;
            rings_name(name, i, k->log.header->source[i].name, c);
            show(ctx, name, k->rings.ring[c].fd[i], i == 0 ? k->rings.bytes + page : 0);
        }
    if (k->drain.devices_fd >= 0)
        show(ctx, DEVICES_FD, k->drain.devices_fd, 0);
    klog_fds_started(k, show, ctx);
}

void klog_fds_started(struct klog *k, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx)
{
    argv_fds(k->drain.argv, show, ctx);
    filetap_fds(k->tap, show, ctx);
    nettap_fds(k->net_tap, show, ctx);
}

void klog_terms(const struct klog *k, struct klog_config *out) { terms_get(&k->log.header->now, out); }

unsigned klog_drain(struct klog *k, int timeout_ms)
{
    pthread_mutex_lock(&k->drain.lock); /* the terms may change */
    int argv = argv_wake_fd(k->drain.argv),
        ms   = enrich_images_timeout(&k->drain, memory_timeout(&k->drain, timeout_ms));
    pthread_mutex_unlock(&k->drain.lock);
    rings_wait(&k->rings, &k->drain.lock, k->wake, (const int[]){argv, k->drain.devices_fd}, ms);
    if (__atomic_load_n(&k->log.header->stopped, __ATOMIC_ACQUIRE))
        return 0;
    const uint64_t before = raw_now();
    const unsigned kept   = drain_pass(&k->drain, false);
    k->pass_ns            = raw_now() - before;
    return kept;
}

uint64_t klog_pass_ns(const struct klog *k) { return k->pass_ns; }

void klog_wake(struct klog *k)
{
    uint64_t one = 1;
    if (write(k->wake, &one, sizeof one) < 0)
        return; /* full: it is awake already */
}

/* The size that the logger thread works with: that of the ring, or its smaller target. */
static uint64_t klog_goal(const struct klog *k)
{
    return k->goal && k->goal < k->log.seen_size ? k->goal : k->log.seen_size;
}

/* Raw bytes are reused in steps. When the converter has moved on by an eighth of the log, a snapshot of its state is
 * taken as soon as it has converted everything up to the horizon. The snapshot comes into force, and the bytes before
 * it are freed, when every CPU's events up to it are in the file (klog_release). */
static void snapshot_when_due(struct klog *k)
{
    struct convert *c = &k->convert;
    if (k->pending || c->read_pos - k->log.header->free_pos < klog_goal(k) / 8 || !convert_settled(c))
        return;
    for (unsigned i = 0; i < c->cpus; i++)
        k->until[i] = c->queue[i].last;
    k->pending_pos = convert_needed(c);
    k->pending     = k->pending_pos > k->log.header->free_pos &&
                 !convert_snapshot_write(c, k->pending_pos, k->state[k->log.header->snapshot == 1], NULL);
}

bool klog_peek(struct klog *k, unsigned cpu, struct klog_record *out)
{
    if (convert_peek(&k->convert, cpu, out))
        return true;
    snapshot_when_due(k);
    return false;
}
void     klog_pop(struct klog *k, unsigned cpu) { convert_pop(&k->convert, cpu); }
uint64_t klog_horizon(const struct klog *k) { return convert_horizon(&k->convert); }
size_t   klog_queued(const struct klog *k) { return k->convert.queued; }

void klog_release(struct klog *k, unsigned cpu, uint64_t time)
{
    struct raw_header *h   = k->log.header;
    bool               all = k->pending;
    if (cpu >= k->convert.cpus || rawlog_released(&k->log)[cpu] >= time)
        return;
    rawlog_released(&k->log)[cpu] = time;
    for (unsigned i = 0; i < k->convert.cpus && all; i++)
        all = rawlog_released(&k->log)[i] >= k->until[i];
    if (!all)
        return;
    __atomic_store_n(&h->snapshot, h->snapshot == 1 ? 2 : 1, __ATOMIC_RELEASE);
    rawlog_free(&k->log, k->pending_pos);
    k->pending = false;
}

bool klog_patient(const struct klog *k) { return k->drain.argv || !k->drain.wants_execs; }

bool klog_tight(struct klog *k)
{
    const struct raw_header *h = k->log.header;
    return __atomic_load_n(&h->live_pos, __ATOMIC_ACQUIRE) - __atomic_load_n(&h->free_pos, __ATOMIC_ACQUIRE) >
           klog_goal(k) / 2;
}

void klog_suppress(struct klog *k, unsigned cpu, uint64_t time) { convert_suppress(&k->convert, cpu, time); }

/* With told_lock held, not the drainer's lock, which is held for a whole pass. */
static void source_counts(struct klog *k, unsigned source, uint64_t *attempted, uint64_t *lost_ring, uint64_t *withheld)
{
    const struct raw_told *told = &k->log.told;
    uint64_t               seen = told->drained[source] + told->lost_memory[source], value = 0, lost = 0;
    /* when true, `told` is final */
    const bool stopped = __atomic_load_n(&k->log.header->stopped, __ATOMIC_ACQUIRE);
    if (stopped || !rings_present(&k->rings)) {
        value = k->log.header->final_value[source];
        lost  = k->log.header->final_lost[source];
        if (k->log.header->cut && value < seen + lost) /* klog_leave, not klog_stop: more came after the count */
            value = seen + lost;
    } else {
        klog_source_read(k, source, &value, &lost);
    }
    bool counter = k->log.header->source[source].flags & RAW_SOURCE_COUNTER;
    *attempted   = counter ? value : seen + lost; /* a sampling clock counts time, the side band counts nothing */
    *lost_ring   = lost;
    /* Some kernels filter events after counting them: such an event is neither delivered nor in PERF_FORMAT_LOST. It is
     * reported here. The number is known once everything has been drained: here before a stop, in a copy because
     * klog_leave counts before it drains. */
    *withheld = counter && stopped && value > seen + lost ? value - seen - lost : 0;
}

static uint64_t clock_error(const struct klog *k)
{
    uint64_t phase = k->log.header->phase.error_ns, own = k->convert.map.error_ns;
    return phase > own ? phase : own;
}

void klog_counters(struct klog *k, struct klog_counters *out)
{
    const struct convert  *c    = &k->convert;
    const struct raw_told *told = &k->log.told;
    pthread_mutex_lock(&k->log.told_lock);
    *out = (struct klog_counters){.converted       = c->converted,
                                  .lost_conversion = c->lost,
                                  .events          = c->events,
                                  .stacks          = c->stacks,
                                  .stacks_missing  = c->stacks_missing,
                                  .stack_copies    = c->copied,
                                  .throttled       = told->throttled,
                                  .raw_peak        = told->peak,
                                  .clock_error_ns  = clock_error(k),
                                  .no_command_line = told->no_command_line + c->unnoted,
                                  .own_lost        = told->own_lost};
    for (unsigned i = 0; i < k->rings.count; i++) {
        uint64_t attempted, lost, withheld;
        source_counts(k, i, &attempted, &lost, &withheld);
        out->attempted += attempted;
        out->lost_ring += lost;
        out->withheld += withheld;
        out->drained += told->drained[i];
        out->lost_memory += told->lost_memory[i];
    }
    const struct raw_phase *phase = &k->log.header->phase;
    out->attempted += phase->lost + phase->damaged; /* the other entries are counted by their sources */
    out->lost_ring += phase->lost;
    out->lost_conversion += phase->damaged;
    if (c->damaged && out->drained > c->loaded)
        out->lost_conversion += out->drained - c->loaded;
    pthread_mutex_unlock(&k->log.told_lock);
}

void klog_sources(struct klog *k,
                  void (*show)(void *ctx, const char *name, uint64_t attempted, uint64_t drained, uint64_t lost),
                  void *ctx)
{
    for (unsigned i = 0; i < k->rings.count; i++) {
        uint64_t attempted, lost, withheld;
        pthread_mutex_lock(&k->log.told_lock);
        source_counts(k, i, &attempted, &lost, &withheld);
        const uint64_t drained = k->log.told.drained[i], memory = k->log.told.lost_memory[i];
        pthread_mutex_unlock(&k->log.told_lock);
        show(ctx, k->log.header->source[i].name, attempted, drained, lost + memory);
    }
    const struct raw_phase *phase = &k->log.header->phase;
    if (phase->entries)
        show(ctx, "kernel phase", phase->lost + phase->damaged, 0, phase->lost + phase->damaged);
}
