/* adopt.c - taking a session over from a predecessor. See session.h and wire/state.h. */
#include "autologger/session/session.h"

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

static void adopt_condition(void *ctx, wstatus number, bool note, const char *item, const char *reason, const char *advice)
{
    struct session *s = ctx;
    condition_add(&s->conditions, number, note, item, "", 0, advice, "%s", reason);
}

/* The state's own claims are checked: it comes from another program version, perhaps a broken one. */
static wstatus state_check(const struct state_session *st, size_t size, unsigned cpus, struct reason *why)
{
    if (size < sizeof *st || st->magic != STATE_MAGIC_SESSION)
        return reason_set(why, W_INVALID_DATA, "the state handed over is not a session's");
    if (st->version != STATE_VERSION)
        return reason_set(why, W_INVALID_DATA, "the state handed over has version %u; this daemon knows %u", st->version, STATE_VERSION);
    if (st->size != size || st->cpus != cpus || st->uid_count > STATE_UIDS || st->hook_count > HOOK_MAX || st->index >= SHM_SESSIONS ||
        st->slot_size != state_slot_bytes(cpus) || st->slot_offset[0] != sizeof *st ||
        st->slot_offset[1] != sizeof *st + st->slot_size || st->current > 1 || sizeof *st + 2 * (size_t)st->slot_size > size)
        return reason_set(why, W_INVALID_DATA, "the state handed over is damaged");
    return W_SUCCESS;
}

static wstatus adopt_streams(struct session *s, const struct finder *f, struct reason *why)
{
    const struct state_session *st   = s->state;
    const struct state_slot    *slot = (const void *)((const uint8_t *)st + st->slot_offset[st->current]);
    const uint64_t             *pos  = (const uint64_t *)(slot + 1);
    uint64_t                   *rpos = calloc(st->cpus + 1u, sizeof *rpos);
    wstatus                     status = rpos ? W_SUCCESS : W_NOT_ENOUGH_MEMORY;

    for (unsigned u = 0; u < st->uid_count && !status; u++) {
        int data = find_numbered(f, "data", (int)u), control = find_numbered(f, "control", (int)u);
        memset(rpos, 0, (st->cpus + 1u) * sizeof *rpos);
        if (u < slot->uid_count) {
            const uint64_t *row = pos + (size_t)u * 2 * st->cpus;
            memcpy(rpos, row, st->cpus * sizeof *rpos);
            rpos[st->cpus] = UINT64_MAX; /* the fallback stream goes on behind the least that is in the file for a CPU */
            for (unsigned c = 0; c < st->cpus; c++)
                if (row[st->cpus + c] < rpos[st->cpus])
                    rpos[st->cpus] = row[st->cpus + c];
        }
        if (data < 0 || control < 0)
            status = reason_set(why, W_INVALID_DATA, "the streams of uid %u were not handed over", st->uid[u]);
        else
            status = stream_set_adopt(data, control, rpos, &s->uid[u].streams, why);
        if (!status) {
            s->uid[u].uid      = st->uid[u];
            s->uid[u].admitted = stream_set_control(s->uid[u].streams)->chunk_count > 0;
            s->uid_count       = u + 1;
        }
    }
    free(rpos);
    return status;
}

wstatus session_adopt(struct session_env *env, struct directory *directory, int state_fd,
                      int (*find)(void *ctx, const char *name), void *ctx, struct session **out, struct reason *why)
{
    struct session *s = calloc(1, sizeof *s);
    struct stat     st;
    struct finder   f  = {find, ctx, 0};
    wstatus         status;

    if (!s)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the session");
    s->env       = env;
    s->directory = directory;
    s->state_fd  = state_fd;
    s->event_fd  = -1;
    pthread_mutex_init(&s->lock, NULL);
    if (fstat(state_fd, &st) < 0 || st.st_size < (off_t)sizeof *s->state) {
        status = reason_set(why, W_INVALID_DATA, "the state handed over is too small");
        goto out;
    }
    s->state = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, state_fd, 0);
    if (s->state == MAP_FAILED) {
        s->state = NULL;
        status   = reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot map the state handed over: %s", strerror(errno));
        goto out;
    }
    if ((status = state_check(s->state, (size_t)st.st_size, env->cpus, why))) {
        munmap(s->state, (size_t)st.st_size);
        s->state = NULL;
        goto out;
    }
    f.index         = s->state->index;
    s->event_fd     = find_numbered(&f, "event", -1);
    s->clock        = clock_for_type(s->state->clock_type, &env->machine, NULL);
    s->chunk_shift  = stream_chunk_shift(s->state->buffer_kb * 1024u);
    s->budget_chunks = session_budget(s->state, s->chunk_shift);
    if (s->event_fd < 0) {
        status = reason_set(why, W_INVALID_DATA, "the event descriptor was not handed over");
        goto out;
    }
    if ((status = adopt_streams(s, &f, why)))
        goto out;
    if (s->state->kernel) {
        struct klog_config c = {.hook_count = s->state->hook_count, .raw_bytes = s->state->memory_bytes, .clock = s->clock,
                                .condition = adopt_condition, .condition_ctx = s};
        memcpy(c.mask, s->state->group_mask, sizeof c.mask);
        memcpy(c.hooks, s->state->hooks, sizeof c.hooks);
        if ((status = klog_adopt(&c, find_klog, &f, &s->klog, why)))
            goto out;
    }
    if ((status = logger_create(s, &s->logger, why)))
        goto out;
    *out = s;
    return W_SUCCESS;
out:
    session_destroy(s);
    return status;
}
