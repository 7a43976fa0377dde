/* relogger.c - the functions of relogger.h, on top of merge.h. */
#include "autologger/include/relogger.h"

#include "autologger/consumer/merge.h"
#include "autologger/consumer/record_view.h"
#include "autologger/consumer/wide_text.h"

#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 64 };
struct injected {
    struct injected *next;
    int64_t          time;
    uint32_t         size;
    uint16_t         cpu;
    uint8_t          record[];
};
struct relogging {
    PRELOG_EVENT_CALLBACK   callback;
    void                   *context;
    struct record_view      view;
    int64_t                 last; /* time of the event before */
    const struct etl_event *now;  /* the callback's event; NULL: no callback runs */
    struct injected        *first, **end;
};

static ULONG merge_named(const WCHAR *const *names, ULONG count, const WCHAR *target,
                         const struct merge_options *options)
{
    struct merge_counts counts;
    char               *file[FILES_MAX] = {0}, *result = NULL;
    ULONG               n  = 0;
    wstatus             st = W_INVALID_PARAMETER;

    if (!names || !count || count > FILES_MAX || !target || !*target)
        return st;
    for (; n < count && names[n] && (file[n] = utf8_of_wide(names[n], SIZE_MAX)); n++)
        ;
    if (n == count && (result = utf8_of_wide(target, SIZE_MAX)))
        st = merge_files_with(os_linux(), (const char *const *)file, count, result, options, &counts, NULL);
    else if (n == count || names[n])
        st = W_NOT_ENOUGH_MEMORY;
    for (ULONG i = 0; i < n; i++)
        free(file[i]);
    free(result);
    return st;
}

AUTOLOGGER_API ULONG CreateMergedETLFile(const WCHAR *const *FileNames, ULONG FileCount, const WCHAR *TargetName)
{
    return merge_named(FileNames, FileCount, TargetName, &(struct merge_options){.provenance = true});
}

/* --- relogging --- */

static bool relogger_keep(void *ctx, const struct etl_event *e)
{
    struct relogging *r = ctx;

    record_view_set(&r->view, e, true, r->context);
    r->now      = e;
    bool wanted = r->callback((ULONGLONG)(uintptr_t)r, &r->view.record, r->context) != 0;
    r->now      = NULL;
    r->last     = e->raw_time;
    return wanted;
}

/* Puts the events that the callback injected before its event. */
static wstatus inject(void *ctx, const struct added_events *to, struct reason *why)
{
    struct relogging *r  = ctx;
    wstatus           st = W_SUCCESS;

    for (struct injected *i = r->first, *next; i; i = next) {
        next = i->next;
        if (!st)
            st = to->put(to->ctx, i->cpu, i->record, i->size, i->time, why);
        free(i);
    }
    r->first = NULL;
    r->end   = &r->first;
    return st;
}

AUTOLOGGER_API ULONG RelogTraceFiles(const WCHAR *const *FileNames, ULONG FileCount, const WCHAR *TargetName,
                                     PRELOG_EVENT_CALLBACK Callback, PVOID Context)
{
    if (!Callback)
        return W_INVALID_PARAMETER;
    struct relogging *r = calloc(1, sizeof *r);
    if (!r)
        return W_NOT_ENOUGH_MEMORY;
    *r     = (struct relogging){.callback = Callback, .context = Context, .last = INT64_MIN};
    r->end = &r->first;
    ULONG status =
        merge_named(FileNames, FileCount, TargetName,
                    &(struct merge_options){.plain = true, .keep = relogger_keep, .inject = inject, .ctx = r});
    for (struct injected *i = r->first, *next; i; i = next) {
        next = i->next;
        free(i);
    }
    free(r);
    return status;
}

/* The record's size with its extended items, 0: over 64 KB. */
static uint32_t relogger_record_size(const EVENT_RECORD *e)
{
    size_t size = sizeof(struct etl_event_header);
    for (unsigned i = 0; i < e->ExtendedDataCount; i++)
        size += (sizeof(struct etl_ext_item) + e->ExtendedData[i].DataSize + 7u) & ~(size_t)7;
    size += e->UserDataLength;
    return size > ETL_MAX_EVENT ? 0 : (uint32_t)size;
}

static void build(uint8_t *at, uint32_t size, const EVENT_RECORD *e, int64_t time)
{
    struct etl_event_header h = {.size        = (uint16_t)size,
                                 .header_type = ETL_EVENT64,
                                 .marker      = ETL_MARKER,
                                 .flags       = (uint16_t)((e->EventHeader.Flags & ~ETL_EVENT_EXTENDED) |
                                                     (e->ExtendedDataCount ? ETL_EVENT_EXTENDED : 0)),
                                 .thread_id   = e->EventHeader.ThreadId,
                                 .process_id  = e->EventHeader.ProcessId,
                                 .time        = time,
                                 .id          = e->EventHeader.EventDescriptor.Id,
                                 .version     = e->EventHeader.EventDescriptor.Version,
                                 .channel     = e->EventHeader.EventDescriptor.Channel,
                                 .level       = e->EventHeader.EventDescriptor.Level,
                                 .opcode      = e->EventHeader.EventDescriptor.Opcode,
                                 .task        = e->EventHeader.EventDescriptor.Task,
                                 .keyword     = e->EventHeader.EventDescriptor.Keyword};
    memcpy(&h.provider, &e->EventHeader.ProviderId, sizeof h.provider);
    memcpy(&h.activity, &e->EventHeader.ActivityId, sizeof h.activity);
    memcpy(at, &h, sizeof h);
    at += sizeof h;
    for (unsigned i = 0; i < e->ExtendedDataCount; i++) {
        const EVENT_HEADER_EXTENDED_DATA_ITEM *x = &e->ExtendedData[i];
        const uint16_t      total                = (uint16_t)((sizeof(struct etl_ext_item) + x->DataSize + 7u) & ~7u);
        struct etl_ext_item item                 = {total, x->ExtType, i + 1u < e->ExtendedDataCount, x->DataSize};
        memset(at, 0, total);
        memcpy(at, &item, sizeof item);
        memcpy(at + sizeof item, (const void *)(uintptr_t)x->DataPtr, x->DataSize);
        at += total;
    }
    if (e->UserDataLength)
        memcpy(at, e->UserData, e->UserDataLength);
}

AUTOLOGGER_API ULONG RelogInjectEvent(ULONGLONG Relog, PEVENT_RECORD EventRecord)
{
    struct relogging *r = (struct relogging *)(uintptr_t)Relog;

    if (!r || !EventRecord || !r->now)
        return W_INVALID_PARAMETER;
    int64_t time =
        EventRecord->EventHeader.TimeStamp.QuadPart ? EventRecord->EventHeader.TimeStamp.QuadPart : r->now->raw_time;
    uint32_t size = relogger_record_size(EventRecord);
    if (time < r->last || time > r->now->raw_time)
        return W_INVALID_PARAMETER;
    if (!size)
        return W_ARITHMETIC_OVERFLOW;
    struct injected *i = malloc(sizeof *i + size);
    if (!i)
        return W_NOT_ENOUGH_MEMORY;
    *i = (struct injected){.time = time, .size = size, .cpu = r->now->cpu};
    build(i->record, size, EventRecord, time);
    *r->end = i;
    r->end  = &i->next;
    r->last = time;
    return W_SUCCESS;
}
