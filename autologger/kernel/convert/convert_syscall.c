/* convert_syscall.c - system calls: SysClEnter and SysClExit, and changes of a program's addresses as VirtualAlloc and
 * VirtualFree. A 32-bit program's calls have other numbers and functions than a 64-bit program's; the width of the
 * program decides. So a 64-bit program's call by int 0x80 is mistaken for another call. See convert.h. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/source/syscalls.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
    MEM_COMMIT   = 0x1000,
    MEM_RESERVE  = 0x2000,
    MEM_DECOMMIT = 0x4000,
    MEM_RELEASE  = 0x8000,
    PAGE         = 4096,
    CALLS_MAX    = 1 << 20
};
#define NARROW 0x80000000u
enum mem_kind { MEM_NONE, MEM_MAP, MEM_UNMAP, MEM_BREAK, MEM_REMAP, MEM_ADVISE };

struct convert_syscall_open_call {
    uint32_t tid, number;
    uint64_t arg[4];
}; /* number: see call_of() */
struct part_call {
    struct idmap open; /* thread -> struct open_call */
    struct idmap brk;  /* process -> 1 + the end of its heap */
};

static struct part_call *convert_syscall_part(struct convert *c)
{
    if (!c->call)
        c->call = calloc(1, sizeof *c->call);
    return c->call;
}

void part_call_finish(struct convert *c)
{
    for (size_t i = 0; c->call && i < c->call->open.capacity; i++)
        free(c->call->open.slot[i].value);
    if (c->call) {
        idmap_finish(&c->call->open);
        idmap_finish(&c->call->brk);
    }
    free(c->call);
    c->call = NULL;
}

void part_call_put(const struct convert *c, struct sink *s)
{
    const struct part_call *p        = c->call;
    uint64_t                count[2] = {p ? p->open.count : 0, p ? p->brk.count : 0};
    snapshot_put(s, count, sizeof count);
    for (size_t i = 0; p && i < p->open.capacity; i++)
        if (p->open.slot[i].value)
            snapshot_put(s, p->open.slot[i].value, sizeof(struct convert_syscall_open_call));
    for (size_t i = 0; p && i < p->brk.capacity; i++)
        if (p->brk.slot[i].value)
            snapshot_put(s, (const uint64_t[]){p->brk.slot[i].key, (uintptr_t)p->brk.slot[i].value}, 16);
}

static bool call_put(struct part_call *p, const struct convert_syscall_open_call *call)
{
    struct convert_syscall_open_call *o = idmap_get(&p->open, call->tid);
    if (!o) {
        if (p->open.count >= CALLS_MAX || !(o = malloc(sizeof *o)))
            return false;
        if (!idmap_put(&p->open, call->tid, o)) {
            free(o);
            return false;
        }
    }
    *o = *call;
    return true;
}

bool part_call_get(struct convert *c, struct cursor *cur)
{
    uint64_t          opens = cur_u64(cur), brks = cur_u64(cur);
    struct part_call *p = opens || brks ? convert_syscall_part(c) : NULL;
    if (opens > CALLS_MAX || brks > CALLS_MAX || ((opens || brks) && !p))
        return false;
    for (uint64_t i = 0; i < opens; i++) {
        struct convert_syscall_open_call o;
        cur_copy(cur, &o, sizeof o);
        if (!cur_ok(cur) || !call_put(p, &o))
            return false;
    }
    for (uint64_t i = 0; i < brks; i++) {
        uint64_t key = cur_u64(cur), value = cur_u64(cur);
        if (!cur_ok(cur) || !value || !idmap_put(&p->brk, key, (void *)(uintptr_t)value))
            return false;
    }
    return cur_ok(cur);
}

uint32_t ntstatus_of(int64_t result)
{
    switch (result >= 0 || result < -4095 ? 0 : -result) {
    case 0: return 0;
#define NT(number, status) \
    case number: \
        return status;
#include "autologger/kernel/convert/ntstatus.def"
#undef NT
    case 512:
    case 513:
    case 514:
    case 516: return 0xC0000120; /* ERESTART...: interrupted by a signal */
    default: return 0xC0000001;
    }
}

static bool is_narrow(const struct convert *c, uint32_t pid)
{
    const struct kernel_process *p = idmap_get(&c->process, pid);
    return p && (p->flags & RAW_PROCESS_32BIT);
}

static enum mem_kind convert_syscall_kind_of(uint64_t number)
{
    switch (number) {
/* clang-format off */
#define MEM(number, kind)                                                                                                        \
    case number: return MEM_##kind;
#define MEM32(number, kind)                                                                                                      \
    case number | NARROW: return MEM_##kind;
#include "autologger/kernel/source/memcalls.def"
#undef MEM32
#undef MEM
        /* clang-format on */
    default: return MEM_NONE;
    }
}

/* The call of a record: its number without the x32 bit, with NARROW for a 32-bit program. */
static uint64_t call_of(const struct convert *c, const struct sample *s)
{
    uint64_t number = (uint64_t)sample_field(s, F_CALL_ID);
    if (number > UINT32_MAX) /* -1: a tracer took the call away */
        return UINT64_MAX;
    if (number & SYSCALL_X32)
        return number & ~(uint64_t)SYSCALL_X32;
    return is_narrow(c, s->pid) ? number | NARROW : number;
}

static uint64_t convert_syscall_address_of(const struct convert *c, uint64_t call)
{
    const struct raw_header *h      = c->log->header;
    uint64_t                 number = call & ~(uint64_t)NARROW;
    return number >= RAW_SYSCALLS ? 0 : call & NARROW ? h->narrow[number] : h->syscall[number];
}

static bool convert_syscall_wants(const struct convert *c, uint32_t word0, unsigned word, uint32_t bits)
{
    return (c->mask[0] & word0) || (c->mask[word] & bits);
}

static uint64_t convert_syscall_argument(const struct sample *s, unsigned which)
{
    const struct raw_field *f = &s->source->field[F_CALL_ARGS];
    uint64_t                v = 0;
    if (f->offset != RAW_NO_FIELD && (uint32_t)f->offset + which * 8 + 8 <= s->raw_size && which * 8 + 8u <= f->size)
        memcpy(&v, s->raw + f->offset + which * 8, 8);
    return v;
}

void convert_sys_enter(struct convert *c, const struct sample *s)
{
    uint64_t call = call_of(c, s), time = convert_time(c, s->time);
    if (convert_syscall_wants(c, 0x80, 2, 0x40)) {
        uint64_t address = convert_syscall_address_of(c, call);
        uint32_t pid     = shown_pid(c, s->pid, s->tid);
        emit(c, &(struct event){s->cpu, HOOK_PERF_SYSCALL_ENTER, ETL_SYSTEM64, 2, pid, s->tid}, &time, &address,
             sizeof address);
        if (stack_wanted(c, HOOK_PERF_SYSCALL_ENTER))
            emit_stack(c, &(struct actor){s->cpu, pid, s->tid}, time, s->chain, s->chain_count);
    }
    struct part_call *p =
        convert_syscall_wants(c, 0x4000, 1, 0x8000) && convert_syscall_kind_of(call) ? convert_syscall_part(c) : NULL;
    if (p)
        call_put(p,
                 &(struct convert_syscall_open_call){s->tid,
                                                     (uint32_t)call,
                                                     {convert_syscall_argument(s, 0), convert_syscall_argument(s, 1),
                                                      convert_syscall_argument(s, 2), convert_syscall_argument(s, 3)}});
}

static uint64_t convert_syscall_pages(uint64_t bytes) { return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1); }

static void memory_event(struct convert *c, const struct sample *s, uint16_t hook, uint64_t base, uint64_t size,
                         uint32_t flags)
{
    uint8_t       bytes[24];
    struct writer w    = wr_make(bytes, sizeof bytes);
    uint64_t      time = convert_time(c, s->time);
    uint32_t      pid  = shown_pid(c, s->pid, s->tid);
    wr_u64(&w, base);
    wr_u64(&w, size);
    wr_u32(&w, pid);
    wr_u32(&w, flags);
    emit(c, &(struct event){s->cpu, hook, ETL_PERFINFO64, 2, 0, 0}, &time, bytes, w.pos);
    if (stack_wanted(c, hook))
        emit_stack(c, &(struct actor){s->cpu, pid, s->tid}, time, s->chain, s->chain_count);
}

static void allocated(struct convert *c, const struct sample *s, uint64_t base, uint64_t size, bool usable)
{
    memory_event(c, s, HOOK_MEMORY_VIRTUAL_ALLOC, base, size, MEM_RESERVE | (usable ? MEM_COMMIT : 0));
}

static void freed(struct convert *c, const struct sample *s, uint64_t base, uint64_t size, uint32_t flags)
{
    memory_event(c, s, HOOK_MEMORY_VIRTUAL_FREE, base, size, flags);
}

/* The heap's end is known from the program's first query (an end of 0), or from its last change. */
static void heap_changed(struct convert *c, const struct sample *s, struct part_call *p, uint64_t asked, uint64_t end)
{
    uint64_t before = (uint64_t)(uintptr_t)idmap_get(&p->brk, s->pid);
    uint64_t was    = before ? convert_syscall_pages(before - 1) : convert_syscall_pages(end),
             is     = convert_syscall_pages(end);
    if (asked == end && is > was)
        allocated(c, s, was, is - was, true);
    else if (asked == end && is < was)
        freed(c, s, is, was - is, MEM_RELEASE);
    if (p->brk.count < CALLS_MAX)
        idmap_put(&p->brk, s->pid, (void *)(uintptr_t)(end + 1));
}

static void remapped(struct convert *c, const struct sample *s, const struct convert_syscall_open_call *o,
                     uint64_t base)
{
    uint64_t was = convert_syscall_pages(o->arg[1]), is = convert_syscall_pages(o->arg[2]);
    if (base != o->arg[0]) {
        if (was)
            freed(c, s, o->arg[0], was, MEM_RELEASE);
        allocated(c, s, base, is, true);
    } else if (is > was) {
        allocated(c, s, base + was, is - was, true);
    } else if (is < was) {
        freed(c, s, base + is, was - is, MEM_RELEASE);
    }
}

static void memory_changed(struct convert *c, const struct sample *s, struct part_call *p,
                           const struct convert_syscall_open_call *o, int64_t result)
{
    if (result < 0 && result >= -4095)
        return;
    switch (convert_syscall_kind_of(o->number)) {
    case MEM_MAP:
        if (o->arg[3] & MAP_ANONYMOUS)
            allocated(c, s, (uint64_t)result, convert_syscall_pages(o->arg[1]), o->arg[2] != PROT_NONE);
        break;
    case MEM_UNMAP: freed(c, s, o->arg[0], convert_syscall_pages(o->arg[1]), MEM_RELEASE); break;
    case MEM_BREAK: heap_changed(c, s, p, o->arg[0], (uint64_t)result); break;
    case MEM_REMAP: remapped(c, s, o, (uint64_t)result); break;
    case MEM_ADVISE:
        if (o->arg[2] == MADV_DONTNEED || o->arg[2] == MADV_FREE)
            freed(c, s, o->arg[0], convert_syscall_pages(o->arg[1]), MEM_DECOMMIT);
        break;
    case MEM_NONE: break;
    }
}

void convert_sys_exit(struct convert *c, const struct sample *s)
{
    int64_t  result = sample_field(s, F_CALL_RET);
    uint64_t time   = convert_time(c, s->time);
    if (convert_syscall_wants(c, 0x80, 2, 0x40)) {
        uint32_t status = ntstatus_of(result), pid = shown_pid(c, s->pid, s->tid);
        emit(c, &(struct event){s->cpu, HOOK_PERF_SYSCALL_EXIT, ETL_SYSTEM64, 2, pid, s->tid}, &time, &status,
             sizeof status);
        if (stack_wanted(c, HOOK_PERF_SYSCALL_EXIT))
            emit_stack(c, &(struct actor){s->cpu, pid, s->tid}, time, s->chain, s->chain_count);
    }
    struct convert_syscall_open_call *o = c->call ? idmap_remove(&c->call->open, s->tid) : NULL;
    if (o && o->number == call_of(c, s))
        memory_changed(c, s, c->call, o, result);
    free(o);
}
