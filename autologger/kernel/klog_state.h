/* klog_state.h - struct klog, for the files that implement it: klog.c, klog_size.c, change.c and hotplug.c.
 * Threads, ownership: as klog.h. Not for: any other file. */
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
    struct filetap    *tap;     /* NULL: not wanted, or not available */
    struct nettap     *net_tap; /* likewise */
    bool               adopted; /* a predecessor made it */
    bool               probes;  /* probes_hold() */
    bool               unborn;  /* klog_create failed */
    int                wake;
    int                state[2]; /* snapshots: the one in force, and the next */
    /* a snapshot was written: the raw log may be freed up to pending_pos once every CPU is released up to `until` */
    bool            pending;
    uint64_t        pending_pos;
    uint64_t        goal;    /* klog_goal_set; 0: none */
    uint64_t        pass_ns; /* length of the last pass; for the draining thread */
    uint64_t       *until;
    pthread_mutex_t size_lock; /* of klog_resize; taken before the drainer's */
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

/* klog.c. Reports a condition for each requested stack that is not available. */
void klog_hook_conditions(const struct klog_config *config, const struct raw_source *sources, unsigned count);
/* Finds the addresses of the system calls. Before a source of system calls is enabled: conversion needs them. */
void klog_addresses(struct klog *k);
/* The perf counters of a source, summed over all CPUs, closed events included. */
void klog_source_read(const struct klog *k, unsigned source, uint64_t *value, uint64_t *lost);
/* klog_size.c. Finishes a resize: a predecessor may have died before the memory had the promised size. */
void klog_size_settle(struct klog *k);
/* After events were disabled: waits until every counted event has its record. */
void klog_handlers_wait(void);
#endif
