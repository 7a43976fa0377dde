#include "autologger/analysis/trace.h"

#include <stdlib.h>
#include <string.h>

enum { TELL_EVERY = 0xFFFF };
struct trace_source {
    const char        *path;
    struct etl_reader *reader;
    struct schema_set *schemas; /* its own: files may describe one event differently */
    struct etl_event   next;
    bool               has_next;
};
struct trace {
    struct trace_source source[TRACE_FILES_MAX];
    unsigned            count;
    int                 last; /* the source of the last event; its next one is to be read */
    uint64_t            start, end, events;
    struct trace_event  event;
    struct schema_set  *described; /* NULL: each source's own */
    struct redactor    *redactor;  /* NULL: events as they are */
    uint8_t            *changed;   /* with `redactor`: the event's record */
    void (*tell)(void *ctx, unsigned per_mille);
    void    *tell_ctx;
    uint64_t last_end; /* FILETIME, by the headers; 0: not known */
};

wstatus trace_open(const char *const *paths, unsigned count, struct trace **out, struct reason *why)
{
    if (!count || count > TRACE_FILES_MAX)
        return reason_set(why, W_INVALID_PARAMETER, "%u files: 1 to %d can be read together", count, TRACE_FILES_MAX);
    struct etl_reader *readers[TRACE_FILES_MAX];
    struct trace      *t = calloc(1, sizeof *t);
    if (!t)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %u files", count);
    t->last = -1;
    for (; t->count < count; t->count++) {
        struct trace_source *s = &t->source[t->count];
        s->path                = paths[t->count];
        wstatus st             = etl_reader_open(s->path, &s->reader, why);
        if (!st && !(s->schemas = schema_set_new()))
            st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for what describes events");
        if (st) {
            t->count++;
            trace_close(t);
            return st;
        }
        readers[t->count] = s->reader;
    }
    etl_readers_join(readers, count);
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = (uint64_t)etl_reader_header(readers[i])->raw.start_time;
        uint64_t end   = (uint64_t)etl_reader_header(readers[i])->raw.end_time;
        t->last_end    = end > t->last_end ? end : t->last_end;
        if (!t->start || start < t->start)
            t->start = start;
    }
    t->end = t->start;
    for (unsigned i = 0; i < count; i++)
        t->source[i].has_next = etl_next(t->source[i].reader, &t->source[i].next);
    *out = t;
    return W_SUCCESS;
}

/* Redacts the event, in a copy of its record. Without memory for the copy the event loses its payload. */
static void redact(struct trace *t, struct schema_set *schemas)
{
    struct etl_event *e = &t->event.e;

    if (!t->changed && !(t->changed = malloc(ETL_MAX_EVENT)))
        t->changed = NULL;
    if (!t->changed || e->record_size > ETL_MAX_EVENT) {
        e->payload_size = 0;
        return;
    }
    memcpy(t->changed, e->record, e->record_size);
    decoded_names(schemas, e, &t->event.names);
    redactor_event(t->redactor, e, &t->event.names, t->changed);
    if (e->payload >= e->record && e->payload <= e->record + e->record_size)
        e->payload = t->changed + (e->payload - e->record);
    if (e->ext && e->ext >= e->record && e->ext <= e->record + e->record_size)
        e->ext = t->changed + (e->ext - e->record);
    e->record = t->changed;
}

static uint64_t trace_when(const struct trace_source *s) { return etl_event_turn(s->reader, &s->next); }

bool trace_next(struct trace *t, const struct trace_event **out)
{
    struct trace_source *least = NULL;

    if (t->last >= 0)
        t->source[t->last].has_next = etl_next(t->source[t->last].reader, &t->source[t->last].next);
    for (unsigned i = 0; i < t->count; i++) {
        struct trace_source *s = &t->source[i];
        if (s->has_next && (!least || trace_when(s) < trace_when(least)))
            least = s;
    }
    if (!least) {
        t->last = -1;
        return false;
    }
    t->last       = (int)(least - t->source);
    t->event.e    = least->next;
    t->event.file = (unsigned)t->last;
    if (t->redactor)
        redact(t, t->described ? t->described : least->schemas);
    decoded_names(t->described ? t->described : least->schemas, &t->event.e, &t->event.names);
    t->end = t->event.e.filetime > t->end ? t->event.e.filetime : t->end;
    if ((++t->events & TELL_EVERY) == 0 && t->tell && t->last_end > t->start && t->end >= t->start)
        t->tell(t->tell_ctx, (unsigned)((t->end - t->start) * 1000 / (t->last_end - t->start)));
    *out = &t->event;
    return true;
}

unsigned                      trace_files(const struct trace *t) { return t->count; }
const char                   *trace_path(const struct trace *t, unsigned file) { return t->source[file].path; }
const struct etl_reader      *trace_reader(const struct trace *t, unsigned file) { return t->source[file].reader; }
const struct etl_file_header *trace_header(const struct trace *t, unsigned file)
{
    return etl_reader_header(t->source[file].reader);
}
uint64_t trace_start(const struct trace *t) { return t->start; }
uint64_t trace_end(const struct trace *t) { return t->end; }
uint64_t trace_events(const struct trace *t) { return t->events; }

uint64_t trace_ns(const struct trace *t, unsigned file, int64_t raw)
{
    const struct etl_file_header *h = trace_header(t, file);
    /* from the trace's start to this file's */
    const int64_t first     = (int64_t)((uint64_t)h->raw.start_time - t->start) * 100;
    int64_t       frequency = h->raw.perf_freq > 0 ? h->raw.perf_freq : 10000000, ns;

    if (h->raw.clock_type == 2 || h->raw.clock_type == 0) {
        uint64_t at = etl_filetime(h, raw);
        return at > t->start ? (at - t->start) * 100 : 0;
    }
    if (h->raw.clock_type == 3)
        frequency = (h->raw.cpu_mhz ? h->raw.cpu_mhz : 1) * INT64_C(1000000);
    __extension__ typedef __int128 wide;
    const wide                     off = ((wide)raw - h->start_raw) * 1000000000 / frequency;
    ns = off > INT64_MAX / 4 ? INT64_MAX / 4 : off < -(wide)(INT64_MAX / 4) ? -(INT64_MAX / 4) : (int64_t)off;
    ns += first;
    return ns > 0 ? (uint64_t)ns : 0;
}

void trace_describe(struct trace *t, struct schema_set *set) { t->described = set; }

void trace_redact(struct trace *t, struct redactor *redactor) { t->redactor = redactor; }

void trace_watch(struct trace *t, void (*tell)(void *ctx, unsigned per_mille), void *ctx)
{
    t->tell     = tell;
    t->tell_ctx = ctx;
}

void trace_close(struct trace *t)
{
    for (unsigned i = 0; t && i < t->count; i++) {
        etl_reader_close(t->source[i].reader);
        schema_set_free(t->source[i].schemas);
    }
    if (t)
        free(t->changed);
    free(t);
}
