/* update.c - see update.h. */
#include "autologger/control/update.h"

#include <stdio.h>
#include <string.h>

void condition_lines(const struct condition_list *found, char *out, size_t size)
{
    size_t used = 0;
    for (unsigned i = 0; i < found->count && used < size; i++) {
        const struct condition *c          = &found->items[i];
        char                    place[300] = "";
        if (*c->source_file)
            snprintf(place, sizeof place, "%s:%u: ", c->source_file, c->source_line);
        int n = snprintf(out + used, size - used, "%s%s%s %u %s: %s. Do: %s", i ? "\n" : "", place,
                         c->note ? "note" : "condition", c->number, c->item, c->reason, c->advice);
        used += n > 0 ? (size_t)n : 0;
    }
}

wstatus update_terms(const struct ctl_update_request *m, struct session_terms *out, struct reason *why)
{
    const bool named = m->what & CTL_UPDATE_FILE && *m->file;
    *out             = (struct session_terms){.flags           = m->what & CTL_UPDATE_FLAGS,
                                              .stacks          = m->what & CTL_UPDATE_STACKS,
                                              .timer           = m->what & CTL_UPDATE_FLUSH_TIMER,
                                              .flush_timer     = m->flush_timer,
                                              .maximum         = m->what & CTL_UPDATE_MAXIMUM_BUFFERS,
                                              .maximum_buffers = m->maximum_buffers,
                                              .realtime        = m->what & (CTL_UPDATE_REALTIME_ON | CTL_UPDATE_REALTIME_OFF),
                                              .deliver         = m->what & CTL_UPDATE_REALTIME_ON,
                                              .convert         = m->what & CTL_UPDATE_CONVERT,
                                              .file_name       = named ? m->file : NULL};
    if (m->hook_count > HOOK_MAX || m->what & ~(uint32_t)CTL_UPDATE_ALL)
        return reason_set(why, W_INVALID_PARAMETER, "more than %d stacks, or a kind of change that is not known",
                          HOOK_MAX);
    if (m->what & CTL_UPDATE_FILE && !named)
        return reason_set(why, W_BAD_PATHNAME, "the name of the file is empty");
    memcpy(out->group_mask, m->group_mask, sizeof out->group_mask);
    memcpy(out->hooks, m->hooks, sizeof out->hooks);
    out->hook_count = m->hook_count;
    return W_SUCCESS;
}

void update_answer(struct session *s, wstatus st, const struct condition_list *found, const struct reason *why,
                   struct ctl_update_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    if (st)
        snprintf(answer->text, sizeof answer->text, "%s", why->text);
    else
        condition_lines(found, answer->text, sizeof answer->text);
    if (s)
        session_info(s, &answer->session);
}
