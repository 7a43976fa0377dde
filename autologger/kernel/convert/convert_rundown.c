/* convert_rundown.c - the layouts of Process, Thread and Image events, and the events at a session's start and stop. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/win32/utf16.h"

#include <string.h>

enum { STILL_ACTIVE = 0x103, KERNEL_EVENT_VERSION = 70 };

static void convert_rundown_wr_text16(struct writer *w, const char *text, size_t length)
{
    if (w->bad || w->pos + 4 > w->size)
        return;
    size_t room = (w->size - w->pos - 2) & ~(size_t)1, n = utf8_to_utf16le(text, length, w->data + w->pos, room);
    w->pos += n < room ? n : room;
    wr_u16(w, 0);
}

/* A SID needs a non-zero "pointer" before it; S-1-5-18 for root, S-1-22-1-uid for others (as Samba writes Unix
 * users). */
static void wr_sid(struct writer *w, uint32_t uid)
{
    static const uint8_t root[12]      = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
    static const uint8_t unix_user[12] = {1, 2, 0, 0, 0, 0, 0, 22, 1, 0, 0, 0};
    wr_u64(w, UINT64_C(0xffff800000000001));
    wr_u64(w, 0);
    wr_bytes(w, uid ? unix_user : root, 12);
    if (uid)
        wr_u32(w, uid);
}

void process_event(struct convert *c, const struct actor *by, const struct kernel_process *p, uint16_t hook,
                   uint64_t *time)
{
    struct writer w       = wr_make(c->scratch, SCRATCH / 2);
    bool          rundown = hook == HOOK_PROCESS_DC_START || hook == HOOK_PROCESS_DC_END;
    wr_u64(&w, p->key);
    wr_u32(&w, p->pid);
    wr_u32(&w, p->ppid);
    wr_u32(&w, p->session);
    wr_u32(&w, hook == HOOK_PROCESS_END ? (uint32_t)p->exit_status : p == c->idle ? 0 : STILL_ACTIVE);
    wr_u64(&w, 0); /* page tables: not visible */
    wr_u32(&w, p->flags & RAW_PROCESS_32BIT ? 2 : 0);
    wr_sid(&w, p->uid);
    wr_bytes(&w, p->name, strnlen(p->name, 255));
    wr_u8(&w, 0);
    convert_rundown_wr_text16(&w, p->command, strlen(p->command));
    wr_u32(&w, 0); /* package name and application id: two empty strings */
    uint8_t type = rundown ? ETL_PERFINFO64 : ETL_SYSTEM64;
    emit(c, &(struct event){by->cpu, hook, type, 4, by->pid, by->tid}, time, c->scratch, w.pos);
}

void thread_event(struct convert *c, const struct actor *by, const struct thread *t, uint16_t hook, uint64_t *time)
{
    uint8_t       bytes[128];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_u32(&w, t->process->pid);
    wr_u32(&w, t->tid);
    for (int i = 0; i < 4; i++) /* stacks: not visible */
        wr_u64(&w, 0);
    wr_u64(&w, t->affinity);
    wr_u64(&w, 0); /* start address, TEB: not visible */
    wr_u64(&w, 0);
    wr_u32(&w, 0);
    wr_u8(&w, windows_priority(t->prio, t->tid));
    wr_u8(&w, 5); /* page and I/O priority: normal */
    wr_u8(&w, 2);
    wr_u8(&w, 0);
    convert_rundown_wr_text16(&w, t->name, strnlen(t->name, 15));
    emit(c, &(struct event){by->cpu, hook, ETL_SYSTEM64, 3, by->pid, by->tid}, time, bytes, w.pos);
}

void wr_path(struct writer *w, const char *path)
{
    static const char volume[] = "\\Device\\HarddiskVolume1";
    size_t            from     = w->pos;
    if (path[0] == '/' && path[1] != '/') { /* "//anon", "[vdso]" and the like are no files */
        convert_rundown_wr_text16(w, volume, sizeof volume - 1);
        w->pos -= 2; /* its NUL: the path follows */
    }
    convert_rundown_wr_text16(w, path, strlen(path));
    for (size_t i = from; i + 1 < w->pos && path[0] == '/'; i += 2)
        if (w->data[i] == '/' && w->data[i + 1] == 0)
            w->data[i] = '\\';
}

void image_event(struct convert *c, const struct actor *by, const struct kernel_process *p, const struct image *i,
                 uint16_t hook, uint64_t *time)
{
    struct writer w       = wr_make(c->scratch, SCRATCH / 2);
    bool          rundown = (hook == HOOK_IMAGE_DC_START || hook == HOOK_IMAGE_DC_END) && p->pid != 0;
    identity_event(c, by, i, time);
    wr_u64(&w, i->base);
    wr_u64(&w, i->size);
    wr_u32(&w, p->pid);
    wr_u32(&w, i->checksum);
    wr_u32(&w, i->stamp);
    wr_u32(&w, 0); /* signature level and type */
    wr_u64(&w, i->default_base);
    wr_u64(&w, 0);
    wr_u64(&w, 0);
    wr_path(&w, i->name->text);
    uint8_t type = rundown ? ETL_PERFINFO64 : ETL_SYSTEM64;
    emit(c, &(struct event){by->cpu, hook, type, 3, by->pid, by->tid}, time, c->scratch, w.pos);
}

static void masks_event(struct convert *c, uint16_t hook, bool real, uint64_t *time)
{
    uint32_t payload[GROUP_MASK_WORDS + 1] = {0};
    if (real)
        memcpy(payload, c->mask, sizeof c->mask);
    payload[GROUP_MASK_WORDS] = KERNEL_EVENT_VERSION;
    emit(c, &(struct event){0, hook, ETL_PERFINFO64, 2, 0, 0}, time, payload, sizeof payload);
}

static void interval_event(struct convert *c, uint16_t hook, uint64_t *time)
{
    uint8_t       bytes[32];
    struct writer w = wr_make(bytes, sizeof bytes);
    if (!c->profile)
        return;
    wr_u32(&w, 0);
    wr_u32(&w, c->profile_interval);
    wr_u32(&w, c->profile_interval);
    convert_rundown_wr_text16(&w, "Timer", 5);
    emit(c, &(struct event){0, hook, ETL_SYSTEM64, 3, 0, 0}, time, bytes, w.pos);
}

/* Also at the start: a truncated file must name its machine. The collector's event, at the stop, has more. */
static void system_event(struct convert *c, const struct raw_system *s, uint64_t *time)
{
    uint8_t       bytes[828] = {0};
    struct writer w          = wr_make(bytes, sizeof bytes);
    wr_u32(&w, s->mhz);
    wr_u32(&w, s->cpus);
    wr_u32(&w, (uint32_t)(s->memory_bytes >> 20));
    wr_u32(&w, s->page_bytes);
    wr_u32(&w, 65536); /* allocation granularity, as Windows has it */
    convert_rundown_wr_text16(&w, s->host, strnlen(s->host, sizeof s->host));
    w.pos = 808;
    wr_u64(&w, UINT64_C(0x7fffffffefff));
    wr_u16(&w, 9); /* x64 */
    wr_u16(&w, 0);
    wr_u16(&w, 0);
    wr_u8(&w, 1);
    wr_u8(&w, 1);
    wr_u32(&w, 0);
    emit(c, &(struct event){0, HOOK_CONFIG_CPU, ETL_SYSTEM64, 3, 0, 0}, time, bytes, sizeof bytes);
}

/* Idle and System are no Linux processes: their rundown is made here. */
static void special_events(struct convert *c, bool start, uint64_t *time)
{
    for (int i = 0; i < 2 && c->processes; i++)
        process_event(c, &(struct actor){0}, i ? c->system : c->idle,
                      start ? HOOK_PROCESS_DC_START : HOOK_PROCESS_DC_END, time);
    for (unsigned i = 0; i < c->cpus && c->threads; i++) {
        struct thread idle = {.process = c->idle, .affinity = UINT64_C(1) << (i & 63), .name = "Idle"};
        thread_event(c, &(struct actor){0}, &idle, start ? HOOK_THREAD_DC_START : HOOK_THREAD_DC_END, time);
    }
}

void rundown_start(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_system s;
    uint64_t          time = convert_time(c, raw);
    if (size < sizeof s)
        return;
    memcpy(&s, record, sizeof s);
    memcpy(c->softirq_routine, s.softirq, sizeof c->softirq_routine);
    if (c->alone)
        return;
    masks_event(c, HOOK_HEADER_EXTENSION, true, &time);
    boot_event(c, &s, &time);
    emit_volume_mapping(c, &time);
    if (c->sysconfig)
        system_event(c, &s, &time);
    interval_event(c, HOOK_PERF_COLLECTION_START, &time);
    special_events(c, true, &time);
}

/* The events that a start would have written for the new classes. */
void rundown_more(struct convert *c, const uint32_t before[GROUP_MASK_WORDS], uint64_t *time)
{
    bool processes = c->processes && !(before[0] & 0x1), threads = c->threads && !(before[0] & 0x2),
         images = c->images && !(before[0] & 0x4);
    masks_event(c, HOOK_HEADER_EXTENSION, true, time);
    if (!(before[1] & 0x2))
        interval_event(c, HOOK_PERF_COLLECTION_START, time);
    for (int i = 0; i < 2 && processes; i++)
        process_event(c, &(struct actor){0}, i ? c->system : c->idle, HOOK_PROCESS_DC_START, time);
    for (unsigned i = 0; i < c->cpus && threads; i++) {
        struct thread idle = {.process = c->idle, .affinity = UINT64_C(1) << (i & 63), .name = "Idle"};
        thread_event(c, &(struct actor){0}, &idle, HOOK_THREAD_DC_START, time);
    }
    for (size_t i = 0; i < c->process.capacity; i++) {
        struct kernel_process *p = c->process.slot[i].value;
        if (p && processes && p != c->system && p != c->idle)
            process_event(c, &(struct actor){0}, p, HOOK_PROCESS_DC_START, time);
        for (struct thread *t = p && threads ? p->threads : NULL; t; t = t->next)
            if (!t->dead)
                thread_event(c, &(struct actor){0, p->pid, t->tid}, t, HOOK_THREAD_DC_START, time);
        for (struct image *m = p && images ? p->images : NULL; m; m = m->next)
            image_event(c, &(struct actor){0, p->pid, p->pid}, p, m, HOOK_IMAGE_DC_START, time);
        if (p && images)
            p->images_shown = true;
    }
    for (struct image *m = images ? c->idle->images : NULL; m; m = m->next) /* the kernel and its modules */
        image_event(c, &(struct actor){0}, c->idle, m, HOOK_IMAGE_DC_START, time);
    for (struct thread *t = threads ? c->system->threads : NULL; t; t = t->next)
        thread_event(c, &(struct actor){0, c->system->pid, t->tid}, t, HOOK_THREAD_DC_START, time);
}

void rundown_done(struct convert *c, uint64_t raw)
{
    if (c->alone)
        return;
    uint64_t time = convert_time(c, raw);
    emit(c, &(struct event){0, HOOK_HEADER_RUNDOWN_COMPLETE, ETL_PERFINFO64, 2, 0, 0}, &time, NULL, 0);
}

static void process_rundown(struct convert *c, struct kernel_process *p, uint64_t *time)
{
    for (struct image *i = c->images ? p->images : NULL; i; i = i->next)
        image_event(c, &(struct actor){0, p->pid, p->pid}, p, i, HOOK_IMAGE_DC_END, time);
    mappings_stop(c, p->pid, time);
    for (struct thread *t = c->threads ? p->threads : NULL; t; t = t->next)
        thread_event(c, &(struct actor){0, p->pid, t->tid}, t, HOOK_THREAD_DC_END, time);
    counters_stop(c, p->pid, time);
    if (c->processes && p != c->system && p != c->idle) {
        cgroup_end(c, &(struct actor){0, p->pid, p->pid}, p, false, time);
        process_event(c, &(struct actor){0}, p, HOOK_PROCESS_DC_END, time);
    }
}

void rundown_stop(struct convert *c, uint64_t raw)
{
    if (c->alone)
        return;
    uint64_t time = convert_time(c, raw);
    masks_event(c, HOOK_HEADER_END_EXTENSION, true, &time);
    for (size_t i = 0; i < c->process.capacity; i++)
        if (c->process.slot[i].value)
            process_rundown(c, c->process.slot[i].value, &time);
    process_rundown(c, c->idle, &time);
    process_rundown(c, c->system, &time);
    special_events(c, false, &time);
    interval_event(c, HOOK_PERF_COLLECTION_END, &time);
    file_names_stop(c, &time);
    masks_event(c, HOOK_HEADER_EXTENSION, false, &time);
    emit(c, &(struct event){0, HOOK_HEADER_RUNDOWN_COMPLETE, ETL_PERFINFO64, 2, 0, 0}, &time, NULL, 0);
}
