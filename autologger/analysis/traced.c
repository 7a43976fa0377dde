#include "autologger/analysis/traced.h"

#include "autologger/schema/classic.h"
#include "autologger/consumer/classic_event.h"
#include "registry-sim/base/cursor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_CALLS_END = HOOK_FILE_SET_LINK_PATH };

static uint64_t pointer(struct cursor *c, const struct etl_event *e) { return e->is_64bit ? cur_u64(c) : cur_u32(c); }

static char *traced_copy(struct traced *m, const char *text)
{
    char *out = strdup(text);
    m->failed |= !out;
    return out;
}

/* --- processes and threads --- */

struct traced_thread *traced_thread(const struct traced *m, uint32_t tid)
{
    return idmap_get(&m->threads, tid + UINT64_C(1));
}
struct traced_process *traced_process(const struct traced *m, uint32_t pid)
{
    return idmap_get(&m->processes, pid + UINT64_C(1));
}

static struct traced_process *new_process(struct traced *m, uint32_t pid)
{
    if (m->process_count == m->process_capacity) {
        unsigned capacity = m->process_capacity ? m->process_capacity * 2 : 64;
        void    *grown    = realloc(m->process, capacity * sizeof *m->process);
        if (!grown) {
            m->failed = true;
            return NULL;
        }
        m->process          = grown;
        m->process_capacity = capacity;
    }
    struct traced_process *p = calloc(1, sizeof *p);
    if (!p || !idmap_put(&m->processes, pid + UINT64_C(1), p)) {
        m->failed = true;
        free(p);
        return NULL;
    }
    p->pid                         = pid;
    p->parent                      = TRACED_NOBODY;
    p->image                       = traced_copy(m, "");
    p->command                     = traced_copy(m, "");
    m->process[m->process_count++] = p;
    return p;
}

static struct traced_process *process_at(struct traced *m, uint32_t pid)
{
    struct traced_process *p = traced_process(m, pid);
    return p ? p : new_process(m, pid);
}

static struct traced_thread *thread_at(struct traced *m, uint32_t tid)
{
    struct traced_thread *t = traced_thread(m, tid);

    if (t)
        return t;
    if (!(t = calloc(1, sizeof *t)) || !idmap_put(&m->threads, tid + UINT64_C(1), t)) {
        m->failed = true;
        free(t);
        return NULL;
    }
    t->tid       = tid;
    t->pid       = tid == 0 ? 0 : TRACED_NOBODY;
    t->cpu_index = -1;
    return t;
}

static void set_text(struct traced *m, char **where, const char *text)
{
    char *made = *text ? traced_copy(m, text) : NULL;
    if (!made)
        return;
    free(*where);
    *where = made;
}

static void close_all(struct traced *m, uint32_t pid);

static void traced_on_process(struct traced *m, const struct etl_event *e, const struct decoded *names, uint16_t hook)
{
    static const char *const wanted[] = {"ProcessId", "ParentId", "ImageFileName", "CommandLine", NULL};

    if (!fields_read(&m->fields, e, names, wanted))
        return;
    uint32_t               pid = (uint32_t)fields_number(&m->fields, 0);
    struct traced_process *p   = traced_process(m, pid);
    /* the id is used again; an exec is an end and a start */
    if (hook == HOOK_PROCESS_START && p && (p->ended || p->started))
        p = NULL;
    if (!p && !(p = new_process(m, pid)))
        return;
    p->seen   = true;
    p->parent = (uint32_t)fields_number(&m->fields, 1);
    set_text(m, &p->image, fields_text(&m->fields, 2));
    set_text(m, &p->command, fields_text(&m->fields, 3));
    if (hook == HOOK_PROCESS_START) {
        p->started = e->filetime;
        p->ended   = 0;
    } else if (hook == HOOK_PROCESS_END) {
        p->ended = e->filetime;
        close_all(m, pid);
    }
}

static void traced_on_thread(struct traced *m, const struct etl_event *e, const struct decoded *names, uint16_t hook)
{
    static const char *const wanted[] = {"TThreadId", "ProcessId", "ThreadName", NULL};
    static const char *const named[]  = {"ThreadId", "ProcessId", "ThreadName", NULL};

    if (!fields_read(&m->fields, e, names, hook == HOOK_THREAD_SET_NAME ? named : wanted))
        return;
    struct traced_thread *t = thread_at(m, (uint32_t)fields_number(&m->fields, 0));
    if (!t)
        return;
    t->pid     = (uint32_t)fields_number(&m->fields, 1);
    t->process = process_at(m, t->pid);
    if (*fields_text(&m->fields, 2))
        snprintf(t->name, sizeof t->name, "%s", fields_text(&m->fields, 2));
    if (hook == HOOK_THREAD_START) { /* the id may be used again */
        t->ended  = false;
        t->cpu    = 0;
        t->since  = e->filetime;
        t->waited = 0;
    } else if (hook == HOOK_THREAD_END) {
        t->ended = true;
    }
}

/* --- processors --- */

static struct traced_cpu *traced_cpu_at(struct traced *m, unsigned cpu)
{
    if (cpu >= m->cpus) {
        struct traced_cpu *grown = realloc(m->cpu, (cpu + 1ul) * sizeof *grown);
        if (!grown) {
            m->failed = true;
            return NULL;
        }
        m->cpu = grown;
        while (m->cpus <= cpu)
            m->cpu[m->cpus++] = (struct traced_cpu){.tid = TRACED_NOBODY};
    }
    return &m->cpu[cpu];
}

static void traced_charge(struct traced *m, const struct traced_cpu *c, uint64_t until)
{
    if (!c->known || until <= c->since)
        return;
    struct traced_thread *t = c->tid == TRACED_NOBODY ? NULL : traced_thread(m, c->tid);
    if (!t || t->cpu_index < 0) {
        m->unknown_cpu += until - c->since;
        return;
    }
    t->cpu += until - c->since;
    if ((!t->process || t->process->ended) && t->pid != TRACED_NOBODY) /* after an exec it has another process */
        t->process = process_at(m, t->pid);
    *(t->process ? &t->process->cpu : &m->unknown_cpu) += until - c->since;
}

/* The thread runs there no longer. The time of its switch is unknown. */
static void traced_lose(struct traced_thread *lost, unsigned cpu)
{
    if (!lost || !lost->tid || lost->cpu_index != (int)cpu)
        return;
    lost->cpu_index = -1;
    lost->since     = 0;
    lost->gaps++;
}

void traced_runs(struct traced *m, const struct etl_event *e)
{
    struct traced_cpu *cpu = e->cpu < m->cpus ? &m->cpu[e->cpu] : NULL;
    if (!cpu || !cpu->known || cpu->tid == e->thread_id || e->thread_id == TRACED_NOBODY || !e->thread_id)
        return;
    struct traced_thread *in = thread_at(m, e->thread_id);
    if (!in)
        return;
    m->missing_switches++;
    traced_lose(cpu->tid == TRACED_NOBODY ? NULL : traced_thread(m, cpu->tid), e->cpu);
    cpu->tid = TRACED_NOBODY;
    traced_charge(m, cpu, e->filetime);
    in->gaps++;
    in->waited    = 0;
    in->cpu_index = e->cpu;
    in->since     = e->filetime;
    *cpu          = (struct traced_cpu){true, e->thread_id, e->filetime};
}

static void traced_on_switch(struct traced *m, const struct etl_event *e)
{
    struct cursor      c     = cur_make(e->payload, e->payload_size);
    uint32_t           comes = cur_u32(&c), goes = cur_u32(&c);
    struct traced_cpu *cpu = traced_cpu_at(m, e->cpu);
    cur_u32(&c); /* priorities, idle depth, spare */
    uint8_t reason = cur_u8(&c);
    cur_u8(&c);
    uint8_t state = cur_u8(&c);
    if (!cpu || !cur_ok(&c))
        return;
    m->switches++;
    struct traced_thread *out = thread_at(m, goes), *in = thread_at(m, comes);
    if (!out || !in)
        return;
    if (cpu->known && cpu->tid != goes) { /* a switch between them is missing */
        struct traced_thread *lost = cpu->tid == TRACED_NOBODY ? NULL : traced_thread(m, cpu->tid);
        m->missing_switches++;
        out->gaps++;
        traced_lose(lost, e->cpu);
        cpu->tid = TRACED_NOBODY;
    }
    traced_charge(m, cpu, e->filetime);
    if (out->tid) {
        out->cpu_index   = -1;
        out->since       = e->filetime;
        out->wait_reason = reason;
        out->state       = state;
    }
    in->waited    = in->tid && in->since && in->cpu_index < 0 && e->filetime > in->since ? e->filetime - in->since : 0;
    in->cpu_index = e->cpu;
    in->since     = e->filetime;
    in->switched_in = e->raw_time;
    if (in->process)
        in->process->switches++;
    *cpu = (struct traced_cpu){true, comes, e->filetime};
}

/* --- disks and files --- */

static void on_disk_init(struct traced *m, const struct etl_event *e, uint16_t hook)
{
    struct cursor     c   = cur_make(e->payload, e->payload_size);
    uint64_t          irp = pointer(&c, e);
    struct traced_io *io  = cur_ok(&c) ? calloc(1, sizeof *io) : NULL;

    if (!io)
        return;
    uint32_t tid = cur_u32(&c);
    *io          = (struct traced_io){.irp   = irp,
                                      .since = e->filetime,
                                      .tid   = cur_ok(&c) ? tid : TRACED_NOBODY,
                                      .kind  = hook == HOOK_DISK_READ_INIT    ? IO_READ
                                               : hook == HOOK_DISK_WRITE_INIT ? IO_WRITE
                                                                              : IO_FLUSH};
    free(idmap_remove(&m->ios, irp + 1));
    if (!idmap_put(&m->ios, irp + 1, io)) {
        m->failed = true;
        free(io);
    }
}

static void on_disk_end(struct traced *m, const struct etl_event *e, uint16_t hook)
{
    struct cursor c = cur_make(e->payload, e->payload_size);
    uint64_t      irp;

    cur_u64(&c); /* disk, flags */
    if (hook == HOOK_DISK_FLUSH) {
        cur_u64(&c);
        irp = pointer(&c, e);
    } else {
        cur_take(&c, 16);
        pointer(&c, e);
        irp = pointer(&c, e);
    }
    if (cur_ok(&c))
        free(idmap_remove(&m->ios, irp + 1));
}

static struct traced_file *file_at(struct traced *m, uint64_t object)
{
    struct traced_file *f = idmap_get(&m->files, object + 1);

    if (f)
        return f;
    if (!(f = calloc(1, sizeof *f)) || !(f->path = traced_copy(m, "")) || !idmap_put(&m->files, object + 1, f)) {
        m->failed = true;
        if (f)
            free(f->path);
        free(f);
        return NULL;
    }
    f->object = object;
    f->tid = f->pid = TRACED_NOBODY;
    return f;
}

static void on_name(struct traced *m, const struct etl_event *e, const struct decoded *names)
{
    static const char *const wanted[] = {"FileObject", "FileName", NULL};
    struct traced_file *f = fields_read(&m->fields, e, names, wanted) ? file_at(m, fields_number(&m->fields, 0)) : NULL;
    if (f)
        set_text(m, &f->path, fields_text(&m->fields, 1));
}

static void begin_operation(struct traced *m, const struct etl_event *e, uint16_t hook,
                            const struct traced_operation *what)
{
    struct traced_operation *o = calloc(1, sizeof *o);
    if (!o) {
        m->failed = true;
        return;
    }
    *o        = *what;
    o->since  = e->filetime;
    o->opcode = (uint8_t)hook;
    free(idmap_remove(&m->operations, o->irp + 1));
    if (!idmap_put(&m->operations, o->irp + 1, o)) {
        m->failed = true;
        free(o);
    }
}

static void traced_on_file(struct traced *m, const struct etl_event *e, const struct decoded *names, uint16_t hook)
{
    static const char *const wanted[] = {"IrpPtr", "FileObject", "TTID", "IoSize", "OpenPath", NULL};

    if (!fields_read(&m->fields, e, names, wanted))
        return;
    struct traced_operation o = {.irp    = fields_number(&m->fields, 0),
                                 .object = fields_number(&m->fields, 1),
                                 .tid    = (uint32_t)fields_number(&m->fields, 2),
                                 .bytes  = (uint32_t)fields_number(&m->fields, 3)};
    if (hook == HOOK_FILE_CREATE) {
        struct traced_file *f = file_at(m, o.object);
        if (f) {
            set_text(m, &f->path, fields_text(&m->fields, 4));
            const struct traced_thread *t = traced_thread(m, o.tid);
            f->open                       = true;
            f->opened                     = e->filetime;
            f->tid                        = o.tid;
            f->pid                        = t ? t->pid : TRACED_NOBODY;
        }
    } else if (hook == HOOK_FILE_CLEANUP || hook == HOOK_FILE_CLOSE) {
        struct traced_file *f = idmap_get(&m->files, o.object + 1);
        if (f)
            f->open = false; /* the name stays: transfers that end later refer to it */
    }
    begin_operation(m, e, hook, &o);
}

static void on_operation_end(struct traced *m, const struct etl_event *e)
{
    struct cursor c   = cur_make(e->payload, e->payload_size);
    uint64_t      irp = pointer(&c, e);
    pointer(&c, e); /* extra information */
    uint32_t                 status = cur_u32(&c);
    struct traced_operation *o      = cur_ok(&c) ? idmap_remove(&m->operations, irp + 1) : NULL;
    struct traced_file      *f =
        o && o->opcode == (uint8_t)HOOK_FILE_CREATE && status >> 31 ? idmap_get(&m->files, o->object + 1) : NULL;
    if (f) /* the open failed */
        f->open = false;
    free(o);
}

static void close_all(struct traced *m, uint32_t pid)
{
    for (size_t i = 0; i < m->files.capacity; i++) {
        struct traced_file *f = m->files.slot[i].value;
        if (f && f->pid == pid)
            f->open = false;
    }
}

void traced_see(struct traced *m, const struct etl_event *e, const struct decoded *names)
{
    const uint16_t hook = names->hook;

    m->now = e->filetime > m->now ? e->filetime : m->now;
    switch (hook) {
    case HOOK_THREAD_CSWITCH: traced_on_switch(m, e); break;
    case HOOK_PROCESS_START:
    case HOOK_PROCESS_END:
    case HOOK_PROCESS_DC_START:
    case HOOK_PROCESS_DC_END: traced_on_process(m, e, names, hook); break;
    case HOOK_THREAD_START:
    case HOOK_THREAD_END:
    case HOOK_THREAD_DC_START:
    case HOOK_THREAD_DC_END:
    case HOOK_THREAD_SET_NAME: traced_on_thread(m, e, names, hook); break;
    case HOOK_DISK_READ_INIT:
    case HOOK_DISK_WRITE_INIT:
    case HOOK_DISK_FLUSH_INIT: on_disk_init(m, e, hook); break;
    case HOOK_DISK_READ:
    case HOOK_DISK_WRITE:
    case HOOK_DISK_FLUSH: on_disk_end(m, e, hook); break;
    case HOOK_FILE_NAME: on_name(m, e, names); break;
    case HOOK_FILE_OPERATION_END: on_operation_end(m, e); break;
    default:
        if (hook >= HOOK_FILE_NAME_CREATE && hook <= HOOK_FILE_NAME_RUNDOWN)
            on_name(m, e, names);
        else if (hook >= HOOK_FILE_CREATE && hook <= FILE_CALLS_END)
            traced_on_file(m, e, names, hook);
    }
    m->failed |= fields_failed(&m->fields);
}

/* --- questions --- */

uint32_t traced_thread_of(const struct traced *m, const struct etl_event *e)
{
    if (e->thread_id != TRACED_NOBODY)
        return e->thread_id;
    return e->cpu < m->cpus && m->cpu[e->cpu].known ? m->cpu[e->cpu].tid : TRACED_NOBODY;
}

uint32_t traced_process_of(const struct traced *m, const struct etl_event *e)
{
    if (e->process_id != TRACED_NOBODY)
        return e->process_id;
    uint32_t                    tid = traced_thread_of(m, e);
    const struct traced_thread *t   = tid == TRACED_NOBODY ? NULL : traced_thread(m, tid);
    return t ? t->pid : TRACED_NOBODY;
}

bool traced_cpu_time(const struct traced *m, uint32_t tid, uint64_t at, uint64_t *out)
{
    const struct traced_thread *t = tid == TRACED_NOBODY || tid == 0 ? NULL : traced_thread(m, tid);
    if (!t || !t->since || !m->switches)
        return false;
    *out = t->cpu + (t->cpu_index >= 0 && at > t->since ? at - t->since : 0);
    return true;
}

const char *traced_process_name(const struct traced *m, uint32_t pid)
{
    const struct traced_process *p = pid == TRACED_NOBODY ? NULL : traced_process(m, pid);
    return pid == 0 ? "(idle)" : p && p->image ? p->image : "";
}

const char *traced_file_path(const struct traced *m, uint64_t object)
{
    const struct traced_file *f = object ? idmap_get(&m->files, object + 1) : NULL;
    return f && f->path && *f->path ? f->path : NULL;
}

unsigned traced_list(const struct idmap *map, void **out, unsigned most)
{
    unsigned n = 0;
    for (size_t i = 0; i < map->capacity && n < most; i++)
        if (map->slot[i].value)
            out[n++] = map->slot[i].value;
    return n;
}

void traced_end(struct traced *m)
{
    for (unsigned i = 0; i < m->cpus; i++) {
        traced_charge(m, &m->cpu[i], m->now);
        struct traced_thread *t = m->cpu[i].tid == TRACED_NOBODY ? NULL : traced_thread(m, m->cpu[i].tid);
        if (t && t->cpu_index == (int)i)
            t->since = m->now;
        m->cpu[i].since = m->now;
    }
}

static void free_all(struct idmap *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        free(map->slot[i].value);
    idmap_finish(map);
}

void traced_finish(struct traced *m)
{
    for (unsigned i = 0; i < m->process_count; i++) {
        free(m->process[i]->image);
        free(m->process[i]->command);
        free(m->process[i]);
    }
    free(m->process);
    idmap_finish(&m->processes);
    for (size_t i = 0; i < m->files.capacity; i++)
        if (m->files.slot[i].value)
            free(((struct traced_file *)m->files.slot[i].value)->path);
    free_all(&m->files);
    free_all(&m->threads);
    free_all(&m->ios);
    free_all(&m->operations);
    free(m->cpu);
    fields_finish(&m->fields);
    *m = (struct traced){0};
}
