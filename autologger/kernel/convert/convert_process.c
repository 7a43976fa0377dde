/* convert_process.c - fork, exec, exit, names and mappings. See convert.h.
 * fork of a new process = Process Start + Thread Start; exec = all of the old program ends and the new one starts under
 * a new UniqueProcessKey; the last thread's exit = Process End. Kernel threads belong to pid 4. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/cursor.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

enum { KTHREADD = 2, RUNDOWN_RACE_NS = 200000000 };

uint32_t shown_pid(const struct convert *c, uint32_t pid, uint32_t tid)
{
    const struct thread *t = idmap_get(&c->thread, tid);
    return t && t->process ? t->process->pid : pid;
}

static void start_process(struct convert *c, const struct actor *by, struct kernel_process *p, uint64_t *time)
{
    if (c->processes)
        process_event(c, by, p, HOOK_PROCESS_START, time);
}

static void start_thread(struct convert *c, const struct actor *by, struct thread *t, uint64_t *time)
{
    if (c->threads)
        thread_event(c, by, t, HOOK_THREAD_START, time);
}

static void end_thread(struct convert *c, unsigned cpu, struct thread *t, uint64_t *time)
{
    if (c->threads)
        thread_event(c, &(struct actor){cpu, t->process->pid, t->tid}, t, HOOK_THREAD_END, time);
}

static void end_process(struct convert *c, unsigned cpu, struct kernel_process *p, uint64_t *time, uint32_t tid)
{
    struct actor by = {cpu, p->pid, tid};
    mappings_end(c, &by, time);
    for (struct image *i = c->images && p->images_shown ? p->images : NULL; i; i = i->next)
        image_event(c, &by, p, i, HOOK_IMAGE_UNLOAD, time);
    if (c->processes)
        process_event(c, &by, p, HOOK_PROCESS_END, time);
}

/* Images inherited by fork are written when they are needed: at the first stack of the child. Most children exec
 * first. */
void images_show(struct convert *c, unsigned cpu, struct kernel_process *p, uint64_t *time)
{
    p->images_shown = true;
    for (struct image *i = c->images ? p->images : NULL; i; i = i->next)
        image_event(c, &(struct actor){cpu, p->pid, p->pid}, p, i, HOOK_IMAGE_LOAD, time);
}

/* For a parent that is not known yet: the walk of /proc reaches it after the fork. */
static void inherit_foretold(struct convert *c, struct kernel_process *p, uint32_t ppid)
{
    const uint8_t     *record = foretold(c, RAW_PROCESS, ppid, sizeof(struct raw_process));
    struct raw_process r;
    if (!record)
        return;
    memcpy(&r, record, sizeof r);
    struct cursor cur  = cur_make(record + sizeof r, r.own.size > sizeof r ? r.own.size - sizeof r : 0);
    const char   *name = cur_zstring(&cur), *command = cur_zstring(&cur);
    if (!command)
        return;
    p->session = r.session;
    p->uid     = r.uid;
    p->flags   = r.flags & RAW_PROCESS_32BIT;
    process_text(&p->name, name);
    process_text(&p->command, command);
}

/* The name of the forking thread, known or foretold; NULL: not known. `name`: room for it. */
static const char *forker_name(const struct convert *c, const struct thread *by, uint32_t ptid, char name[16])
{
    struct raw_thread r;
    const uint8_t    *record = by ? NULL : foretold(c, RAW_THREAD, ptid, sizeof r);
    if (!record)
        return by ? by->name : NULL;
    memcpy(&r, record, sizeof r);
    memcpy(name, r.name, 15);
    name[15] = 0;
    return name;
}

void convert_fork(struct convert *c, unsigned cpu, const uint8_t *record, size_t size, uint64_t raw)
{
    struct cursor cur = cur_make(record, size);
    cur_take(&cur, 8);
    uint32_t               pid = cur_u32(&cur), ppid = cur_u32(&cur), tid = cur_u32(&cur), ptid = cur_u32(&cur);
    uint64_t               time   = convert_time(c, raw);
    struct thread         *by     = thread_get(c, ptid);
    struct kernel_process *parent = by ? by->process : process_get(c, ppid), *p = NULL;
    if (!cur_ok(&cur) || pid == 0 || tid == 0 || pid == UINT32_MAX)
        return;
    struct actor creator = {cpu, parent ? parent->pid : ppid, ptid};
    if (pid != tid) { /* a thread of an existing process */
        p = process_get(c, pid);
        if (!p && !(p = process_add(c, pid)))
            return;
    } else if (ppid == KTHREADD || (pid == KTHREADD && ppid == 0) || pid == 4) {
        /* 4 is System's number here; on Linux it is always a kernel thread, whatever parent a damaged record has */
        p = c->system;
    } else {
        struct kernel_process *old = process_get(c, pid);
        if (old && old->rundown_time && raw - old->rundown_time < RUNDOWN_RACE_NS)
            return; /* the walk of /proc found it first */
        p = process_add(c, pid);
        if (!p)
            return;
        p->ppid = creator.pid;
        if (parent) {
            p->session = parent->session;
            p->uid     = parent->uid;
            p->flags   = parent->flags & RAW_PROCESS_32BIT;
            process_text(&p->name, parent == c->idle           ? "swapper/0"
                                   : parent == c->system && by ? by->name
                                                               : parent->name);
            process_text(&p->command, parent->command);
            images_inherit(p, parent);
            mappings_fork(c, pid, parent->pid);
            cgroup_inherit(c, pid, parent->pid);
        } else {
            inherit_foretold(c, p, ppid);
        }
        counters_begin(c, pid);
        start_process(c, &creator, p, &time);
    }
    struct thread *t = thread_get(c, tid);
    if (t && t->process == p && p->rundown_time && raw - p->rundown_time < RUNDOWN_RACE_NS)
        return;
    char name[16];
    t = thread_add(c, p, tid, forker_name(c, by, ptid, name));
    if (!t)
        return;
    if (by) {
        t->prio     = by->prio;
        t->affinity = by->affinity;
    }
    start_thread(c, &creator, t, &time);
}

void convert_exit(struct convert *c, unsigned cpu, const uint8_t *record, size_t size, uint64_t raw)
{
    struct cursor cur = cur_make(record, size);
    cur_take(&cur, 8);
    uint32_t pid = cur_u32(&cur);
    cur_u32(&cur);
    uint32_t       tid  = cur_u32(&cur);
    uint64_t       time = convert_time(c, raw);
    struct thread *t    = thread_get(c, tid);
    if (!cur_ok(&cur) || !t || t->dead || !t->process)
        return;
    fault_thread_gone(c, tid);
    struct kernel_process *p = t->process;
    const uint8_t         *n = tid == pid ? note_take(c, RAW_NOTE_EXIT, pid, raw, sizeof(struct raw_process)) : NULL;
    if (n) {
        struct raw_process note;
        memcpy(&note, n, sizeof note);
        p->exit_status = note.exit_code & 0x7F ? 128 + (note.exit_code & 0x7F) : note.exit_code >> 8 & 0xFF;
    }
    bool last = p != c->system && p->thread_count == 1;
    if (p != c->system)
        counters_exit(c, pid, raw);
    end_thread(c, cpu, t, &time);
    if (last) {
        counters_end(c, cpu, pid, &time);
        cgroup_end(c, &(struct actor){cpu, p->pid, tid}, p, true, &time);
        end_process(c, cpu, p, &time, tid);
    }
    if (last)
        process_remove(c, p);
    else
        thread_remove(c, t);
}

/* Applies the note of an exec: ids, name and command line from /proc. */
static void exec_note(struct convert *c, struct kernel_process *p, const char *comm, uint32_t pid, uint64_t raw)
{
    struct raw_process note;
    const uint8_t     *n = note_take(c, RAW_NOTE_EXEC, pid, raw, sizeof note);
    process_text(&p->name, comm);
    process_text(&p->command, "");
    c->unnoted += !n && c->processes;
    if (!n)
        return;
    memcpy(&note, n, sizeof note);
    struct cursor cur  = cur_make(n + sizeof note, note.own.size - sizeof note);
    const char   *name = cur_zstring(&cur), *command = cur_zstring(&cur);
    if (name && *name)
        process_text(&p->name, name);
    if (command)
        process_text(&p->command, command);
    if (note.flags & RAW_PROCESS_NO_COMMAND)
        return;
    p->uid   = note.uid;
    p->flags = note.flags & RAW_PROCESS_32BIT;
    if (!p->ppid) /* its fork was not recorded */
        p->ppid = note.ppid;
    if (!(note.flags & RAW_PROCESS_NO_SESSION))
        p->session = note.session;
}

static void convert_exec(struct convert *c, unsigned cpu, uint32_t pid, uint32_t tid, const char *comm, uint64_t raw)
{
    uint64_t               time = convert_time(c, raw);
    struct thread         *t    = thread_get(c, tid);
    struct kernel_process *old  = t && t->process != c->system ? t->process : process_get(c, pid);
    struct kernel_process  was  = {.pid = pid};
    struct thread          kept = {.prio = 120};
    if (old == c->system || old == c->idle)
        old = NULL;
    if (t) {
        kept.prio     = t->prio;
        kept.affinity = t->affinity;
        if (old && t->process == old)
            end_thread(c, cpu, t, &time);
    }
    if (old) {
        was.ppid         = old->ppid;
        was.session      = old->session;
        was.uid          = old->uid;
        old->exit_status = 0;
        cgroup_end(c, &(struct actor){cpu, pid, tid}, old, false, &time);
        end_process(c, cpu, old, &time, tid);
    }
    struct kernel_process *p = process_add(c, pid); /* removes the old one, with its threads and images */
    if (!p)
        return;
    p->ppid         = was.ppid;
    p->session      = was.session;
    p->uid          = was.uid;
    p->images_shown = true;
    exec_note(c, p, comm, pid, raw);
    start_process(c, &(struct actor){cpu, pid, tid}, p, &time);
    t = thread_add(c, p, tid, comm);
    if (!t)
        return;
    t->prio     = kept.prio;
    t->affinity = kept.affinity;
    start_thread(c, &(struct actor){cpu, pid, tid}, t, &time);
}

void thread_rename(struct convert *c, unsigned cpu, struct thread *t, const char *name, uint64_t raw)
{
    memset(t->name, 0, sizeof t->name);
    memcpy(t->name, name, strnlen(name, sizeof t->name - 1));
    if (!c->threads)
        return;
    uint64_t      time = convert_time(c, raw);
    struct writer w    = wr_make(c->scratch, SCRATCH);
    wr_u32(&w, t->process->pid);
    wr_u32(&w, t->tid);
    for (const char *s = t->name; *s; s++)
        wr_u16(&w, (uint8_t)*s);
    wr_u16(&w, 0);
    emit(c, &(struct event){cpu, HOOK_THREAD_SET_NAME, ETL_PERFINFO64, 2, 0, 0}, &time, c->scratch, w.pos);
}

void convert_comm(struct convert *c, unsigned cpu, const uint8_t *record, size_t size, uint64_t raw)
{
    struct perf_event_header h;
    struct cursor            cur = cur_make(record, size);
    cur_copy(&cur, &h, sizeof h);
    uint32_t    pid = cur_u32(&cur), tid = cur_u32(&cur);
    const char *comm = cur_zstring(&cur);
    if (!comm || !pid || !tid)
        return;
    if (h.misc & PERF_RECORD_MISC_COMM_EXEC) {
        convert_exec(c, cpu, pid, tid, comm, raw);
        return;
    }
    struct thread *t = thread_get(c, tid);
    if (!t)
        return;
    thread_rename(c, cpu, t, comm, raw);
}

void convert_mmap(struct convert *c, unsigned cpu, const uint8_t *record, size_t size, uint64_t raw)
{
    struct perf_event_header h;
    struct cursor            cur = cur_make(record, size);
    uint8_t                  id[24];
    uint32_t                 checksum;
    cur_copy(&cur, &h, sizeof h);
    uint32_t     pid = cur_u32(&cur), tid = cur_u32(&cur);
    struct image i = {.base = cur_u64(&cur)};
    i.size         = cur_u64(&cur);
    cur_u64(&cur);
    cur_copy(&cur, id, sizeof id);
    uint32_t prot = cur_u32(&cur);
    cur_u32(&cur);
    const char            *name = cur_zstring(&cur);
    struct kernel_process *p    = process_get(c, pid);
    if (!name || !(prot & PROT_EXEC) || !pid || !p || p == c->system)
        return;
    bool has_id = (h.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) && id[0] >= 8 && id[0] <= 20;
    i.stamp     = 1;
    if (has_id) {
        memcpy(&i.stamp, id + 4, 4);
        memcpy(&checksum, id + 8, 4);
        i.checksum = checksum;
        identity_set(&i, id + 4, id[0]);
    }
    const uint8_t *n = note_take(c, RAW_NOTE_IMAGE, pid, raw, sizeof(struct raw_image));
    if (n) {
        struct raw_image note;
        memcpy(&note, n, sizeof note);
        i.base         = note.base;
        i.size         = note.size;
        i.default_base = note.default_base;
        i.stamp        = note.stamp;
        i.checksum     = note.checksum;
        if (note.build_id_size)
            identity_set(&i, note.build_id, note.build_id_size);
    }
    uint64_t time = convert_time(c, raw);
    if (!p->images_shown)
        images_show(c, cpu, p, &time);
    struct image *image = image_add(p, &i, name, NULL);
    if (image && c->images)
        image_event(c, &(struct actor){cpu, pid, tid}, p, image, HOOK_IMAGE_LOAD, &time);
}

static void own_process(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_process r;
    struct cursor      cur = cur_make(record, size);
    cur_copy(&cur, &r, sizeof r);
    const char *name = cur_zstring(&cur), *command = cur_zstring(&cur);
    foretold_came(c, RAW_PROCESS, r.own.pid);
    if (!command || (r.flags & RAW_PROCESS_KERNEL))
        return; /* kernel threads: only their threads */
    struct kernel_process *p     = process_get(c, r.own.pid);
    bool                   known = p != NULL; /* its fork or exec was recorded */
    if (!known && !(p = process_add(c, r.own.pid)))
        return;
    p->uid     = r.uid;
    p->session = r.session;
    p->ppid    = r.ppid;
    if (!known || !*p->command)
        process_text(&p->command, command);
    if (known && *p->name)
        return; /* a nameless process is written, although its start was */
    uint64_t time   = convert_time(c, raw);
    p->flags        = r.flags;
    p->rundown_time = raw;
    p->images_shown = true;
    process_text(&p->name, name);
    if (c->processes)
        process_event(c, &(struct actor){0}, p, HOOK_PROCESS_DC_START, &time);
}

static void own_thread(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_thread r;
    if (size < sizeof r)
        return;
    memcpy(&r, record, sizeof r);
    r.name[sizeof r.name - 1] = 0;
    foretold_came(c, RAW_THREAD, r.own.tid);
    struct kernel_process *p   = r.flags & RAW_PROCESS_KERNEL ? c->system : process_get(c, r.own.pid);
    struct thread         *had = p ? thread_get(c, r.own.tid) : NULL;
    if (had && !*had->name && had->process == p && *r.name)
        thread_rename(c, 0, had, r.name, raw);
    if (!p || !r.own.tid || had)
        return;
    struct thread *t    = thread_add(c, p, r.own.tid, r.name);
    uint64_t       time = convert_time(c, raw);
    if (!t)
        return;
    t->prio     = r.prio;
    t->affinity = r.affinity;
    if (c->threads)
        thread_event(c, &(struct actor){0, p->pid, t->tid}, t, HOOK_THREAD_DC_START, &time);
}

/* A thread from the kernel phase: if its creation was not recorded it is older (a rundown event), else it gets its
 * name. */
static void own_name(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_name r;
    if (size < sizeof r)
        return;
    memcpy(&r, record, sizeof r);
    r.name[sizeof r.name - 1] = 0;
    struct thread *t          = thread_get(c, r.own.tid);
    if (t && strcmp(t->name, r.name) != 0)
        thread_rename(c, 0, t, r.name, raw);
    struct kernel_process *p = r.flags & RAW_PROCESS_KERNEL ? c->system : process_get(c, r.own.pid);
    if (t || !p || !r.own.tid || !(t = thread_add(c, p, r.own.tid, r.name)))
        return;
    uint64_t time = convert_time(c, raw);
    t->prio       = r.prio;
    if (c->threads)
        thread_event(c, &(struct actor){0, p->pid, t->tid}, t, HOOK_THREAD_DC_START, &time);
}

static void own_image(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_image r;
    struct cursor    cur = cur_make(record, size);
    cur_copy(&cur, &r, sizeof r);
    const char            *name = cur_zstring(&cur);
    struct kernel_process *p    = process_get(c, r.own.pid);
    if (!name || !p || p == c->system)
        return;
    struct image like = {
        .base = r.base, .size = r.size, .default_base = r.default_base, .stamp = r.stamp, .checksum = r.checksum};
    identity_set(&like, r.build_id, r.build_id_size);
    struct image *image = image_add(p, &like, name, NULL);
    uint64_t      time  = convert_time(c, raw);
    if (image && c->images)
        image_event(c, &(struct actor){0, p->pid, r.own.tid}, p, image, HOOK_IMAGE_DC_START, &time);
}

void convert_own(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_own own;
    memcpy(&own, record, sizeof own);
    switch (own.type) {
    case RAW_SYSTEM: rundown_start(c, record, size, raw); break;
    case RAW_PROCESS: own_process(c, record, size, raw); break;
    case RAW_THREAD: own_thread(c, record, size, raw); break;
    case RAW_IMAGE: own_image(c, record, size, raw); break;
    case RAW_MAPPING: own_mapping(c, record, size, raw); break;
    case RAW_COUNTERS: own_counters(c, record, size); break;
    case RAW_MEMORY: own_memory(c, record, size, raw); break;
    case RAW_WORKING_SETS: own_sets(c, record, size, raw); break;
    case RAW_NAME: own_name(c, record, size, raw); break;
    case RAW_DEVICE:
        *(convert_device(c, record, size, raw) ? &c->converted : &c->lost) += device_counts(record, size);
        break;
    case RAW_CONFIG: convert_config(c, record, size, raw); break;
    case RAW_TRACEPOINT: tracepoint_learn(c, record, size); break;
    case RAW_CGROUP: own_cgroup(c, record, size, raw); break;
    case RAW_LOST: convert_lost(c, record, size, raw); break;
    case RAW_PHASE: convert_phase(c, record, size, raw); break;
    case RAW_RUNDOWN_DONE: rundown_done(c, raw); break;
    case RAW_STOP: rundown_stop(c, raw); break;
    case RAW_CHANGE: own_change(c, record, size); break;
    case RAW_TERMS: own_terms(c, record, size, raw); break;
    default: break;
    }
}
