#include "autologger/kernel/tables/flags.h"
#include "autologger/plan/modes.h"
#include "autologger/plan/reading.h"

enum {
    MAXIMUM_OVER_MINIMUM = 22,
    LARGE_BUFFER_KB      = 1024,
    GROWTH_A_PROCESSOR   = 8,
    GROWTH_OF_OFTEN      = 128,
    GROWTH_MOST          = 1024,
    PART_OF_THE_REST     = 8,
};

uint64_t plan_memory_ceiling(uint64_t ram_bytes) { return ram_bytes / 10; }

/* The least memory that the session at `key` asks for; 0 when it does not start, or Start can't be read. */
static uint64_t minimum_bytes(struct regstore *store, const char *key, uint32_t floor)
{
    uint32_t start = 0, kb = 0, minimum = 0;

    if (regstore_get_dword(store, key, value_rows[VALUE_START].name, &start, NULL) || start != 1)
        return 0;
    (void)regstore_get_dword(store, key, value_rows[VALUE_BUFFER_SIZE].name, &kb, NULL);
    (void)regstore_get_dword(store, key, value_rows[VALUE_MINIMUM_BUFFERS].name, &minimum, NULL);
    uint64_t bytes = UINT64_C(1024) * (kb ? kb : value_rows[VALUE_BUFFER_SIZE].fallback);
    return bytes * (minimum > floor ? minimum : floor);
}

uint64_t plan_memory_share(struct regstore *store, char *const *keys, unsigned count, unsigned processors,
                           uint64_t left)
{
    uint64_t kept = 0;

    for (unsigned i = 0; i < count && kept < left / 4; i++)
        kept += minimum_bytes(store, keys[i], 2 * (processors ? processors : 1));
    return left - (kept < left / 4 ? kept : left / 4);
}

static uint32_t clamp(uint64_t number, uint64_t low, uint64_t high)
{
    number = number < low ? low : number;
    return (uint32_t)(number > high ? high : number);
}

static void buffer_size(struct plan_reading *r)
{
    const struct plan_value *v   = reading_value(r, VALUE_BUFFER_SIZE);
    const struct value_row  *row = &value_rows[VALUE_BUFFER_SIZE];
    struct plan             *p   = r->plan;

    p->asked.buffer_kb = (uint32_t)(v->number ? v->number : row->fallback); /* 0 asks for the default */
    p->given.buffer_kb = clamp(p->asked.buffer_kb, row->low, row->high);
    if (p->given.buffer_kb != p->asked.buffer_kb)
        reading_condition(r, W_INVALID_PARAMETER, false, VALUE_BUFFER_SIZE, "choose a BufferSize within the range",
                          "BufferSize %u KB is out of range (%u to %u KB): %u KB is used", p->asked.buffer_kb,
                          (unsigned)row->low, (unsigned)row->high, p->given.buffer_kb);
    else if (p->given.buffer_kb > LARGE_BUFFER_KB)
        reading_condition(r, W_INVALID_PARAMETER, true, VALUE_BUFFER_SIZE,
                          "1024 KB suffices: an event has at most 64 KB",
                          "BufferSize is above the documented 1024 KB; it is used as it is");
}

/* Flags of kernel events that come thousands of times a second on each processor. */
static const char *const often[] = {"CSWITCH",      "DISPATCHER", "SYSCALL",   "PROFILE", "FILE_IO",
                                    "FILE_IO_INIT", "ALL_FAULTS", "MEMORY",    "POOL",    "INTERRUPT",
                                    "DPC",          "SPINLOCK",   "VIRT_ALLOC"};

static bool comes_often(const struct plan *p)
{
    bool is_often = false;
    for (unsigned i = 0; p->kernel && i < sizeof often / sizeof *often; i++)
        is_often |= group_mask_has(p->group_mask, often[i]);
    return is_often;
}

/* MaximumBuffers less MinimumBuffers when it is not declared. 22 [B] suffices on one or two processors; each further
 * one writes as much, and frequent events need more. */
static uint32_t usual_growth(bool is_often, unsigned processors)
{
    const uint64_t a_processor = is_often ? GROWTH_OF_OFTEN : GROWTH_A_PROCESSOR;
    return clamp(a_processor * processors, MAXIMUM_OVER_MINIMUM, is_often ? GROWTH_MOST : UINT32_MAX);
}

/* The limit of this growth by memory; `fit`: the number of buffers that memory has room for. Other sessions follow:
 * frequent events leave them half of the memory, and there are few such sessions. All other sessions take, with their
 * MinimumBuffers, at most an eighth: so all SHM_SESSIONS places can be used with 64 processors on 22 GB, where with a
 * half the first 60 sessions took all. A smaller part would be too little for a few sessions on a small machine with
 * many processors. */
static uint32_t growth_that_fits(bool is_often, uint32_t minimum, uint64_t fit)
{
    const uint64_t part = fit / PART_OF_THE_REST, most = is_often ? fit / 2 : part > minimum ? part - minimum : 0;
    return clamp(most, MAXIMUM_OVER_MINIMUM, UINT32_MAX);
}

/* Without a declared MaximumBuffers. */
static void default_maximum(struct plan_reading *r, unsigned processors, uint64_t fit)
{
    struct plan   *p        = r->plan;
    const bool     is_often = comes_often(p);
    const uint32_t usual    = usual_growth(is_often, processors),
                   most     = growth_that_fits(is_often, p->given.minimum_buffers, fit);
    const uint32_t growth   = usual < most ? usual : most;

    p->asked.maximum_buffers = clamp((uint64_t)p->asked.minimum_buffers + usual, 0, UINT32_MAX);
    p->given.maximum_buffers = clamp((uint64_t)p->given.minimum_buffers + growth, 0, UINT32_MAX);
    if (growth < usual && p->given.maximum_buffers <= fit && !(p->log_file_mode & MODE_BUFFERING))
        reading_condition(r, W_NOT_ENOUGH_MEMORY, true, VALUE_MAXIMUM_BUFFERS,
                          "declare MaximumBuffers if the session loses events",
                          "%u are given, not %u as usual: other sessions may need what is left of the memory",
                          p->given.maximum_buffers, p->asked.maximum_buffers);
}

/* Counts before the memory ceiling: the floor of 2 x processors, Maximum not below Minimum. */
static void buffer_counts(struct plan_reading *r, uint32_t floor, uint64_t fit)
{
    struct plan *p            = r->plan;
    uint64_t     declared     = reading_value(r, VALUE_MINIMUM_BUFFERS)->number;
    uint64_t     declared_max = reading_value(r, VALUE_MAXIMUM_BUFFERS)->number;

    p->asked.minimum_buffers = (uint32_t)(declared ? declared : floor);
    p->given.minimum_buffers = clamp(p->asked.minimum_buffers, floor, UINT32_MAX);
    if (declared_max)
        p->asked.maximum_buffers = p->given.maximum_buffers = clamp(declared_max, 0, UINT32_MAX);
    else
        default_maximum(r, floor / 2, fit);
    if (p->given.maximum_buffers < p->given.minimum_buffers) {
        reading_condition(r, W_INVALID_PARAMETER, true, VALUE_MAXIMUM_BUFFERS, "raise MaximumBuffers",
                          "MaximumBuffers %u is below MinimumBuffers: %u are used", p->asked.maximum_buffers,
                          p->given.minimum_buffers);
        p->given.maximum_buffers = p->given.minimum_buffers;
    }
    if (p->log_file_mode & MODE_BUFFERING) /* a ring of MinimumBuffers does not grow */
        p->given.maximum_buffers = p->given.minimum_buffers;
}

wstatus reading_buffers(struct plan_reading *r)
{
    struct plan *p          = r->plan;
    unsigned     processors = r->limits->processors ? r->limits->processors : 1;

    if (p->log_file_mode & MODE_NO_PER_PROCESSOR_BUFFERING && !p->kernel)
        processors = 1;
    uint32_t floor = 2 * processors;
    buffer_size(r);

    /* a ring takes each buffer's memory twice: where it is kept, and where programs write */
    uint64_t buffer_bytes = (uint64_t)p->given.buffer_kb * 1024 * (p->log_file_mode & MODE_BUFFERING ? 2 : 1);
    uint64_t fit          = r->limits->memory_left / buffer_bytes;
    buffer_counts(r, floor, fit);
    if (fit < floor) {
        reading_blame(r, VALUE_BUFFER_SIZE);
        return reason_set(r->why, W_NOT_ENOUGH_MEMORY,
                          "the least that a session needs is 2 x %u processors x %u KB = %llu KB, but %llu KB are left "
                          "of what all boot sessions may have (MaxNonPagedPoolUsage, 10 %% of memory unless given). "
                          "Do: lower BufferSize to at most %llu KB, or start fewer sessions",
                          processors, p->given.buffer_kb, (unsigned long long)(floor * buffer_bytes / 1024),
                          (unsigned long long)(r->limits->memory_left / 1024),
                          (unsigned long long)(r->limits->memory_left / 1024 / floor));
    }
    if (p->given.maximum_buffers > fit) {
        enum value_id id =
            reading_value(r, VALUE_MAXIMUM_BUFFERS)->present ? VALUE_MAXIMUM_BUFFERS : VALUE_MINIMUM_BUFFERS;
        p->given.maximum_buffers = (uint32_t)fit;
        p->given.minimum_buffers = clamp(p->given.minimum_buffers, floor, fit);
        reading_condition(r, W_NOT_ENOUGH_MEMORY, false, id, "lower MinimumBuffers, MaximumBuffers or BufferSize",
                          "%u to %u buffers of %u KB were asked; %u to %u are given, because %llu KB are left of what "
                          "all boot sessions may have (MaxNonPagedPoolUsage, 10 %% of memory unless given)",
                          p->asked.minimum_buffers, p->asked.maximum_buffers, p->given.buffer_kb,
                          p->given.minimum_buffers, p->given.maximum_buffers,
                          (unsigned long long)(r->limits->memory_left / 1024));
    }
    p->memory_bytes = p->given.maximum_buffers * buffer_bytes;
    return W_SUCCESS;
}
