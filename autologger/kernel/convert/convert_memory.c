/* convert_memory.c - MEMINFO and MEMINFO_WS: events of our own with the kernel's names, because Windows counts lists of
 * pages that Linux does not have. See convert.h; memory.c reads the figures.
 * A process' working set is written when it differs from its last event. */
#include "autologger/kernel/convert/describe.h"
#include "autologger/kernel/convert/snapshot.h"

#include <stdlib.h>
#include <string.h>

#define PROVIDER "Autologger-Kernel-Memory"
enum { SETS_MAX = 1 << 17 };

struct part_memory {
    struct idmap set; /* by process: a hash of the last written figures, see convert_memory_is_new() */
};

static const struct shape memory_shape = {
    PROVIDER,
    "MemInfo",
    {{"MemTotal", SHAPE_UINT64},    {"MemFree", SHAPE_UINT64},     {"MemAvailable", SHAPE_UINT64},
     {"Buffers", SHAPE_UINT64},     {"Cached", SHAPE_UINT64},      {"SwapCached", SHAPE_UINT64},
     {"Active", SHAPE_UINT64},      {"Inactive", SHAPE_UINT64},    {"Unevictable", SHAPE_UINT64},
     {"Mlocked", SHAPE_UINT64},     {"SwapTotal", SHAPE_UINT64},   {"SwapFree", SHAPE_UINT64},
     {"Dirty", SHAPE_UINT64},       {"Writeback", SHAPE_UINT64},   {"AnonPages", SHAPE_UINT64},
     {"Mapped", SHAPE_UINT64},      {"Shmem", SHAPE_UINT64},       {"KReclaimable", SHAPE_UINT64},
     {"SUnreclaim", SHAPE_UINT64},  {"KernelStack", SHAPE_UINT64}, {"PageTables", SHAPE_UINT64},
     {"CommitLimit", SHAPE_UINT64}, {"Committed_AS", SHAPE_UINT64}}};
static const struct shape set_shape = {
    PROVIDER,
    "WorkingSet",
    {{"ProcessId", SHAPE_UINT32}, {"VmSize", SHAPE_UINT64}, {"VmRSS", SHAPE_UINT64}, {"Shared", SHAPE_UINT64}}};

/* "Name:   123 kB"; 0 when this kernel lacks the line */
static uint64_t line_value(const char *text, const char *end, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text, *line_end; p < end; p = line_end + 1) {
        line_end = memchr(p, '\n', (size_t)(end - p));
        if ((size_t)(end - p) > n && memcmp(p, name, n) == 0 && p[n] == ':')
            return strtoull(p + n + 1, NULL, 10);
        if (!line_end)
            break;
    }
    return 0;
}

void own_memory(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    uint8_t       payload[SHAPE_FIELDS * sizeof(uint64_t)];
    struct writer w   = wr_make(payload, sizeof payload);
    struct cursor cur = cur_make(record, size);
    cur_take(&cur, sizeof(struct raw_own));
    const char *text = cur_zstring(&cur);
    if (!text)
        return;
    for (unsigned i = 0; i < SHAPE_FIELDS && memory_shape.field[i].name; i++)
        wr_u64(&w, line_value(text, text + strlen(text), memory_shape.field[i].name));
    describe(c, &(struct actor){0}, &memory_shape, raw, &w);
}

static bool convert_memory_is_new(struct convert *c, const struct raw_set *s)
{
    if (!c->memory && !(c->memory = calloc(1, sizeof *c->memory)))
        return true;
    /* never 0, which means "none" */
    uint64_t now = (s->resident * UINT64_C(0x9E3779B97F4A7C15) ^ s->size) | UINT64_C(1) << 63;
    if ((uintptr_t)idmap_get(&c->memory->set, s->pid) == now)
        return false;
    if (c->memory->set.count < SETS_MAX)
        idmap_put(&c->memory->set, s->pid, (void *)(uintptr_t)now);
    return true;
}

void own_sets(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_sets r;
    struct cursor   cur = cur_make(record, size);
    cur_copy(&cur, &r, sizeof r);
    for (uint32_t i = 0; cur_ok(&cur) && i < r.count; i++) {
        struct raw_set s;
        uint8_t        payload[32];
        struct writer  w = wr_make(payload, sizeof payload);
        cur_copy(&cur, &s, sizeof s);
        if (!cur_ok(&cur) || !convert_memory_is_new(c, &s))
            continue;
        wr_u32(&w, (uint32_t)s.pid);
        wr_u64(&w, s.size * r.page_kb);
        wr_u64(&w, s.resident * r.page_kb);
        wr_u64(&w, s.shared * r.page_kb);
        describe(c, &(struct actor){0, (uint32_t)s.pid, (uint32_t)s.pid}, &set_shape, raw, &w);
    }
}

void memory_process_gone(struct convert *c, uint32_t pid)
{
    if (c->memory)
        idmap_remove(&c->memory->set, pid);
}

void part_memory_finish(struct convert *c)
{
    if (c->memory)
        idmap_finish(&c->memory->set);
    free(c->memory);
    c->memory = NULL;
}

void part_memory_put(const struct convert *c, struct sink *s)
{
    const struct idmap *sets  = c->memory ? &c->memory->set : NULL;
    uint64_t            count = sets ? sets->count : 0;
    snapshot_put(s, &count, sizeof count);
    for (size_t i = 0; sets && i < sets->capacity; i++)
        if (sets->slot[i].value) {
            uint64_t one[2] = {sets->slot[i].key, (uintptr_t)sets->slot[i].value};
            snapshot_put(s, one, sizeof one);
        }
}

bool part_memory_get(struct convert *c, struct cursor *cur)
{
    uint64_t count = cur_u64(cur);
    if (count > SETS_MAX)
        return false;
    if (count && !(c->memory = calloc(1, sizeof *c->memory)))
        return false;
    for (uint64_t i = 0; i < count && cur_ok(cur); i++) {
        uint64_t pid = cur_u64(cur), value = cur_u64(cur);
        if (!value || !idmap_put(&c->memory->set, pid, (void *)(uintptr_t)value))
            return false;
    }
    return cur_ok(cur);
}
