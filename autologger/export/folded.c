/* folded.c - folded stacks: "process;outermost;...;leaf NUMBER", a line for each distinct stack, as flame graph
 * programs read them. On the processor: the number counts samples; waiting: microseconds between a switch-out and the
 * switch-in; else events of one kind. See convert.h. */
#include "autologger/export/convert.h"

#include "registry-sim/base/cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct line {
    struct line *same; /* of the same hash */
    uint64_t     number;
    char         text[];
};
struct folded {
    enum folded_what         what;
    const struct event_spec *event;
    struct convert_counts   *counts;
    struct traced            machine;
    struct stacks            stacks;
    struct idmap             lines;
    struct text              text;
    uint64_t                 triggers, trigger_weight, joined_weight;
    bool                     failed;
};

static void add_line(struct folded *f, uint64_t number)
{
    uint64_t h = UINT64_C(1469598103934665603); /* FNV-1a */
    for (const char *p = text_get(&f->text); *p; p++)
        h = (h ^ (uint8_t)*p) * UINT64_C(1099511628211);
    h                  = h ? h : 1;
    struct line *first = idmap_get(&f->lines, h), *l = first;
    while (l && strcmp(l->text, text_get(&f->text)) != 0)
        l = l->same;
    if (!l) {
        if (!(l = malloc(sizeof *l + f->text.length + 1))) {
            f->failed = true;
            return;
        }
        *l = (struct line){.same = first};
        memcpy(l->text, text_get(&f->text), f->text.length + 1);
        f->failed |= !idmap_put(&f->lines, h, l);
        f->counts->distinct++;
    }
    l->number += number;
}

/* Replaces the separator in a name: no function has it ("operator;" does not exist), but paths may. */
static void add_part(struct text *t, const char *part, bool first)
{
    size_t at = t->length + !first;
    if (!first)
        text_add(t, ";", 1);
    text_visible(t, part, strlen(part));
    for (; at < t->length; at++)
        if (t->data[at] == ';')
            t->data[at] = ':';
}

static const char *folded_process_name(const struct folded *f, uint32_t pid, char out[96])
{
    const char *name = traced_process_name(&f->machine, pid);
    if (*name)
        snprintf(out, 96, "%s", name);
    else
        snprintf(out, 96, "process %" PRIu32, pid);
    return out;
}

static void folded_on_stack(void *ctx, const struct joined_stack *s)
{
    struct folded *f = ctx;
    char           name[96];

    if (s->kind != (f->what == FOLDED_WAITING ? STACK_OF_WAIT : STACK_OF_SAMPLE))
        return;
    text_cut(&f->text, 0);
    add_part(&f->text, folded_process_name(f, s->pid, name), true);
    for (unsigned i = s->frames; i-- > 0;)
        add_part(&f->text, s->frame[i], false);
    f->counts->events++;
    f->joined_weight += s->weight;
    add_line(f, s->weight);
}

static void folded_see(struct folded *f, const struct trace_event *x)
{
    struct cursor c = cur_make(x->e.payload, x->e.payload_size);

    f->counts->read++;
    traced_see(&f->machine, &x->e, &x->names);
    if (stacks_see(&f->stacks, &x->e))
        return;
    struct stack_trigger t = {.raw_time = x->e.raw_time, .time = x->e.filetime, .cpu = x->e.cpu};
    if (f->what == FOLDED_CPU && (x->names.hook == HOOK_PERF_SAMPLE || x->names.hook == HOOK_PERF_PMC_SAMPLE)) {
        cur_take(&c, x->e.is_64bit ? 8 : 4);
        t.tid    = cur_u32(&c);
        t.weight = 1;
        t.kind   = STACK_OF_SAMPLE;
    } else if (f->what == FOLDED_WAITING && x->names.hook == HOOK_THREAD_CSWITCH) {
        t.tid                          = cur_u32(&c);
        const struct traced_thread *in = traced_thread(&f->machine, t.tid);
        t.weight                       = in ? in->waited : 0;
        t.kind                         = STACK_OF_WAIT;
    } else if (f->what == FOLDED_EVENT && event_spec_matches(f->event, &x->e, &x->names)) {
        t.tid    = x->e.thread_id;
        t.weight = 1;
        t.kind   = STACK_OF_SAMPLE;
    }
    if (!cur_ok(&c) || !t.weight)
        return;
    f->triggers++;
    f->trigger_weight += t.weight;
    stacks_trigger(&f->stacks, &t);
}

static int folded_by_text(const void *a, const void *b)
{
    return strcmp((*(struct line *const *)a)->text, (*(struct line *const *)b)->text);
}

static void write_lines(struct folded *f, FILE *out)
{
    struct line **all = malloc((f->counts->distinct + 1) * sizeof *all);
    size_t        n   = 0;

    f->failed |= !all;
    for (size_t i = 0; all && i < f->lines.capacity; i++)
        for (struct line *l = f->lines.slot[i].value; l; l = l->same)
            all[n++] = l;
    if (n)
        qsort(all, n, sizeof *all, folded_by_text);
    for (size_t i = 0; i < n; i++) {
        uint64_t number = f->what == FOLDED_WAITING ? all[i]->number / 10 : all[i]->number;
        fprintf(out, "%s %" PRIu64 "\n", all[i]->text, number);
        f->counts->weight += number;
    }
    free(all);
}

wstatus convert_folded(struct trace *t, const struct frame_namer *namer, enum folded_what what,
                       const struct event_spec *event, FILE *out, struct convert_counts *counts, struct reason *why)
{
    const struct trace_event *x;
    struct folded             f = {.what   = what,
                                   .event  = event,
                                   .counts = counts,
                                   .stacks = {.take = folded_on_stack, .namer = namer, .by_cpu = event != NULL}};

    *counts      = (struct convert_counts){0};
    errno        = 0;
    f.stacks.ctx = &f;
    while (!f.failed && trace_next(t, &x))
        folded_see(&f, x);
    stacks_end(&f.stacks);
    counts->without_stack = f.triggers - counts->events;
    if (counts->without_stack) {
        text_cut(&f.text, 0);
        add_part(&f.text, "[no stack]", true);
        add_line(&f, f.trigger_weight - f.joined_weight);
    }
    write_lines(&f, out);
    for (size_t i = 0; i < f.lines.capacity; i++)
        for (struct line *l = f.lines.slot[i].value, *next; l; l = next) {
            next = l->same;
            free(l);
        }
    bool failed = f.failed || f.machine.failed || f.stacks.failed || f.text.failed;
    idmap_finish(&f.lines);
    text_finish(&f.text);
    stacks_finish(&f.stacks);
    traced_finish(&f.machine);
    return failed ? reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for stacks") : convert_written(out, why);
}

wstatus convert_written(FILE *out, struct reason *why)
{
    if (fflush(out) == 0 && !ferror(out))
        return W_SUCCESS;
    return reason_set(why, errno ? wstatus_from_errno(errno) : W_DISK_FULL, "the output can't be written: %s",
                      strerror(errno));
}
