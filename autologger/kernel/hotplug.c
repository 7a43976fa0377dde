/* hotplug.c - see hotplug.h. */
#include "autologger/kernel/hotplug.h"
#include "autologger/kernel/klog_state.h"
#include "autologger/kernel/source/sources.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LIST_TEXT = 4096 };
#define ONLINE "/sys/devices/system/cpu/online"

typedef void keep_fn(void *ctx, const char *name, int fd, size_t ring_bytes);

bool cpu_in_list(const char *list, unsigned cpu)
{
    for (const char *p = list; *p >= '0' && *p <= '9';) {
        char         *end;
        unsigned long low = strtoul(p, &end, 10), high = low;
        if (*end == '-')
            high = strtoul(end + 1, &end, 10);
        if (cpu >= low && cpu <= high)
            return true;
        p = *end == ',' ? end + 1 : end + strlen(end);
    }
    return false;
}

static bool list_read(char *out, size_t size)
{
    int     fd = open(ONLINE, O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

static void hotplug_say(const struct klog *k, wstatus number, bool note, unsigned cpu, const char *what,
                        const char *advice)
{
    struct timespec t;
    char            item[40];
    if (!k->config.condition)
        return;
    clock_gettime(CLOCK_BOOTTIME, &t);
    /* time since the kernel's start; in the item, because it can happen more than once */
    snprintf(item, sizeof item, "CPU %u at %lld.%03ld s", cpu, (long long)t.tv_sec, t.tv_nsec / 1000000);
    k->config.condition(k->config.condition_ctx, number, note, item, what, advice);
}

/* ---- offline ---- */

/* H1. With the lock held: no pass runs or sees a half-done change. */
static void counts_take(struct klog *k, unsigned cpu)
{
    struct raw_header *h = k->log.header;
    for (unsigned i = 0; i < k->rings.count; i++) {
        struct raw_loss *l = rawlog_loss(&k->log, k->log.work, cpu);
        uint64_t         value, lost;
        if (k->rings.ring[cpu].fd[i] < 0)
            continue;
        if (rings_count(&k->rings, cpu, i, &value, &lost)) {
            h->base_value[i] += value;
            h->base_lost[i] += lost;
            if (lost > l->source[i].seen) {
                l->source[i].ring += lost - l->source[i].seen;
                l->ring_to = l->ring_to ? l->ring_to : raw_now();
            }
        } else {
            h->cut = 1; /* this kernel no longer gives the count: only the drained records are known */
        }
        l->source[i].seen = 0;
    }
}

static void hotplug_let_go(struct klog *k, unsigned cpu, keep_fn *keep, void *ctx)
{
    struct ring *r = &k->rings.ring[cpu];
    char         name[64];
    for (unsigned i = 0; i < k->rings.count; i++)
        if (r->fd[i] >= 0)
            ioctl(r->fd[i], PERF_EVENT_IOC_DISABLE, 0); /* the kernel did, unless the CPU is back already */
    klog_handlers_wait();
    drain_pass(&k->drain, false);
    pthread_mutex_lock(&k->drain.lock);
    pthread_mutex_lock(&k->log.told_lock);
    counts_take(k, cpu);
    pthread_mutex_unlock(&k->log.told_lock);
    munmap(r->page, k->rings.bytes + (size_t)sysconf(_SC_PAGESIZE));
    r->page                = NULL;
    r->data                = NULL;
    k->log.work->tail[cpu] = 0;
    pthread_mutex_unlock(&k->drain.lock);
    for (unsigned i = k->rings.count; i-- > 0;)
        if (r->fd[i] >= 0) {
            rings_name(name, i, k->log.header->source[i].name, cpu);
            close(r->fd[i]);
            r->fd[i] = -1;
            if (keep)
                keep(ctx, name, -1, 0);
        }
    drain_pass(&k->drain, false);
    hotplug_say(k, W_NOT_READY, true, cpu, "this processor went offline: what it recorded until then is in the trace",
                "nothing to do");
}

/* ---- online ---- */

/* Finds the numbers of the tracepoints, by place in the table. */
static bool ids_find(struct klog *k, int *ids)
{
    const struct raw_header *h      = k->log.header;
    struct klog_config       quiet  = k->config;
    struct raw_source       *want   = calloc(RAW_SOURCES, sizeof *want);
    int                     *number = calloc(RAW_SOURCES, sizeof *number);
    quiet.condition                 = NULL; /* conditions were reported at the start */
    unsigned count                  = want && number ? rings_sources(&quiet, want, number) : 0;
    for (unsigned i = 0; i < h->source_count; i++) {
        ids[i] = -1;
        for (unsigned w = 0; w < count; w++)
            if (h->state[i] == RAW_OPEN && !(h->source[i].flags & RAW_SOURCE_PHASE) &&
                want[w].kind == h->source[i].kind && strcmp(want[w].name, h->source[i].name) == 0)
                ids[i] = number[w];
    }
    free(want);
    free(number);
    return count > 0;
}

/* Opens into a separate struct rings: the drainer sees a CPU only when it is complete. NULL: it failed. */
static struct ring *hotplug_ring_open(struct klog *k, unsigned cpu, const int *ids, struct reason *why)
{
    struct rings one = k->rings;
    one.ring         = calloc(cpu + 1u, sizeof *one.ring);
    if (!one.ring) {
        reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a ring");
        return NULL;
    }
    struct ring *r = malloc(sizeof *r);
    for (unsigned i = 0; i < RAW_SOURCES; i++)
        one.ring[cpu].fd[i] = -1;
    wstatus status = r ? rings_cpu_open(&one, &k->config, k->log.header->source, ids, cpu, why) : W_NOT_ENOUGH_MEMORY;
    if (r)
        *r = one.ring[cpu];
    free(one.ring);
    if (r && !status && r->page)
        return r;
    if (!status)
        reason_set(why, W_SUCCESS, "it is gone again");
    for (unsigned i = 0; r && i < k->rings.count; i++)
        if (r->fd[i] >= 0)
            close(r->fd[i]);
    if (r && r->page)
        munmap(r->page, k->rings.bytes + (size_t)sysconf(_SC_PAGESIZE));
    free(r);
    return NULL;
}

static void take_up(struct klog *k, unsigned cpu, const int *ids, keep_fn *keep, void *ctx)
{
    struct raw_header *h   = k->log.header;
    struct ring       *r   = &k->rings.ring[cpu];
    struct reason      why = {0};
    char               name[64], text[sizeof why.text];
    struct ring *new = hotplug_ring_open(k, cpu, ids, &why);
    if (!new) {
        snprintf(text, sizeof text, "this processor came online and is not recorded: %.300s", why.text);
        hotplug_say(k, why.status ? why.status : W_NOT_READY, !why.status, cpu, text,
                    "start the session again when all processors are online");
        return;
    }
    pthread_mutex_lock(&k->drain.lock);
    pthread_mutex_lock(&k->log.told_lock);
    *r = *new;
    pthread_mutex_unlock(&k->log.told_lock);
    k->log.work->tail[cpu] = 0;
    for (unsigned i = 0; i < k->rings.count; i++) {
        rawlog_ids(&k->log, cpu)[i] = 0;
        if (r->fd[i] >= 0)
            ioctl(r->fd[i], PERF_EVENT_IOC_ID, &rawlog_ids(&k->log, cpu)[i]);
    }
    pthread_mutex_unlock(&k->drain.lock);
    free(new);
    drain_pass(&k->drain, false); /* its tail is published before its first record */
    for (unsigned i = 0; i < k->rings.count; i++)
        if (r->fd[i] >= 0) {
            rings_name(name, i, h->source[i].name, cpu);
            if (keep)
                keep(ctx, name, r->fd[i], i == 0 ? k->rings.bytes + (size_t)sysconf(_SC_PAGESIZE) : 0);
            ioctl(r->fd[i], PERF_EVENT_IOC_ENABLE, 0);
        }
    filetap_cpu(k->tap, &k->rings, &k->log, cpu);
    nettap_cpu(k->net_tap, &k->rings, &k->log, cpu);
    hotplug_say(
        k, W_NOT_READY, true, cpu,
        "this processor came online and is recorded from now on; what ran on it before that is not in the trace",
        "nothing to do");
}

unsigned klog_cpus(struct klog *k, const char                                                 *online,
                   void (*keep)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx)
{
    char     list[LIST_TEXT];
    int      ids[RAW_SOURCES];
    bool     known   = false;
    unsigned changed = 0;
    if (!k->log.header->started || k->log.header->stopped || !rings_present(&k->rings) ||
        (!online && !list_read(list, sizeof list)))
        return 0;
    for (unsigned c = 0; c < k->rings.cpus; c++) {
        bool is = cpu_in_list(online ? online : list, c), was = k->rings.ring[c].page != NULL;
        if (is == was)
            continue;
        changed++;
        if (was) {
            hotplug_let_go(k, c, keep, ctx);
        } else if (known || (known = ids_find(k, ids))) {
            take_up(k, c, ids, keep, ctx);
        }
    }
    return changed;
}
