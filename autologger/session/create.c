/* create.c - creates a plan's session: its state, in memory that outlives this process, and what else it begins with.
 * See session.h.
 * Invariants: a name or a path that is too long for the state is refused, never cut: rows and controllers find a
 * session by them.
 * Threads: the controlling thread.
 * Not for: a predecessor's session (adopt.c), what a session does (session.c). */
#include "autologger/session/anchor.h"
#include "autologger/session/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t state_bytes(unsigned cpus)
{
    return 8192 * ((sizeof(struct state_session) + 2 * state_slot_bytes(cpus)) / 8192 + 1);
}

static wstatus create_state_map(struct session *s, int fd, size_t size, struct reason *why)
{
    s->state = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s->state == MAP_FAILED) {
        s->state = NULL;
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot map the session's state: %s", strerror(errno));
    }
    s->state_fd = fd;
    return W_SUCCESS;
}

/* Rows, counts and controllers find a declaration by its path, and a session by its name: neither is ever cut. */
static wstatus texts_fit(const struct plan *plan, struct reason *why)
{
    if (strlen(plan->name) >= STATE_NAME)
        return reason_set(why, W_FILENAME_EXCED_RANGE,
                          "the session's name has %zu bytes, more than %d. Do: choose a shorter one",
                          strlen(plan->name), STATE_NAME - 1);
    if (strlen(plan->key) >= STATE_KEY)
        return reason_set(why, W_FILENAME_EXCED_RANGE,
                          "the path of the session's key has %zu bytes, more than %d. Do: choose a shorter name",
                          strlen(plan->key), STATE_KEY - 1);
    return W_SUCCESS;
}

static void create_wish(struct tracepoint_wish *w, const struct plan_provider *p)
{
    char guid[GUID_TEXT_SIZE];
    w->guid   = p->guid;
    w->stacks = p->tracepoint_stacks;
    session_copy_text(w->name, sizeof w->name, p->name ? p->name : guid_format(&p->guid, guid));
    session_copy_text(w->pattern, sizeof w->pattern, p->tracepoint);
    session_copy_text(w->filter, sizeof w->filter, p->tracepoint_filter);
}

/* The whole keeps the path from which its parts' file names are made, and writes no file itself. */
static void processes_set(const struct session_env *env, struct state_session *st)
{
    const struct state_connection *who = env->program;
    if (who &&
        (st->log_file_mode & ETL_MODE_PRIVATE_IN_PROC || (env->processes && env->processes->kind == STATE_PART))) {
        st->private_pid       = who->pid;
        st->private_start     = who->start;
        st->private_process   = who->process;
        st->private_uid       = who->uid;
        st->private_gid       = who->gid;
        st->private_permitted = who->permitted;
    }
    if (env->processes)
        st->processes = *env->processes;
    if (st->processes.kind == STATE_WHOLE) {
        memcpy(st->other_path, st->log_path, sizeof st->other_path);
        *st->log_path = 0;
    }
}

static wstatus state_create(struct session *s, const struct plan *plan, unsigned index, uint32_t generation,
                            struct reason *why)
{
    wstatus status = texts_fit(plan, why);
    if (status)
        return status;
    unsigned cpus = s->env->cpus;
    size_t   size = state_bytes(cpus);
    int      fd   = s->env->os->shm_create(s->env->os, "autologger-state", size, 0);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(-fd), "cannot create the session's state: %s", strerror(-fd));
    status = create_state_map(s, fd, size, why);
    if (status) {
        close(fd);
        return status;
    }
    struct state_session *st = s->state;
    st->magic                = STATE_MAGIC_SESSION;
    st->version              = STATE_VERSION;
    st->size                 = (uint32_t)size;
    st->index                = index;
    st->generation           = generation;
    st->cpus                 = cpus;
    st->kernel               = plan->kernel;
    st->units                = plan->kernel && plan->units;
    st->phase                = plan->kernel && !s->env->phase_taken;
    s->env->phase_taken |= st->phase;
    tracepoint_instance(&plan->guid, s->phase_instance);
    if (s->env->kernel_phase && plan->kernel && !st->phase)
        condition_add(
            &s->conditions, W_NOT_SUPPORTED, true, "kernel phase", "", 0,
            "put the flags that matter then into that session",
            "the time before the initramfs is in the first session of kernel events alone; this one begins later");
    st->guid = plan->guid;
    session_copy_text(st->name, sizeof st->name, plan->name);
    session_copy_text(st->key, sizeof st->key, plan->key);
    session_copy_text(st->file_name, sizeof st->file_name, plan->file_name);
    session_copy_text(st->log_path, sizeof st->log_path, plan->log_path);
    st->buffer_kb       = plan->given.buffer_kb;
    st->minimum_buffers = plan->given.minimum_buffers;
    st->maximum_buffers = plan->given.maximum_buffers;
    st->clock_type      = plan->clock_type;
    st->log_file_mode   = plan->log_file_mode;
    st->max_file_size   = plan->max_file_size;
    st->flush_timer     = plan->flush_timer;
    st->flush_threshold = plan->flush_threshold;
    st->memory_bytes    = plan->memory_bytes;
    processes_set(s->env, st);
    if (s->env->asks)
        st->owner = *s->env->asks;
    memcpy(st->group_mask, plan->group_mask, sizeof st->group_mask);
    memcpy(st->hooks, plan->hooks, sizeof st->hooks);
    st->realtime.persistent = !plan->forget_realtime;
    st->devices             = plan->devices;
    st->user_stack_bytes    = plan->user_stack_bytes;
    st->stack_cache_bytes   = plan->stack_cache_bytes;
    st->stack_cache_buckets = plan->stack_cache_buckets;
    st->hook_count          = plan->hook_count;
    for (unsigned i = 0; i < plan->provider_count && st->tracepoint_count < TRACEPOINT_WISHES; i++) {
        const struct plan_provider *p = &plan->providers[i];
        if (p->enabled && !p->status && p->tracepoint)
            create_wish(&st->tracepoint[st->tracepoint_count++], p);
    }
    st->slot_size      = (uint32_t)state_slot_bytes(cpus);
    st->slot_offset[0] = sizeof *st;
    st->slot_offset[1] = (uint32_t)sizeof *st + st->slot_size;
    return W_SUCCESS;
}

static bool enabled_by_itself(const struct plan *plan, const struct guid *g)
{
    for (unsigned i = 0; i < plan->provider_count; i++)
        if (plan->providers[i].enabled && guid_equal(&plan->providers[i].guid, g))
            return true;
    return false;
}

/* Takes places without enabling them: members of a group find their places so, also in a successor. */
static void disallow(struct state_session *st, const struct plan *plan)
{
    unsigned k = 0;
    for (unsigned i = 0; i < plan->disallowed_count && k < STATE_ENABLES; i++)
        if (!enabled_by_itself(plan, &plan->disallowed[i])) {
            st->enable[k].guid = plan->disallowed[i];
            session_copy_text(st->enable[k++].key, sizeof st->enable->key, SESSION_DISALLOWED);
        }
}

/* Memory for the newest buffers of a session without a file; it outlives this process, as the streams do. */
static wstatus ring_make(struct session *s, struct reason *why)
{
    const struct state_session *st = s->state;
    if (!(st->log_file_mode & ETL_MODE_BUFFERING))
        return W_SUCCESS;
    s->ring_fd = s->env->os->shm_create(s->env->os, "autologger-ring",
                                        (st->minimum_buffers + UINT64_C(1)) * st->buffer_kb * 1024, 0);
    if (s->ring_fd < 0)
        return reason_set(why, wstatus_from_errno(-s->ring_fd), "%u buffers of %u KB could not be allocated",
                          st->minimum_buffers, st->buffer_kb);
    return W_SUCCESS;
}

wstatus session_create(struct session_env *env, struct directory *directory, const struct plan *plan, unsigned index,
                       uint32_t generation, struct session **out, struct reason *why)
{
    struct session *s  = NULL;
    wstatus         st = session_new(env, directory, &s, why);
    if (st)
        return st;
    if ((st = state_create(s, plan, index, generation, why)))
        goto out;
    disallow(s->state, plan);
    if ((st = ring_make(s, why)) || (st = session_setup(s, why)))
        goto out;
    session_anchor_take(s);
    if (session_wants_kernel(s) && !env->kernel_later) { /* else session_kernel_open does it later */
        if ((st = session_kernel_open(s, &s->klog, &s->conditions, why)) && plan->kernel)
            goto out;
        if (st)
            session_without_tracepoints(s, why);
        else
            s->state->kernel_open = STATE_KERNEL_OPEN;
        st = W_SUCCESS;
    }
    if (!plan->kernel && (!session_admit(s, (uint32_t)geteuid()) || !s->uid[0].admitted)) {
        /* all MinimumBuffers are allocated before the session starts */
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "%u buffers of %u KB could not be allocated",
                        plan->given.minimum_buffers, plan->given.buffer_kb);
        goto out;
    }
    if (!plan->kernel) /* no program of root is attached yet: the other users get its part */
        session_user_left(s, (uint32_t)geteuid());
    s->state->in_use = 1;
    if (s->ring_fd >= 0)
        session_keep(s, "ring", -1, s->ring_fd);
    session_keep(s, "session", -1, s->state_fd);
    session_keep_klogs(s);
    *out = s;
    return W_SUCCESS;
out:
    session_destroy(s);
    return st;
}
