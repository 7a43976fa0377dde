#include "autologger/consumer/process_filter.h"

#include <stdlib.h>
#include <string.h>

enum { THREAD_START = 0x0501, THREAD_DC_START = 0x0503, NO_ID = -1 };

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* Where the thread is in the list, or where it would be. */
static size_t place_of(const struct process_filter *f, uint32_t thread)
{
    size_t low = 0, high = f->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (f->threads[middle] < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_ours(const struct process_filter *f, uint32_t thread)
{
    size_t at = place_of(f, thread);
    return at < f->count && f->threads[at] == thread;
}

/* Thread ids are used again: the last Thread event of an id tells whose it is. */
static void learn(struct process_filter *f, uint32_t thread, bool ours)
{
    size_t at    = place_of(f, thread);
    bool   known = at < f->count && f->threads[at] == thread;

    if (known == ours)
        return;
    if (!ours) {
        memmove(f->threads + at, f->threads + at + 1, (--f->count - at) * sizeof *f->threads);
        return;
    }
    if (f->count == f->capacity) {
        size_t    capacity = f->capacity ? f->capacity * 2 : 64;
        uint32_t *grown    = realloc(f->threads, capacity * sizeof *grown);
        if (!grown) {
            f->failed = true;
            return;
        }
        f->threads  = grown;
        f->capacity = capacity;
    }
    memmove(f->threads + at + 1, f->threads + at, (f->count++ - at) * sizeof *f->threads);
    f->threads[at] = thread;
}

static void look(void *self, const struct field *field)
{
    static const char *const processes[] = {"ProcessId", "StackProcess", "PID", NULL};
    static const char *const threads[]   = {"ThreadId",        "NewThreadId", "OldThreadId", "TThreadId",
                                            "IssuingThreadId", "StackThread", "TTID",        NULL};
    struct process_filter   *f           = self;
    bool                     process     = is_one_of(field->name, processes);
    char                    *end;

    if (!process && !is_one_of(field->name, threads))
        return;
    unsigned long long id = strtoull(field->text, &end, 0);
    if (end == field->text || *end || id > UINT32_MAX)
        return;
    if (process) {
        f->about |= id == f->process;
        f->owner = (uint32_t)id;
    } else {
        f->about |= is_ours(f, (uint32_t)id);
        f->thread = (uint32_t)id;
    }
}

void process_filter_init(struct process_filter *f, uint32_t process)
{
    *f           = (struct process_filter){.process = process};
    f->sink.self = f;
    f->sink.emit = look;
}

bool process_filter_passes(struct process_filter *f, const struct etl_event *e, const struct decoded *names)
{
    bool     tells = names->hook == THREAD_START || names->hook == THREAD_DC_START;
    uint32_t used;

    f->about = false;
    f->owner = f->thread = (uint32_t)NO_ID;
    decoded_fields(e, names, &f->sink, &used);
    if (tells && f->owner != (uint32_t)NO_ID && f->thread != (uint32_t)NO_ID) {
        f->about = f->owner == f->process; /* not by the id's last owner */
        learn(f, f->thread, f->about);
    }
    f->failed |= f->sink.path.failed || f->sink.value.failed;
    return f->about || (e->process_id == f->process && e->process_id != (uint32_t)NO_ID);
}

void process_filter_finish(struct process_filter *f)
{
    free(f->threads);
    field_sink_finish(&f->sink);
    *f = (struct process_filter){0};
}
