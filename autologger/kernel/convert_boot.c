/* convert_boot.c - initcalls, module loads and the end of the kernel phase. Windows has no such events, so they are ours, with
 * names of our own (provider Autologger-Kernel-Boot), and describe themselves: any reader can decode them. See convert.h. */
#include "autologger/kernel/convert.h"
#include "autologger/kernel/sources.h"
#include "registry-sim/base/cursor.h"

#include <string.h>

#define PROVIDER "Autologger-Kernel-Boot"
enum { TEXT = 2, INT32 = 7, UINT32 = 8, INT64 = 9, UINT64 = 10, HEX32 = 20, HEX64 = 21, UTF8 = 35, SCHEMA_MAX = 256, PAYLOAD_MAX = 1024,
       FIELDS_MAX = 9 };
struct shape { /* of one event */
    const char *name;
    struct { const char *name; uint8_t type; } field[FIELDS_MAX];
};

static void wr_name(struct writer *w, const char *text) { wr_bytes(w, text, strlen(text) + 1); }

static void size_set(struct writer *w)
{
    uint16_t size = (uint16_t)w->pos;
    memcpy(w->data, &size, sizeof size);
}

static void describe(struct convert *c, const struct actor *by, const struct shape *shape, uint64_t raw, const struct writer *payload)
{
    uint8_t          traits[sizeof PROVIDER + 2], schema[SCHEMA_MAX];
    struct writer    t = wr_make(traits, sizeof traits), s = wr_make(schema, sizeof schema);
    struct described d = {traits, schema, guid_from_name(PROVIDER)};
    uint64_t         time = convert_time(c, raw);
    wr_u16(&t, 0);
    wr_name(&t, PROVIDER);
    size_set(&t);
    wr_u16(&s, 0);
    wr_u8(&s, 0); /* no tags */
    wr_name(&s, shape->name);
    for (unsigned i = 0; i < FIELDS_MAX && shape->field[i].name; i++) {
        wr_name(&s, shape->field[i].name);
        wr_u8(&s, shape->field[i].type == TEXT ? TEXT | 0x80 : shape->field[i].type);
        if (shape->field[i].type == TEXT)
            wr_u8(&s, UTF8);
    }
    size_set(&s);
    if (wr_ok(&s) && wr_ok(payload))
        emit_described(c, by, &d, &time, payload->data, payload->pos);
}

static void wr_field_text(struct writer *w, const struct sample *s, unsigned field)
{
    const struct raw_field *f     = &s->source->field[field];
    uint32_t                where = (uint32_t)sample_field(s, field), from = where & 0xFFFF, length = where >> 16;
    if (f->offset != RAW_NO_FIELD && f->size == 4 && from + length <= s->raw_size)
        wr_bytes(w, s->raw + from, strnlen((const char *)s->raw + from, length < 255 ? length : 255));
    wr_u8(w, 0);
}

/* The function's name, when /proc/kallsyms told it */
static void wr_symbol(struct convert *c, struct writer *w, uint64_t address)
{
    struct raw_own own;
    const uint8_t *n = note_find(c, RAW_NOTE_SYMBOL, 0, address, sizeof own + 1);
    if (n) {
        const char *name = (const char *)n + sizeof own;
        memcpy(&own, n, sizeof own);
        wr_bytes(w, name, strnlen(name, own.size - sizeof own));
    }
    wr_u8(w, 0);
}

void convert_initcall(struct convert *c, const struct sample *s)
{
    static const struct shape level  = {"InitcallLevel", {{"Level", TEXT}}};
    static const struct shape start  = {"InitcallStart", {{"Function", HEX64}, {"Name", TEXT}}};
    static const struct shape finish = {"InitcallFinish", {{"Function", HEX64}, {"Name", TEXT}, {"Result", INT32}, {"DurationNs", UINT64}}};
    struct actor  by = {s->cpu, shown_pid(c, s->pid, s->tid), s->tid};
    uint8_t       bytes[PAYLOAD_MAX];
    struct writer w = wr_make(bytes, sizeof bytes);
    if (s->source->kind == SRC_INITCALL_LEVEL) {
        wr_field_text(&w, s, F_LEVEL_NAME);
        describe(c, &by, &level, s->time, &w);
        return;
    }
    uint64_t function = (uint64_t)sample_field(s, F_INITCALL_FUNC), key = function ^ (uint64_t)s->tid << 48;
    bool     begins   = s->source->kind == SRC_INITCALL_START;
    wr_u64(&w, function);
    wr_symbol(c, &w, function);
    if (begins) { /* 0 is "not there" in the table */
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
    static const struct shape shape = {"ModuleLoad", {{"Name", TEXT}, {"Taints", HEX32}}};
    uint8_t       bytes[PAYLOAD_MAX];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_field_text(&w, s, F_MODULE_NAME);
    wr_u32(&w, (uint32_t)sample_field(s, F_MODULE_TAINTS));
    describe(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, &shape, s->time, &w);
}

/* One for each CPU: from here on the events are perf's. TraceTime + OffsetNs is CLOCK_MONOTONIC_RAW, within ErrorNs, except that
 * trace times below SqueezedNs were halved instead. */
void convert_phase(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    static const struct shape shape = {"KernelPhaseEnd",
                                       {{"Cpu", UINT32}, {"Clock", TEXT}, {"OffsetNs", INT64}, {"ErrorNs", UINT64}, {"SqueezedNs", UINT64},
                                        {"FirstNs", UINT64}, {"Entries", UINT64}, {"Kept", UINT64}, {"Lost", UINT64}}};
    struct raw_phase_end r;
    uint8_t              bytes[PAYLOAD_MAX];
    struct writer        w = wr_make(bytes, sizeof bytes);
    if (size < sizeof r)
        return;
    memcpy(&r, record, sizeof r);
    wr_u32(&w, r.cpu);
    wr_bytes(&w, r.clock, strnlen(r.clock, sizeof r.clock));
    wr_u8(&w, 0);
    wr_u64(&w, (uint64_t)r.offset_ns);
    wr_u64(&w, r.error_ns);
    wr_u64(&w, r.squeezed_ns);
    wr_u64(&w, r.first_ns);
    wr_u64(&w, r.entries);
    wr_u64(&w, r.kept);
    wr_u64(&w, r.lost);
    describe(c, &(struct actor){r.cpu < c->cpus ? r.cpu : 0, 0, 0}, &shape, raw, &w);
}
