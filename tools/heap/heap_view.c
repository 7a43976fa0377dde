#include "tools/heap/heap_view.h"

#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

enum { FRAMES_SHOWN = 12 };

static void ended_print(const struct heap_run *run, FILE *to)
{
    if (run->ended_unknown)
        fprintf(to, "ended");
    else if (WIFSIGNALED(run->wait_status))
        fprintf(to, "ended by signal %d", WTERMSIG(run->wait_status));
    else
        fprintf(to, "exit code %d", WEXITSTATUS(run->wait_status));
    fprintf(to, " after %.2f s", run->seconds);
}

static void frames_print(const struct heap_stack *s, FILE *to)
{
    for (unsigned i = 0; i < s->frames && i < FRAMES_SHOWN; i++) {
        const struct heap_frame *f = s->frame[i];
        if (*f->source)
            visible_printf(to, "      %s  at %s:%d\n", f->text, f->source, f->line);
        else if (*f->module && strncmp(f->text, f->module, strlen(f->module)) != 0)
            visible_printf(to, "      %s  (%s)\n", f->text, f->module);
        else
            visible_printf(to, "      %s\n", f->text);
    }
    if (s->frames > FRAMES_SHOWN)
        fprintf(to, "      and %u more frames: --json shows all\n", s->frames - FRAMES_SHOWN);
    if (!s->frames)
        fprintf(to, "      (no stack)\n");
}

static void left_print(struct heap *h, const struct heap_view *v, FILE *to)
{
    size_t places = 0;
    heap_sort_left(h);
    while (places < h->stacks && h->stack[places].bytes_left + h->stack[places].blocks_left)
        places++;
    visible_printf(to, "\n%s: %" PRIu64 " bytes in %" PRIu64 " blocks, from %zu place%s\n",
                   v->peak ? "Allocated at the moment of most bytes" : "Not freed", h->totals.bytes_left,
                   h->totals.blocks_left, places, places == 1 ? "" : "s");
    for (size_t i = 0; i < places && i < v->rows; i++) {
        const struct heap_stack *s = &h->stack[i];
        visible_printf(to, "  %" PRIu64 " bytes in %" PRIu64 " of %" PRIu64 " blocks\n", s->bytes_left, s->blocks_left,
                       s->allocations);
        frames_print(s, to);
    }
    if (places > v->rows)
        fprintf(to, "  and %zu more places: --rows shows more\n", places - v->rows);
}

static void waits_print(struct heap *h, const struct heap_view *v, FILE *to)
{
    size_t places = 0;
    heap_sort_waits(h);
    while (places < h->stacks && h->stack[places].waits)
        places++;
    visible_printf(to, "\nLocks: %" PRIu64 " waits of %.3f ms together, at %zu place%s\n", h->totals.waits,
                   (double)h->totals.wait_ns / 1e6, places, places == 1 ? "" : "s");
    for (size_t i = 0; i < places && i < v->rows; i++) {
        const struct heap_stack *s = &h->stack[i];
        visible_printf(to, "  %.3f ms in %" PRIu64 " waits, longest %.3f ms, lock 0x%" PRIx64, (double)s->wait_ns / 1e6,
                       s->waits, (double)s->longest_ns / 1e6, s->lock);
        if (s->owner)
            visible_printf(to, ", held by thread %" PRIu32, s->owner);
        if (s->unfinished)
            visible_printf(to, "; %" PRIu64 " of them never got it", s->unfinished);
        fprintf(to, "\n");
        frames_print(s, to);
    }
    if (places > v->rows)
        fprintf(to, "  and %zu more places: --rows shows more\n", places - v->rows);
}

void heap_print(struct heap *h, const struct heap_view *v, FILE *to)
{
    const struct heap_totals *t = &h->totals;
    visible_printf(to, "%s (process %" PRIu32 "): ", *t->process ? t->process : "program", t->pid);
    if (v->run) {
        ended_print(v->run, to);
        fprintf(to, ", ");
    }
    visible_printf(to,
                   "%" PRIu64 " allocations, %" PRIu64 " reallocations, %" PRIu64 " frees; %" PRIu64
                   " bytes allocated, at most %" PRIu64 " at once (in %" PRIu64 " blocks, %.3f s after the start)\n",
                   t->allocations, t->reallocations, t->frees, t->bytes, t->peak_bytes, t->peak_blocks,
                   (double)t->peak_ns / 1e9);
    if (t->replaced)
        fprintf(to, "\nThe program replaced itself by one that could not be traced: what is not freed is not known\n");
    else if (t->allocations + t->frees || !t->waits)
        left_print(h, v, to);
    if (t->waits)
        waits_print(h, v, to);
    if (t->events_lost)
        visible_printf(to, "\n%" PRIu64 " events were lost: blocks may be shown that were freed\n", t->events_lost);
    visible_printf(to, "\n%s\n", v->file);
}

static void stack_json(struct json *j, const struct heap_stack *s)
{
    json_array(j, "stack");
    for (unsigned i = 0; i < s->frames; i++) {
        json_object(j, NULL);
        json_text(j, "function", s->frame[i]->text);
        json_text(j, "module", s->frame[i]->module);
        if (*s->frame[i]->source) {
            json_text(j, "source", s->frame[i]->source);
            json_number(j, "line", (uint64_t)s->frame[i]->line);
        }
        json_object_end(j);
    }
    json_array_end(j);
}

static void heap_rows_json(struct json *j, struct heap *h)
{
    heap_sort_left(h);
    json_array(j, "places");
    for (size_t i = 0; i < h->stacks; i++) {
        const struct heap_stack *s = &h->stack[i];
        if (!s->allocations)
            continue;
        json_object(j, NULL);
        json_number(j, "bytes_left", s->bytes_left);
        json_number(j, "blocks_left", s->blocks_left);
        json_number(j, "allocations", s->allocations);
        json_number(j, "bytes", s->bytes);
        stack_json(j, s);
        json_object_end(j);
    }
    json_array_end(j);
    heap_sort_waits(h);
    json_array(j, "locks");
    for (size_t i = 0; i < h->stacks && h->stack[i].waits; i++) {
        const struct heap_stack *s = &h->stack[i];
        json_object(j, NULL);
        json_number(j, "wait_ns", s->wait_ns);
        json_number(j, "waits", s->waits);
        json_number(j, "longest_ns", s->longest_ns);
        json_number(j, "unfinished", s->unfinished);
        json_number(j, "lock", s->lock);
        json_number(j, "owner", s->owner);
        stack_json(j, s);
        json_object_end(j);
    }
    json_array_end(j);
}

/* Neither of the two: another process took the exit code. */
static void ended_json(struct json *j, const struct heap_run *run)
{
    if (run->ended_unknown)
        return;
    if (WIFSIGNALED(run->wait_status))
        json_number(j, "signal", (uint64_t)WTERMSIG(run->wait_status));
    else
        json_number(j, "exit_code", (uint64_t)WEXITSTATUS(run->wait_status));
}

void heap_print_json(struct heap *h, const struct heap_view *v, FILE *to)
{
    const struct heap_totals *t = &h->totals;
    struct json              *j = json_create(to, true);
    if (!j)
        return;
    json_object(j, NULL);
    json_text(j, "file", v->file);
    json_text(j, "process", t->process);
    json_number(j, "pid", t->pid);
    if (v->run) {
        json_real(j, "seconds", v->run->seconds);
        ended_json(j, v->run);
        json_number(j, "events_attempted", v->run->attempted);
        json_number(j, "events_written", v->run->written);
    }
    json_number(j, "events_lost", t->events_lost);
    json_flag(j, "replaced_by_untraced", t->replaced);
    json_number(j, "allocations", t->allocations);
    json_number(j, "reallocations", t->reallocations);
    json_number(j, "frees", t->frees);
    json_number(j, "frees_of_older_blocks", t->unknown_frees);
    json_number(j, "bytes", t->bytes);
    json_number(j, "peak_bytes", t->peak_bytes);
    json_number(j, "peak_blocks", t->peak_blocks);
    json_number(j, "peak_ns", t->peak_ns);
    json_text(j, "blocks_are_of", v->peak ? "peak" : "end");
    json_number(j, "bytes_left", t->bytes_left);
    json_number(j, "blocks_left", t->blocks_left);
    json_number(j, "waits", t->waits);
    json_number(j, "wait_ns", t->wait_ns);
    json_number(j, "waits_unfinished", t->unfinished);
    heap_rows_json(j, h);
    json_object_end(j);
    json_destroy(j);
}
