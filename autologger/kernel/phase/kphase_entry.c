/* kphase_entry.c - makes raw records of the trace buffer's entries: stacks, tasks and their names, order near the seam.
 * See kphase.h. Records carry the trace clock here; kphase_join brings them to CLOCK_MONOTONIC_RAW. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/phase/kphase.h"
#include "autologger/kernel/source/sources.h"
#include "registry-sim/base/unset.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum {
    KTHREADD        = 2,
    SYSTEM_PID      = 4,
    RECORD_MAX      = 32768,
    CONTEXT_BYTES   = 8,
    CLONE_IS_THREAD = 0x00010000,
    END_RESERVE     = 65536 + 8192
};

/* ---- records into the log ---- */

void kphase_chunk_end(struct kphase *p)
{
    struct raw_chunk chunk = {RAW_CHUNK_MAGIC, p->chunk_used, (uint16_t)p->chunk_cpu, RAW_CHUNK_PERF, p->chunk_records};
    if (p->chunk_used) {
        rawlog_append(p->log, &chunk, sizeof chunk);
        rawlog_append(p->log, p->chunk, p->chunk_used);
    }
    p->chunk_used = p->chunk_records = 0;
}

/* The bytes in the chunk count as used; room is kept for the end of the import and of a pass. */
bool kphase_room(struct kphase *p, size_t bytes)
{
    return rawlog_room(p->log) >= p->chunk_used + bytes + 2 * sizeof(struct raw_chunk) + END_RESERVE;
}

void kphase_put(struct kphase *p, unsigned cpu, unsigned source, const uint8_t *record, uint32_t size)
{
    if (!kphase_room(p, size)) {
        loss_memory(p->log, cpu, source, 1, raw_now());
        return;
    }
    if (p->chunk_used && (p->chunk_cpu != cpu || p->chunk_used + size > KPHASE_CHUNK))
        kphase_chunk_end(p);
    p->chunk_cpu = cpu;
    memcpy(p->chunk + p->chunk_used, record, size);
    p->chunk_used += size;
    p->chunk_records++;
    p->log->work->drained[source]++;
    p->cpu[cpu].kept++;
}

static bool kphase_entry_grow(void **at, size_t *capacity, size_t need, size_t item)
{
    size_t n = *capacity;
    while (n < need)
        n = n ? n * 2 : 256;
    void *q = n == *capacity ? *at : realloc(*at, n * item);
    if (!q)
        return false;
    *at       = q;
    *capacity = n;
    return true;
}

/* An entry before tail_from goes to the log. A later one may be in perf too: it waits for the seam. */
static void put_timed(struct kphase *p, unsigned cpu, unsigned source, uint64_t time, uint64_t hash,
                      const uint8_t *record, uint32_t size)
{
    struct kphase_cpu *c = &p->cpu[cpu];
    if (time < p->tail_from) {
        kphase_put(p, cpu, source, record, size);
        return;
    }
    void *late = c->late, *bytes = c->tail_bytes;
    bool  room    = kphase_entry_grow(&late, &c->late_capacity, c->late_count + 1, sizeof *c->late);
    c->late       = late;
    room          = room && kphase_entry_grow(&bytes, &c->tail_capacity, c->tail_used + size, 1);
    c->tail_bytes = bytes;
    if (!room) {
        loss_memory(p->log, cpu, source, 1, raw_now());
        return;
    }
    c->late[c->late_count++] = (struct kphase_late){time, hash, (uint32_t)c->tail_used, size, (uint8_t)source, 0};
    memcpy(c->tail_bytes + c->tail_used, record, size);
    c->tail_used += size;
}

void kphase_late_append(struct kphase *p, unsigned cpu)
{
    const struct kphase_cpu *c = &p->cpu[cpu];
    for (size_t i = 0; i < c->late_count; i++)
        if (c->late[i].drop)
            p->sum.late++;
        else
            kphase_put(p, cpu, c->late[i].source, c->tail_bytes + c->late[i].at, c->late[i].size);
}

/* The hash that the seam compares; 0 before tail_from, where it is not needed. */
static uint64_t late_hash(const struct kphase *p, unsigned source, const struct trace_entry *e)
{
    return e->time < p->tail_from ? 0 : seam_hash(&p->source[source], e->data, e->size);
}

/* ---- the shapes of perf ---- */

struct frames {
    const uint8_t *at;
    uint32_t       count;
}; /* unaligned */

static void put_sample(struct kphase *p, unsigned cpu, unsigned source, uint64_t time, const struct kphase_task *task,
                       uint32_t tid, const uint8_t *data, uint32_t size, struct frames frames)
{
    UNSET uint8_t            bytes[RECORD_MAX + 4096];
    struct writer            w      = wr_make(bytes, sizeof bytes);
    struct perf_event_header h      = {PERF_RECORD_SAMPLE, 0, 0};
    uint32_t                 padded = ((size + 4 + 7) & ~7u) - 4;
    if (size > RECORD_MAX) {
        p->sum.damaged++;
        return;
    }
    wr_bytes(&w, &h, sizeof h);
    wr_u64(&w, rawlog_ids(p->log, cpu)[source]);
    wr_u32(&w, task ? task->pid : tid);
    wr_u32(&w, tid);
    wr_u64(&w, time);
    wr_u64(&w, cpu);
    if (p->source[source].flags & RAW_SOURCE_CHAIN) {
        wr_u64(&w, frames.count ? frames.count + 1 : 0);
        if (frames.count)
            wr_u64(&w, (uint64_t)PERF_CONTEXT_KERNEL);
        wr_bytes(&w, frames.at, frames.count * sizeof(uint64_t));
    }
    wr_u32(&w, padded);
    wr_bytes(&w, data, size);
    while (w.pos % 8)
        wr_u8(&w, 0);
    h.size = (uint16_t)w.pos;
    memcpy(bytes, &h, sizeof h);
    put_timed(p, cpu, source, time, late_hash(p, source, &(struct trace_entry){time, data, size}), bytes, h.size);
}

static void wr_trailer(struct writer *w, uint32_t pid, uint32_t tid, uint64_t time, unsigned cpu, uint64_t id)
{
    wr_u32(w, pid);
    wr_u32(w, tid);
    wr_u64(w, time);
    wr_u64(w, cpu);
    wr_u64(w, id);
}

static void put_task_record(struct kphase *p, unsigned cpu, unsigned source, uint64_t time, uint32_t type,
                            const uint32_t ids[4], uint64_t hash)
{
    struct {
        struct perf_event_header h;
        uint32_t                 ids[4];
        uint64_t                 time;
    } head = {{type, 0, sizeof head + TRAILER_SIZE}, {0}, time};
    uint8_t       bytes[sizeof head + TRAILER_SIZE];
    struct writer w = wr_make(bytes, sizeof bytes);
    memcpy(head.ids, ids, sizeof head.ids);
    wr_bytes(&w, &head, sizeof head);
    wr_trailer(&w, ids[0], ids[2], time, cpu, rawlog_ids(p->log, cpu)[source]);
    put_timed(p, cpu, source, time, hash, bytes, (uint32_t)w.pos);
}

static void put_comm(struct kphase *p, unsigned cpu, unsigned source, uint64_t time, const struct kphase_task *t,
                     uint64_t hash)
{
    struct {
        struct perf_event_header h;
        uint32_t                 pid, tid;
        char                     comm[16];
    } head = {{PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, sizeof head + TRAILER_SIZE}, t->pid, t->tid, ""};
    uint8_t       bytes[sizeof head + TRAILER_SIZE];
    struct writer w = wr_make(bytes, sizeof bytes);
    memcpy(head.comm, t->name, sizeof head.comm);
    wr_bytes(&w, &head, sizeof head);
    wr_trailer(&w, t->pid, t->tid, time, cpu, rawlog_ids(p->log, cpu)[source]);
    put_timed(p, cpu, source, time, hash, bytes, (uint32_t)w.pos);
}

/* ---- fields ---- */

static int64_t kphase_entry_field(const struct raw_source *s, unsigned i, const uint8_t *data, uint32_t size)
{
    struct sample sample = {.source = s, .raw = data, .raw_size = size};
    return sample_field(&sample, i);
}

/* A text, inline or as __data_loc; at most `room` - 1 characters and a NUL. */
static void field_text(const struct raw_source *s, unsigned i, const uint8_t *data, uint32_t size, char *out,
                       size_t room)
{
    const struct raw_field *f    = &s->field[i];
    uint32_t                from = f->offset, length = f->size;
    memset(out, 0, room);
    if (f->offset == RAW_NO_FIELD || (uint32_t)f->offset + f->size > size)
        return;
    if (f->size == 4) {
        uint32_t where = (uint32_t)kphase_entry_field(s, i, data, size);
        from           = where & 0xFFFF;
        length         = where >> 16;
    }
    if (from + length > size)
        return;
    length = length < room - 1 ? length : (uint32_t)room - 1;
    memcpy(out, data + from, strnlen((const char *)data + from, length));
}

/* ---- tasks ---- */

static struct kphase_task *task_get(struct kphase *p, uint32_t tid)
{
    struct kphase_task *t = tid ? idmap_get(&p->tasks, tid) : NULL;
    struct proc_stat    st;
    if (t || !tid || !(t = calloc(1, sizeof *t)))
        return t;
    *t = (struct kphase_task){.tid = tid, .pid = tid};
    if (p->proc >= 0 && proc_stat(p->proc, tid, 0, &st)) { /* its fork was not recorded: it may still exist */
        uint32_t tgid = proc_tgid(p->proc, tid);
        t->kernel     = st.kernel_thread;
        t->pid        = st.kernel_thread ? SYSTEM_PID : tgid ? tgid : tid;
    }
    if (idmap_put(&p->tasks, tid, t))
        return t;
    free(t);
    return NULL;
}

/* An entry gives a task's name: adds a record when the name is new. */
static void task_named(struct kphase *p, unsigned cpu, uint64_t time, uint32_t tid, const char *name, int64_t prio)
{
    struct kphase_task *t = task_get(p, tid);
    if (!t || !*name || strncmp(t->name, name, sizeof t->name) == 0)
        return;
    memcpy(t->name, name, strnlen(name, sizeof t->name - 1));
    memset(t->name + strnlen(name, sizeof t->name - 1), 0, sizeof t->name - strnlen(name, sizeof t->name - 1));
    void *names = p->name;
    bool  room  = kphase_entry_grow(&names, &p->name_capacity, p->names + 1, sizeof *p->name);
    p->name     = names;
    if (!room)
        return;
    struct kphase_name *n = &p->name[p->names++];
    *n                    = (struct kphase_name){cpu,
                                                 {.own   = {RAW_NAME, 0, sizeof n->record, time ? time - 1 : 0, t->pid, tid},
                                                  .flags = t->kernel ? RAW_PROCESS_KERNEL : 0,
                                                  .prio  = (int32_t)prio}};
    memcpy(n->record.name, t->name, sizeof n->record.name);
}

static void kphase_entry_on_fork(struct kphase *p, unsigned cpu, unsigned source, const struct trace_entry *e)
{
    const struct raw_source *s    = &p->source[source];
    uint32_t                 ptid = (uint32_t)kphase_entry_field(s, F_FORK_PARENT, e->data, e->size);
    uint32_t                 tid  = (uint32_t)kphase_entry_field(s, F_FORK_CHILD, e->data, e->size);
    char                     name[16];
    if (!tid) { /* the idle task is no child */
        p->sum.damaged++;
        return;
    }
    field_text(s, F_FORK_PARENT_COMM, e->data, e->size, name, sizeof name);
    task_named(p, cpu, e->time, ptid, name, 120);
    struct kphase_task *parent = task_get(p, ptid), *child = idmap_get(&p->tasks, tid);
    bool                thread = child && child->thread;
    if (!child && (child = calloc(1, sizeof *child)) && !idmap_put(&p->tasks, tid, child)) {
        free(child);
        child = NULL;
    }
    uint32_t ids[4] = {tid, parent ? parent->kernel ? ptid : parent->pid : ptid, tid, ptid};
    if (child) {
        bool kernel = tid == KTHREADD || ptid == KTHREADD;
        *child      = (struct kphase_task){.tid = tid, .pid = kernel ? SYSTEM_PID : tid, .kernel = kernel};
        if (thread && parent && !kernel)
            ids[0] = child->pid = parent->pid;
        if (parent)
            memcpy(child->name, parent->name, sizeof child->name); /* as the converter does */
    }
    put_task_record(p, cpu, source, e->time, PERF_RECORD_FORK, ids, late_hash(p, source, e));
}

static void on_newtask(struct kphase *p, unsigned source, const struct trace_entry *e)
{
    const struct raw_source *s   = &p->source[source];
    uint32_t                 tid = (uint32_t)kphase_entry_field(s, F_NEWTASK_PID, e->data, e->size);
    struct kphase_task      *t   = task_get(p, tid); /* a new task: an older one of that number has ended */
    if (t)
        t->thread = kphase_entry_field(s, F_NEWTASK_FLAGS, e->data, e->size) & CLONE_IS_THREAD;
    p->sum.absorbed++;
}

static void on_exec(struct kphase *p, unsigned cpu, unsigned source, const struct trace_entry *e)
{
    const struct raw_source *s   = &p->source[source];
    uint32_t                 tid = (uint32_t)kphase_entry_field(s, F_EXEC_PID, e->data, e->size);
    struct kphase_task      *t   = task_get(p, tid);
    char                     path[256];
    if (!t) {
        p->sum.damaged++;
        return;
    }
    field_text(s, F_EXEC_FILENAME, e->data, e->size, path, sizeof path);
    const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : path;
    *t = (struct kphase_task){.tid = tid, .pid = tid};
    memcpy(t->name, base, strnlen(base, sizeof t->name - 1));
    void *execs = p->exec;
    bool  room  = kphase_entry_grow(&execs, &p->exec_capacity, p->execs + 1, sizeof *p->exec);
    p->exec     = execs;
    if (room) {
        struct kphase_exec *x = &p->exec[p->execs];
        *x                    = (struct kphase_exec){.time = e->time, .cpu = cpu, .pid = tid, .tid = tid};
        for (size_t i = 0; i < p->execs; i++) /* only the last program of a process may still run */
            if (p->exec[i].pid == tid)
                (p->exec[i].time <= e->time ? &p->exec[i] : x)->before = true;
        p->execs++;
        memcpy(x->name, base, strnlen(base, sizeof x->name - 1));
    }
    put_comm(p, cpu, source, e->time, t, late_hash(p, source, e));
}

static void on_task_exit(struct kphase *p, unsigned cpu, unsigned source, const struct trace_entry *e)
{
    uint32_t            tid    = (uint32_t)kphase_entry_field(&p->source[source], F_EXIT_PID, e->data, e->size);
    struct kphase_task *t      = task_get(p, tid);
    uint32_t            ids[4] = {t && !t->kernel ? t->pid : tid, 0, tid, 0};
    put_task_record(p, cpu, source, e->time, PERF_RECORD_EXIT, ids, late_hash(p, source, e));
    free(idmap_remove(&p->tasks, tid));
}

static void kphase_entry_function_add(struct kphase *p, uint64_t address)
{
    if (address)
        idmap_put(&p->functions, address, p); /* a set; without memory the name is missing */
}

/* ---- one entry ---- */

static void put_entry(struct kphase *p, unsigned cpu, const struct kphase_wait *w, const uint8_t *data,
                      struct frames frames)
{
    int32_t tid;
    memcpy(&tid, data + 4, sizeof tid);
    put_sample(p, cpu, w->source, w->time, task_get(p, (uint32_t)tid), (uint32_t)tid, data, w->size, frames);
}

/* Puts the oldest waiting entry, with its stack if that was read. */
static void wait_shift(struct kphase *p, unsigned cpu)
{
    struct kphase_cpu        *c = &p->cpu[cpu];
    const struct kphase_wait *w = &c->wait[c->wait_head];
    put_entry(p, cpu, w, w->data, (struct frames){(const uint8_t *)w->frame, w->frames});
    c->wait_head = (c->wait_head + 1) % KPHASE_WAITS;
    c->waits--;
}

/* A stack belongs to the last entry of the same task in the same context: an interrupt may have put its own in between.
 * Entries are put in their order: an interrupted entry comes before those of the interrupt. */
static void kphase_entry_on_stack(struct kphase *p, unsigned cpu, const struct trace_entry *e)
{
    struct kphase_cpu *c     = &p->cpu[cpu];
    struct raw_source  shape = {.field = {p->stack_size}};
    int64_t            said  = kphase_entry_field(&shape, 0, e->data, e->size);
    uint32_t           from = p->stack_frames.offset, frames = e->size > from ? (e->size - from) / 8 : 0;
    p->sum.absorbed++;
    if (said >= 0 && said < frames)
        frames = (uint32_t)said;
    if (frames > KPHASE_FRAMES)
        frames = KPHASE_FRAMES;
    for (unsigned i = c->waits; i-- > 0;) {
        struct kphase_wait *w = &c->wait[(c->wait_head + i) % KPHASE_WAITS];
        if (w->done || memcmp(w->data + 2, e->data + 2, TRACE_ENTRY_HEAD - 2) != 0)
            continue;
        memcpy(w->frame, e->data + (frames ? from : 0), frames * sizeof *w->frame);
        w->frames = frames;
        w->done   = true;
        break;
    }
    while (c->waits && c->wait[c->wait_head].done)
        wait_shift(p, cpu);
}

/* KPHASE_MARK MARKER NUMBER, as kphase_sync writes it */
static void on_mark(struct kphase *p, const struct trace_entry *e)
{
    char     text[64], *end;
    uint32_t from = p->mark_text.offset, length = e->size > from ? e->size - from : 0;
    p->sum.absorbed++;
    length = length < sizeof text - 1 ? length : sizeof text - 1;
    memcpy(text, e->data + (length ? from : 0), length);
    text[length] = 0;
    if (strncmp(text, KPHASE_MARK, strlen(KPHASE_MARK)) != 0)
        return;
    uint64_t marker = strtoull(text + strlen(KPHASE_MARK), &end, 16), number = strtoull(end, NULL, 10);
    if (marker == p->marker && number < p->syncs)
        p->sync[number].trace = e->time;
}

static void kphase_entry_on_switch(struct kphase *p, unsigned cpu, const struct raw_source *s,
                                   const struct trace_entry *e)
{
    char name[16];
    field_text(s, F_SWITCH_PREV_COMM, e->data, e->size, name, sizeof name);
    task_named(p, cpu, e->time, (uint32_t)kphase_entry_field(s, F_SWITCH_PREV_PID, e->data, e->size), name,
               kphase_entry_field(s, F_SWITCH_PREV_PRIO, e->data, e->size));
    field_text(s, F_SWITCH_NEXT_COMM, e->data, e->size, name, sizeof name);
    task_named(p, cpu, e->time, (uint32_t)kphase_entry_field(s, F_SWITCH_NEXT_PID, e->data, e->size), name,
               kphase_entry_field(s, F_SWITCH_NEXT_PRIO, e->data, e->size));
}

static void on_entry(struct kphase *p, unsigned cpu, const struct trace_entry *e)
{
    struct kphase_cpu *c = &p->cpu[cpu];
    uint16_t           id;
    memcpy(&id, e->data, sizeof id);
    c->first        = c->seen++ ? c->first : e->time;
    unsigned source = p->by_id[id];
    if (id == p->stack_id || id == p->mark_id || !source) {
        if (id == p->stack_id)
            kphase_entry_on_stack(p, cpu, e);
        else if (id == p->mark_id)
            on_mark(p, e);
        else
            p->sum.absorbed++;
        return;
    }
    const struct raw_source *s = &p->source[source];
    switch (s->kind) {
    case SRC_FORK: kphase_entry_on_fork(p, cpu, source, e); return;
    case SRC_EXIT: on_task_exit(p, cpu, source, e); return;
    case SRC_EXEC: on_exec(p, cpu, source, e); return;
    case SRC_NEWTASK: on_newtask(p, source, e); return;
    case SRC_INITCALL_START:
        kphase_entry_function_add(p, (uint64_t)kphase_entry_field(s, F_INITCALL_FUNC, e->data, e->size));
        break;
    case SRC_SWITCH: kphase_entry_on_switch(p, cpu, s, e); break;
    default: break;
    }
    bool               waits = (s->flags & RAW_SOURCE_CHAIN) && e->size <= sizeof c->wait->data;
    struct kphase_wait one, *w = &one;
    if (waits && c->waits == KPHASE_WAITS)
        wait_shift(p, cpu);
    if (waits)
        w = &c->wait[(c->wait_head + c->waits++) % KPHASE_WAITS];
    w->time   = e->time;
    w->source = source;
    w->size   = e->size;
    w->frames = 0;
    w->done   = false;
    if (waits)
        memcpy(w->data, e->data, e->size);
    else
        put_entry(p, cpu, w, e->data, (struct frames){0});
}

void kphase_page(struct kphase *p, unsigned cpu, const void *bytes, size_t size)
{
    struct trace_page  page;
    struct trace_entry e;
    if (cpu >= p->cpus || !trace_page_begin(&page, bytes, size))
        return; /* its entries become `damaged`: see cpu_read */
    while (trace_page_next(&page, &e))
        on_entry(p, cpu, &e);
}

void kphase_cpu_end(struct kphase *p, unsigned cpu)
{
    while (p->cpu[cpu].waits)
        wait_shift(p, cpu);
    kphase_chunk_end(p);
}
