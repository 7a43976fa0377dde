/* declaration.c - see declaration.h. */
#include "autologger/control/declaration.h"

#include <stdio.h>
#include <string.h>

static void declaration_session_fill(const struct state_session *st, struct ctl_declaration *out)
{
    snprintf(out->name, sizeof out->name, "%s", st->name);
    snprintf(out->key, sizeof out->key, "%s", st->key);
    snprintf(out->file_name, sizeof out->file_name, "%s", st->file_name);
    out->guid            = st->guid;
    out->buffer_kb       = st->buffer_kb;
    out->minimum_buffers = st->minimum_buffers;
    out->maximum_buffers = st->maximum_buffers;
    out->clock_type      = st->clock_type;
    out->log_file_mode   = st->log_file_mode;
    out->max_file_size   = st->max_file_size;
    out->flush_timer     = st->flush_timer;
    out->hook_count      = st->hook_count;
    out->devices         = st->devices;
    memcpy(out->group_mask, st->group_mask, sizeof out->group_mask);
    memcpy(out->hooks, st->hooks, sizeof out->hooks);
}

/* The session enables the provider, and its place exists in the directory. */
static bool declaration_enabled(const struct state_enable *e)
{
    return e->in_use && e->slot < SHM_PROVIDERS && e->entry < SHM_PROVIDER_SESSIONS;
}

static void declaration_row_fill(const struct state_enable *e, const struct directory *d, struct ctl_enabled_row *row)
{
    const struct shm_provider *p = &d->shm->provider[e->slot];
    *row                         = (struct ctl_enabled_row){.guid  = p->guid,
                                                            .level = p->enable[e->entry].level,
                                                            .any   = p->enable[e->entry].any,
                                                            .all   = p->enable[e->entry].all};
    snprintf(row->name, sizeof row->name, "%s", d->name[e->slot] ? d->name[e->slot] : "");
    snprintf(row->key, sizeof row->key, "%s", e->key);
}

void declaration_answer(struct session *s, const struct directory *d, uint32_t start,
                        struct ctl_declaration_answer *out, size_t capacity)
{
    uint32_t room = (uint32_t)((capacity - sizeof *out) / sizeof out->row[0]);

    memset(out, 0, sizeof *out);
    declaration_session_fill(s->state, &out->session);
    for (unsigned k = 0; k < STATE_ENABLES; k++) {
        const struct state_enable *e = &s->state->enable[k];
        if (declaration_enabled(e) && out->total++ >= start && out->count < room)
            declaration_row_fill(e, d, &out->row[out->count++]);
    }
}

/* Finds the condition of server_providers.c: its item is the provider's GUID, and its reason names the user. */
static uint32_t declaration_denied(const struct session *s, const struct guid *provider)
{
    char     text[GUID_TEXT_SIZE];
    unsigned uid;
    guid_format(provider, text);
    for (unsigned i = 0; i < s->conditions.count; i++) {
        const struct condition *c = &s->conditions.items[i];
        if (c->number == W_ACCESS_DENIED && strcmp(c->item, text) == 0 &&
            sscanf(c->reason, "programs of uid %u ", &uid) == 1)
            return uid + 1;
    }
    return 0;
}

/* Its counts so far. */
static void counts_fill(struct session *s, unsigned place, struct ctl_terms_answer *out)
{
    struct session_provider p;
    if (!session_provider(s, place, &p))
        return;
    out->tracepoints         = p.tracepoints;
    out->registrations       = p.registrations;
    out->events              = p.events;
    out->refused_by_level    = p.refused.by_level;
    out->refused_by_keywords = p.refused.by_keywords;
    out->refused_by_filter   = p.refused.by_filter;
    out->refused_level       = p.refused.level;
    out->refused_keywords    = p.refused.keywords;
}

static void declaration_provider_fill(struct session *s, unsigned place, const struct directory *d,
                                      struct ctl_terms_answer *out)
{
    const struct state_enable *e      = &s->state->enable[place];
    const struct filter_block *filter = directory_filter(d, e->slot, e->entry);
    out->count                        = 1;
    counts_fill(s, place, out);
    declaration_row_fill(e, d, &out->row);
    out->denied   = declaration_denied(s, &e->guid);
    out->property = directory_property(d, e->slot, e->entry);
    snprintf(out->units, sizeof out->units, "%s", e->units);
    for (unsigned k = 0; k < s->state->tracepoint_count; k++) {
        const struct tracepoint_wish *w = &s->state->tracepoint[k];
        if (!guid_equal(&w->guid, &e->guid))
            continue;
        snprintf(out->tracepoint, sizeof out->tracepoint, "%s", w->pattern);
        snprintf(out->tracepoint_filter, sizeof out->tracepoint_filter, "%s", w->filter);
        snprintf(out->row.name, sizeof out->row.name, "%s", w->name);
        out->tracepoint_stacks = w->stacks;
    }
    if (filter && filter->size <= FILTER_BLOCK_MAX) {
        out->filter_bytes = filter->size;
        memcpy(out + 1, filter, filter->size);
    }
}

void terms_answer(struct session *s, const struct directory *d, uint32_t which, struct ctl_terms_answer *out)
{
    _Static_assert(sizeof *out + FILTER_BLOCK_MAX <= CTL_MAX && sizeof *out % 8 == 0,
                   "a provider and its filter are one message");
    memset(out, 0, sizeof *out);
    declaration_session_fill(s->state, &out->session);
    out->kernel              = s->state->kernel;
    out->user_stack_bytes    = s->state->user_stack_bytes;
    out->stack_cache_bytes   = s->state->stack_cache_bytes;
    out->stack_cache_buckets = s->state->stack_cache_buckets;
    out->forget_realtime     = !s->state->realtime.persistent;
    for (unsigned k = 0; k < STATE_ENABLES; k++)
        if (declaration_enabled(&s->state->enable[k]) && out->total++ == which)
            declaration_provider_fill(s, k, d, out);
}
