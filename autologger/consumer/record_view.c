#include "autologger/consumer/record_view.h"

#include "autologger/schema/tracelogging.h"

#include <string.h>

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
_Static_assert(sizeof(EVENT_HEADER) == 80 && sizeof(EVENT_RECORD) == 112, "EVENT_RECORD");
_Static_assert(sizeof(EVENT_TRACE_HEADER) == 48 && sizeof(EVENT_TRACE) == 88, "EVENT_TRACE");
_Static_assert(sizeof(TRACE_LOGFILE_HEADER) == 280 && sizeof(EVENT_TRACE_LOGFILEW) == 448, "EVENT_TRACE_LOGFILE");
_Static_assert(sizeof(EVENT_HEADER_EXTENDED_DATA_ITEM) == 16 && sizeof(TIME_ZONE_INFORMATION) == 172,
               "extended items, time zone");
_Static_assert(sizeof(TRACE_LOGFILE_HEADER) == sizeof(struct etl_logfile_header), "the header of a file");
AT(TRACE_LOGFILE_HEADER, LoggerName, 0x38);
AT(TRACE_LOGFILE_HEADER, BootTime, 0xF8);
AT(TRACE_LOGFILE_HEADER, ReservedFlags, 0x110);
AT(EVENT_TRACE_LOGFILEW, LogfileHeader, 120);
AT(EVENT_TRACE_LOGFILEW, EventRecordCallback, 424);
AT(EVENT_TRACE_LOGFILEW, Context, 440);
AT(EVENT_RECORD, UserContext, 104);

static unsigned record_view_items_set(struct record_view *v, const struct etl_event *e)
{
    struct etl_ext_walk walk = {0};
    unsigned            n    = 0;
    /* as the consumer library of Windows has it; a message of WPP keeps its number there */
    if (e->kind == ETL_KIND_INSTANCE || (e->kind == ETL_KIND_MESSAGE && e->instance)) {
        v->instance = (EVENT_EXTENDED_ITEM_INSTANCE){.InstanceId = e->instance, .ParentInstanceId = e->parent_instance};
        memcpy(&v->instance.ParentGuid, &e->parent_guid, sizeof v->instance.ParentGuid);
        v->items[n++] = (EVENT_HEADER_EXTENDED_DATA_ITEM){.ExtType  = EVENT_HEADER_EXT_TYPE_INSTANCE_INFO,
                                                          .DataSize = sizeof v->instance,
                                                          .DataPtr  = (ULONGLONG)(uintptr_t)&v->instance};
    }
    for (; n < RECORD_ITEMS && etl_ext_next(e, &walk); n++)
        v->items[n] = (EVENT_HEADER_EXTENDED_DATA_ITEM){
            .ExtType = walk.type, .DataSize = (USHORT)walk.size, .DataPtr = (ULONGLONG)(uintptr_t)walk.data};
    return n;
}

/* Metadata at the beginning of the payload become items, so a program that walks UserData property by property finds
 * the first field at its start. An event that would be too large with two more items keeps its form, so that a relogger
 * can write it. */
static void items_from_payload(struct record_view *v, const struct etl_event *e)
{
    enum { MORE = 2 * (sizeof(struct etl_ext_item) + 7) };
    EVENT_RECORD              *r = &v->record;
    unsigned                   n = r->ExtendedDataCount;
    struct tracelogging_prefix prefix;

    if (e->kind != ETL_KIND_EVENT || e->channel != TRACELOGGING_CHANNEL || e->metadata ||
        e->flags & ETL_EVENT_STRING_ONLY || !tracelogging_in_payload(e->payload, e->payload_size, &prefix) ||
        e->record_size > UINT16_MAX - MORE || n + 2 > RECORD_ITEMS)
        return;
    if (!e->traits)
        v->items[n++] = (EVENT_HEADER_EXTENDED_DATA_ITEM){.ExtType  = EVENT_HEADER_EXT_TYPE_PROV_TRAITS,
                                                          .DataSize = prefix.traits,
                                                          .DataPtr  = (ULONGLONG)(uintptr_t)e->payload};
    v->items[n++]        = (EVENT_HEADER_EXTENDED_DATA_ITEM){.ExtType  = EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL,
                                                             .DataSize = prefix.metadata,
                                                             .DataPtr  = (ULONGLONG)(uintptr_t)(e->payload + prefix.traits)};
    r->ExtendedDataCount = (USHORT)n;
    r->EventHeader.Flags |= EVENT_HEADER_FLAG_EXTENDED_INFO;
    r->UserDataLength = (USHORT)(e->payload_size - prefix.traits - prefix.metadata);
    r->UserData       = r->UserDataLength ? (PVOID)(uintptr_t)(e->payload + prefix.traits + prefix.metadata) : NULL;
}

void record_view_set(struct record_view *v, const struct etl_event *e, bool raw, void *context)
{
    EVENT_RECORD *r = &v->record;
    EVENT_HEADER *h = &r->EventHeader;

    memset(r, 0, sizeof *r);
    h->Size  = (USHORT)e->record_size;
    h->Flags = (USHORT)((e->kind == ETL_KIND_EVENT ? e->flags : 0) | EVENT_HEADER_FLAG_PROCESSOR_INDEX |
                        (e->is_64bit ? EVENT_HEADER_FLAG_64_BIT_HEADER : EVENT_HEADER_FLAG_32_BIT_HEADER));
    if (e->kind == ETL_KIND_MESSAGE)
        h->Flags |= EVENT_HEADER_FLAG_TRACE_MESSAGE;
    else if (e->kind != ETL_KIND_EVENT)
        h->Flags |= EVENT_HEADER_FLAG_CLASSIC_HEADER;
    if (e->kind == ETL_KIND_PERFINFO || e->kind == ETL_KIND_MESSAGE)
        h->Flags |= EVENT_HEADER_FLAG_NO_CPUTIME;
    h->KernelTime         = e->kernel_time;
    h->UserTime           = e->user_time;
    h->ThreadId           = e->thread_id;
    h->ProcessId          = e->process_id;
    h->TimeStamp.QuadPart = raw ? e->raw_time : (int64_t)e->filetime;
    h->EventDescriptor    = (EVENT_DESCRIPTOR){e->id, e->version, e->channel, e->level, e->opcode, e->task, e->keyword};
    memcpy(&h->ProviderId, &e->provider, sizeof h->ProviderId);
    memcpy(&h->ActivityId, &e->activity, sizeof h->ActivityId);
    r->BufferContext.ProcessorIndex = e->cpu;
    r->BufferContext.LoggerId       = e->logger_id;
    r->ExtendedDataCount            = (USHORT)record_view_items_set(v, e);
    r->UserDataLength               = (USHORT)e->payload_size;
    r->UserData                     = e->payload_size ? (PVOID)(uintptr_t)e->payload : NULL;
    items_from_payload(v, e);
    r->ExtendedData = r->ExtendedDataCount ? v->items : NULL;
    for (unsigned i = 0; i + 1u < r->ExtendedDataCount; i++)
        v->items[i].Linkage = 1;
    r->UserContext = context;
}

void record_view_classic(EVENT_TRACE *t, const struct etl_event *e, bool raw)
{
    EVENT_TRACE_HEADER *h = &t->Header;

    memset(t, 0, sizeof *t);
    h->Size               = (USHORT)e->record_size;
    h->HeaderType         = e->record[2];
    h->MarkerFlags        = e->record[3];
    h->Class.Type         = e->opcode;
    h->Class.Level        = e->level;
    h->Class.Version      = e->version;
    h->ThreadId           = e->thread_id;
    h->ProcessId          = e->process_id;
    h->TimeStamp.QuadPart = raw ? e->raw_time : (int64_t)e->filetime;
    h->KernelTime         = e->kernel_time;
    h->UserTime           = e->user_time;
    memcpy(&h->Guid, &e->provider, sizeof h->Guid);
    t->InstanceId       = e->instance;
    t->ParentInstanceId = e->parent_instance;
    memcpy(&t->ParentGuid, &e->parent_guid, sizeof t->ParentGuid);
    t->MofData                      = e->payload_size ? (PVOID)(uintptr_t)e->payload : NULL;
    t->MofLength                    = e->payload_size;
    t->BufferContext.ProcessorIndex = e->cpu;
    t->BufferContext.LoggerId       = e->logger_id;
}

void record_view_header(const struct etl_file_header *h, TRACE_LOGFILE_HEADER *out)
{
    memcpy(out, &h->raw, sizeof *out);
    out->LoggerName = out->LogFileName = NULL; /* addresses in the process that wrote the file */
}
