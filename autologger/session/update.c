/* update.c - kernel flags, stacks and FlushTimer of a session that runs. See session.h. */
#include "autologger/session/internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool known(const struct condition_list *list, const struct condition *c)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->items[i].number == c->number && !strcmp(list->items[i].item, c->item) && !strcmp(list->items[i].reason, c->reason))
            return true;
    return false;
}

/* What was asked for stands in the declaration; what is in force, and since when, is a note of the session. */
static void note_update(struct session *s)
{
    const struct state_session *st = s->state;
    char                        item[32], flags[1024] = "", stacks[1024] = "";
    group_mask_format(st->group_mask, flags, sizeof flags);
    hooks_format(st->hooks, st->hook_count, stacks, sizeof stacks);
    snprintf(item, sizeof item, "update %u", st->updates);
    condition_add(&s->conditions, W_REVISION_MISMATCH, true, item, "", 0, "nothing: it was asked for",
                  "changed while the session ran: from then on flags %.300s, stacks %.300s", *flags ? flags : "(none)",
                  *stacks ? stacks : "(none)");
}

static wstatus may_update(const struct session *s, const struct session_terms *terms, struct reason *why)
{
    const bool kernel = terms->flags || terms->stacks;
    if (!kernel && !terms->timer)
        return reason_set(why, W_INVALID_PARAMETER, "nothing is named that should change");
    if (kernel && !s->state->kernel)
        return reason_set(why, W_INVALID_PARAMETER,
                          "session \"%s\" holds no kernel events. Do: name one that does, see autologger sessions", s->state->name);
    if (s->state->log_file_mode & ETL_MODE_NONSTOPPABLE)
        return reason_set(why, W_INVALID_PARAMETER, "session \"%s\" was declared NONSTOPPABLE: it can't be changed", s->state->name);
    if (terms->timer && s->state->log_file_mode & ETL_MODE_BUFFERING)
        return reason_set(why, W_INVALID_PARAMETER, "session \"%s\" is in the mode BUFFERING: it writes when it is asked to", s->state->name);
    if (!kernel && atomic_load(&s->phase) < SESSION_STOPPING)
        return W_SUCCESS;
    if (!s->klog || s->sealed || atomic_load(&s->phase) >= SESSION_STOPPING)
        return reason_set(why, W_NOT_READY, "session \"%s\" records no kernel events now", s->state->name);
    return W_SUCCESS;
}

/* The logger looks at it each time that it wakes. Real time needs one, as at the start. */
static void timer_set(struct session *s, uint32_t asked)
{
    const uint64_t one = 1;
    const uint32_t mode = s->state->log_file_mode, least = !(mode & ETL_MODE_REAL_TIME) ? 0 : mode & ETL_MODE_MS_FLUSH_TIMER ? 1000 : 1;
    char           item[32];
    __atomic_store_n(&s->state->flush_timer, asked ? asked : least, __ATOMIC_RELAXED);
    (void)!write(s->wake_fd, &one, sizeof one);
    s->state->updates++;
    snprintf(item, sizeof item, "update %u", s->state->updates);
    condition_add(&s->conditions, W_REVISION_MISMATCH, true, item, "", 0, "nothing: it was asked for",
                  "changed while the session ran: FlushTimer is %u %s from then on", s->state->flush_timer, mode & ETL_MODE_MS_FLUSH_TIMER ? "ms" : "s");
}

wstatus session_update(struct session *s, const struct session_terms *terms, struct condition_list *found, struct reason *why)
{
    struct klog_config config;
    wstatus            status = may_update(s, terms, why);
    if (!status && terms->timer && !terms->flags && !terms->stacks)
        timer_set(s, terms->flush_timer);
    if (status || (!terms->flags && !terms->stacks))
        return status;
    session_cpus(s); /* where it cannot be opened it is not asked for */
    session_klog_config(s, found, &config);
    if (terms->flags)
        memcpy(config.mask, terms->group_mask, sizeof config.mask);
    if (terms->stacks) {
        memcpy(config.hooks, terms->hooks, sizeof config.hooks);
        config.hook_count = terms->hook_count;
    }
    status = klog_update(s->klog, &config, s->env->keep ? session_keep_klog : NULL, s, why);
    if (status)
        return status;
    memcpy(s->state->group_mask, config.mask, sizeof config.mask);
    memcpy(s->state->hooks, config.hooks, sizeof config.hooks);
    s->state->hook_count = config.hook_count;
    s->state->updates++;
    plan_events_report(config.mask, config.hooks, config.hook_count, found);
    for (unsigned i = 0; i < found->count; i++)
        if (!known(&s->conditions, &found->items[i])) {
            const struct condition *c = &found->items[i];
            condition_add(&s->conditions, c->number, c->note, c->item, c->source_file, c->source_line, c->advice, "%s", c->reason);
        }
    note_update(s);
    if (terms->timer)
        timer_set(s, terms->flush_timer);
    return W_SUCCESS;
}
