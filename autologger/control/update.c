/* update.c - see update.h. */
#include "autologger/control/update.h"

#include <stdio.h>
#include <string.h>

void condition_lines(const struct condition_list *found, char *out, size_t size)
{
    size_t used = 0;
    for (unsigned i = 0; i < found->count && used < size; i++) {
        const struct condition *c = &found->items[i];
        char                    place[300] = "";
        if (*c->source_file)
            snprintf(place, sizeof place, "%s:%u: ", c->source_file, c->source_line);
        int n = snprintf(out + used, size - used, "%s%s%s %u %s: %s. Do: %s", i ? "\n" : "", place, c->note ? "note" : "condition", c->number,
                         c->item, c->reason, c->advice);
        used += n > 0 ? (size_t)n : 0;
    }
}

void update_answer(struct session_table *table, const struct control_hooks *hooks, const struct ctl_update_request *m,
                   struct ctl_update_answer *answer)
{
    const bool            named = m->what & CTL_UPDATE_FILE && *m->file;
    struct session_terms  terms = {.flags = m->what & CTL_UPDATE_FLAGS, .stacks = m->what & CTL_UPDATE_STACKS,
                                   .timer = m->what & CTL_UPDATE_FLUSH_TIMER, .flush_timer = m->flush_timer,
                                   .maximum = m->what & CTL_UPDATE_MAXIMUM_BUFFERS, .maximum_buffers = m->maximum_buffers,
                                   .realtime = m->what & (CTL_UPDATE_REALTIME_ON | CTL_UPDATE_REALTIME_OFF),
                                   .deliver = m->what & CTL_UPDATE_REALTIME_ON, .convert = m->what & CTL_UPDATE_CONVERT,
                                   .file_name = named ? m->file : NULL};
    struct condition_list found = {0};
    struct reason         why   = {0};
    char                  name[CTL_NAME];
    wstatus               st;
    snprintf(name, sizeof name, "%.*s", CTL_NAME - 1, m->name);
    struct session *s = table_find(table, name);
    if (!s)
        st = reason_set(&why, W_WMI_INSTANCE_NOT_FOUND, "no session named \"%s\" is running", name);
    else if (m->hook_count > HOOK_MAX || m->what & ~(uint32_t)CTL_UPDATE_ALL)
        st = reason_set(&why, W_INVALID_PARAMETER, "more than %d stacks, or a kind of change that is not known", HOOK_MAX);
    else if (m->what & CTL_UPDATE_FILE && !named)
        st = reason_set(&why, W_BAD_PATHNAME, "the name of the file is empty");
    else {
        memcpy(terms.group_mask, m->group_mask, sizeof terms.group_mask);
        memcpy(terms.hooks, m->hooks, sizeof terms.hooks);
        terms.hook_count = m->hook_count;
        st               = hooks->update(hooks->ctx, s, &terms, &found, &why);
    }
    memset(answer, 0, sizeof *answer);
    answer->header = (struct ctl_header){sizeof *answer, CTL_UPDATE, CTL_VERSION, m->header.sequence, st};
    if (st)
        snprintf(answer->text, sizeof answer->text, "%s", why.text);
    else
        condition_lines(&found, answer->text, sizeof answer->text);
    if (s)
        session_info(s, &answer->session);
    condition_list_finish(&found);
}
