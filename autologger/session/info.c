/* info.c - a session's numbers for its controllers. See session.h. */
#include "autologger/session/session.h"

#include <stdio.h>
#include <string.h>

/* Copies the published counters while the logger may flip slots: repeats the copy after a flip (a slot that flipped
 * twice has another number). */
static struct state_slot published(const struct session *s)
{
    union {
        struct state_slot slot;
        uint64_t          word[sizeof(struct state_slot) / 8];
    } copy;
    uint64_t current;
    do {
        current                       = __atomic_load_n(&s->state->current, __ATOMIC_ACQUIRE);
        const struct state_slot *from = (const void *)((const uint8_t *)s->state + s->state->slot_offset[current & 1]);
        for (size_t i = 0; i < sizeof copy.word / sizeof *copy.word; i++)
            copy.word[i] = state_slot_word(from, i);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (current != __atomic_load_n(&s->state->current, __ATOMIC_ACQUIRE));
    return copy.slot;
}

bool session_provider(struct session *s, unsigned i, struct session_provider *out)
{
    if (i >= STATE_ENABLES || !*s->state->enable[i].key)
        return false;
    *out = (struct session_provider){.key           = s->state->enable[i].key,
                                     .registrations = s->state->enable[i].registrations,
                                     .events        = published(s).provider_events[i]};
    for (unsigned k = 0; k < s->state->tracepoint_count; k++)
        if (guid_equal(&s->state->tracepoint[k].guid, &s->state->enable[i].guid))
            out->tracepoints = s->state->tracepoint[k].opened;
    pthread_mutex_lock(&s->lock);
    for (unsigned u = 0; u < s->uid_count; u++)
        stream_refused(s->uid[u].streams, s->state->enable[i].slot, &out->refused);
    pthread_mutex_unlock(&s->lock);
    return true;
}

uint64_t session_overwritten(struct session *s)
{
    const uint64_t now_ns = session_now_ns(s);
    uint64_t       events = s->totals.gone_overwritten;
    for (unsigned u = 0; u < s->uid_count; u++)
        events += stream_set_overwritten(s->uid[u].streams, now_ns);
    return events;
}

static void info_streams(struct session *s, struct ctl_session_info *out)
{
    pthread_mutex_lock(&s->lock);
    const uint64_t used = s->totals.used, busy = s->totals.busy;
    out->lost_ring = s->totals.lost_settled;
    for (unsigned u = 0; u < s->uid_count; u++) /* as of now, not of the logger's last pass */
        out->lost_ring += stream_set_lost(s->uid[u].streams, session_now_ns(s));
    const uint64_t overwritten = session_overwritten(s); /* in the programs' memory: written, then overwritten */
    out->events_written += overwritten;
    out->overwritten += overwritten;
    out->corrupt += s->totals.corrupt;
    out->filtered    = s->totals.filtered;
    out->peak_bytes  = s->state->peak_bytes;
    out->late_events = s->late_events;
    pthread_mutex_unlock(&s->lock);
    uint64_t buffer = out->buffer_kb * UINT64_C(1024);
    /* MinimumBuffers are set aside from the start; more exist once they are written to */
    const uint32_t held = (uint32_t)((busy + buffer - 1) / buffer), full = (uint32_t)((used + buffer - 1) / buffer);
    out->number_of_buffers = held > out->minimum_buffers ? held : out->minimum_buffers;
    out->free_buffers      = out->number_of_buffers > full ? out->number_of_buffers - full : 0;
}

static void info_kernel(struct session *s, struct ctl_session_info *out)
{
    struct klog_counters k;
    klog_counters(s->klog, &k);
    out->attempted_kernel = k.attempted;
    out->lost_ring += k.lost_ring;
    out->lost_memory += k.lost_memory;
    out->lost_conversion += k.lost_conversion;
    out->peak_bytes        = k.raw_peak;
    out->clock_error_ns    = k.clock_error_ns < UINT32_MAX ? (uint32_t)k.clock_error_ns : UINT32_MAX;
    out->withheld          = k.withheld;
    out->number_of_buffers = s->state->maximum_buffers;
}

void session_file_path(const struct state_session *st, uint32_t number, char *out)
{
    const char *last = NULL, *path = session_log_path(st);
    for (const char *p = path; st->log_file_mode & ETL_MODE_NEWFILE && (p = strstr(p, "%d")); p++)
        last = p;
    if (last)
        snprintf(out, CTL_PATH, "%.*s%u%s", (int)(last - path), path, number, last + 2);
    else
        snprintf(out, CTL_PATH, "%s", path);
}

/* Adds the counts of ended parts; the caller adds those of living ones. */
static void info_processes(const struct state_session *st, struct ctl_session_info *out)
{
    const struct state_processes *p = &st->processes;
    out->processes.kind             = p->kind;
    if (p->kind != STATE_WHOLE)
        return;
    out->processes.begun   = p->begun;
    out->processes.refused = p->refused;
    if (!out->status)
        out->status = p->status;
    snprintf(out->log_path, sizeof out->log_path, "%s", st->other_path);
#define X(sum) out->sum = (__typeof__(out->sum))(out->sum + p->ended.sum);
    STATE_SUMS(X)
#undef X
}

void session_info(struct session *s, struct ctl_session_info *out)
{
    const struct state_session *st   = s->state;
    struct state_slot           slot = published(s);

    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", st->name);
    session_file_path(st, slot.file_number ? slot.file_number : 1, out->log_path);
    out->guid                  = st->guid;
    out->logger_id             = st->index;
    out->log_file_mode         = st->log_file_mode;
    out->clock_type            = s->clock.type;
    out->buffer_kb             = st->buffer_kb;
    out->minimum_buffers       = st->minimum_buffers;
    out->maximum_buffers       = st->maximum_buffers;
    out->flush_timer           = st->flush_timer;
    out->flush_threshold       = st->flush_threshold;
    out->max_file_size         = st->max_file_size;
    out->buffers_written       = slot.buffers_before + slot.buffers_written;
    out->log_buffers_lost      = slot.buffers_lost_before + slot.buffers_lost;
    out->realtime_buffers_lost = slot.realtime_lost + (uint32_t)__atomic_load_n(&st->realtime.missed, __ATOMIC_RELAXED);
    out->events_written        = slot.events_written;
    out->bytes_written         = slot.bytes_written;
    out->lost_file             = slot.lost_file;
    out->overwritten           = slot.overwritten_before + slot.overwritten;
    out->corrupt               = slot.corrupt;
    out->logger_thread_id      = (uint32_t)atomic_load(&s->logger_tid);
    out->state                 = (uint32_t)atomic_load(&s->phase);
    out->status                = st->status;
    out->kernel                = st->kernel;
    out->hook_count            = st->hook_count;
    out->updates               = st->updates;
    memcpy(out->group_mask, st->group_mask, sizeof out->group_mask);
    memcpy(out->hooks, st->hooks, sizeof out->hooks);
    for (unsigned i = 0; i < STATE_ENABLES; i++)
        out->provider_count += st->enable[i].in_use != 0;
    info_streams(s, out);
    if (s->klog)
        info_kernel(s, out);
    if (st->processes.kind)
        info_processes(st, out);
}
