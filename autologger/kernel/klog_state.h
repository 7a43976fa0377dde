/* klog_state.h - what a kernel logger is made of, for the files that put it together: klog.c, and change.c.
 * Threads, ownership: as klog.h. Not for: anybody else. */
#ifndef AUTOLOGGER_KERNEL_KLOG_STATE_H
#define AUTOLOGGER_KERNEL_KLOG_STATE_H
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/source/drain.h"
#include "autologger/kernel/source/filetap.h"
#include "autologger/kernel/source/nettap.h"

#include <string.h>

struct klog {
    struct klog_config config;
    struct rings       rings;
    struct rawlog      log;
    struct drain       drain;
    struct convert     convert;
    struct kphase     *phase;   /* until klog_start has imported it */
    struct filetap    *tap;     /* NULL: not wanted, or not to be had */
    struct nettap     *net_tap; /* likewise */
    bool               adopted; /* a predecessor made it */
    bool               probes;  /* probes_hold() */
    bool               unborn;  /* klog_create failed */
    int                wake;
    int                state[2]; /* snapshots: the one in force, and the next */
    /* a point of the raw log, with its snapshot, that may be freed once every CPU is released up to `until` */
    bool            pending;
    uint64_t        pending_pos;
    uint64_t        goal;    /* klog_goal; 0: none */
    uint64_t        pass_ns; /* how long the last pass took; the draining thread's */
    uint64_t       *until;
    pthread_mutex_t size_lock; /* of klog_resize; before the drainer's */
};

static inline void terms_set(struct raw_terms *t, const struct klog_config *config)
{
    memcpy(t->mask, config->mask, sizeof t->mask);
    memcpy(t->hooks, config->hooks, sizeof t->hooks);
    t->hook_count = config->hook_count;
}
static inline void terms_get(const struct raw_terms *t, struct klog_config *config)
{
    memcpy(config->mask, t->mask, sizeof t->mask);
    memcpy(config->hooks, t->hooks, sizeof t->hooks);
    config->hook_count = t->hook_count < HOOK_MAX ? t->hook_count : HOOK_MAX;
}

/* klog.c. Stacks that are asked for and can't be had become conditions. */
void klog_hook_conditions(const struct klog_config *config, const struct raw_source *sources, unsigned count);
/* Before a source of system calls is on: what is converted must be known by then. */
void klog_addresses(struct klog *k);
/* The perf counters of a source, over all CPUs, with those of events that are closed by now. */
void klog_source_read(const struct klog *k, unsigned source, uint64_t *value, uint64_t *lost);
/* klog_size.c. A predecessor may have died before the memory was as large as it had promised. */
void klog_size_settle(struct klog *k);
/* After events were switched off: what they are counting just now has been recorded. */
void klog_handlers_wait(void);
#endif
