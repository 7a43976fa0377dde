/* convert_boot.c - initcalls, module loads and the end of the kernel phase. Windows has no such events, so they have
 * names of our own (provider Autologger-Kernel-Boot), and describe themselves: any reader can decode them. See
 * convert.h. */
#include "autologger/kernel/convert/describe.h"

#include <string.h>

#define PROVIDER "Autologger-Kernel-Boot"
enum { PAYLOAD_MAX = 1024 };

/* The function's name, if /proc/kallsyms had it */
static void wr_symbol(struct convert *c, struct writer *w, uint64_t address)
{
    struct raw_own own;
    const uint8_t *n = note_find(c, RAW_NOTE_SYMBOL, 0, address, sizeof own + 1);
    if (n) {
        const char *name = (const char *)n + sizeof own;
        memcpy(&own, n, sizeof own);
        wr_text(w, name, own.size - sizeof own);
    } else {
        wr_u8(w, 0);
    }
}

void convert_initcall(struct convert *c, const struct sample *s)
{
    static const struct shape level  = {PROVIDER, "InitcallLevel", {{"Level", SHAPE_TEXT}}};
    static const struct shape start  = {PROVIDER, "InitcallStart", {{"Function", SHAPE_HEX64}, {"Name", SHAPE_TEXT}}};
    static const struct shape finish = {
        PROVIDER,
        "InitcallFinish",
        {{"Function", SHAPE_HEX64}, {"Name", SHAPE_TEXT}, {"Result", SHAPE_INT32}, {"DurationNs", SHAPE_UINT64}}};
    struct actor  by = {s->cpu, shown_pid(c, s->pid, s->tid), s->tid};
    uint8_t       bytes[PAYLOAD_MAX];
    struct writer w = wr_make(bytes, sizeof bytes);
    if (s->source->kind == SRC_INITCALL_LEVEL) {
        wr_sample_text(&w, s, F_LEVEL_NAME);
        describe(c, &by, &level, s->time, &w);
        return;
    }
    uint64_t function = (uint64_t)sample_field(s, F_INITCALL_FUNC), key = function ^ (uint64_t)s->tid << 48;
    bool     begins = s->source->kind == SRC_INITCALL_START;
    wr_u64(&w, function);
    wr_symbol(c, &w, function);
    if (begins) { /* 0 means "no entry" in the table */
        idmap_put(&c->initcall, key, (void *)(uintptr_t)(s->time + 1));
    } else {
        uint64_t began = (uintptr_t)idmap_remove(&c->initcall, key);
        wr_u32(&w, (uint32_t)sample_field(s, F_INITCALL_RET));
        wr_u64(&w, began && s->time + 1 > began ? s->time + 1 - began : 0);
    }
    describe(c, &by, begins ? &start : &finish, s->time, &w);
}

void convert_module(struct convert *c, const struct sample *s)
{
    static const struct shape shape = {PROVIDER, "ModuleLoad", {{"Name", SHAPE_TEXT}, {"Taints", SHAPE_HEX32}}};
    uint8_t                   bytes[PAYLOAD_MAX];
    struct writer             w = wr_make(bytes, sizeof bytes);
    wr_sample_text(&w, s, F_MODULE_NAME);
    wr_u32(&w, (uint32_t)sample_field(s, F_MODULE_TAINTS));
    describe(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, &shape, s->time, &w);
}

/* One event per CPU: from here on the events are perf's. TraceTime + OffsetNs is CLOCK_MONOTONIC_RAW, within ErrorNs,
 * except that trace times below SqueezedNs were halved instead. */
void convert_phase(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    static const struct shape shape = {PROVIDER,
                                       "KernelPhaseEnd",
                                       {{"Cpu", SHAPE_UINT32},
                                        {"Clock", SHAPE_TEXT},
                                        {"OffsetNs", SHAPE_INT64},
                                        {"ErrorNs", SHAPE_UINT64},
                                        {"SqueezedNs", SHAPE_UINT64},
                                        {"FirstNs", SHAPE_UINT64},
                                        {"Entries", SHAPE_UINT64},
                                        {"Kept", SHAPE_UINT64},
                                        {"Lost", SHAPE_UINT64}}};
    struct raw_phase_end      r;
    uint8_t                   bytes[PAYLOAD_MAX];
    struct writer             w = wr_make(bytes, sizeof bytes);
    if (size < sizeof r)
        return;
    memcpy(&r, record, sizeof r);
    wr_u32(&w, r.cpu);
    wr_text(&w, r.clock, sizeof r.clock);
    wr_u64(&w, (uint64_t)r.offset_ns);
    wr_u64(&w, r.error_ns);
    wr_u64(&w, r.squeezed_ns);
    wr_u64(&w, r.first_ns);
    wr_u64(&w, r.entries);
    wr_u64(&w, r.kept);
    wr_u64(&w, r.lost);
    describe(c, &(struct actor){r.cpu < c->cpus ? r.cpu : 0, 0, 0}, &shape, raw, &w);
}
