#include "autologger/consumer/process_filter.h"

#include <stdlib.h>
#include <string.h>

enum { NO_ID = -1 };

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static void process_filter_look(void *self, const struct field *field)
{
    static const char *const processes[] = {"ProcessId", "StackProcess", "PID", NULL};
    static const char *const threads[]   = {"ThreadId",        "NewThreadId", "OldThreadId", "TThreadId",
                                            "IssuingThreadId", "StackThread", "TTID",        NULL};
    struct process_filter   *f           = self;
    bool                     process     = is_one_of(field->name, processes);
    char                    *end;

    if (f->field)
        f->about |= f->field(f->ctx, field);
    if (!process && !is_one_of(field->name, threads))
        return;
    unsigned long long id = strtoull(field->text, &end, 0);
    if (end == field->text || *end || id > UINT32_MAX)
        return;
    if (process) {
        f->about |= f->wanted(f->ctx, (uint32_t)id);
        f->owner = (uint32_t)id;
    } else {
        uint32_t owner = actors_owner(f->actors, (uint32_t)id);
        f->about |= owner != ACTOR_NONE && f->wanted(f->ctx, owner);
        f->thread = (uint32_t)id;
    }
}

bool process_filter_passes(struct process_filter *f, const struct etl_event *e, const struct decoded *names)
{
    bool     tells = names->hook == HOOK_THREAD_START || names->hook == HOOK_THREAD_DC_START;
    uint32_t used;

    f->sink.self = f;
    f->sink.emit = process_filter_look;
    f->about     = false;
    f->owner = f->thread = (uint32_t)NO_ID;
    decoded_fields(e, names, &f->sink, &used);
    if (tells && f->owner != (uint32_t)NO_ID && f->thread != (uint32_t)NO_ID)
        f->about = f->wanted(f->ctx, f->owner);
    f->failed |= f->sink.path.failed || f->sink.value.failed;
    return f->about || (e->process_id != (uint32_t)NO_ID && f->wanted(f->ctx, e->process_id));
}

void process_filter_finish(struct process_filter *f)
{
    field_sink_finish(&f->sink);
    *f = (struct process_filter){0};
}
