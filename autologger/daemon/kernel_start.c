#include "autologger/daemon/kernel_start.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>

struct kernel_start {
    struct kernel_opened opened[SHM_SESSIONS];
    unsigned             count, taken;
    int                  done_fd;
    pthread_t            thread;
    bool                 joined;
    atomic_bool          done;
};

static void *worker(void *ctx)
{
    struct kernel_start *k = ctx;
    pthread_setname_np(pthread_self(), "kernel-open");
    for (unsigned i = 0; i < k->count; i++) {
        struct kernel_opened *o = &k->opened[i];
        if (session_kernel_open(o->session, &o->klog, &o->found, &o->why) != W_SUCCESS)
            o->klog = NULL;
    }
    atomic_store(&k->done, true);
    eventfd_write(k->done_fd, 1);
    return NULL;
}

wstatus kernel_start_begin(struct session_table *table, int done_fd, struct kernel_start **out, struct reason *why)
{
    struct kernel_start *k = calloc(1, sizeof *k);
    *out                   = NULL;
    if (!k)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to open the kernel's sources");
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (table->slot[i] && session_wants_kernel(table->slot[i]) && !table->slot[i]->klog &&
            !table->slot[i]->state->stop_asked)
            k->opened[k->count++].session = table->slot[i];
    k->done_fd = done_fd;
    if (!k->count) {
        free(k);
        return W_SUCCESS;
    }
    if (pthread_create(&k->thread, NULL, worker, k) != 0) {
        free(k);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no thread to open the kernel's sources");
    }
    *out = k;
    return W_SUCCESS;
}

bool kernel_start_done(struct kernel_start *k, bool wait)
{
    if (!k || (!wait && !atomic_load(&k->done)))
        return false;
    if (!k->joined)
        pthread_join(k->thread, NULL);
    return k->joined = true;
}

struct kernel_opened *kernel_start_take(struct kernel_start *k)
{
    return k->taken < k->count ? &k->opened[k->taken++] : NULL;
}

void kernel_start_finish(struct kernel_start *k)
{
    if (!k)
        return;
    kernel_start_done(k, true);
    for (; k->taken < k->count; k->taken++) {
        klog_destroy(k->opened[k->taken].klog);
        condition_list_finish(&k->opened[k->taken].found);
    }
    free(k);
}
