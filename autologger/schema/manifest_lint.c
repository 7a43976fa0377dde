/* Third step: warns of constructs that are allowed but cause trouble. */
#include "autologger/schema/manifest_build.h"

#include <string.h>

/* Events in channels that all programs share are for an administrator to act on: they need a level of 1 to 4 (Critical
 * to Informational) and a message. */
static void admin_lint(struct builder *b, const struct manifest_provider *p, const struct manifest_event *e)
{
    const struct manifest_channel *c  = e->channel_index >= 0 ? &p->channels.at[e->channel_index] : NULL;
    unsigned                       id = (unsigned)e->item.value;

    if (!c || !c->item.name)
        return;
    bool global = c->imported && c->item.value >= 8 && c->item.value <= 10;
    if (!global && c->type != CHANNEL_ADMIN)
        return;
    const char *kind = global ? "a predefined channel, which is for events that an administrator acts on"
                              : "a channel of type Admin, which is for events that an administrator acts on";
    if (e->level < 1 || e->level > 4)
        manifest_warning(
            b, e->item.line,
            "give it one of the levels win:Critical to win:Informational, or a channel of your own of type Analytic or Debug",
            "event %u with level %u is in %s (%s)", id, e->level, kind, c->item.name);
    if (e->item.message.kind == MANIFEST_TEXT_NONE)
        manifest_warning(
            b, e->item.line,
            "add message=\"$(string.ID)\", or use a channel of your own of type Operational, Analytic or Debug",
            "event %u without a message is in %s (%s)", id, kind, c->item.name);
    if (global && c->item.value == 10)
        manifest_warning(b, e->item.line, "use Application, or a channel of your own",
                         "event %u is in the channel Security, which only Windows itself writes to", id);
}

static void cultures_lint(struct builder *b)
{
    const struct manifest *m = b->m;

    for (unsigned c = 1; c < m->cultures.count; c++) {
        const struct manifest_culture *first = &m->cultures.at[0], *other = &m->cultures.at[c];
        unsigned                       missing = 0, at = 0;
        const char                    *example = "";
        for (unsigned i = 0; i < first->strings.count; i++) { /* both are in order of ids */
            while (at < other->strings.count && strcmp(other->strings.at[at].id, first->strings.at[i].id) < 0)
                at++;
            if (at < other->strings.count && strcmp(other->strings.at[at].id, first->strings.at[i].id) == 0)
                continue;
            if (!missing++)
                example = first->strings.at[i].id;
        }
        if (missing)
            manifest_warning(b, other->line, "translate them",
                             "%s lacks %u of the %u strings of %s (\"%.60s\"%s); those are shown in %s", other->name,
                             missing, first->strings.count, first->name, example, missing > 1 ? " and others" : "",
                             first->name);
    }
}

void manifest_lint(struct builder *b)
{
    for (unsigned i = 0; i < b->m->providers.count; i++) {
        const struct manifest_provider *p = &b->m->providers.at[i];
        for (unsigned k = 0; k < p->events.count; k++)
            admin_lint(b, p, &p->events.at[k]);
        for (unsigned k = 0; k < p->templates.count; k++)
            if (!p->templates.at[k].used)
                manifest_warning(b, p->templates.at[k].line, "remove it, or name it in an event",
                                 "no event uses the template %s",
                                 p->templates.at[k].tid ? p->templates.at[k].tid : "?");
        if (!p->events.count)
            manifest_warning(b, p->line, "add <events>", "the provider %s has no events", p->name ? p->name : "?");
    }
    cultures_lint(b);
}
