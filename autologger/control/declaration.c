/* declaration.c - see declaration.h. */
#include "autologger/control/declaration.h"

#include <stdio.h>
#include <string.h>

static void session_fill(const struct state_session *st, struct ctl_declaration *out)
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

void declaration_answer(const struct session *s, const struct directory *d, uint32_t start, struct ctl_declaration_answer *out,
                        size_t capacity)
{
    uint32_t room = (uint32_t)((capacity - sizeof *out) / sizeof out->row[0]);

    memset(out, 0, sizeof *out);
    session_fill(s->state, &out->session);
    for (unsigned k = 0; k < STATE_ENABLES; k++) {
        const struct state_enable *e = &s->state->enable[k];
        if (!e->in_use || e->slot >= SHM_PROVIDERS || e->entry >= SHM_PROVIDER_SESSIONS)
            continue;
        if (out->total++ < start || out->count == room)
            continue;
        const struct shm_provider *p   = &d->shm->provider[e->slot];
        struct ctl_enabled_row    *row = &out->row[out->count++];
        *row = (struct ctl_enabled_row){.guid = p->guid, .level = p->enable[e->entry].level, .any = p->enable[e->entry].any,
                                        .all = p->enable[e->entry].all};
        snprintf(row->name, sizeof row->name, "%s", d->name[e->slot] ? d->name[e->slot] : "");
        snprintf(row->key, sizeof row->key, "%s", e->key);
    }
}
