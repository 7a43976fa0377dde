/* convert_copy.c - sources whose records are written field by field: Windows' classes for the same flags describe
 * things that Linux does not have (pool tags, sections, working set lists), so these are events of our own with the
 * kernel's meaning. The fields of a row have the order of sources.def. See convert.h. */
#include "autologger/kernel/convert/describe.h"

#define POOL "Autologger-Kernel-Pool"
#define PAGES "Autologger-Kernel-Pages"
#define CACHE "Autologger-Kernel-Cache"
#define WORK "Autologger-Kernel-Work"
#define SCHEDULER "Autologger-Kernel-Scheduler"
#define ALLOCATION \
    {"CallSite", SHAPE_HEX64}, {"Address", SHAPE_HEX64}, {"Requested", SHAPE_UINT64}, {"Allocated", SHAPE_UINT64}, \
    { \
        "GfpFlags", SHAPE_HEX32 \
    }
#define RELEASE \
    {"CallSite", SHAPE_HEX64}, { "Address", SHAPE_HEX64 }
#define CACHED \
    {"Device", SHAPE_UINT32}, {"Inode", SHAPE_UINT64}, {"Page", SHAPE_UINT64}, { "Order", SHAPE_UINT32 }
#define WRITTEN \
    {"Device", SHAPE_UINT32}, {"Pages", SHAPE_INT64}, { "Reason", SHAPE_UINT32 }
#define ZONE \
    {"ZoneFirstFrame", SHAPE_UINT64}, {"ZoneEndFrame", SHAPE_UINT64}, { "Synchronous", SHAPE_UINT32 }
enum { PAYLOAD_MAX = 512 };

static const struct copied {
    unsigned     kind;
    uint16_t     hook; /* hook of its stack; 0: none */
    struct shape shape;
} convert_copy_rows[] = {
    {SRC_KMALLOC, HOOK_POOL_ALLOC, {POOL, "KernelAlloc", {ALLOCATION}}},
    {SRC_KFREE, HOOK_POOL_FREE, {POOL, "KernelFree", {RELEASE}}},
    {SRC_CACHE_ALLOC, HOOK_POOL_ALLOC, {POOL, "CacheAlloc", {ALLOCATION}}},
    {SRC_CACHE_FREE, HOOK_POOL_FREE, {POOL, "CacheFree", {RELEASE, {"Cache", SHAPE_TEXT}}}},
    {SRC_PAGE_ALLOC,
     0,
     {PAGES,
      "PageAlloc",
      {{"Frame", SHAPE_UINT64}, {"Order", SHAPE_UINT32}, {"GfpFlags", SHAPE_HEX32}, {"MigrateType", SHAPE_UINT32}}}},
    {SRC_PAGE_FREE, 0, {PAGES, "PageFree", {{"Frame", SHAPE_UINT64}, {"Order", SHAPE_UINT32}}}},
    {SRC_RECLAIM_BEGIN, 0, {PAGES, "DirectReclaimBegin", {{"Order", SHAPE_UINT32}, {"GfpFlags", SHAPE_HEX32}}}},
    {SRC_RECLAIM_END, 0, {PAGES, "DirectReclaimEnd", {{"Reclaimed", SHAPE_UINT64}}}},
    {SRC_KSWAPD_WAKE, 0, {PAGES, "BackgroundReclaimWake", {{"Node", SHAPE_UINT32}, {"Order", SHAPE_UINT32}}}},
    {SRC_KSWAPD_SLEEP, 0, {PAGES, "BackgroundReclaimSleep", {{"Node", SHAPE_UINT32}}}},
    {SRC_RSS,
     0,
     {PAGES,
      "WorkingSetChange",
      {{"MemoryId", SHAPE_HEX32}, {"OwnMemory", SHAPE_UINT32}, {"Kind", SHAPE_UINT32}, {"Bytes", SHAPE_INT64}}}},
    {SRC_COMPACT_BEGIN, 0, {PAGES, "CompactionBegin", {ZONE}}},
    {SRC_COMPACT_END, 0, {PAGES, "CompactionEnd", {ZONE, {"Status", SHAPE_UINT32}}}},
    {SRC_CACHE_ADD, HOOK_CACHE_READ_AHEAD, {CACHE, "CachePageAdd", {CACHED}}},
    {SRC_CACHE_REMOVE, 0, {CACHE, "CachePageRemove", {CACHED}}},
    {SRC_WRITEBACK_START, HOOK_CACHE_WRITE_BEHIND, {CACHE, "WritebackStart", {WRITTEN}}},
    {SRC_WRITEBACK_WRITTEN, 0, {CACHE, "WritebackWritten", {WRITTEN}}},
    {SRC_WRITEBACK_INODE,
     HOOK_CACHE_FLUSH_CACHE,
     {CACHE,
      "WritebackInode",
      {{"Device", SHAPE_TEXT}, {"Inode", SHAPE_UINT64}, {"Wanted", SHAPE_INT64}, {"Written", SHAPE_UINT64}}}},
    {SRC_WORK_QUEUE,
     HOOK_THREAD_KERNEL_QUEUE_ENQUEUE,
     {WORK,
      "WorkQueued",
      {{"Work", SHAPE_HEX64},
       {"Function", SHAPE_HEX64},
       {"Queue", SHAPE_TEXT},
       {"WantedCpu", SHAPE_INT32},
       {"Cpu", SHAPE_UINT32}}}},
    {SRC_MIGRATE,
     0,
     {SCHEDULER, "ThreadMigration", {{"ThreadId", SHAPE_UINT32}, {"FromCpu", SHAPE_UINT32}, {"ToCpu", SHAPE_UINT32}}}},
    {SRC_TICK_STOP, 0, {SCHEDULER, "TickStop", {{"Stopped", SHAPE_UINT32}, {"Dependency", SHAPE_HEX32}}}},
};

/* Writes a text of the record: at an offset (__data_loc), or in the field itself. */
static void wr_field_text(struct writer *w, const struct sample *s, unsigned field)
{
    const struct raw_field *f = &s->source->field[field];
    if (f->offset != RAW_NO_FIELD && f->size > 4 && (uint32_t)f->offset + f->size <= s->raw_size)
        wr_text(w, (const char *)s->raw + f->offset, f->size);
    else
        wr_sample_text(w, s, field);
}

void convert_copied(struct convert *c, const struct sample *s)
{
    const struct copied *row  = convert_copy_rows;
    struct actor         by   = {s->cpu, shown_pid(c, s->pid, s->tid), s->tid};
    uint64_t             time = convert_time(c, s->time);
    uint8_t              bytes[PAYLOAD_MAX];
    struct writer        w = wr_make(bytes, sizeof bytes);

    while (row->kind != s->source->kind)
        if (++row == convert_copy_rows + sizeof convert_copy_rows / sizeof *convert_copy_rows)
            return;
    for (unsigned i = 0; i < RAW_FIELDS && row->shape.field[i].name; i++) {
        uint64_t value = (uint64_t)sample_field(s, i);
        switch (row->shape.field[i].type) {
        case SHAPE_TEXT: wr_field_text(&w, s, i); break;
        case SHAPE_INT64:
        case SHAPE_UINT64:
        case SHAPE_HEX64: wr_u64(&w, value); break;
        default: wr_u32(&w, (uint32_t)value); break;
        }
    }
    describe_at(c, &by, &row->shape, &time, &w);
    if (row->hook && stack_wanted(c, row->hook))
        emit_stack(c, &by, time, s->chain, s->chain_count);
}
