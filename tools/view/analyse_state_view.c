/* analyse_state_view.c - activities, and the state of the machine at a time. See analyse_view.h. */
#include "tools/view/analyse_view.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/text_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- activities --- */

static void activity_json(struct json *j, const struct activities *a, long at, const struct analyse_view *v)
{
    const struct activity *x = &a->list[at];
    char                   guid[GUID_TEXT_SIZE];

    json_object(j, NULL);
    json_text(j, "id", guid_format(&x->id, guid));
    json_text(j, "event", x->told_only ? NULL : x->first_event);
    if (*x->first_channel)
        json_text(j, "channelName", x->first_channel);
    json_number(j, "events", x->events);
    if (!x->told_only) {
        view_json_seconds(j, "first", v, x->first);
        json_real(j, "time_us", (double)(x->last - x->first) / 10);
    }
    json_array(j, "processes");
    for (unsigned i = 0; i < x->processes; i++) {
        json_object(j, NULL);
        json_number(j, "process", x->process[i].pid);
        json_text(j, "name", x->process[i].name);
        json_object_end(j);
    }
    json_array_end(j);
    json_array(j, "files");
    for (unsigned i = 0; i < v->file_count; i++)
        if (x->files >> i & 1)
            json_number(j, NULL, i);
    json_array_end(j);
    json_array(j, "children");
    for (long c = x->child; c != ACTIVITY_NONE; c = a->list[c].next)
        json_text(j, NULL, guid_format(&a->list[c].id, guid));
    json_array_end(j);
    if (x->parent != ACTIVITY_NONE)
        json_text(j, "parent", guid_format(&a->list[x->parent].id, guid));
    json_object_end(j);
}

static void activities_json(const struct activities *a, long root, const struct analyse_view *v)
{
    struct json *j = view_json(v, "activity");
    char         guid[GUID_TEXT_SIZE];
    if (!j)
        return;
    json_number(j, "events", a->events);
    json_number(j, "with_activity", a->with_activity);
    json_array(j, "activities");
    for (size_t i = 0; i < a->count; i++)
        if (root == ACTIVITY_NONE || root == (long)i || a->list[i].parent == root)
            activity_json(j, a, (long)i, v);
    json_array_end(j);
    json_array(j, "transfers");
    for (size_t i = 0; i < a->transfers; i++) {
        const struct transfer *t = &a->transfer[i];
        json_object(j, NULL);
        json_text(j, "from", guid_format(&a->list[t->from].id, guid));
        json_text(j, "to", guid_format(&a->list[t->to].id, guid));
        view_json_seconds(j, "first", v, t->first);
        json_number(j, "count", t->count);
        json_number(j, "process", t->pid);
        json_number(j, "file", t->file);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
    json_destroy(j);
}

static void activity_line(const struct activities *a, long at, unsigned depth, const struct analyse_view *v)
{
    const struct activity *x = &a->list[at];
    char                   guid[GUID_TEXT_SIZE], first[32], span[32];

    visible_printf(stdout, "%*s%s ", (int)(depth > 40 ? 40 : depth) * 2, "", guid_format(&x->id, guid));
    if (x->told_only) {
        printf("(no event of its own)\n");
        return;
    }
    visible_printf(stdout, "%s%s%s at %s s, %s, %" PRIu64 " event%s, in", x->first_event,
                   *x->first_channel ? " channel=" : "", x->first_channel, view_seconds(v, x->first, first),
                   view_span(x->last - x->first, span), x->events, plural(x->events));
    for (unsigned i = 0; i < x->processes; i++)
        visible_printf(stdout, "%s %s%s%" PRIu32, i ? "," : "", x->process[i].name, *x->process[i].name ? " " : "",
                       x->process[i].pid);
    if (v->file_count > 1)
        for (unsigned i = 0, n = 0; i < v->file_count; i++)
            if (x->files >> i & 1)
                visible_printf(stdout, "%s%s", n++ ? ", " : "; ", v->files[i]);
    putchar('\n');
}

/* Without recursion: the trace determines the depth. */
static void activity_tree(const struct activities *a, long root, const struct analyse_view *v)
{
    unsigned depth = 0;

    for (long at = root; at != ACTIVITY_NONE;) {
        activity_line(a, at, depth, v);
        if (a->list[at].child != ACTIVITY_NONE) {
            at = a->list[at].child;
            depth++;
            continue;
        }
        while (at != root && a->list[at].next == ACTIVITY_NONE) {
            at = a->list[at].parent;
            depth--;
        }
        at = at == root ? ACTIVITY_NONE : a->list[at].next;
    }
}

void activities_view(const struct activities *a, const struct guid *only, const struct analyse_view *v)
{
    long root = only ? activities_find(a, only) : ACTIVITY_NONE;

    if (v->json) {
        activities_json(a, root, v);
        return;
    }
    visible_printf(stdout, "%zu activit%s in %" PRIu64 " of %" PRIu64 " events, %zu transfer%s\n", a->count,
                   a->count == 1 ? "y" : "ies", a->with_activity, a->events, a->transfers, plural(a->transfers));
    if (root != ACTIVITY_NONE) {
        activity_tree(a, root, v);
        return;
    }
    size_t shown = 0, roots = 0;
    for (size_t i = 0; i < a->count; i++) {
        if (a->list[i].parent != ACTIVITY_NONE)
            continue;
        if (!v->rows || shown < v->rows) {
            activity_tree(a, (long)i, v);
            shown++;
        }
        roots++;
    }
    if (shown < roots)
        printf("and %zu more\n", roots - shown);
}

/* --- state --- */

static const char *const io_words[] = {[IO_READ] = "read", [IO_WRITE] = "write", [IO_FLUSH] = "flush"};

static void cpu_json(struct json *j, const struct traced *m, unsigned cpu, const struct analyse_view *v)
{
    const struct traced_cpu *c = &m->cpu[cpu];
    if (!c->known)
        return;
    json_object(j, NULL);
    json_number(j, "cpu", cpu);
    if (c->tid == TRACED_NOBODY) {
        json_text(j, "thread", NULL);
    } else {
        const struct traced_thread *t = traced_thread(m, c->tid);
        json_number(j, "thread", c->tid);
        json_number(j, "process", t ? t->pid : TRACED_NOBODY);
        json_text(j, "name", traced_process_name(m, t ? t->pid : TRACED_NOBODY));
        json_text(j, "thread_name", t ? t->name : "");
    }
    view_json_seconds(j, "since", v, c->since);
    json_object_end(j);
}

static void processes_json(struct json *j, const struct traced *m, const struct analyse_view *v)
{
    json_array(j, "processes");
    for (unsigned i = 0; i < m->process_count; i++) {
        const struct traced_process *p = m->process[i];
        if (p->ended || !p->seen)
            continue;
        json_object(j, NULL);
        json_number(j, "process", p->pid);
        json_number(j, "parent", p->parent);
        json_text(j, "name", p->image);
        json_text(j, "command", p->command);
        if (p->started)
            view_json_seconds(j, "started", v, p->started);
        json_real(j, "cpu_us", (double)p->cpu / 10);
        json_object_end(j);
    }
    json_array_end(j);
}

static void files_json(struct json *j, const struct traced *m, const struct analyse_view *v)
{
    json_array(j, "open_files");
    for (size_t i = 0; i < m->files.capacity; i++) {
        const struct traced_file *f = m->files.slot[i].value;
        if (!f || !f->open)
            continue;
        const struct traced_thread *t = traced_thread(m, f->tid);
        json_object(j, NULL);
        json_text(j, "path", f->path);
        json_number(j, "thread", f->tid);
        json_number(j, "process", t ? t->pid : TRACED_NOBODY);
        view_json_seconds(j, "opened", v, f->opened);
        json_object_end(j);
    }
    json_array_end(j);
    json_array(j, "file_operations");
    for (size_t i = 0; i < m->operations.capacity; i++) {
        const struct traced_operation *o    = m->operations.slot[i].value;
        const char                    *path = o ? traced_file_path(m, o->object) : NULL;
        if (!o)
            continue;
        json_object(j, NULL);
        json_number(j, "opcode", o->opcode);
        json_number(j, "thread", o->tid);
        json_text(j, "path", path);
        json_number(j, "bytes", o->bytes);
        view_json_seconds(j, "since", v, o->since);
        json_object_end(j);
    }
    json_array_end(j);
}

static void moment_json(const struct moment *m, const struct analyse_view *v)
{
    struct json *j = view_json(v, "state");
    if (!j)
        return;
    view_json_seconds(j, "at", v, m->at);
    json_number(j, "events_before", m->events_before);
    json_number(j, "events_after", m->events_after);
    json_array(j, "cpus");
    for (unsigned i = 0; i < m->machine.cpus; i++)
        cpu_json(j, &m->machine, i, v);
    json_array_end(j);
    processes_json(j, &m->machine, v);
    files_json(j, &m->machine, v);
    json_array(j, "transfers");
    for (unsigned i = 0; i < m->ios; i++) {
        const struct moment_io *io = &m->io[i];
        json_object(j, NULL);
        json_text(j, "kind", io_words[io->kind]);
        if (io->ended) {
            json_number(j, "disk", io->disk);
            json_number(j, "bytes", io->bytes);
        }
        json_number(j, "thread", io->tid);
        view_json_seconds(j, "since", v, io->since);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
    json_destroy(j);
}

static void cpus_print(const struct traced *m, const struct analyse_view *v)
{
    char at[32];

    for (unsigned i = 0; i < m->cpus; i++) {
        const struct traced_cpu    *c = &m->cpu[i];
        const struct traced_thread *t = c->known && c->tid != TRACED_NOBODY ? traced_thread(m, c->tid) : NULL;
        if (!c->known)
            continue;
        printf("cpu %u: ", i);
        if (!t)
            printf("not known: a context switch is missing");
        else if (t->tid == 0)
            printf("idle");
        else
            visible_printf(stdout, "%s process %" PRIu32 " thread %" PRIu32 "%s%s", traced_process_name(m, t->pid),
                           t->pid, t->tid, *t->name ? " " : "", t->name);
        visible_printf(stdout, ", since %s s\n", view_seconds(v, c->since, at));
    }
    if (!m->switches)
        printf("processors: not known. Do: trace with the kernel flag CSWITCH\n");
}

static int by_pid(const void *a, const void *b)
{
    const struct traced_process *x = *(struct traced_process *const *)a, *y = *(struct traced_process *const *)b;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void processes_print(struct traced *m, const struct analyse_view *v)
{
    static const char *const titles[] = {"process", "parent", "name", "started (s)", "CPU", "command", NULL};
    struct text_table        t        = {0};
    unsigned                 live     = 0;

    for (unsigned i = 0; i < m->process_count; i++)
        live += !m->process[i]->ended && m->process[i]->seen;
    visible_printf(stdout, "\n%u live process%s\n", live, live == 1 ? "" : "es");
    if (m->process_count)
        qsort(m->process, m->process_count, sizeof *m->process, by_pid);
    text_table_init(&t, titles);
    t.right = 0x1B;
    for (unsigned i = 0, shown = 0; i < m->process_count; i++) {
        const struct traced_process *p = m->process[i];
        char                         pid[32], parent[32], at[32], span[32], command[80];
        if (p->ended || !p->seen || (v->rows && shown++ >= v->rows))
            continue;
        text_table_row(&t, view_number(p->pid, pid), p->parent == TRACED_NOBODY ? "-" : view_number(p->parent, parent),
                       p->image, p->started ? view_seconds(v, p->started, at) : "before", view_span(p->cpu, span),
                       text_table_cut(p->command, 60, command, sizeof command));
    }
    text_table_print(&t, stdout);
    text_table_finish(&t);
}

void moment_view(struct moment *m, const struct analyse_view *v)
{
    char     at[32];
    unsigned open = 0;

    if (v->json) {
        moment_json(m, v);
        return;
    }
    visible_printf(stdout, "at %s s: %" PRIu64 " events before, %" PRIu64 " after\n", view_seconds(v, m->at, at),
                   m->events_before, m->events_after);
    cpus_print(&m->machine, v);
    processes_print(&m->machine, v);
    for (size_t i = 0; i < m->machine.files.capacity; i++)
        open += m->machine.files.slot[i].value && ((struct traced_file *)m->machine.files.slot[i].value)->open;
    printf("\n%u files that were opened since the start are open\n", open);
    for (size_t i = 0, shown = 0; i < m->machine.files.capacity; i++) {
        const struct traced_file *f = m->machine.files.slot[i].value;
        if (f && f->open && (!v->rows || shown++ < v->rows))
            visible_printf(stdout, "  %s, by thread %" PRIu32 " at %s s\n", f->path, f->tid,
                           view_seconds(v, f->opened, at));
    }
    printf("%zu file system calls had not returned\n", m->machine.operations.count);
    for (size_t i = 0, shown = 0; i < m->machine.operations.capacity; i++) {
        const struct traced_operation *o = m->machine.operations.slot[i].value;
        if (o && (!v->rows || shown++ < v->rows)) {
            const char *path = traced_file_path(&m->machine, o->object);
            visible_printf(stdout, "  of thread %" PRIu32 " on %s, since %s s\n", o->tid, path ? path : "(no name)",
                           view_seconds(v, o->since, at));
        }
    }
    visible_printf(stdout, "%u transfer%s in flight\n", m->ios, plural(m->ios));
    for (unsigned i = 0; i < m->ios && (!v->rows || i < v->rows); i++) {
        visible_printf(stdout, "  %s", io_words[m->io[i].kind]);
        if (m->io[i].ended)
            printf(" of %" PRIu32 " bytes, disk %" PRIu32, m->io[i].bytes, m->io[i].disk);
        visible_printf(stdout, ", since %s s\n", view_seconds(v, m->io[i].since, at));
    }
}
