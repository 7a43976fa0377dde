/* adopt.c - taking a session over from a predecessor. See session.h and wire/state.h. */
#include "autologger/session/session.h"

#include "autologger/ring/quiesce.h"
#include "autologger/session/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct finder {
    int (*find)(void *ctx, const char *name);
    void    *ctx;
    unsigned index;
};

static int find_numbered(const struct finder *f, const char *kind, int number)
{
    char name[64];
    if (number >= 0)
        snprintf(name, sizeof name, "%s:%u:%d", kind, f->index, number);
    else
        snprintf(name, sizeof name, "%s:%u", kind, f->index);
    return f->find(f->ctx, name);
}

static int find_klog(void *ctx, const char *klog_name)
{
    const struct finder *f = ctx;
    char                 name[128];
    snprintf(name, sizeof name, "klog:%u:%s", f->index, klog_name);
    return f->find(f->ctx, name);
}

/* Checks the state's own values: it comes from another program version, which may be faulty. */
static wstatus state_check(const struct state_session *st, size_t size, unsigned cpus, struct reason *why)
{
    if (size < sizeof *st || st->magic != STATE_MAGIC_SESSION)
        return reason_set(why, W_INVALID_DATA, "the state handed over is not a session's");
    if (st->version != STATE_VERSION)
        return reason_set(why, W_INVALID_DATA, "the state handed over has version %u; this daemon knows %u",
                          st->version, STATE_VERSION);
    if (st->size != size || st->cpus != cpus || st->uid_count > STATE_UIDS || st->hook_count > HOOK_MAX ||
        st->index >= SHM_SESSIONS || st->slot_size != state_slot_bytes(cpus) || st->slot_offset[0] != sizeof *st ||
        st->slot_offset[1] != sizeof *st + st->slot_size || st->processes.kind > STATE_PART ||
        st->processes.pid_count > STATE_WHOLE_PIDS || !memchr(st->processes.names, 0, sizeof st->processes.names) ||
        sizeof *st + 2 * (size_t)st->slot_size > size)
        return reason_set(why, W_INVALID_DATA, "the state handed over is damaged");
    for (unsigned i = 0; i < STATE_ENABLES; i++)
        if (st->enable[i].in_use &&
            (st->enable[i].slot >= SHM_PROVIDERS || st->enable[i].entry >= SHM_PROVIDER_SESSIONS))
            return reason_set(why, W_INVALID_DATA, "the state handed over enables a provider that cannot be");
    return W_SUCCESS;
}

/* Frees a predecessor's place that has no user, or was about to get one: drops the descriptors kept for it. */
static wstatus adopt_gone(struct session *s, const struct finder *f, unsigned u, struct reason *why)
{
    static const char *const kinds[] = {"data", "control", "event"};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const int fd = find_numbered(f, kinds[i], (int)u);
        if (fd >= 0)
            close(fd);
        session_keep(s, kinds[i], (int)u, -1);
    }
    const wstatus status = session_empty(s, why);
    s->uid[u] = (struct session_uid){.uid = s->state->uid[u], .event_fd = -1, .gone = true, .streams = s->empty};
    return status;
}

static wstatus session_adopt_streams(struct session *s, const struct finder *f, struct reason *why)
{
    const struct state_session *st   = s->state;
    const struct state_slot    *slot = (const void *)((const uint8_t *)st + st->slot_offset[st->current & 1]);
    /* after the rows of the kernel and of the buffers */
    const uint64_t *pos    = (const uint64_t *)(slot + 1) + 3 * st->cpus + 2;
    uint64_t       *rpos   = calloc(st->cpus + 1u, sizeof *rpos);
    wstatus         status = rpos ? W_SUCCESS : W_NOT_ENOUGH_MEMORY;

    for (unsigned u = 0; u < st->uid_count && !status; u++) {
        if (st->uid_epoch[u] == slot->gone_epoch[u]) {
            status       = adopt_gone(s, f, u, why);
            s->uid_count = status ? u : u + 1;
            continue;
        }
        int data = find_numbered(f, "data", (int)u), control = find_numbered(f, "control", (int)u),
            event = find_numbered(f, "event", (int)u);
        memset(rpos, 0, (st->cpus + 1u) * sizeof *rpos);
        if (u < slot->uid_count) {
            const uint64_t *row = pos + (size_t)u * (2 * st->cpus + 1);
            memcpy(rpos, row, st->cpus * sizeof *rpos);
            rpos[st->cpus] = slot->fallback_released[u];
        }
        if (data < 0 || control < 0 || event < 0 || !session_watch(s, event))
            status = reason_set(why, W_INVALID_DATA, "the streams of uid %u were not handed over", st->uid[u]);
        else
            status = stream_set_adopt_begin(data, control, rpos, &s->uid[u].streams, why);
        if (!status) {
            s->uid[u].uid      = st->uid[u];
            s->uid[u].event_fd = event;
            s->uid[u].admitted = stream_set_control(s->uid[u].streams)->chunk_count > 0;
            s->uid[u].live     = s->uid[u].admitted; /* until its programs are found to have ended */
            s->uid_count       = u + 1;
        }
    }
    struct reason ignored;
    if (!status && s->uid_count)
        (void)quiesce_all_cpus(&ignored); /* a chunk taken before the pools were read is linked by now, or never */
    for (unsigned u = 0; !status && u < s->uid_count; u++)
        if (!s->uid[u].gone) {
            stream_set_adopt_finish(s->uid[u].streams);
            if (!st->stop_asked)
                stream_set_open(s->uid[u].streams, true); /* the predecessor may have been about to give its place up */
        }
    free(rpos);
    return status;
}

static wstatus adopt_state(struct session *s, int state_fd, unsigned cpus, struct reason *why)
{
    struct stat st;
    if (fstat(state_fd, &st) < 0 || st.st_size < (off_t)sizeof *s->state)
        return reason_set(why, W_INVALID_DATA, "the state handed over is too small");
    struct state_session *state = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, state_fd, 0);
    if (state == MAP_FAILED)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot map the state handed over: %s", strerror(errno));
    wstatus status = state_check(state, (size_t)st.st_size, cpus, why);
    if (status)
        munmap(state, (size_t)st.st_size);
    else
        s->state = state;
    return status;
}

static wstatus adopt_kernel(struct session *s, struct finder *f, struct reason *why)
{
    const struct state_slot *slot =
        (const void *)((const uint8_t *)s->state + s->state->slot_offset[s->state->current & 1]);
    const uint64_t    *time = (const uint64_t *)(slot + 1);
    struct klog_config c;

    session_klog_config(s, &s->conditions, &c);
    wstatus status = klog_adopt(&c, find_klog, f, &s->klog, why);
    if (!status && s->state->kernel) { /* a predecessor may have died after a change to the kernel logger */
        klog_terms(s->klog, &c);
        memcpy(s->state->group_mask, c.mask, sizeof c.mask);
        memcpy(s->state->hooks, c.hooks, sizeof c.hooks);
        s->state->hook_count = c.hook_count;
    }
    /* published records are in the file, even if the predecessor died before it released them */
    for (unsigned cpu = 0; !status && cpu < s->state->cpus; cpu++)
        klog_suppress(s->klog, cpu, time[cpu]);
    return status;
}

/* Which buffers are in the log file: restores the state before a change that was noted but whose file was not
 * published. */
static void files_settle(const struct state_session *st, struct state_realtime *r)
{
    const bool file = *session_log_path(st), noted = r->file_from > r->file_to || r->file_to == UINT64_MAX;
    if (file && !st->status && !noted)
        r->file_to = UINT64_MAX;
    else if (!file && noted)
        r->file_from = r->file_to == UINT64_MAX ? UINT64_MAX : 0;
}

/* A predecessor died between the steps of a change to real time (logger_change, session_update): finishes it. */
static void change_finish(struct state_session *st)
{
    if (!(st->log_file_mode & ETL_MODE_REAL_TIME))
        return;
    files_settle(st, &st->realtime);
    if (session_converted(st))
        st->log_file_mode &= ~(uint32_t)SESSION_FILE_KINDS;
    if (!st->flush_timer)
        st->flush_timer = session_timer_least(st->log_file_mode);
    st->stack_cache_bytes = 0;
}

/* A predecessor switched real time off and died before it told the consumers and cleared up: tells the consumers that
 * it is over. */
static wstatus realtime_ended(struct session *s, struct reason *why)
{
    const struct state_session *st = s->state;
    if (!s->env->realtime || s->realtime || !st->realtime.opened)
        return W_SUCCESS;
    wstatus status = s->env->realtime->create(s, &s->realtime, why);
    if (status)
        return status;
    s->env->realtime->forget(s);
    s->env->realtime->destroy(s->realtime);
    s->realtime = NULL;
    return W_SUCCESS;
}

wstatus session_adopt(struct session_env *env, struct directory *directory, int state_fd,
                      int (*find)(void *ctx, const char *name), void *ctx, struct session **out, struct reason *why)
{
    struct session *s      = NULL;
    struct finder   f      = {find, ctx, 0};
    wstatus         status = session_new(env, directory, &s, why);

    if (status)
        return status;
    s->state_fd = state_fd;
    if ((status = adopt_state(s, state_fd, env->cpus, why)))
        goto out;
    f.index = s->state->index;
    env->phase_taken |= s->state->phase;
    tracepoint_instance(&s->state->guid, s->phase_instance);
    change_finish(s->state);
    for (unsigned i = 0; i < STATE_ENABLES && *s->state->enable[i].key; i++)
        if (s->state->enable[i].in_use)
            session_expect(s, directory_filter(directory, s->state->enable[i].slot, s->state->enable[i].entry));
    if (s->state->log_file_mode & ETL_MODE_BUFFERING && (s->ring_fd = find_numbered(&f, "ring", -1)) < 0) {
        status = reason_set(why, W_INVALID_DATA, "the buffers of session \"%s\" were not handed over", s->state->name);
        goto out;
    }
    if ((status = session_setup(s, why)) || (status = session_adopt_streams(s, &f, why)) ||
        (status = realtime_ended(s, why)))
        goto out;
    if (s->state->kernel_open == STATE_KERNEL_OPEN && (status = adopt_kernel(s, &f, why)))
        goto out;
    *out = s;
    return W_SUCCESS;
out:
    session_destroy(s);
    return status;
}
