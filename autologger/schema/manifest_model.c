#include "autologger/schema/manifest_model.h"

#include <stdio.h>
#include <string.h>

struct model {
    const struct manifest          *m;
    const struct manifest_provider *from;
    struct schema_provider         *to;
    int                             culture;
    bool                            failed;
};

/* Messages from a message table end with a blank, which is no part of the name. */
static const char *manifest_model_copy(struct model *d, const char *text)
{
    if (!text)
        return NULL;
    size_t n = strlen(text);
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    const char *made = schema_text(d->to, text, n);
    d->failed |= !made;
    return made;
}

static const char *manifest_model_message(struct model *d, const struct manifest_item *i)
{
    return manifest_model_copy(d, manifest_text_get(d->m, &i->message, d->culture));
}

static const char *manifest_model_predefined(enum manifest_words kind, uint64_t value)
{
    size_t                            count;
    const struct manifest_predefined *w = manifest_predefined(&count);

    for (size_t i = 0; i < count; i++)
        if (w[i].kind == kind && w[i].value == value)
            return w[i].text;
    return NULL;
}

/* Copies the names of a list, whose structs begin with a manifest_item. */
static void manifest_model_names(struct model *d, struct schema_names *out, const void *at, unsigned count,
                                 size_t stride)
{
    out->rows = schema_alloc(d->to, count, sizeof *out->rows);
    if (!out->rows) {
        d->failed |= count > 0;
        return;
    }
    out->count = count;
    for (unsigned i = 0; i < count; i++) {
        const struct manifest_item *item = (const void *)((const char *)at + i * stride);
        out->rows[i]                     = (struct schema_name){.value   = item->value,
                                                                .name    = manifest_model_copy(d, item->name ? item->name : ""),
                                                                .message = manifest_model_message(d, item)};
    }
}

static void maps(struct model *d)
{
    const struct manifest_provider *p = d->from;

    d->to->maps = schema_alloc(d->to, p->maps.count, sizeof *d->to->maps);
    if (!d->to->maps) {
        d->failed |= p->maps.count > 0;
        return;
    }
    d->to->map_count = p->maps.count;
    for (unsigned i = 0; i < p->maps.count; i++) {
        const struct manifest_map *from = &p->maps.at[i];
        struct schema_map_row     *rows = schema_alloc(d->to, from->entries.count, sizeof *rows);
        unsigned                   n    = 0;
        for (unsigned k = 0; k < from->entries.count && rows; k++) {
            if (from->entries.at[k].value > UINT32_MAX) /* an invalid number */
                continue;
            const struct manifest_item *e    = &from->entries.at[k];
            const char                 *text = manifest_model_message(d, e);
            char                        number[24];
            snprintf(number, sizeof number, "%llu", (unsigned long long)e->value);
            rows[n++] = (struct schema_map_row){(uint32_t)e->value,
                                                text ? text : manifest_model_copy(d, e->symbol ? e->symbol : number)};
        }
        d->failed |= !rows && from->entries.count;
        d->to->maps[i] =
            (struct schema_map){manifest_model_copy(d, from->item.name ? from->item.name : ""), from->bits, n, rows};
    }
}

/* The shown text of a declared value: its message, else its name. */
static const char *manifest_model_shown(const struct schema_names *n, uint64_t value)
{
    for (unsigned i = 0; i < n->count; i++)
        if (n->rows[i].value == value)
            return n->rows[i].message ? n->rows[i].message : n->rows[i].name;
    return NULL;
}

static const char *row_shown(const struct schema_names *n, int index)
{
    return index < 0 ? NULL : n->rows[index].message ? n->rows[index].message : n->rows[index].name;
}

static const char *const *keyword_names(struct model *d, const struct manifest_event *e)
{
    unsigned     n    = 0;
    const char **list = schema_alloc(d->to, 65, sizeof *list);

    for (unsigned bit = 0; bit < 64 && list; bit++) {
        uint64_t    mask = UINT64_C(1) << bit;
        const char *name = e->keyword & mask ? manifest_model_shown(&d->to->keywords, mask) : NULL;
        if (e->keyword & mask && !name && bit >= 48 && bit < 56)
            name = manifest_model_predefined(WORDS_KEYWORD, mask);
        if (name)
            list[n++] = name;
    }
    return n ? list : NULL;
}

static wstatus manifest_model_event(struct model *d, const struct manifest_event *e, struct reason *why)
{
    const struct manifest_template *t = e->template_index >= 0 ? &d->from->templates.at[e->template_index] : NULL;
    struct schema_event            *s = schema_event_new(d->to, t ? t->fields.count : 0, t ? t->top_count : 0);

    if (!s)
        return W_NOT_ENOUGH_MEMORY;
    s->id            = (uint16_t)e->item.value;
    s->version       = e->version;
    s->channel       = e->channel;
    s->level         = e->level;
    s->opcode        = e->opcode;
    s->task          = e->task;
    s->keyword       = e->keyword;
    s->tags          = e->tags;
    s->name          = manifest_model_copy(d, e->item.symbol);
    s->level_name    = manifest_model_shown(&d->to->levels, e->level);
    s->task_name     = row_shown(&d->to->tasks, e->task_index);
    s->opcode_name   = e->opcode_index >= 0 ? row_shown(&d->to->opcodes, e->opcode_index)
                                            : manifest_model_predefined(WORDS_OPCODE, e->opcode);
    s->channel_name  = e->channel_index >= 0 ? d->to->channels.rows[e->channel_index].name : NULL;
    s->attributes    = manifest_model_copy(d, e->attributes);
    s->message       = manifest_model_message(d, &e->item);
    s->user_data     = t ? manifest_model_copy(d, t->user_data) : NULL;
    s->keyword_names = keyword_names(d, e);
    s->formatted     = d->m->kind == MANIFEST_MESSAGES;
    if (d->m->kind == MANIFEST_CLASSES)
        s->class_guid = d->from->guid;
    if (!s->level_name)
        s->level_name = manifest_model_predefined(WORDS_LEVEL, e->level);
    for (unsigned i = 0; t && i < t->fields.count; i++) {
        const struct manifest_field *from = &t->fields.at[i];
        s->fields[i]                      = (struct schema_field){.name    = manifest_model_copy(d, from->name),
                                                                  .map     = from->map >= 0 ? &d->to->maps[from->map] : NULL,
                                                                  .in      = from->in,
                                                                  .out     = from->out,
                                                                  .flags   = from->flags,
                                                                  .first   = from->first,
                                                                  .members = from->members,
                                                                  .count   = from->count,
                                                                  .length  = from->length,
                                                                  .tags    = from->tags};
    }
    if (d->failed)
        return W_NOT_ENOUGH_MEMORY;
    s->cut     = t && t->cut;
    wstatus st = schema_event_finish(d->to, s, why);
    if (st != W_INVALID_DATA)
        return st;
    s->field_count = s->top_count = s->slot_count = 0; /* its names are known, its payload stays bytes */
    s->cut                                        = true;
    s->user_data                                  = NULL;
    return schema_event_finish(d->to, s, why);
}

struct schema_provider *manifest_schema(const struct manifest *m, const struct manifest_provider *p, int culture,
                                        struct reason *why)
{
    struct model d  = {m, p, schema_provider_new(&p->guid, p->name ? p->name : ""), culture, false};
    wstatus      st = d.to ? W_SUCCESS : W_NOT_ENOUGH_MEMORY;

    if (d.to) {
        struct manifest_item own = {.message = p->message};
        d.to->message            = manifest_model_message(&d, &own);
        d.to->resource_file      = manifest_model_copy(&d, p->resource_file);
        d.to->origin             = manifest_model_copy(&d, m->origin);
        d.to->culture            = culture >= 0 && (unsigned)culture < m->cultures.count
                                       ? manifest_model_copy(&d, m->cultures.at[culture].name)
                                       : NULL;
        d.to->decode_guid        = p->control_guid;
        manifest_model_names(&d, &d.to->levels, p->levels.at, p->levels.count, sizeof *p->levels.at);
        manifest_model_names(&d, &d.to->tasks, p->tasks.at, p->tasks.count, sizeof *p->tasks.at);
        manifest_model_names(&d, &d.to->opcodes, p->opcodes.at, p->opcodes.count, sizeof *p->opcodes.at);
        manifest_model_names(&d, &d.to->keywords, p->keywords.at, p->keywords.count, sizeof *p->keywords.at);
        manifest_model_names(&d, &d.to->channels, p->channels.at, p->channels.count, sizeof *p->channels.at);
        maps(&d);
        for (unsigned i = 0; i < d.to->opcodes.count; i++)
            if (p->opcodes.at[i].task >= 0)
                d.to->opcodes.rows[i].task = (uint32_t)p->tasks.at[p->opcodes.at[i].task].item.value;
        if (d.failed)
            st = W_NOT_ENOUGH_MEMORY;
    }
    for (unsigned i = 0; i < p->events.count && !st; i++)
        st = manifest_model_event(&d, &p->events.at[i], why);
    if (!st)
        return d.to;
    if (st == W_NOT_ENOUGH_MEMORY)
        reason_set(why, st, "no memory for the events of %s", p->name ? p->name : "?");
    schema_provider_free(d.to);
    return NULL;
}

wstatus manifest_schemas(const struct manifest *m, int culture, enum schema_source source, struct schema_set *set,
                         struct reason *why)
{
    for (unsigned i = 0; i < m->providers.count; i++) {
        struct reason           ignored = {0};
        struct schema_provider *p       = manifest_schema(m, &m->providers.at[i], culture, why ? why : &ignored);
        if (!p)
            return why ? why->status : ignored.status;
        wstatus st = schema_set_add(set, source, p);
        if (st)
            return reason_set(why, st, "no memory for the events of %s", m->origin);
    }
    return W_SUCCESS;
}
