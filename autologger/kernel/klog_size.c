/* klog_size.c - resizes the memory for raw records while a session runs. See klog.h, and rawlog.h for how. */
#include "autologger/kernel/klog_state.h"

uint64_t klog_memory(const struct klog *k, uint64_t *most)
{
    const struct raw_header *h = k->log.header;
    *most                      = h->data_most;
    return (uint64_t)rawlog_layout(&k->log)->count * h->piece_bytes;
}

bool klog_in_pass(struct klog *k)
{
    if (pthread_mutex_trylock(&k->drain.lock))
        return true;
    pthread_mutex_unlock(&k->drain.lock);
    return false;
}

void klog_goal_set(struct klog *k, uint64_t bytes) { k->goal = bytes; }

wstatus klog_resize(struct klog *k, uint64_t bytes, struct reason *why)
{
    pthread_mutex_lock(&k->size_lock);
    pthread_mutex_lock(&k->drain.lock); /* keeps the drainer away: a pass writes to one layout */
    wstatus status = k->log.header->stopped
                         ? reason_set(why, W_NOT_READY, "the kernel's sources of this session are not recording")
                         : rawlog_resize(&k->log, bytes, why);
    pthread_mutex_unlock(&k->drain.lock);
    if (!status)
        rawlog_trim(&k->log); /* slow, and the drainer need not wait for it */
    pthread_mutex_unlock(&k->size_lock);
    return status;
}

void klog_size_settle(struct klog *k)
{
    struct reason why = {0};
    uint64_t      most;
    if (klog_memory(k, &most) >= k->config.raw_bytes || k->log.header->stopped)
        return;
    wstatus status = klog_resize(k, k->config.raw_bytes, &why);
    if (status && k->config.condition)
        k->config.condition(k->config.condition_ctx, status, false, "MaximumBuffers", why.text,
                            "ask for them again, or for fewer");
}
