/* convert_fault.c - page faults. See convert.h. The facts of a fault come in parts, joined by thread: the processor's
 * error code at its beginning (x86's tracepoints), a lookup of a file's page, and its resolution, in memory (minor) or
 * after waiting for a device (major). The event is written at the resolution, which is also when the kernel counts the
 * fault. A fault that ends in SIGSEGV or SIGBUS is an access violation; one that the kernel handles itself (a system
 * call's bad pointer) gives no event.
 * Its class: a write to a present but read-only page is CopyOnWrite, also the first write to a private mapping of a
 * file; a file's page already in memory is Transition; all other memory begins as zeros. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/cursor.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 1 << 18, PAGE = 4096, ERROR_PRESENT = 1, ERROR_WRITE = 2 };

struct fault {
    uint64_t address, ip, error, time; /* at its beginning; time 0: not known */
    uint64_t index, file_time; /* lookup of a file's page: page number in the file, time of the first lookup; 0: none */
};
struct part_fault {
    struct idmap thread;
};

void part_fault_finish(struct convert *c)
{
    if (!c->fault)
        return;
    for (size_t i = 0; i < c->fault->thread.capacity; i++)
        free(c->fault->thread.slot[i].value);
    idmap_finish(&c->fault->thread);
    free(c->fault);
    c->fault = NULL;
}

static struct fault *fault_of(struct convert *c, uint32_t tid)
{
    if (!c->fault && !(c->fault = calloc(1, sizeof *c->fault)))
        return NULL;
    struct fault *f = idmap_get(&c->fault->thread, tid);
    if (f || c->fault->thread.count >= THREADS_MAX)
        return f;
    f = calloc(1, sizeof *f);
    if (f && !idmap_put(&c->fault->thread, tid, f)) {
        free(f);
        f = NULL;
    }
    return f;
}

void fault_thread_gone(struct convert *c, uint32_t tid)
{
    if (c->fault)
        free(idmap_remove(&c->fault->thread, tid));
}

void convert_fault_begin(struct convert *c, const struct sample *s)
{
    struct fault *f = fault_of(c, s->tid);
    if (!f)
        return;
    f->address = (uint64_t)sample_field(s, F_FAULT_ADDRESS);
    f->ip      = (uint64_t)sample_field(s, F_FAULT_IP);
    f->error   = (uint64_t)sample_field(s, F_FAULT_ERROR);
    f->time    = s->time;
}

/* The lookup is repeated after the wait: the first time counts. */
void convert_file_fault(struct convert *c, const struct sample *s)
{
    struct fault *f     = fault_of(c, s->tid);
    uint64_t      index = (uint64_t)sample_field(s, F_FILE_FAULT_INDEX);
    if (!f || (f->file_time && f->index == index))
        return;
    f->index     = index;
    f->file_time = s->time;
}

static void fault_event(struct convert *c, const struct sample *s, uint16_t hook, uint64_t address, uint64_t ip)
{
    uint64_t     time = convert_time(c, s->time);
    struct actor by   = {s->cpu, shown_pid(c, s->pid, s->tid), s->tid};
    uint8_t     *p    = emit_reserve(c, &(struct event){s->cpu, hook, ETL_SYSTEM64, 2, by.pid, by.tid}, &time, 16);
    if (p) {
        memcpy(p, &address, 8);
        memcpy(p + 8, &ip, 8);
    }
    if (stack_wanted(c, hook))
        emit_stack(c, &by, time, s->chain, s->chain_count);
}

static uint16_t convert_fault_class_of(const struct fault *began, const struct mapping *m)
{
    bool written = began && (began->error & ERROR_WRITE), present = began && (began->error & ERROR_PRESENT);
    bool file = m && !(m->flags & MAPPING_ZEROS), shared = m && (m->flags & MAPPING_SHARED);
    if (written && !shared && (present || file))
        return HOOK_MEMORY_COPY_ON_WRITE;
    return present || file ? HOOK_MEMORY_TRANSITION_FAULT : HOOK_MEMORY_DEMAND_ZERO_FAULT;
}

/* The beginning of the fault that is resolved now, if known */
static struct fault *fault_began(struct convert *c, const struct sample *s)
{
    struct fault *f = c->fault ? idmap_get(&c->fault->thread, s->tid) : NULL;
    return f && f->time && f->address / PAGE == s->address / PAGE ? f : NULL;
}

void convert_fault_minor(struct convert *c, const struct sample *s)
{
    struct fault *began = fault_began(c, s);
    if (c->faults)
        fault_event(c, s, convert_fault_class_of(began, mapping_find(c, s->pid, s->address)), s->address, s->ip);
    if (began)
        began->time = 0;
}

static void hard_fault_event(struct convert *c, const struct sample *s, uint64_t since, const struct mapping *m)
{
    uint8_t       bytes[40];
    struct writer w    = wr_make(bytes, sizeof bytes);
    uint64_t      time = convert_time(c, s->time),
             offset    = m ? (s->address - m->start + m->offset) & ~(uint64_t)(PAGE - 1) : 0;
    struct actor by    = {s->cpu, shown_pid(c, s->pid, s->tid), s->tid};
    if (m)
        file_name_tell(c, s->cpu, m->key, &time);
    if (time <= c->queue[s->cpu].last)
        time = c->queue[s->cpu].last + 1;              /* a zero duration stays zero */
    wr_u64(&w, since ? convert_time(c, since) : time); /* unknown beginning: zero duration */
    wr_u64(&w, offset);
    wr_u64(&w, s->address);
    wr_u64(&w, m ? m->key : 0);
    wr_u32(&w, s->tid);
    wr_u32(&w, PAGE);
    emit(c, &(struct event){s->cpu, HOOK_MEMORY_HARD_FAULT, ETL_PERFINFO64, 2, 0, 0}, &time, bytes, w.pos);
    if (stack_wanted(c, HOOK_MEMORY_HARD_FAULT))
        emit_stack(c, &by, time, s->chain, s->chain_count);
}

void convert_fault_major(struct convert *c, const struct sample *s)
{
    struct fault         *f = c->fault ? idmap_get(&c->fault->thread, s->tid) : NULL, *began = fault_began(c, s);
    const struct mapping *m     = mapping_find(c, s->pid, s->address);
    uint64_t              since = began ? began->time : 0;
    if (!since && f && f->file_time && m && f->index == (s->address - m->start + m->offset) / PAGE)
        since = f->file_time;
    if (c->faults)
        fault_event(c, s, HOOK_MEMORY_HARD_PAGE_FAULT, s->address, s->ip);
    if (c->hard_faults)
        hard_fault_event(c, s, since, m);
    if (f)
        f->time = f->file_time = 0;
}

/* Sent by the kernel itself (its codes are above 0), to the thread that faulted */
void convert_fault_signal(struct convert *c, const struct sample *s)
{
    int64_t       number = sample_field(s, F_SIGNAL_NUMBER);
    struct fault *f      = c->fault ? idmap_get(&c->fault->thread, s->tid) : NULL;
    if ((number != SIGSEGV && number != SIGBUS) || sample_field(s, F_SIGNAL_CODE) <= 0 || !f || !f->time ||
        (uint32_t)sample_field(s, F_SIGNAL_TID) != s->tid)
        return;
    fault_event(c, s, HOOK_MEMORY_ACCESS_VIOLATION, f->address, f->ip);
    f->time = 0;
}

void part_fault_put(const struct convert *c, struct sink *s)
{
    const struct idmap *threads = c->fault ? &c->fault->thread : NULL;
    uint64_t            count   = threads ? threads->count : 0;
    snapshot_put(s, &count, sizeof count);
    for (size_t i = 0; threads && i < threads->capacity; i++)
        if (threads->slot[i].value) {
            snapshot_put(s, &threads->slot[i].key, sizeof threads->slot[i].key);
            snapshot_put(s, threads->slot[i].value, sizeof(struct fault));
        }
}

bool part_fault_get(struct convert *c, struct cursor *cur)
{
    uint64_t count = cur_u64(cur);
    if (count > THREADS_MAX)
        return false;
    for (uint64_t i = 0; i < count && cur_ok(cur); i++) {
        struct fault *f = fault_of(c, (uint32_t)cur_u64(cur));
        if (!f)
            return false;
        cur_copy(cur, f, sizeof *f);
    }
    return cur_ok(cur);
}
